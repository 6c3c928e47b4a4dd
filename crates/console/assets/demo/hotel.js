// A hotel room: availability, hold, then payment or release.
import { addDays, call, dayFrom, Refusal, remember, remembered } from "./api.js";
import { button, el, every, field, focus, holdPanel, longDay, say, select, show, showDone, showTimeIsUp, unsay } from "./ui.js";
import { fill, money, t } from "../texts.js";

const HOLD = "hotel.hold";
let rooms = [];
let stay = { checkIn: null, nights: 2 };
let stopLooking = () => {};

const nightsOf = (count) => fill(t.inn_nights_count, { count });
const datesOf = ({ checkIn, checkOut }) => `${longDay(checkIn)} – ${longDay(checkOut)}`;

async function look() {
  const list = el("div", { class: "grid", id: "rooms" });
  const checkIn = el("input", { type: "date", value: stay.checkIn, min: dayFrom(0, rooms[0].timeZone), required: true,
    onchange: () => { if (checkIn.value) { stay.checkIn = checkIn.value; refresh(); } } });
  const nights = select([1, 2, 3, 4, 5, 6, 7].map((count) => [count, nightsOf(count)]), stay.nights,
    (value) => { stay.nights = Number(value); refresh(); });
  const refresh = async () => {
    const seen = await Promise.all(rooms.map((room) => availability(room, stay.checkIn, stay.nights)));
    // Only changed cards are rendered again, so that a button does not move while it is pressed.
    const cards = rooms.map((room, index) => card(room, seen[index]));
    cards.forEach((made, index) => {
      const old = list.children[index];
      if (!old) list.append(made);
      else if (old.dataset.seen !== made.dataset.seen) old.replaceWith(made);
    });
  };
  await refresh();
  show(el("form", { class: "card fields", onsubmit: (event) => event.preventDefault() },
    field(t.inn_check_in, checkIn), field(t.inn_nights, nights)), list);
  stopLooking = every(3_000, refresh);
}

function availability(room, checkIn, nights) {
  const checkOut = addDays(checkIn, nights);
  return call("GET", `/v1/room-types/${room.id}/availability?checkIn=${checkIn}&checkOut=${checkOut}`);
}

function card(room, seen) {
  const total = money(room.basePrice * stay.nights, room.currency);
  const isFull = seen.available === 0;
  const left = isFull ? t.inn_full : seen.available === 1 ? t.inn_room_left : fill(t.inn_rooms_left, { count: seen.available });
  return el("article", { class: "card room", "data-room": room.id, "data-seen": `${seen.checkIn} ${seen.checkOut} ${seen.available}` },
    el("header", { class: "row between" },
      el("h2", {}, room.name),
      el("span", { class: `mark ${isFull ? "" : seen.available < 3 ? "held" : "free"}` }, left)),
    el("p", { class: "quiet" }, room.description ?? ""),
    el("p", { class: "price" }, el("strong", {}, total),
      ` ${nightsOf(stay.nights)} · ${fill(t.inn_per_night, { price: money(room.basePrice, room.currency) })}`),
    isFull
      ? button(t.inn_use_dates, () => findOtherDates(room), { class: "other" })
      : button(t.inn_hold, () => hold(room, stay.checkIn, stay.nights), { kind: "primary", refused: (error) => lost(error, room) }));
}

async function hold(room, checkIn, nights) {
  const held = await call("POST", "/v1/holds", {
    roomTypeId: room.id, checkIn, checkOut: addDays(checkIn, nights),
    // The key of this attempt: a repeat returns the same hold.
    clientHoldKey: crypto.randomUUID(),
  });
  remember(HOLD, held.holdId);
  unsay();
  showHold(held);
}

function showHold(held) {
  stopLooking();
  const room = rooms.find((room) => room.id === held.roomTypeId);
  const nights = Math.round((Date.parse(held.checkOut) - Date.parse(held.checkIn)) / 86_400_000);
  const lines = [[`${room.name} · ${datesOf(held)} (${nightsOf(nights)})`, money(held.price, held.currency)]];
  const again = async () => {
    await look();
    await hold(room, held.checkIn, nights);
  };
  const over = () => {
    remember(HOLD, null);
    showTimeIsUp(again, (error) => lost(error, room));
  };
  show(holdPanel({
    lines, total: money(held.price, held.currency), until: held.expiredAt,
    pay: async () => {
      const reservation = await call("POST", `/v1/holds/${held.holdId}/confirm`);
      remember(HOLD, null);
      showPaid(reservation, lines);
    },
    letGo: async () => {
      await call("DELETE", `/v1/holds/${held.holdId}`);
      remember(HOLD, null);
      await look();
      say(t.demo_let_go_done);
    },
    over,
    refused: (error) => {
      if (error.code !== "RESERVATION_HOLD_EXPIRED") return false;
      over();
      return true;
    },
  }));
  focus(document.querySelector(".hold"));
}

function showPaid({ reservationId }, lines) {
  const cancel = async () => {
    await call("POST", `/v1/reservations/${reservationId}/cancel`);
    await look();
    say(t.demo_cancelled, { kind: "free" });
  };
  showDone({
    title: t.demo_done, name: t.demo_number, number: reservationId, lines,
    actions: [button(t.demo_cancel, cancel), button(t.demo_start_over, look)],
  });
}

/** The room was taken by another customer: show alternatives. */
function lost(error, room) {
  if (error.code !== "ROOM_NOT_AVAILABLE") return false;
  say(t.inn_lost, { way: t.inn_lost_way, kind: "held", actions: [button(t.inn_use_dates, () => findOtherDates(room))] });
  return true;
}

/** Finds the first dates on which the room is free for the chosen number of nights. */
async function findOtherDates(room) {
  const { nights } = await availability(room, stay.checkIn, 60);
  const isFree = (first) => nights.slice(first, first + stay.nights).every((night) => night.available > 0);
  const first = nights.findIndex((_, index) => index + stay.nights <= nights.length && isFree(index));
  if (first < 0) return say(t.inn_full_far, { kind: "held" });
  stay.checkIn = nights[first].date;
  stopLooking();
  await look();
  say(fill(t.inn_full_way, { date: longDay(stay.checkIn) }), { kind: "free" });
}

rooms = (await call("GET", "/v1/room-types")).items.slice(0, 12);
stay.checkIn = new URLSearchParams(location.search).get("checkIn") ?? dayFrom(7, rooms[0].timeZone);
const kept = remembered(HOLD) && await call("GET", `/v1/holds/${remembered(HOLD)}`).catch((error) => {
  if (error instanceof Refusal) return null;
  throw error;
});
if (kept?.status === "HELD") showHold(kept);
else await look();
