// Rooms by the hour: a week with its prices.
import { act, ending, weekdays } from "./act.js";
import { api, button, day, fill, h, live, mark, money, number, say, select, status, t, table } from "./kit.js";

let room;
let monday;

const tools = document.getElementById("tools");

const page = live("rooms", {}, (data, news) => {
  room = data.rooms.find((it) => it.id === data.chosen?.room);
  monday = data.chosen?.from;
  if (news.rooms || news.chosen) showTools(data.rooms);
  if (!room) return h("p", { class: "empty" }, t.common_none);
  const { slots, stats, reservations } = data;
  const tile = (label, value) => h("div", { class: "tile" }, h("dt", {}, label), h("dd", {}, value));
  return [
    h("dl", { class: "tiles slim" }, tile(t.rooms_utilization, `${Math.round(stats.utilization * (stats.utilization <= 1 ? 100 : 1))} %`), tile(t.rooms_reserved_slots, [number(stats.reservedSlots), h("small", {}, ` / ${number(stats.totalSlots)}`)]), tile(t.rooms_revenue, money(stats.revenue, stats.currency))),
    h("section", { class: "card" }, h("header", { class: "row between" }, h("h2", {}, room.name), legend()), slots.length === 0 ? h("p", { class: "empty" }, t.rooms_none) : week(slots)),
    h("section", { class: "card" }, h("h2", {}, t.rooms_reservations), table(
      ["#", t.common_user, t.rooms_slots, [t.common_price], t.common_status, ""],
      reservations.map((it) => [h("a", { href: `/console/search?q=${it.reservationId}` }, it.reservationId), it.userId, it.slots.map((slot) => `${slot.date} ${slot.time}`).join(", "), money(it.totalPrice, it.currency), mark(it.status),
        it.status === "RESERVED" && ending(t.stays_cancel, t.rooms_will_cancel, it.reservationId, `/v1/room-reservations/${it.reservationId}/cancel`)]))),
  ];
});

function week(slots) {
  const days = Array.from({ length: 7 }, (_, at) => day.plus(monday, at));
  const times = [...new Set(slots.map((slot) => slot.time))].sort();
  const found = new Map(slots.map((slot) => [`${slot.date} ${slot.time}`, slot]));
  const today = day.today(room.timeZone);
  return h("div", { class: "scroll" }, h("table", { class: "week" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, t.tee_time)), days.map((date) => h("th", { scope: "col", class: date === today ? "is-today" : "" }, day.name(date, { weekday: "short", day: "numeric", month: "numeric" }))))),
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

function showTools(rooms) {
  const look = (from) => page.choose({ from });
  tools.replaceChildren(...(room ? [
    select(t.rooms_room, rooms.map((it) => [it.id, it.name]), room.id, (id) => page.choose({ room: id })),
    h("span", { class: "steps" },
      h("button", { type: "button", class: "square", "aria-label": t.common_previous, onclick: () => look(day.plus(monday, -7)) }, "‹"),
      h("input", { type: "date", id: "week", "aria-label": t.common_date, value: monday, onchange: ({ target }) => target.value && look(target.value) }),
      h("button", { type: "button", class: "square", "aria-label": t.common_next, onclick: () => look(day.plus(monday, 7)) }, "›")),
    button(t.rooms_change, change), button(t.rooms_pricing, pricing), button(t.rooms_hours, hours), button(t.rooms_generate, generate), button(t.rooms_reprice, reprice), button(t.rooms_holidays, holidays),
  ] : []), button(t.rooms_create, create, "primary"));
}

