// Shared by the console's pages: elements, API calls, messages.
import { t, fill } from "../texts.js";

export { t, fill, number, money } from "../texts.js";

// On a phone the menu is a strip: scroll the current page into view.
document.querySelector(".side [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

/** Creates an element. Server texts are inserted as text, never as HTML. */
export function h(tag, props = {}, ...children) {
  const svg = ["svg", "rect", "title", "g"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** An error document of the API: `message` is its detail and reason, `code` the stable code. */
export class Problem extends Error {
  constructor(status, body) {
    super([body?.detail ?? `HTTP ${status}`, body?.reason].filter(Boolean).join(" "));
    this.status = status;
    this.code = body?.code;
  }
}

/** Calls the API with the operator's rights. */
export async function api(path, { method = "GET", body, from = "api" } = {}) {
  const headers = { "Accept-Language": document.documentElement.lang };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET") headers["Idempotency-Key"] = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
  const answer = await fetch(`/console/${from}${path}`, { method, headers, body: body && JSON.stringify(body) });
  const isJson = answer.headers.get("content-type")?.includes("json");
  const content = isJson ? await answer.json() : undefined;
  if (answer.status === 401) location.assign("/console/sign-in");
  if (!answer.ok) throw new Problem(answer.status, content);
  return content?.data ?? content;
}

/** Shows a message, and announces it to screen readers. */
export function say(text, tone = "free") {
  const said = document.getElementById("said");
  const note = h("p", { class: `note ${tone}` }, text);
  said.replaceChildren(note);
  setTimeout(() => note.remove(), 6000);
}

export const status = (code) => t[`status_${code}`] ?? code;

const tones = { CONFIRMED: "free", PAID: "free", RESERVED: "accent", COMPLETED: "free", SENT: "free", ACTIVE: "free", DELIVERED: "free", DISABLED: "danger", AVAILABLE: "free", PENDING: "held", PROCESSING: "held", HELD: "held", LOCKED: "held", FAILED: "danger", NO_SHOW: "danger", CLOSED: "danger" };
export const mark = (code) => h("span", { class: `mark ${tones[code] ?? ""}` }, status(code));

const locale = document.documentElement.lang;
const moments = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
export const moment = (text) => h("time", { datetime: text, title: text }, moments.format(new Date(text)));

/** Arithmetic on dates of the API, independent of time zones. */
export const day = {
  of: (date) => date.toISOString().slice(0, 10),
  today: (zone) => new Intl.DateTimeFormat("en-CA", { timeZone: zone }).format(new Date()),
  plus: (text, days) => day.of(new Date(Date.parse(`${text}T00:00:00Z`) + days * 86400000)),
  weekday: (text) => (new Date(`${text}T00:00:00Z`).getUTCDay() + 6) % 7,
  name: (text, options) => new Intl.DateTimeFormat(locale, { timeZone: "UTC", ...options }).format(new Date(`${text}T00:00:00Z`)),
};

/** A table; with a caption, its box takes the keyboard focus, so that it can be scrolled without a mouse. */
export function table(heads, rows, caption) {
  if (rows.length === 0) return h("p", { class: "empty" }, t.common_none);
  const head = heads.map((it) => (it === "" ? h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, t.common_actions)) : typeof it === "string" ? h("th", { scope: "col" }, it) : h("th", { scope: "col", class: "number" }, it[0])));
  const cells = (row) => row.map((cell, at) => h("td", { class: typeof heads[at] === "string" ? undefined : "number" }, cell));
  const body = rows.map((row) => h("tr", {}, cells(row)));
  const box = caption ? { class: "scroll", tabindex: 0, role: "group", "aria-label": caption } : { class: "scroll" };
  return h("div", box, h("table", {}, caption && h("caption", {}, caption), h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

/** A labelled drop-down. */
export function select(label, options, value, changed) {
  const id = `select-${label}`.replace(/\s+/g, "-");
  const list = h("select", { id, onchange: (event) => changed(event.target.value) }, options.map(([key, text]) => h("option", { value: key, selected: String(key) === String(value) }, text)));
  return h("span", { class: "pick" }, h("label", { for: id, class: "visually-hidden" }, label), list);
}

export const button = (label, onclick, tone = "") => h("button", { type: "button", class: tone, onclick }, label);

/** Renders a page and keeps focus, expanded details and scroll positions. */
function put(content) {
  const place = document.getElementById("page");
  const focused = document.activeElement?.id;
  const open = [...place.querySelectorAll("details[open]")].map((it) => it.id);
  const scrolled = [...place.querySelectorAll(".scroll")].map((it) => it.scrollLeft);
  place.replaceChildren(...[content].flat().filter(Boolean));
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  place.querySelectorAll(".scroll").forEach((it, at) => { if (scrolled[at]) it.scrollLeft = scrolled[at]; });
  if (focused && place.contains(document.getElementById(focused))) document.getElementById(focused).focus();
  place.setAttribute("aria-busy", "false");
}

/**
 * A page with live data. `chosen` is the selection; `draw` renders the data, or returns nothing if it has updated the page itself
 * (`news` has the changed parts). The server computes a page once for all viewers and sends changed parts only. A hidden page
 * closes its stream and so costs the server nothing.
 */
export function live(section, chosen, draw) {
  let source;
  let data = {};
  const again = () => put(draw(data, data));

  function failed(why) {
    put(h("div", { class: "note danger row between", role: "alert" }, fill(t.common_failed, { why }), button(t.common_again, listen)));
  }

  function listen() {
    source?.close();
    const choice = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value !== undefined && value !== ""));
    let isFirst = true;
    source = new EventSource(`/console/live/${section}?${choice}`);
    source.addEventListener("parts", (event) => {
      const news = JSON.parse(event.data);
      data = isFirst ? news : { ...data, ...news };
      isFirst = false;
      const content = draw(data, news);
      if (content) put(content);
    });
    source.addEventListener("failed", (event) => {
      const problem = JSON.parse(event.data);
      failed([problem.detail ?? `HTTP ${problem.status}`, problem.reason].filter(Boolean).join(" "));
    });
    source.onopen = () => { isFirst = true; };
    // After a sign-out this redirects to the sign-in page; otherwise it shows the error.
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) api("/v1/room-types?limit=1").then(listen, (problem) => failed(problem.message)); };
  }

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") source.close();
    else listen();
  });
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
  listen();
  return {
    /** Changes the selection. */
    choose(change) {
      Object.assign(chosen, change);
      listen();
    },
    /** Renders the present data again. */
    again,
  };
}
