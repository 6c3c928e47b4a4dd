// Rooms by the hour: a week with its prices.
import { act, ending } from "./act.js";
import { all, api, button, day, fill, follow, h, latest, mark, money, number, page, select, status, t, table } from "./kit.js";

let rooms = [];
let room;
let monday;

const tools = document.getElementById("tools");

const refresh = page(async () => {
  rooms = await all("/v1/rooms");
  room = rooms.find((it) => it.id === room?.id) ?? rooms[0];
  if (room) {
    const today = day.today(room.timeZone);
    monday ??= day.plus(today, -day.weekday(today));
  }
  showTools();
  if (!room) return h("p", { class: "empty" }, t.common_none);
  const sunday = day.plus(monday, 6);
  const [slots, stats, reservations] = await Promise.all([
    api(`/v1/rooms/${room.id}/slots?from=${monday}&to=${sunday}`), api(`/v1/rooms/${room.id}/stats?from=${monday}&to=${sunday}`), latest(`/v1/room-reservations?roomId=${room.id}`)]);
  const tile = (label, value) => h("div", { class: "tile" }, h("dt", {}, label), h("dd", {}, value));
  return [
    h("dl", { class: "tiles slim" }, tile(t.rooms_utilization, `${Math.round(stats.utilization * (stats.utilization <= 1 ? 100 : 1))} %`), tile(t.rooms_reserved_slots, [number(stats.reservedSlots), h("small", {}, ` / ${number(stats.totalSlots)}`)]), tile(t.rooms_revenue, money(stats.revenue, stats.currency))),
    h("section", { class: "card" }, h("header", { class: "row between" }, h("h2", {}, room.name), legend()), slots.length === 0 ? h("p", { class: "empty" }, t.rooms_none) : week(slots)),
    h("section", { class: "card" }, h("h2", {}, t.rooms_reservations), table(
      ["#", t.common_user, t.rooms_slots, [t.common_price], t.common_status, ""],
      reservations.slice(0, 15).map((it) => [h("a", { href: `/console/search?q=${it.reservationId}` }, it.reservationId), it.userId, it.slots.map((slot) => `${slot.date} ${slot.time}`).join(", "), money(it.totalPrice, it.currency), mark(it.status),
        it.status === "RESERVED" && ending(t.stays_cancel, t.rooms_will_cancel, it.reservationId, `/v1/room-reservations/${it.reservationId}/cancel`, refresh)]))),
  ];
});

follow("room.", { refresh });

function week(slots) {
  const days = Array.from({ length: 7 }, (_, at) => day.plus(monday, at));
  const times = [...new Set(slots.map((slot) => slot.time))].sort();
  const found = new Map(slots.map((slot) => [`${slot.date} ${slot.time}`, slot]));
  const today = day.today(room.timeZone);
  return h("div", { class: "scroll" }, h("table", { class: "week" },
    h("thead", {}, h("tr", {}, h("th", {}, h("span", { class: "visually-hidden" }, t.tee_time)), days.map((date) => h("th", { scope: "col", class: date === today ? "is-today" : "" }, day.name(date, { weekday: "short", day: "numeric", month: "numeric" }))))),
    h("tbody", {}, times.map((time) => h("tr", {}, h("th", { scope: "row" }, time), days.map((date) => h("td", {}, cell(found.get(`${date} ${time}`)))))))));
}

function cell(slot) {
  if (!slot) return undefined;
  const notes = [slot.isPeakTime && t.rooms_peak, slot.isHoliday && t.rooms_holiday].filter(Boolean);
  const price = money(slot.finalPrice, slot.currency);
  const label = [`${slot.date} ${slot.time}`, price, status(slot.status), ...notes].join(", ");
  const canChange = ["AVAILABLE", "BLOCKED", "MAINTENANCE"].includes(slot.status);
  return h("button", { type: "button", class: `slot ${slot.isPeakTime || slot.isHoliday ? "is-dear" : ""}`, id: `slot-${slot.date}-${slot.time}`, "data-status": slot.status, "aria-label": label, title: label, disabled: !canChange, onclick: () => toggle(slot) }, slot.status === "AVAILABLE" ? price : status(slot.status));
}

function legend() {
  return h("p", { class: "legend" }, [["swatch-free", "AVAILABLE"], ["swatch-held", "LOCKED"], ["swatch-sold", "RESERVED"], ["swatch-closed", "BLOCKED"]].map(([name, code]) => h("span", { class: `key ${name}` }, status(code))), h("span", { class: "key swatch-dear" }, `${t.rooms_peak} · ${t.rooms_holiday}`));
}

function showTools() {
  tools.replaceChildren(...(room ? [
    select(t.rooms_room, rooms.map((it) => [it.id, it.name]), room.id, (id) => { room = { id: Number(id) }; refresh(); }),
    h("button", { type: "button", class: "square", "aria-label": t.common_previous, onclick: () => go(-7) }, "‹"),
    h("input", { type: "date", "aria-label": t.common_date, value: monday, onchange: ({ target }) => { if (target.value) { monday = day.plus(target.value, -day.weekday(target.value)); refresh(); } } }),
    h("button", { type: "button", class: "square", "aria-label": t.common_next, onclick: () => go(7) }, "›"),
    button(t.rooms_change, change), button(t.rooms_hours, hours), button(t.rooms_generate, generate), button(t.rooms_reprice, reprice), button(t.rooms_holidays, holidays),
  ] : []), button(t.rooms_create, create, "primary"));
}

