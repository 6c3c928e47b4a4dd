// Tickets: the seats of an event, changing colour as they are held and sold, and its waiting room.
import { act, ending } from "./act.js";
import { all, api, button, fill, follow, h, latest, mark, money, number, page, select, status, t, table } from "./kit.js";

/** Beyond this many seats they are counted by section. */
const DRAWN_MAX = 3000;
const LOOK_EVERY = 3000;

let events = [];
let event;
let seats = new Map();
let drawn = new Map();

const tools = document.getElementById("tools");

const refresh = page(async () => {
  events = await all("/v1/events");
  event = events.find((it) => it.id === event?.id) ?? events[0];
  tools.replaceChildren(...(event ? [select(t.tickets_event, events.map((it) => [it.id, it.name]), event.id, (id) => { event = { id: Number(id) }; refresh(); })] : []), button(t.tickets_create, create, "primary"));
  if (!event) return h("p", { class: "empty" }, t.common_none);
  const [list, reservations, queue] = await Promise.all([api(`/v1/events/${event.id}/seats`), latest("/v1/seat-reservations"), stats()]);
  seats = new Map(list.map((seat) => [seat.id, seat]));
  drawn = new Map();
  const own = reservations.filter((it) => it.eventId === event.id).slice(0, 20);
  return [
    h("section", { class: "card" }, h("header", { class: "row between" }, h("h2", {}, t.tickets_waiting_room), queueTools()), h("dl", { class: "tiles slim", id: "queue" }, queueTiles(queue))),
    h("section", { class: "card" },
      h("header", { class: "row between" }, h("h2", {}, `${event.name} · ${t.tickets_seats}`), h("p", { class: "legend", id: "counts" }, counts())),
      list.length > DRAWN_MAX ? bySection(list) : plan(list)),
    h("section", { class: "card" }, h("h2", {}, t.tickets_reservations), table(
      ["#", t.common_user, t.tickets_seats, [t.common_price], t.common_status, ""],
      own.map((it) => [h("a", { href: `/console/search?q=${it.reservationId}` }, it.reservationId), it.userId, it.seats.map((seat) => seat.label).join(", "), money(it.totalPrice, it.currency), mark(it.status),
        it.status === "RESERVED" && ending(t.stays_cancel, t.tickets_will_cancel, it.reservationId, `/v1/seat-reservations/${it.reservationId}/cancel`, refresh)]))),
  ];
});

const changes = { "seat.held": "HELD", "seat.released": "AVAILABLE", "seat.reserved": "RESERVED", "seat.cancelled": "AVAILABLE" };
follow("seat.,queue.", {
  refresh,
  changed: ({ type, data }) => {
    if (data.eventId !== event?.id) return true;
    if (type === "queue.admitted") return true;
    for (const { id } of data.seats ?? []) set(id, changes[type]);
    // Nobody says when a hold runs out: look again then.
    if (type === "seat.held") setTimeout(refresh, Date.parse(data.expiresAt) - Date.now() + 1500);
    return type !== "seat.reserved" && type !== "seat.cancelled";
  },
});
setInterval(async () => {
  const place = document.getElementById("queue");
  if (event?.queueEnabled && place && document.visibilityState === "visible") place.replaceChildren(...queueTiles(await stats().catch(() => null)));
}, LOOK_EVERY);

const stats = () => (event.queueEnabled ? api(`/v1/events/${event.id}/queue/stats`) : Promise.resolve(null));

function queueTiles(queue) {
  if (!queue) return [h("div", {}, h("dt", { class: "quiet" }, t.tickets_no_queue))];
  const tile = (label, value) => h("div", { class: "tile" }, h("dt", {}, label), h("dd", {}, value));
  return [tile(t.tickets_waiting, number(queue.waiting)), tile(t.tickets_ready, number(queue.ready)), tile(t.tickets_inside, [number(queue.entered), h("small", {}, ` / ${number(queue.maxConcurrent)}`)]), tile(t.tickets_rate, queue.paused ? h("span", { class: "mark held" }, t.tickets_paused) : number(queue.admittedPerMinute))];
}

function queueTools() {
  if (!event.queueEnabled) return undefined;
  const verb = event.paused ? "resume" : "pause";
  return h("div", { class: "row" },
    button(t.tickets_limit, limit, "slim"),
    button(t[`tickets_${verb}`], () => act({ title: t[`tickets_${verb}`], will: t[`tickets_will_${verb}`], tone: event.paused ? "" : "danger", request: () => ({ method: "POST", path: `/v1/events/${event.id}/queue/${verb}` }), done: refresh }), event.paused ? "slim primary" : "slim danger"));
}

