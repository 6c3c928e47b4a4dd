// What scripts say, in the page's language. The sentences stand in console/texts/*.toml.
const { default: t } = await import(`./texts.${document.documentElement.lang === "ko" ? "ko" : "en"}.js`);

export { t };

/** Puts values where a sentence has {name}. */
export function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

const locale = document.documentElement.lang;
const numbers = new Intl.NumberFormat(locale);

export const number = (value) => numbers.format(value);

/** Money in minor units, as people of the page's language write it. */
export function money(amount, currency) {
  const format = new Intl.NumberFormat(locale, { style: "currency", currency, currencyDisplay: "narrowSymbol" });
  return format.format(amount / 10 ** format.resolvedOptions().maximumFractionDigits);
}
