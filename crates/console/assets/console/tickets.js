// Tickets: the seat map of an event with live states, and its waiting room.
import { act, ending } from "./act.js";
import { button, fill, h, live, mark, moment, money, number, select, status, t, table } from "./kit.js";

/** Maximum number of seats on the map; larger events show counts by section. */
const DRAWN_MAX = 3000;
const CODES = { A: "AVAILABLE", H: "HELD", R: "RESERVED" };

let event;
let drawn = [];

const tools = document.getElementById("tools");

const page = live("tickets", { event: new URLSearchParams(location.search).get("event") ?? undefined }, (data, news) => {
  event = data.events.find((it) => it.id === data.chosen);
  if (news.events || news.chosen) {
    tools.replaceChildren(...(event ? [select(t.tickets_event, data.events.map((it) => [it.id, it.name]), event.id, (id) => page.choose({ event: id })), button(t.tickets_change, change)] : []), button(t.tickets_create, create, "primary"));
  }
  if (!event) return h("p", { class: "empty" }, t.common_none);
  // Most updates change the colour of a few seats or the queue figures only.
  if (!news.events && !news.chosen && !news.seats && !news.reservations && data.seats.length <= DRAWN_MAX) {
    if (news.queue) document.getElementById("queue").replaceChildren(...queueTiles(data.queue));
    if (news.statuses) repaint(data);
    return undefined;
  }
  drawn = [];
  return [
    h("section", { class: "card" }, h("header", { class: "row between" }, h("h2", {}, t.tickets_waiting_room), queueTools()), h("dl", { class: "tiles slim", id: "queue" }, queueTiles(data.queue))),
    h("section", { class: "card" },
      h("header", { class: "row between" }, h("div", {}, h("h2", {}, `${event.name} · ${t.tickets_seats}`), dates()), h("p", { class: "legend", id: "counts" }, counts(data.statuses))),
      data.seats.length > DRAWN_MAX ? bySection(data) : plan(data)),
    h("section", { class: "card" }, h("h2", {}, t.tickets_reservations), table(
      ["#", t.common_user, t.tickets_seats, [t.common_price], t.common_status, ""],
      data.reservations.map((it) => [h("a", { href: `/console/search?q=${it.reservationId}` }, it.reservationId), it.userId, it.seats.map((seat) => seat.label).join(", "), money(it.totalPrice, it.currency), mark(it.status),
        it.status === "RESERVED" && ending(t.stays_cancel, t.tickets_will_cancel, it.reservationId, `/v1/seat-reservations/${it.reservationId}/cancel`)]))),
  ];
});

function dates() {
  const parts = [[t.tickets_starts, event.startsAt], [t.tickets_opens, event.salesOpenAt]].filter(([, at]) => at);
  return h("p", { class: "quiet small" }, parts.flatMap(([label, at], index) => [index > 0 && " · ", `${label} `, moment(at)]), parts.length > 0 && " · ", fill(t.tickets_per_user, { n: number(event.maxSeatsPerUser) }));
}

function queueTiles(queue) {
  if (!queue) return [h("div", { class: "tile" }, h("dt", {}, t.tickets_waiting_room), h("dd", { class: "wordy" }, t.tickets_no_queue))];
  const tile = (label, value) => h("div", { class: "tile" }, h("dt", {}, label), h("dd", {}, value));
  return [tile(t.tickets_waiting, number(queue.waiting)), tile(t.tickets_ready, number(queue.ready)), tile(t.tickets_inside, [number(queue.entered), h("small", {}, ` / ${number(queue.maxConcurrent)}`)]), tile(t.tickets_rate, queue.paused ? h("span", { class: "mark held" }, t.tickets_paused) : number(queue.admittedPerMinute))];
}

function queueTools() {
  if (!event.queueEnabled) return undefined;
  const verb = event.paused ? "resume" : "pause";
  return h("div", { class: "row" },
    button(t.tickets_limit, limit, "slim"),
    button(t[`tickets_${verb}`], () => act({ title: t[`tickets_${verb}`], will: t[`tickets_will_${verb}`], tone: event.paused ? "" : "danger", request: () => ({ method: "POST", path: `/v1/events/${event.id}/queue/${verb}` }) }), event.paused ? "slim primary" : "slim danger"));
}

function plan({ seats, statuses }) {
  const rows = new Map();
  seats.forEach((seat, at) => {
    const row = `${seat.section ?? ""}\u0000${/^\D+/.exec(seat.label)?.[0] ?? ""}`;
    rows.set(row, [...(rows.get(row) ?? []), at]);
  });
  let last;
  const lines = [...rows].map(([key, row]) => {
    const [section, letter] = key.split("\u0000");
    const head = section !== last && h("p", { class: "section-name" }, section, " ", h("span", { class: "quiet" }, money(seats[row[0]].price, event.currency)));
    last = section;
    return [head, h("div", { class: "seat-row" }, h("span", { class: "row-name", "aria-hidden": true }, letter), row.map((at) => draw(at, seats[at], statuses[at])))];
  });
  return h("div", { class: "seats scroll", role: "group", "aria-label": t.tickets_seats, tabindex: 0 }, h("div", { class: "stage", "aria-hidden": true }), lines);
}

function draw(at, seat, code) {
  const element = h("span", { class: "seat", role: "img" }, /\d+$/.exec(seat.label)?.[0] ?? seat.label);
  drawn[at] = { element, code: undefined };
  paint(at, seat, code);
  return element;
}