function go(days) {
  monday = day.plus(monday, days);
  refresh();
}

function toggle(slot) {
  const place = { date: slot.date, times: [slot.time] };
  if (slot.status === "AVAILABLE") {
    act({
      title: t.rooms_block,
      fields: [{ name: "status", label: t.common_status, options: [["BLOCKED", t.rooms_as_blocked], ["MAINTENANCE", t.rooms_as_maintenance]], value: "BLOCKED", wide: true }],
      will: fill(t.rooms_will_block, { date: slot.date, time: slot.time }),
      tone: "danger",
      request: (it) => ({ method: "POST", path: `/v1/rooms/${room.id}/block`, body: { ...place, ...it } }),
      done: refresh,
    });
  } else {
    act({ title: t.rooms_unblock, will: fill(t.rooms_will_unblock, { date: slot.date, time: slot.time }), request: () => ({ method: "POST", path: `/v1/rooms/${room.id}/unblock`, body: place }), done: refresh });
  }
}

function create() {
  act({
    title: t.rooms_create,
    fields: [{ name: "name", label: t.common_name, wide: true }, { name: "slotMinutes", label: t.rooms_minutes, type: "integer", min: 1, value: 60 }, { name: "basePrice", label: t.rooms_base_price, type: "integer", value: 20000 }, { name: "timeZone", label: t.common_time_zone, required: false }, { name: "currency", label: t.common_currency, required: false, maxlength: 3 }],
    will: (it) => fill(t.rooms_will_create, { name: it.name ?? "…" }),
    request: (body) => ({ method: "POST", path: "/v1/rooms", body }),
    done: (made) => { room = made; return refresh(); },
  });
}

async function hours() {
  const { weekly, exceptions } = await api(`/v1/rooms/${room.id}/operating-hours`);
  const open = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].map((name) => [name, weekly[name] ?? []]).filter(([, hours]) => hours.length > 0);
  const usual = open[0]?.[1][0] ?? { from: "09:00", to: "18:00" };
  act({
    title: t.rooms_hours,
    fields: [{ name: "days", label: t.rooms_days, value: open.map(([name]) => name).join(","), wide: true }, { name: "from", label: t.common_from, value: usual.from, maxlength: 5 }, { name: "to", label: t.common_to, value: usual.to, maxlength: 5 }],
    will: (it) => fill(room.generatedUntil ? t.rooms_will_hours : t.rooms_will_first_hours, { days: it.days ?? "…", from: it.from ?? "…", to: it.to ?? "…" }),
    // Days that are an exception stay one.
    request: ({ days, from, to }) => ({ method: "PUT", path: `/v1/rooms/${room.id}/operating-hours`, body: { weekly: Object.fromEntries(days.split(",").map((name) => [name.trim(), [{ from, to }]])), exceptions } }),
    done: refresh,
  });
}

function change() {
  act({
    title: t.rooms_change,
    fields: [{ name: "name", label: t.common_name, value: room.name, wide: true }, { name: "basePrice", label: t.rooms_base_price, type: "integer", value: room.basePrice }, { name: "active", label: t.rooms_active, type: "checkbox", value: room.active }],
    will: (it) => fill(it.active ? t.rooms_will_change : t.rooms_will_rest, { name: it.name ?? "…", price: money(it.basePrice ?? 0, room.currency) }),
    request: (body) => ({ method: "PATCH", path: `/v1/rooms/${room.id}`, body }),
    done: refresh,
  });
}

function generate() {
  act({ title: t.rooms_generate, will: t.rooms_will_generate, request: () => ({ method: "POST", path: "/v1/calendar/generate", body: { roomId: room.id } }), done: refresh });
}

function reprice() {
  act({ title: t.rooms_reprice, fields: [{ name: "from", label: t.common_from, type: "date", value: monday }, { name: "to", label: t.common_to, type: "date", value: day.plus(monday, 6) }], will: (it) => fill(t.rooms_will_reprice, { from: it.from ?? "…", to: it.to ?? "…" }), request: (body) => ({ method: "POST", path: `/v1/rooms/${room.id}/reprice`, body }), done: refresh });
}

async function holidays() {
  const country = room.country ?? "KR";
  const known = await api(`/v1/holidays?country=${encodeURIComponent(country)}`);
  act({
    title: t.rooms_holidays,
    fields: [{ name: "dates", label: `${t.rooms_dates} · ${country}`, required: false, maxlength: 5000, value: known.dates.join(", "), wide: true }],
    will: fill(t.rooms_will_holidays, { country }),
    request: ({ dates }) => ({ method: "PUT", path: "/v1/holidays", body: { country, dates: (dates ?? "").split(",").map((date) => date.trim()).filter(Boolean) } }),
    done: refresh,
  });
}
