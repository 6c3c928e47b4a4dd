// Components shared by all pages. They create elements; texts of the server are inserted as text.
import { switchCustomer, needsToken, now, Refusal } from "./api.js";
import { fill, t } from "../texts.js";

/** Creates an element: el("button", {class: "primary", onclick: act}, "Pay"). */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const stage = () => document.getElementById("stage");

/** Replaces the content of the page. */
export function show(...children) {
  stage().replaceChildren(...children.flat().filter(Boolean));
  stage().removeAttribute("aria-busy");
}

/** Shows a message and announces it to screen readers. `way` is the next step for the customer; `kind` sets the colour. */
export function say(what, { way, kind, actions } = {}) {
  const said = document.getElementById("said");
  const note = el("div", { class: `note ${kind ?? ""}` }, el("strong", {}, what), way && el("p", {}, way),
    actions && el("div", { class: "row" }, actions),
    el("button", { type: "button", class: "plain close", "aria-label": t.demo_close, onclick: () => note.remove() }, "×"));
  said.replaceChildren(note);
}

export const unsay = () => document.getElementById("said").replaceChildren();

/** A button that is disabled while its action runs, and shows errors. */
export function button(label, act, { kind = "", refused, ...properties } = {}) {
  return el("button", { type: "button", class: kind, ...properties, onclick: async (event) => {
    const pressed = event.currentTarget;
    if (pressed.getAttribute("aria-busy")) return;
    pressed.setAttribute("aria-busy", "true");
    try {
      await act(event);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (!refused?.(error)) say(error.detail, { kind: "danger" });
    } finally {
      pressed.removeAttribute("aria-busy");
    }
  } }, label);
}

export function field(label, control) {
  control.id ||= `field-${label.replace(/\W+/gu, "-")}-${Math.random().toString(36).slice(2, 7)}`;
  return el("div", { class: "field" }, el("label", { for: control.id }, label), control);
}

export function select(options, chosen, onchange) {
  const control = el("select", { onchange: () => onchange(control.value) },
    options.map(([value, label]) => el("option", { value, selected: String(value) === String(chosen) }, label)));
  return control;
}

/** A row of selectable days. */
export function days(list, chosen, choose) {
  const row = el("div", { class: "days", role: "group", "aria-label": t.demo_day }, list.map((date) =>
    el("button", { type: "button", class: "day", "aria-pressed": String(date === chosen), "data-date": date, onclick: () => choose(date) },
      el("span", {}, weekday(date)), el("b", {}, shortDay(date)))));
  // Scroll the selected day into view on narrow screens.
  requestAnimationFrame(() => {
    const day = row.querySelector("[aria-pressed='true']");
    if (day) row.scrollLeft = day.offsetLeft - row.offsetLeft - row.clientWidth / 2 + day.clientWidth / 2;
  });
  return row;
}

const locale = document.documentElement.lang;
const noon = (date) => new Date(`${date}T12:00:00Z`);
const format = (options) => new Intl.DateTimeFormat(locale, { timeZone: "UTC", ...options });
const weekdays = format({ weekday: "short" });
const shortDays = format({ month: "numeric", day: "numeric" });
const longDays = format({ month: "long", day: "numeric", weekday: "short" });

export const weekday = (date) => weekdays.format(noon(date));
export const shortDay = (date) => shortDays.format(noon(date));
export const longDay = (date) => longDays.format(noon(date));

