// A meeting room by the hour: choose slots of a day, hold all or none, then pay.
import { call, dayFrom, now, Refusal, remember, remembered } from "./api.js";
import { button, days, el, every, field, focus, holdPanel, longDay, say, select, show, showDone, showTimeIsUp, unsay } from "./ui.js";
import { fill, money, t } from "../texts.js";

const LOCK = "rooms.lock", DAYS = 10;
let rooms, room, date, slots = [];
let chosen = new Set();
let stopLooking = () => {};

async function look() {
  const grid = el("div", { class: "slots", role: "group", id: "slots" });
  const sum = el("div", { class: "card sticky" });
  const refresh = async () => {
    slots = await call("GET", `/v1/rooms/${room.id}/slots?date=${date}`);
    chosen = new Set([...chosen].filter((time) => slots.some((slot) => slot.time === time && isFree(slot))));
    drawGrid();
  };
  const drawGrid = () => {
    const state = JSON.stringify([slots.map((slot) => [slot.time, slot.status]), [...chosen]]);
    if (grid.dataset.seen === state) return;
    grid.dataset.seen = state;
    const pressed = document.activeElement?.dataset?.time;
    grid.setAttribute("aria-label", fill(t.meeting_slots, { date: longDay(date) }));
    grid.replaceChildren(...(slots.length ? slots.map(slotButton) : [el("p", { class: "empty" }, t.meeting_none)]));
    if (pressed) grid.querySelector(`[data-time="${pressed}"]`)?.focus();
    drawSum(sum);
  };
  const slotButton = (slot) => {
    const words = [slot.isHoliday && t.meeting_holiday, slot.isPeakTime && t.meeting_peak].filter(Boolean).join(" · ");
    const status = isFree(slot) ? "" : statusWord(slot);
    const toggle = () => {
      if (!chosen.delete(slot.time)) chosen.add(slot.time);
      drawGrid();
    };
    return el("button", {
      type: "button",
      class: `slot ${slot.isPeakTime || slot.isHoliday ? "dear" : ""}`,
      "data-time": slot.time,
      "aria-pressed": isFree(slot) ? String(chosen.has(slot.time)) : undefined,
      disabled: !isFree(slot),
      onclick: toggle,
    },
      el("b", {}, slot.time), el("span", {}, status || money(slot.finalPrice, slot.currency)), el("small", {}, status ? "" : words || " "));
  };
  const dates = Array.from({ length: DAYS }, (_, index) => dayFrom(index, room.timeZone));
  await refresh();
  const choice = select(rooms.map((one) => [one.id, one.name]), room.id, (id) => {
    room = rooms.find((one) => String(one.id) === id);
    restart(firstDay());
  });
  show(
    el("div", { class: "card" },
      rooms.length > 1 && el("div", { class: "fields" }, field(t.meeting_room, choice)),
      days(dates, date, restart)),
    el("div", { class: "card" }, grid),
    sum);
  stopLooking();
  stopLooking = every(2_500, refresh);
}

function restart(day) {
  stopLooking();
  date = day;
  chosen.clear();
  return look();
}

const firstDay = () => dayFrom(1, room.timeZone);

/** Whether a slot has begun, in the room's time zone. */
function isFree(slot) {
  const here = new Intl.DateTimeFormat("en-GB", { timeZone: room.timeZone, hour: "2-digit", minute: "2-digit" }).format(now());
  const hasBegun = slot.date === dayFrom(0, room.timeZone) && slot.time <= here;
  return slot.status === "AVAILABLE" && !hasBegun;
}

const WORDS = { LOCKED: t.meeting_locked, RESERVED: t.meeting_reserved, BLOCKED: t.meeting_blocked, MAINTENANCE: t.meeting_blocked };

const statusWord = (slot) => WORDS[slot.status] ?? t.meeting_past;

function drawSum(place) {
  const wanted = slots.filter((slot) => chosen.has(slot.time));
  const total = wanted.reduce((sum, slot) => sum + slot.finalPrice, 0);
  const isEmpty = wanted.length === 0;
  place.replaceChildren(
    el("p", { class: "sum", role: "status" },
      el("span", {}, isEmpty ? t.meeting_nothing : fill(t.meeting_chosen, { count: wanted.length })),
      el("strong", {}, isEmpty ? "" : money(total, room.currency))),
    button(t.meeting_hold, () => hold([...chosen].sort()), { kind: "primary big", id: "hold", disabled: isEmpty, refused: lost }));
}

async function hold(times) {
  const lock = await call("POST", `/v1/rooms/${room.id}/locks`, { date, times });
  remember(LOCK, lock.lockId);
  chosen.clear();
  unsay();
  showHold(lock);
}

/** A hold is all or nothing: if one slot is gone, none is held. */
function lost(error) {
  if (error.code !== "SLOT_NOT_AVAILABLE") return false;
  const time = error.problem.time ?? error.problem.slot?.time ?? "";
  say(fill(t.meeting_lost, { time }), { way: t.meeting_lost_way, kind: "held" });
  restart(date);
  return true;
}

function showHold(lock) {
  stopLooking();
  room = rooms.find((one) => one.id === lock.roomId) ?? room;
  const lines = lock.slots.map((slot) => [`${room.name} · ${longDay(slot.date)} ${slot.time}`, money(slot.price, room.currency)]);
  const times = lock.slots.map((slot) => slot.time);
  date = lock.slots[0].date;
  const again = async () => {
    await look();
    await hold(times);
  };
  const over = () => {
    remember(LOCK, null);
    showTimeIsUp(again, lost);
  };
  show(holdPanel({
    lines, total: money(lock.totalPrice, room.currency), until: lock.expiresAt, over,
    pay: async () => {
      const reservation = await call("POST", `/v1/locks/${lock.lockId}/confirm`);
      remember(LOCK, null);
      showPaid(reservation, lines);
    },
    letGo: async () => {
      await call("DELETE", `/v1/locks/${lock.lockId}`);
      remember(LOCK, null);
      await look();
      say(t.demo_let_go_done);
    },
    refused: (error) => {
      if (error.code !== "SLOT_NOT_LOCKED") return false;
      over();
      return true;
    },
  }));
  focus(document.querySelector(".hold"));
}

function showPaid({ reservationId }, lines) {
  const cancel = async () => {
    await call("POST", `/v1/room-reservations/${reservationId}/cancel`);
    await look();
    say(t.demo_cancelled, { kind: "free" });
  };
  showDone({
    title: t.demo_done, name: t.demo_number, number: reservationId, lines,
    actions: [button(t.demo_cancel, cancel), button(t.demo_start_over, look)],
  });
}

rooms = (await call("GET", "/v1/rooms")).items.slice(0, 20);
[room] = rooms;
date = firstDay();
const kept = remembered(LOCK) && await call("GET", `/v1/locks/${remembered(LOCK)}`).catch((error) => {
  if (error instanceof Refusal) return null;
  throw error;
});
if (kept && Date.parse(kept.expiresAt) > now() && !kept.reservationId && ["HELD", "LOCKED"].includes(kept.status)) showHold(kept);
else await look();
