// Tee times: the tee sheet of one day.
import { act } from "./act.js";
import { button, day, fill, h, live, mark, money, number, select, t } from "./kit.js";

let date;
let course;

const tools = document.getElementById("tools");

const page = live("tee", {}, (data, news) => {
  ({ course, date } = data.chosen ?? {});
  if (news.courses || news.chosen) showTools(data.courses);
  if (!data.chosen) return h("p", { class: "empty" }, t.common_none);
  const slots = [...data.slots].sort((a, b) => a.startTime.localeCompare(b.startTime));
  return h("section", { class: "card" },
    h("h2", {}, day.name(date, { dateStyle: "full" })),
    slots.length === 0 ? h("p", { class: "empty" }, t.tee_none) : h("div", { class: "scroll" }, h("table", { class: "sheet" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t.tee_time), h("th", { scope: "col" }, t.tee_places), h("th", { scope: "col" }, t.common_status), h("th", { scope: "col", class: "number" }, t.common_price), h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, t.common_actions)))),
      h("tbody", {}, slots.map(row)))));
});

function row(slot) {
  const label = fill(t.tee_places_of, { n: slot.bookedPlayers, max: slot.maxPlayers });
  const dots = Array.from({ length: Math.min(slot.maxPlayers, 24) }, (_, at) => h("span", { class: `place ${at < slot.bookedPlayers ? "taken" : ""}` }));
  const isClosed = slot.status === "CLOSED";
  return h("tr", { "data-slot": slot.id, class: isClosed ? "is-closed" : "" },
    h("th", { scope: "row" }, slot.startTime),
    h("td", {}, h("span", { class: "places", role: "img", "aria-label": label }, dots), h("span", { class: "quiet small", "aria-hidden": true }, label)),
    h("td", {}, mark(slot.status)),
    h("td", { class: "number" }, money(slot.price, slot.currency)),
    h("td", { class: "number" }, isClosed ? button(t.tee_reopen, () => reopen(slot), "slim") : button(t.tee_close, () => close(slot), "slim danger")));
}

function showTools(courses) {
  tools.replaceChildren(
    ...(courses.length > 0 ? [
      select(t.tee_course, courses.map((it) => [it.id, it.name]), course, (id) => page.choose({ course: id })),
      h("span", { class: "steps" },
        h("button", { type: "button", class: "square", "aria-label": t.common_previous, onclick: () => page.choose({ date: day.plus(date, -1) }) }, "‹"),
        h("input", { type: "date", id: "date", "aria-label": t.common_date, value: date, onchange: (event) => event.target.value && page.choose({ date: event.target.value }) }),
        h("button", { type: "button", class: "square", "aria-label": t.common_next, onclick: () => page.choose({ date: day.plus(date, 1) }) }, "›")),
      button(t.tee_add, add),
    ] : []),
    button(t.tee_create, create, "primary"));
}

function close(slot) {
  act({
    title: t.tee_close,
    fields: [{ name: "cancelBookings", label: t.tee_cancel_bookings, type: "checkbox" }],
    will: (it) => fill(it.cancelBookings ? t.tee_will_close_all : t.tee_will_close, { time: `${slot.date} ${slot.startTime}`, n: slot.bookedPlayers }),
    tone: "danger",
    request: (body) => ({ method: "POST", path: `/v1/slots/${slot.id}/close`, body }),
  });
}

function reopen(slot) {
  act({ title: t.tee_reopen, will: fill(t.tee_will_reopen, { time: `${slot.date} ${slot.startTime}` }), request: () => ({ method: "POST", path: `/v1/slots/${slot.id}/reopen` }) });
}

function create() {
  act({ title: t.tee_create, fields: [{ name: "name", label: t.common_name, wide: true }, { name: "timeZone", label: t.common_time_zone, required: false, wide: true }], will: (it) => fill(t.tee_will_create, { name: it.name ?? "…" }), request: (body) => ({ method: "POST", path: "/v1/courses", body }), done: (made) => page.choose({ course: made.id }) });
}

const minutes = (text) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));
const clock = (minute) => `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;

function add() {
  act({
    title: t.tee_add,
    fields: [{ name: "date", label: t.common_date, type: "date", value: date }, { name: "from", label: t.common_from, type: "time", value: "09:00" }, { name: "to", label: t.common_to, type: "time", value: "10:00" }, { name: "every", label: t.tee_every, type: "integer", min: 1, max: 720, value: 10 }, { name: "maxPlayers", label: t.tee_players, type: "integer", min: 1, value: 4 }, { name: "price", label: t.tee_price, type: "integer", value: 12000 }, { name: "currency", label: t.common_currency, required: false, maxlength: 3, pattern: "[A-Z]{3}" }],
    will: (it) => fill(t.tee_will_add, { date: it.date ?? "…", from: it.from ?? "…", to: it.to ?? "…", every: it.every ?? "…", n: number(it.maxPlayers ?? 0) }),
    request: (it) => {
      const slots = [];
      for (let at = minutes(it.from); at < minutes(it.to) && slots.length < 1000; at += it.every) slots.push({ date: it.date, startTime: clock(at), maxPlayers: it.maxPlayers, price: it.price, currency: it.currency });
      return { method: "POST", path: `/v1/courses/${course}/slots`, body: { slots } };
    },
    done: (made) => page.choose({ date: made[0]?.date ?? date }),
  });
}
