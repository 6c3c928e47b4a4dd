// A tee time: book, watch the confirmation, see the refund before cancelling.
import { call, dayFrom, listen, Refusal } from "./api.js";
import { ask, button, clock, days, el, every, field, focus, longDay, say, select, show, unsay } from "./ui.js";
import { fill, money, t } from "../texts.js";

const DAYS = 14, FINAL = ["CONFIRMED", "FAILED", "CANCELLED", "COMPLETED", "NO_SHOW"];
let course, date, players = 2;
let stopLooking = () => {};

const playersOf = (count) => fill(t.tee_time_players_count, { count });

async function look() {
  const list = el("div", { class: "grid", id: "slots" });
  const refresh = async () => {
    const slots = await call("GET", `/v1/courses/${course.id}/slots?date=${date}`);
    const state = JSON.stringify([slots, players]);
    if (list.dataset.seen === state) return;
    list.dataset.seen = state;
    list.replaceChildren(...(slots.length ? slots.map(card) : [el("p", { class: "empty" }, t.tee_time_none)]));
  };
  const week = Array.from({ length: DAYS }, (_, index) => dayFrom(index + 1, course.timeZone));
  const count = select([1, 2, 3, 4].map((count) => [count, playersOf(count)]), players, (value) => { players = Number(value); refresh(); });
  await refresh();
  show(el("div", { class: "card" }, el("h2", {}, course.name), days(week, date, (chosen) => { date = chosen; stopLooking(); look(); }),
    el("div", { class: "fields narrow" }, field(t.tee_time_players, count))), list);
  stopLooking();
  stopLooking = every(3_000, refresh);
}

function card(slot) {
  const fits = slot.status === "AVAILABLE" && slot.availablePlayers >= players;
  const left = slot.status === "CLOSED" ? t.tee_time_closed : slot.availablePlayers === 0 ? t.tee_time_full
    : fill(t.tee_time_places_left, { count: slot.availablePlayers });
  return el("article", { class: "card tee", "data-slot": slot.id }, el("header", { class: "row between" }, el("h2", {}, slot.startTime),
    el("span", { class: `mark ${fits ? "free" : ""}` }, left)),
    el("p", { class: "price" }, el("strong", {}, money(slot.price * players, slot.currency)),
      ` ${fill(t.tee_time_per_player, { price: money(slot.price, slot.currency) })}`),
    button(t.tee_time_book, () => book(slot), { kind: "primary", disabled: !fits }));
}

async function book(slot) {
  stopLooking();
  unsay();
  const booking = await call("POST", "/bookings", { idempotencyKey: crypto.randomUUID(), gameTimeSlotId: slot.id, playerCount: players });
  await follow(booking.id, slot);
}

/** Shows a booking, updated by the server's events. */
async function follow(id, slot) {
  const place = el("div", { class: "stack" });
  show(place);
  let stopAsking = () => {};
  const refresh = async () => {
    const booking = await call("GET", `/bookings/${id}`);
    if (place.dataset.status !== booking.status) {
      place.dataset.status = booking.status;
      place.replaceChildren(bookingCard(booking, slot));
      focus(place.firstElementChild);
    }
    // A final state has no further events.
    if (FINAL.includes(booking.status)) { stopListening(); stopAsking(); }
  };
  const stopListening = listen("/v1/stream?types=booking", ({ data }) => { if (data.bookingId === id) refresh(); });
  // An event may have been published before the subscription: poll too.
  await refresh();
  if (!FINAL.includes(place.dataset.status)) stopAsking = every(1_000, refresh);
}

const COLOURS = { PENDING: "held", CONFIRMED: "free", FAILED: "danger" };
const FAILURES = { SLOT_FULL: t.tee_time_failed_full, SLOT_CLOSED: t.tee_time_failed_closed };

/** Describes the state of the booking. */
function wordOf({ status, failureReason, refund, currency }) {
  if (status === "PENDING") return t.tee_time_pending;
  if (status === "CONFIRMED") return t.tee_time_confirmed;
  if (status === "FAILED") return FAILURES[failureReason] ?? t.tee_time_failed;
  if (refund) return fill(t.tee_time_refunded, { amount: money(refund.amount, currency), percent: refund.percent });
  return t.demo_cancelled;
}

function bookingCard(booking, slot) {
  const { status } = booking;
  const facts = [course.name, `${longDay(slot.date)} ${slot.startTime}`, playersOf(booking.playerCount), money(booking.totalPrice, booking.currency)];
  const step = ({ action, at }) => el("li", { class: action === "FAILED" && "failed" },
    el("strong", {}, t[`tee_time_step_${action.toLowerCase()}`] ?? action),
    el("time", { datetime: at }, clock(at)));
  return el("section", { class: `card booking ${status === "CONFIRMED" ? "done" : ""}`, tabindex: "-1", "data-booking": status },
    el("header", { class: "row between" },
      el("h2", {}, fill(t.tee_time_booking, { number: booking.bookingNumber })),
      el("span", { class: `mark ${COLOURS[status] ?? ""}`, id: "status" }, status)),
    el("p", { role: "status" }, el("strong", {}, wordOf(booking))),
    el("p", { class: "quiet" }, facts.join(" · ")),
    el("ol", { class: "steps" }, (booking.history ?? []).map(step),
      status === "PENDING" && el("li", { class: "next" }, el("span", { class: "spinner", "aria-hidden": "true" }))),
    status === "FAILED" && el("p", {}, t.tee_time_failed_way),
    el("div", { class: "row" },
      status === "CONFIRMED" && button(t.demo_cancel, () => cancel(booking, slot), { id: "cancel" }),
      button(t.demo_start_over, look)));
}

/** Shows the refund before cancelling. */
async function cancel(booking, slot) {
  const quote = await call("GET", `/bookings/${booking.id}/refund-quote`);
  const values = { amount: money(quote.amount, booking.currency), percent: quote.percent };
  if (!await ask(t.tee_time_cancel_title, fill(t.tee_time_cancel_quote, values), t.tee_time_cancel_yes, t.demo_keep)) return;
  try {
    await call("POST", `/bookings/${booking.id}/cancel`, {});
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say(error.detail, { kind: "danger" });
  }
  await follow(booking.id, slot);
}

[course] = (await call("GET", "/v1/courses")).items;
date = dayFrom(8, course.timeZone);
await look();