const minutes = (text) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));
const clock = (minute) => `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;

/** Returns the slots of a day between two times. */
function times({ from, to }, step) {
  const list = [];
  for (let at = minutes(from); at < minutes(to ?? clock(minutes(from) + step)) && list.length < 300; at += step) list.push(clock(at));
  return list;
}

function toggle(slot) {
  const isFree = slot.status === "AVAILABLE";
  const verb = isFree ? "block" : "unblock";
  const end = clock(minutes(slot.time) + slot.minutes);
  act({
    title: t[`rooms_${verb}`],
    fields: [
      { name: "from", label: t.common_from, type: "clock", maxlength: 5, value: slot.time }, { name: "to", label: t.common_to, type: "clock", maxlength: 5, value: end },
      ...(isFree ? [{ name: "status", label: t.common_status, options: [["BLOCKED", t.rooms_as_blocked], ["MAINTENANCE", t.rooms_as_maintenance]], value: "BLOCKED", wide: true }] : []),
    ],
    will: (it) => fill(t[`rooms_will_${verb}`], { date: slot.date, from: it.from ?? "…", to: it.to ?? "…" }),
    tone: isFree ? "danger" : "",
    request: (it) => ({ method: "POST", path: `/v1/rooms/${room.id}/${verb}`, body: { date: slot.date, times: times(it, slot.minutes), status: it.status } }),
  });
}

const peaks = (value) => ({
  name: "peak", label: t.rooms_peaks, type: "rows", add: t.rooms_add_peak, value, hint: t.rooms_peaks_hint,
  columns: [{ name: "days", label: t.rooms_days, type: "days", value: ["mon", "tue", "wed", "thu", "fri"] }, { name: "from", label: t.common_from, type: "clock", maxlength: 5, value: "18:00" }, { name: "to", label: t.common_to, type: "clock", maxlength: 5, value: "22:00" }, { name: "percent", label: t.rooms_percent, type: "integer", max: 1000, value: 50 }],
});
const holidayPercent = (value) => ({ name: "holidayPercent", label: t.rooms_holiday_percent, type: "integer", max: 1000, value });
const country = (value) => ({ name: "country", label: t.rooms_country, required: false, maxlength: 2, pattern: "[A-Z]{2}", value });

/** Describes the resulting prices. */
function prices(it, currency) {
  const price = (percent) => money(Math.round(((it.basePrice ?? 0) * (100 + percent)) / 100), currency);
  const peak = (it.peak ?? []).map((one) => fill(t.rooms_peak_is, { days: weekdays(one.days), from: one.from ?? "…", to: one.to ?? "…", price: price(one.percent ?? 0) }));
  return [fill(t.rooms_usual_is, { price: price(0) }), ...peak, it.holidayPercent > 0 && fill(t.rooms_holiday_is, { price: price(it.holidayPercent) })].filter(Boolean).join(" ");
}

function create() {
  act({
    title: t.rooms_create,
    fields: [
      { name: "name", label: t.common_name, wide: true }, { name: "slotMinutes", label: t.rooms_minutes, type: "integer", min: 5, max: 1440, value: 60 }, { name: "basePrice", label: t.rooms_base_price, type: "integer", value: 20000 },
      holidayPercent(0), country("KR"), { name: "timeZone", label: t.common_time_zone, required: false }, { name: "currency", label: t.common_currency, required: false, maxlength: 3, pattern: "[A-Z]{3}" },
      peaks([]),
      { name: "active", label: t.rooms_active, type: "checkbox", value: true },
    ],
    will: (it) => `${fill(t.rooms_will_create, { name: it.name ?? "…" })} ${prices(it, it.currency?.length === 3 ? it.currency : "KRW")}`,
    request: (body) => ({ method: "POST", path: "/v1/rooms", body }),
    done: (made) => page.choose({ room: made.id }),
  });
}

function change() {
  act({
    title: t.rooms_change,
    fields: [{ name: "name", label: t.common_name, value: room.name, wide: true }, { name: "slotMinutes", label: t.rooms_minutes, type: "integer", min: 5, max: 1440, value: room.slotMinutes }, country(room.country), { name: "active", label: t.rooms_active, type: "checkbox", value: room.active }],
    will: (it) => fill(it.active ? t.rooms_will_change : t.rooms_will_rest, { name: it.name ?? "…", minutes: it.slotMinutes ?? "…", country: it.country ?? room.country }),
    request: (body) => ({ method: "PATCH", path: `/v1/rooms/${room.id}`, body }),
  });
}

function pricing() {
  act({
    title: t.rooms_pricing,
    verb: t.common_apply,
    fields: [{ name: "basePrice", label: t.rooms_base_price, type: "integer", value: room.basePrice }, holidayPercent(room.holidayPercent), peaks(room.peak)],
    will: (it) => `${prices(it, room.currency)} ${t.rooms_will_price}`,
    request: (body) => ({ method: "PATCH", path: `/v1/rooms/${room.id}`, body }),
  });
}

/** Groups weekdays with equal hours into one line. */
function lines(weekly) {
  const found = new Map();
  for (const [name, hours] of Object.entries(weekly)) {
    for (const { from, to } of hours) found.set(`${from}-${to}`, { from, to, days: [...(found.get(`${from}-${to}`)?.days ?? []), name] });
  }
  return [...found.values()];
}

async function hours() {
  const { weekly, exceptions } = await api(`/v1/rooms/${room.id}/operating-hours`);
  const usual = lines(weekly);
  const clocks = (from, to, required) => [{ name: "from", label: t.common_from, type: "clock", maxlength: 5, value: from, required }, { name: "to", label: t.common_to, type: "clock", maxlength: 5, value: to, required }];
  act({
    title: t.rooms_hours,
    verb: t.common_apply,
    fields: [
      { name: "weekly", label: t.rooms_weekly, type: "rows", add: t.rooms_add_hours, hint: t.rooms_weekly_hint, value: usual.length > 0 || room.generatedUntil ? usual : [{}], columns: [{ name: "days", label: t.rooms_days, type: "days", value: ["mon", "tue", "wed", "thu", "fri"] }, ...clocks("09:00", "18:00", true)] },
      { name: "exceptions", label: t.rooms_exceptions, type: "rows", add: t.rooms_add_exception, hint: t.rooms_exceptions_hint, value: exceptions.flatMap(({ date, hours }) => (hours.length > 0 ? hours.map((it) => ({ date, ...it })) : [{ date }])), columns: [{ name: "date", label: t.common_date, type: "date" }, ...clocks(undefined, undefined, false)] },
    ],
    will: (it) => [
      ...it.weekly.map((line) => `${weekdays(line.days) || "…"} ${line.from ?? "…"}–${line.to ?? "…"}.`),
      ...it.exceptions.map((one) => `${one.date ?? "…"} ${one.from ? `${one.from}–${one.to ?? "…"}` : t.common_closed}.`),
      room.generatedUntil ? t.rooms_will_hours : t.rooms_will_first_hours,
    ].join(" "),
    request: (it) => ({ method: "PUT", path: `/v1/rooms/${room.id}/operating-hours`, body: { weekly: byDay(it.weekly), exceptions: byDate(it.exceptions) } }),
    done: ({ affectedReservations: outside }) => { if (outside?.length > 0) say(fill(t.rooms_outside, { ids: outside.slice(0, 10).join(", "), n: number(outside.length) }), "held"); },
  });
}

function byDay(list) {
  const weekly = {};
  for (const { days, from, to } of list) for (const name of days) (weekly[name] ??= []).push({ from, to });
  return weekly;
}

function byDate(list) {
  const dates = new Map();
  for (const { date, from, to } of list) dates.set(date, [...(dates.get(date) ?? []), ...(from && to ? [{ from, to }] : [])]);
  return [...dates].map(([date, hours]) => ({ date, hours }));
}

async function generate() {
  const made = await api(`/v1/rooms/${room.id}/generations?limit=500`);
  const list = (made.items ?? made).slice(-5).reverse();
  act({
    title: t.rooms_generate,
    about: list.length > 0 && table([t.common_date, [t.rooms_slots_made], t.rooms_until], list.map((it) => [it.generationDate, number(it.slotsCreated), it.generatedUntil]), t.rooms_generations),
    fields: [{ name: "until", label: t.rooms_make_until, type: "date", required: false, hint: t.rooms_make_until_hint }, { name: "all", label: t.rooms_make_all, type: "checkbox" }],
    will: (it) => fill(it.all ? t.rooms_will_generate_all : t.rooms_will_generate, { name: room.name }),
    request: ({ until, all }) => ({ method: "POST", path: "/v1/calendar/generate", body: { until, roomId: all ? undefined : room.id } }),
    done: (answer) => { if (answer?.slotsCreated !== undefined) say(fill(t.rooms_made, { n: number(answer.slotsCreated), until: answer.generatedUntil ?? "–" })); },
  });
}

function reprice() {
  act({ title: t.rooms_reprice, fields: [{ name: "from", label: t.common_from, type: "date", value: monday }, { name: "to", label: t.common_to, type: "date", value: day.plus(monday, 6) }], will: (it) => fill(t.rooms_will_reprice, { from: it.from ?? "…", to: it.to ?? "…" }), request: (body) => ({ method: "POST", path: `/v1/rooms/${room.id}/reprice`, body }) });
}

async function holidays() {
  const known = await api(`/v1/holidays?country=${encodeURIComponent(room.country)}`);
  act({
    title: t.rooms_holidays,
    verb: t.common_apply,
    fields: [country(room.country), { name: "dates", label: t.rooms_dates, type: "rows", add: t.rooms_add_date, value: known.dates.map((date) => ({ date })), columns: [{ name: "date", label: t.common_date, type: "date" }] }],
    will: (it) => fill(t.rooms_will_holidays, { country: it.country ?? "KR", n: number(it.dates.length) }),
    request: (it) => ({ method: "PUT", path: "/v1/holidays", body: { country: it.country, dates: it.dates.map(({ date }) => date) } }),
  });
}