function plan(list) {
  const rows = new Map();
  for (const seat of list) {
    const row = `${seat.section ?? ""}\u0000${/^\D+/.exec(seat.label)?.[0] ?? ""}`;
    rows.set(row, [...(rows.get(row) ?? []), seat]);
  }
  let last;
  const lines = [...rows].map(([key, row]) => {
    const [section, letter] = key.split("\u0000");
    const head = section !== last && h("p", { class: "section-name" }, section, " ", h("span", { class: "quiet" }, money(row[0].price, event.currency)));
    last = section;
    return [head, h("div", { class: "seat-row" }, h("span", { class: "row-name", "aria-hidden": true }, letter), row.map(draw))];
  });
  return h("div", { class: "seats scroll", role: "group", "aria-label": t.tickets_seats }, h("div", { class: "stage", "aria-hidden": true }), lines);
}

function draw(seat) {
  const element = h("span", { class: "seat", role: "img" }, /\d+$/.exec(seat.label)?.[0] ?? seat.label);
  drawn.set(seat.id, element);
  paint(element, seat);
  return element;
}

function paint(element, seat) {
  element.dataset.status = seat.status;
  element.setAttribute("aria-label", fill(t.tickets_seat, { label: seat.label, section: seat.section ?? "", price: money(seat.price, event.currency), status: status(seat.status) }));
  element.title = element.getAttribute("aria-label");
}

function set(id, code) {
  const seat = seats.get(id);
  if (!seat) return;
  seat.status = code;
  const element = drawn.get(id);
  if (element) paint(element, seat);
  document.getElementById("counts")?.replaceChildren(...counts());
}

function counts() {
  const list = [...seats.values()];
  const count = (code) => number(list.filter((seat) => seat.status === code).length);
  return [["AVAILABLE", "free"], ["HELD", "held"], ["RESERVED", "sold"]].map(([code, name]) => h("span", { class: `key swatch-${name}` }, `${t[`common_${name}`]} ${count(code)}`));
}

function bySection(list) {
  const sections = new Map();
  for (const seat of list) {
    const section = sections.get(seat.section ?? "") ?? { AVAILABLE: 0, HELD: 0, RESERVED: 0 };
    section[seat.status] += 1;
    sections.set(seat.section ?? "", section);
  }
  return [h("p", { class: "quiet" }, t.tickets_many), table([t.tickets_section, [t.common_free], [t.common_held], [t.common_sold]], [...sections].map(([name, it]) => [name, number(it.AVAILABLE), number(it.HELD), number(it.RESERVED)]))];
}

function limit() {
  act({ title: t.tickets_limit, fields: [{ name: "maxConcurrent", label: t.tickets_inside_max, type: "integer", min: 1, value: event.maxConcurrent }], will: (it) => fill(t.tickets_will_limit, { n: number(it.maxConcurrent ?? 0) }), request: (body) => ({ method: "PATCH", path: `/v1/events/${event.id}`, body }), done: refresh });
}

function create() {
  act({
    title: t.tickets_create,
    fields: [{ name: "name", label: t.common_name, wide: true }, { name: "rows", label: t.tickets_rows, type: "integer", min: 1, max: 26, value: 5 }, { name: "length", label: t.tickets_seats_per_row, type: "integer", min: 1, max: 1000, value: 12 }, { name: "price", label: t.common_price, type: "integer", value: 50000 }, { name: "maxConcurrent", label: t.tickets_inside_max, type: "integer", min: 1, value: 100 }, { name: "queueEnabled", label: t.tickets_queue, type: "checkbox", value: true }],
    will: (it) => fill(t.tickets_will_create, { name: it.name ?? "…", n: number((it.rows ?? 0) * (it.length ?? 0)), price: money(it.price ?? 0, "KRW") }),
    request: ({ name, rows, length, price, maxConcurrent, queueEnabled }) => ({
      method: "POST",
      path: "/v1/events",
      body: { name, maxConcurrent, queueEnabled, seats: Array.from({ length: rows * length }, (_, at) => ({ label: `${String.fromCharCode(65 + Math.floor(at / length))}${(at % length) + 1}`, price })) },
    }),
    done: (made) => { event = made; return refresh(); },
  });
}
