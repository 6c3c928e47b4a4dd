// Stays: one month per room type as a heat map.
import { act, ending } from "./act.js";
import { button, day, fill, h, live, mark, money, number, t, table } from "./kit.js";

let month = day.today().slice(0, 7);

const tools = document.getElementById("tools");
const picker = h("input", { type: "month", id: "month", "aria-label": t.stays_month, value: month, onchange: (event) => go(event.target.value) });
const step = (sign, label, months) => h("button", { type: "button", class: "square", "aria-label": label, onclick: () => go(shift(months)) }, sign);
tools.append(h("span", { class: "steps" }, step("‹", t.common_previous, -1), picker, step("›", t.common_next, 1)), button(t.stays_create, create, "primary"));

function shift(months) {
  const [year, number] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 + months, 1)).toISOString().slice(0, 7);
}

function go(value) {
  if (!/^\d{4}-\d{2}$/.test(value)) return;
  month = value;
  picker.value = value;
  page.choose({ month });
}

const page = live("stays", { month }, (data) => {
  const { types, reservations } = data;
  const names = new Map(types.map((type) => [type.id, type.name]));
  return [
    types.length === 0 ? h("p", { class: "empty" }, t.common_none) : h("div", { class: "grid maps" }, types.map((type) => card(type, data[`nights:${type.id}`]))),
    legend(),
    h("section", { class: "card" }, h("h2", {}, t.stays_reservations), table(
      ["#", t.common_name, t.stays_dates, t.common_user, [t.common_price], t.common_status, ""],
      reservations.map((it) => [h("a", { href: `/console/search?q=${it.reservationId}` }, it.reservationId), names.get(it.roomTypeId) ?? it.roomTypeId, `${it.checkIn} – ${it.checkOut}`, it.userId, money(it.price, it.currency), mark(it.status),
        it.status === "CONFIRMED" && ending(t.stays_cancel, t.stays_will_cancel, it.reservationId, `/v1/reservations/${it.reservationId}/cancel`)]),
    )),
  ];
});

function card(type, nights) {
  const weekdays = Array.from({ length: 7 }, (_, at) => day.name(day.plus("2024-01-01", at), { weekday: "short" }));
  const cells = [...Array(day.weekday(nights[0].date)).fill(null), ...nights];
  const weeks = [];
  for (let at = 0; at < cells.length; at += 7) weeks.push(cells.slice(at, at + 7));
  const today = day.today(type.timeZone);
  const taken = nights.reduce((total, it) => total + it.reservedCount + it.holdCount, 0);
  const places = nights.reduce((total, it) => total + it.totalQuantity, 0);
  return h("section", { class: "card" },
    h("header", { class: "row between" },
      h("div", {}, h("h2", {}, type.name), h("p", { class: "quiet small" }, fill(t.stays_rooms, { n: number(type.totalQuantity), price: money(type.basePrice, type.currency) }))),
      h("div", { class: "row" }, h("span", { class: "mark accent" }, `${places ? Math.round((taken / places) * 100) : 0} %`), button(t.stays_change, () => change(type), "slim"))),
    h("table", { class: "heat" },
      h("caption", { class: "visually-hidden" }, `${type.name}, ${month}`),
      h("thead", {}, h("tr", {}, weekdays.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, weeks.map((week) => h("tr", {}, week.map((night) => h("td", {}, night && cell(type, night, today))))))));
}

function cell(type, night, today) {
  const share = night.totalQuantity > 0 ? (night.reservedCount + night.holdCount) / night.totalQuantity : 1;
  const level = night.closed ? "closed" : `level-${share === 0 ? 0 : Math.min(5, 1 + Math.floor(share * 4))}`;
  const label = fill(t.stays_night, { date: night.date, free: night.available, total: night.totalQuantity, reserved: night.reservedCount, held: night.holdCount }) + (night.closed ? `, ${t.common_closed}` : "");
  const isPast = night.date < today;
  return h("button", { type: "button", class: `night ${level} ${night.holdCount > 0 ? "has-held" : ""} ${night.date === today ? "is-today" : ""}`, title: label, disabled: isPast, "data-night": `${type.id}:${night.date}`, id: `night-${type.id}-${night.date}`, onclick: () => toggle(type, night) },
    h("span", { class: "date", "aria-hidden": true }, Number(night.date.slice(8))), h("span", { class: "left", "aria-hidden": true }, night.closed ? "×" : night.available), h("span", { class: "visually-hidden" }, label));
}

function legend() {
  const key = (name, label) => h("span", { class: "row" }, h("span", { class: `swatch ${name}` }), label);
  return h("p", { class: "legend row quiet small" }, key("level-0", "0 %"), key("level-2", "25 %"), key("level-3", "50 %"), key("level-4", "75 %"), key("level-5", "100 %"), key("level-0 has-held", t.common_held), key("closed", t.common_closed));
}

function toggle(type, night) {
  const verb = night.closed ? "open" : "close";
  act({
    title: t[`stays_${verb}`],
    fields: [{ name: "from", label: t.common_from, type: "date", value: night.date }, { name: "to", label: t.stays_until, type: "date", value: day.plus(night.date, 1) }],
    will: (values) => fill(t[`stays_will_${verb}`], values),
    tone: night.closed ? "" : "danger",
    request: (values) => ({ method: "POST", path: `/v1/room-types/${type.id}/${verb}-nights`, body: values }),
  });
}

const fields = (type) => [
  { name: "name", label: t.common_name, value: type?.name, wide: true },
  { name: "totalQuantity", label: t.stays_quantity, type: "integer", value: type?.totalQuantity ?? 1 },
  { name: "basePrice", label: t.stays_per_night, type: "integer", value: type?.basePrice ?? 100000 },
  { name: "description", label: t.stays_description, required: false, maxlength: 2000, value: type?.description, wide: true },
];
const sentence = (text, currency) => (values) => fill(text, { name: values.name ?? "…", n: number(values.totalQuantity ?? 0), price: money(values.basePrice ?? 0, values.currency ?? currency) });

function create() {
  act({
    title: t.stays_create,
    fields: [...fields(), { name: "timeZone", label: t.common_time_zone, required: false }, { name: "currency", label: t.common_currency, required: false, maxlength: 3, pattern: "[A-Z]{3}" }],
    will: sentence(t.stays_will_create, "KRW"),
    request: (body) => ({ method: "POST", path: "/v1/room-types", body }),
  });
}

function change(type) {
  act({ title: t.stays_change, fields: fields(type), will: sentence(t.stays_will_change, type.currency), request: (body) => ({ method: "PATCH", path: `/v1/room-types/${type.id}`, body: { ...body, description: body.description ?? null } }) });
}
