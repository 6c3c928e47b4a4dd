// Returns a sentence for each accessibility violation of the page it runs in.
document.getAnimations().forEach((it) => it.finish());
const complaints = [];
const show = (it) => it.outerHTML.replace(/\s+/g, " ").slice(0, 140);
const complain = (what, it) => complaints.push(it ? `${what}: ${show(it)}` : what);
const scope = document.querySelector("dialog[open]") ?? document;
const all = (selector) => [...scope.querySelectorAll(selector)];
const isSeen = (it) => it.getClientRects().length > 0 && it.checkVisibility({ visibilityProperty: true });
const isHeard = (it) => isSeen(it) && !it.closest("[aria-hidden=true]");

// The language, one title, one main part, headings in order.
if (!["ko", "en"].includes(document.documentElement.lang)) complain("the page does not say its language");
if (document.title.trim() === "") complain("the page has no title");
if (document.querySelectorAll("main").length !== 1) complain("there is not exactly one main part");
if (document.querySelectorAll("h1").length !== 1) complain("there is not exactly one h1");
let level = 0;
for (const heading of [...document.querySelectorAll("h1, h2, h3, h4")].filter(isHeard)) {
  const own = Number(heading.tagName[1]);
  if (own > level + 1 && !heading.closest("dialog")) complain(`after h${level} comes`, heading);
  level = own;
}

// Ids are unique, and every reference to an id has a target.
const ids = [...document.querySelectorAll("[id]")].map((it) => it.id);
for (const id of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) complain(`the id ${id} is there more than once`);
for (const name of ["for", "aria-labelledby", "aria-describedby", "aria-controls", "aria-owns"]) {
  for (const it of all(`[${name}]`)) {
    for (const id of it.getAttribute(name).split(/\s+/)) if (!document.getElementById(id)) complain(`${name} points at nothing`, it);
  }
}

// Every control and every picture has a name.
const textOf = (id) => document.getElementById(id)?.textContent ?? "";
function nameOf(it) {
  const labelled = (it.getAttribute("aria-labelledby") ?? "").split(/\s+/).map(textOf).join(" ").trim();
  const inside = [...it.querySelectorAll("img[alt]")].map((img) => img.alt).join(" ");
  const legend = it.tagName === "FIELDSET" ? it.querySelector("legend")?.textContent : "";
  const isNamedByContent = !["INPUT", "SELECT", "TEXTAREA", "PROGRESS", "DIALOG", "FIELDSET", "NAV"].includes(it.tagName) && !["img", "group", "grid", "search"].includes(it.getAttribute("role"));
  const labels = [...(it.labels ?? [])].map((label) => label.textContent).join(" ");
  return (labelled || it.getAttribute("aria-label") || labels || it.getAttribute("alt") || legend || (isNamedByContent ? it.textContent + inside : "") || it.getAttribute("title") || "").trim();
}
const used = "button, a[href], input:not([type=hidden]), select, textarea, summary";
for (const it of all(`${used}, progress, dialog, fieldset, nav, [role=img], [role=grid], [role=group]`)) {
  if (isHeard(it) && nameOf(it) === "") complain("has no accessible name", it);
}
for (const it of document.images) if (!it.hasAttribute("alt")) complain("a picture without a word for it", it);
for (const it of all("svg")) if (!it.closest("[aria-hidden=true]") && it.getAttribute("role") !== "img") complain("a drawing that is neither named nor hidden", it);
for (const it of all("th")) if (!it.hasAttribute("scope")) complain("a head of nothing", it);
for (const it of all("[tabindex]")) if (it.tabIndex > 0) complain("out of order for the keyboard", it);
for (const it of all(used)) if (isHeard(it) && it.tabIndex < 0 && !it.disabled && !it.closest("[role=grid]")) complain("out of reach for the keyboard", it);

// Boxes that scroll sideways can be scrolled with keys: they are focusable, or contain a focusable element.
for (const it of all(".scroll, pre")) {
  if (isSeen(it) && it.scrollWidth > it.clientWidth + 1 && it.tabIndex < 0 && !it.querySelector(used)) complain("cannot be scrolled without a mouse", it);
}

// Contrast: text 4.5, large text and edges 3.
function parse(text) {
  const numbers = text.match(/-?[\d.]+(e-?\d+)?/g)?.map(Number) ?? [0, 0, 0, 0];
  const [r, g, b, a = 1] = text.startsWith("color(") ? numbers.map((it, at) => (at < 3 ? it * 255 : it)) : numbers;
  return [r, g, b, a];
}
const over = (top, below) => below.map((it, at) => top[at] * top[3] + it * (1 - top[3])).slice(0, 3);
/** All colours that may be behind a text: a gradient has several. */
function grounds(it) {
  if (!it) return [[255, 255, 255]];
  const style = getComputedStyle(it);
  const colour = parse(style.backgroundColor);
  const stops = (style.backgroundImage.match(/(rgba?|color)\([^)]*\)/g) ?? []).map(parse).filter((stop) => stop[3] > 0);
  const below = colour[3] === 1 ? [colour.slice(0, 3)] : grounds(it.tagName === "DIALOG" ? null : it.parentElement).map((ground) => over(colour, ground));
  // The frame of the console draws the ground of its two columns.
  if (stops.length === 0 || it.classList.contains("frame")) return below;
  return stops.flatMap((stop) => below.map((ground) => over(stop, ground)));
}
const light = (colour) => colour.map((it) => it / 255).map((it) => (it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4)).reduce((sum, it, at) => sum + it * [0.2126, 0.7152, 0.0722][at], 0);
const ratio = (one, other) => {
  const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
};
const opacity = (it) => (it ? Number(getComputedStyle(it).opacity) * opacity(it.parentElement) : 1);
for (const it of all("*")) {
  const isText = [...it.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!isText || !isSeen(it) || it.closest(":disabled, [aria-busy=true], .visually-hidden, option, script, style, noscript, svg")) continue;
  const style = getComputedStyle(it);
  const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  const seen = opacity(it);
  for (const ground of grounds(it)) {
    const [r, g, b, a] = parse(style.color);
    const found = ratio(over([r, g, b, a * seen], ground), ground);
    if (found < (isLarge ? 3 : 4.5)) {
      complain(`hard to read, ${found.toFixed(2)}`, it);
      break;
    }
  }
}
for (const it of all("input:not([type=checkbox], [type=radio], [type=hidden]), select, textarea")) {
  if (!isSeen(it) || it.disabled) continue;
  const style = getComputedStyle(it);
  const edge = parse(style.borderTopColor);
  const around = grounds(it.parentElement)[0];
  if (parseFloat(style.borderTopWidth) > 0 && ratio(over(edge, around), around) < 3) complain("an edge that is hard to see", it);
}

// Touch targets are large enough to be hit, or far enough from the next one.
const middle = (it) => {
  const { x, y, width, height } = it.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
};
const touched = all("button, input, select").filter((it) => isSeen(it) && !it.closest(".visually-hidden"));
for (const it of touched) {
  const { width, height } = it.getBoundingClientRect();
  const label = it.labels?.[0]?.getBoundingClientRect();
  if (Math.min(width, height) >= 24 || (label && label.height + label.width >= 48)) continue;
  const [x, y] = middle(it);
  const next = Math.min(...touched.filter((other) => other !== it).map(middle).map(([a, b]) => Math.hypot(a - x, b - y)));
  if (next < 23.9) complain(`too small to hit, ${Math.round(width)} × ${Math.round(height)}, ${next.toFixed(1)} to the next`, it);
}
return complaints;