function paint(at, seat, code) {
  const place = drawn[at];
  if (place.code === code) return;
  place.code = code;
  place.element.dataset.status = CODES[code];
  place.element.setAttribute("aria-label", fill(t.tickets_seat, { label: seat.label, section: seat.section ?? "", price: money(seat.price, event.currency), status: status(CODES[code]) }));
  place.element.title = place.element.getAttribute("aria-label");
}

function repaint({ seats, statuses }) {
  seats.forEach((seat, at) => paint(at, seat, statuses[at]));
  document.getElementById("counts").replaceChildren(...counts(statuses));
}

function counts(statuses) {
  const count = (code) => number(statuses.split(code).length - 1);
  return [["A", "free"], ["H", "held"], ["R", "sold"]].map(([code, name]) => h("span", { class: `key swatch-${name}` }, `${t[`common_${name}`]} ${count(code)}`));
}

function bySection({ seats, statuses }) {
  const sections = new Map();
  seats.forEach((seat, at) => {
    const section = sections.get(seat.section ?? "") ?? { A: 0, H: 0, R: 0 };
    section[statuses[at]] += 1;
    sections.set(seat.section ?? "", section);
  });
  return [h("p", { class: "quiet" }, t.tickets_many), table([t.tickets_section, [t.common_free], [t.common_held], [t.common_sold]], [...sections].map(([name, it]) => [name, number(it.A), number(it.H), number(it.R)]))];
}

function limit() {
  act({ title: t.tickets_limit, fields: [{ name: "maxConcurrent", label: t.tickets_inside_max, type: "integer", min: 1, value: event.maxConcurrent }], will: (it) => fill(t.tickets_will_limit, { n: number(it.maxConcurrent ?? 0) }), request: (body) => ({ method: "PATCH", path: `/v1/events/${event.id}`, body }) });
}

const settings = (of, ...more) => [
  { name: "name", label: t.common_name, value: of?.name, wide: true },
  { name: "startsAt", label: t.tickets_starts, type: "moment", required: false, value: of?.startsAt, hint: t.common_here },
  { name: "salesOpenAt", label: t.tickets_opens, type: "moment", required: false, value: of?.salesOpenAt, hint: t.tickets_opens_hint },
  { name: "maxSeatsPerUser", label: t.tickets_seats_per_user, type: "integer", min: 1, value: of?.maxSeatsPerUser ?? 10 },
  { name: "maxConcurrent", label: t.tickets_inside_max, type: "integer", min: 1, value: of?.maxConcurrent ?? 800 },
  ...more,
  { name: "queueEnabled", label: t.tickets_queue, type: "checkbox", value: of?.queueEnabled ?? true },
];

const written = (at) => new Date(at).toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
const door = (it) => (it.queueEnabled ? fill(t.tickets_with_queue, { n: number(it.maxConcurrent ?? 0) }) : t.tickets_without_queue);

function change() {
  act({
    title: t.tickets_change,
    fields: settings(event),
    will: (it) => `${fill(it.salesOpenAt ? t.tickets_will_change_from : t.tickets_will_change, { name: it.name ?? "…", at: it.salesOpenAt && written(it.salesOpenAt) })} ${door(it)}`,
    request: (it) => ({ method: "PATCH", path: `/v1/events/${event.id}`, body: { ...it, startsAt: it.startsAt ?? null, salesOpenAt: it.salesOpenAt ?? null } }),
  });
}

/** Row letters: A, B … Z, AA, AB … */
const letters = (at) => (at < 26 ? "" : letters(Math.floor(at / 26) - 1)) + String.fromCharCode(65 + (at % 26));

/** Rows are lettered across all sections, so that labels are unique. */
function seatsOf(sections) {
  let row = 0;
  return sections.flatMap(({ section, rows = 0, length = 0, price }) => Array.from({ length: Math.min(rows, 1000) }, () => {
    const letter = letters(row);
    row += 1;
    return Array.from({ length: Math.min(length, 10000) }, (_, at) => ({ label: `${letter}${at + 1}`, section, price }));
  }).flat());
}

function create() {
  act({
    title: t.tickets_create,
    fields: [
      ...settings(undefined, { name: "currency", label: t.common_currency, required: false, maxlength: 3, pattern: "[A-Z]{3}" }),
      { name: "sections", label: t.tickets_sections, type: "rows", add: t.tickets_add_section, value: [{}], columns: [{ name: "section", label: t.tickets_section, required: false, maxlength: 100 }, { name: "rows", label: t.tickets_rows, type: "integer", min: 1, max: 1000, value: 5 }, { name: "length", label: t.tickets_seats_per_row, type: "integer", min: 1, max: 10000, value: 12 }, { name: "price", label: t.common_price, type: "integer", value: 50000 }] },
    ],
    will: (it) => {
      const prices = it.sections.map((section) => section.price ?? 0);
      const price = [...new Set([Math.min(...prices), Math.max(...prices)])].map((amount) => money(Number.isFinite(amount) ? amount : 0, it.currency?.length === 3 ? it.currency : "KRW")).join(" – ");
      const count = it.sections.reduce((sum, { rows = 0, length = 0 }) => sum + rows * length, 0);
      const sentence = it.salesOpenAt ? t.tickets_will_create_from : t.tickets_will_create;
      return `${fill(sentence, { name: it.name ?? "…", n: number(count), price, at: it.salesOpenAt && written(it.salesOpenAt) })} ${door(it)}`;
    },
    request: ({ sections, ...body }) => ({ method: "POST", path: "/v1/events", body: { ...body, seats: seatsOf(sections) } }),
    done: (made) => page.choose({ event: made.id }),
  });
}
