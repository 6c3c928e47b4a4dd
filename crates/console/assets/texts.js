// Texts of scripts, in the page's language. They are in texts/*.toml.
const { default: t } = await import(`./texts.${document.documentElement.lang === "ko" ? "ko" : "en"}.js`);

export { t };

/** Replaces {name} by its value, and {name|singular|plural} by the word that agrees with it. */
export function fill(sentence, values) {
  return sentence
    .replace(/\{(\w+)\|([^|}]*)\|([^|}]*)\}/g, (_, name, singular, plural) => (String(values[name]) === "1" ? singular : plural))
    .replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

const locale = document.documentElement.lang;
const numbers = new Intl.NumberFormat(locale);

export const number = (value) => numbers.format(value);

/** Formats an amount in minor units in the page's language. */
export function money(amount, currency) {
  const format = new Intl.NumberFormat(locale, { style: "currency", currency, currencyDisplay: "narrowSymbol" });
  return format.format(amount / 10 ** format.resolvedOptions().maximumFractionDigits);
}