/** Formats a time of day in local time. */
export const clock = (moment) => new Date(moment).toLocaleTimeString(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Formats a duration: 75 seconds are 1:15. */
export function minutes(milliseconds) {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** A countdown: a bar, a number, and an occasional announcement for screen readers. Calls `over` at the end. */
export function countdown(until, over) {
  const end = Date.parse(until);
  const whole = Math.max(1, end - now());
  const number = el("strong", { class: "time" }, minutes(end - now()));
  const bar = el("progress", { max: whole, value: whole, "aria-label": t.demo_time_left });
  const heard = el("span", { class: "visually-hidden", role: "status" });
  const element = el("div", { class: "countdown" }, el("span", {}, t.demo_time_left), number, bar, heard);
  let told = Infinity;
  const tick = () => {
    // Removed from the page: stop.
    if (!element.isConnected) return clearInterval(timer);
    const left = end - now();
    number.textContent = minutes(left);
    bar.value = Math.max(0, left);
    element.classList.toggle("soon", left < 30_000);
    const mark = [10_000, 30_000, 60_000, 300_000].find((mark) => left <= mark && mark < told && mark < whole);
    if (mark) {
      told = mark;
      heard.textContent = fill(t.demo_time_left_is, { time: minutes(left) });
    }
    // Units are free within a second after the end; an earlier attempt would conflict with the own hold.
    if (left <= -1_000) {
      clearInterval(timer);
      over();
    }
  };
  const timer = setInterval(tick, 200);
  return element;
}

/** The hold panel of all verticals: contents, countdown, pay, release. */
export function holdPanel({ lines, total, until, pay, letGo, over, refused, extra }) {
  const panel = el("section", { class: "card hold", tabindex: "-1", "aria-labelledby": "hold-title" },
    el("h2", { id: "hold-title" }, t.demo_held_for_you),
    priceList(lines),
    extra,
    el("p", { class: "sum" }, el("span", {}, t.demo_total), el("strong", {}, total)),
    countdown(until, over),
    el("div", { class: "row" },
      button(t.demo_pay, pay, { kind: "primary big", id: "pay", refused }),
      button(t.demo_let_go, letGo, { id: "let-go" })));
  return panel;
}

/** The panel of an expired hold, with a button to hold again. */
export function showTimeIsUp(again, refused) {
  unsay();
  show(el("section", { class: "card kind", tabindex: "-1", id: "time-is-up" },
    el("h2", {}, t.demo_time_is_up),
    el("p", {}, t.demo_time_is_up_way),
    el("div", { class: "row" }, button(t.demo_try_again, again, { kind: "primary", id: "again", refused }))));
  focus(document.getElementById("time-is-up"));
}

/** The panel of a confirmed booking. */
export function showDone({ title, name, number, lines, actions }) {
  show(el("section", { class: "card done", tabindex: "-1", id: "done" },
    el("h2", {}, el("span", { class: "tick", "aria-hidden": "true" }, "✓"), title),
    el("p", { class: "number" }, `${name} `, el("strong", { id: "number" }, number)),
    priceList(lines),
    el("div", { class: "row" }, actions)));
  focus(document.getElementById("done"));
}

/** A line with an amount. */
const priceList = (lines) => el("ul", { class: "lines" },
  lines.map(([what, price]) => el("li", {}, el("span", {}, what), price && el("span", {}, price))));

/** Moves the focus, for keyboards and screen readers. */
export function focus(element) {
  element?.focus({ preventScroll: false });
  return element;
}

/** Asks for confirmation of an irreversible action. */
export function ask(title, text, yes, no) {
  return new Promise((resolve) => {
    const answer = () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    };
    const dialog = el("dialog", { "aria-labelledby": "ask-title", onclose: answer },
      el("h2", { id: "ask-title" }, title),
      el("p", {}, text),
      el("form", { method: "dialog", class: "row" },
        el("button", { value: "no" }, no),
        el("button", { value: "yes", class: "primary", id: "yes" }, yes)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Repeats an action while the page is visible; returns a function that stops it. */
export function every(milliseconds, act) {
  let stopped = false, timer;
  const again = async () => {
    if (stopped) return;
    if (!document.hidden) {
      try {
        await act();
      } catch (error) {
        // Errors of background polling are ignored; errors of buttons are shown.
        if (!(error instanceof Refusal)) throw error;
      }
    }
    if (!stopped) timer = setTimeout(again, milliseconds);
  };
  timer = setTimeout(again, milliseconds);
  return () => { stopped = true; clearTimeout(timer); };
}

export function whoIs(number) {
  const who = document.getElementById("who");
  who.hidden = false;
  who.replaceChildren(el("span", { id: "customer" }, fill(t.demo_you_are, { number })),
    el("button", { type: "button", class: "slim plain", onclick: switchCustomer }, needsToken ? t.nav_sign_out : t.demo_not_you));
}
