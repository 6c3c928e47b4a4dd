// The concert: join the queue, enter in turn, choose seats, hold them, pay.
import { call, now, Refusal, remember, remembered } from "./api.js";
import { button, countdown, el, every, field, focus, holdPanel, minutes, say, select, show, showDone, showTimeIsUp, unsay } from "./ui.js";
import { seatMap } from "./seat-map.js";
import { fill, money, number, t } from "../texts.js";

const HOLD = "concert.hold";
let event, others = [];
let stop = () => {};

// Whether this customer is queued or inside; polled only then.
const inLine = () => `concert.line.${event.id}`;
const path = (rest) => `/v1/events/${event.id}${rest}`;
const seatName = (seat) => [seat.section, seat.label].filter(Boolean).join(" ");

/** The page before the queue: the event, and the button to join. */
async function lobby() {
  stop();
  remember(inLine(), null);
  event = await call("GET", path(""));
  if (await isSoldOut()) return soldOut();
  const left = el("p", { class: "price", id: "left" });
  const draw = () => left.replaceChildren(fill(t.hall_seats_left, { count: number(event.remainingSeats), total: number(event.seatCount) }));
  draw();
  show(el("section", { class: "card" }, el("h2", {}, event.name), left,
    el("div", { class: "row" }, button(t.hall_join, join, { kind: "primary big", id: "join" }), otherEvents())));
  stop = every(3_000, async () => { event = await call("GET", path("")); draw(); });
}

const otherEvents = () => others.filter((other) => other.id !== event.id && other.remainingSeats > 0).slice(0, 3)
  .map((other) => el("a", { class: "button", href: `/demo/concert?event=${other.id}` }, fill(t.hall_other_event, { name: other.name })));

const isSoldOut = async () => (await call("GET", path("/seats"))).every((seat) => seat.status === "RESERVED");

function soldOut() {
  stop();
  unsay();
  show(el("section", { class: "card kind", tabindex: "-1", id: "sold-out" },
    el("h2", {}, t.hall_sold_out),
    el("p", {}, t.hall_sold_out_way),
    el("div", { class: "row" }, otherEvents(), el("a", { class: "button", href: "/demo" }, t.demo_look_around))));
  focus(document.getElementById("sold-out"));
  // Cancelled tickets go back on sale.
  stop = every(3_000, async () => {
    const { remainingSeats } = await call("GET", path(""));
    if (remainingSeats > 0) await lobby();
  });
}

async function join() {
  const place = await call("POST", path("/queue"), {});
  remember(inLine(), "yes");
  await line(place);
}

/** The queue: place, number ahead, estimated wait. Polls at the interval given by the server, which keeps the place. */
async function line(place) {
  stop();
  unsay();
  if (place.status === "entered") return inside();
  // No queue: enter directly.
  if (place.status === "ready" && !document.getElementById("line")) return enter();
  const longest = Math.max(place.rank, Number(remembered(`concert.from.${event.id}`)) || 0, 1);
  remember(`concert.from.${event.id}`, longest);
  drawLine(place, longest);
  const again = async () => {
    try {
      const next = await call("GET", path("/queue"));
      if (next.status === "entered") return inside();
      if (next.status === "ready" && place.status !== "ready") { place = next; return turn(next); }
      if (next.status === "waiting" && place.status === "ready") drawLine(next, longest);
      place = next;
      if (next.remainingSeats === 0 && await isSoldOut()) {
        await call("DELETE", path("/queue"));
        return soldOut();
      }
      if (next.status === "waiting") updateLine(next, longest);
      schedule(next.pollAfterMs);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.code === "NOT_IN_QUEUE") { await lobby(); return say(t.hall_place_lost, { way: t.hall_entry_over_way, kind: "held" }); }
      schedule(3_000);
    }
  };
  let timer;
  const schedule = (milliseconds) => { timer = setTimeout(again, milliseconds); };
  const turn = (ready) => { showTurn(ready); schedule(ready.pollAfterMs); };
  stop = () => clearTimeout(timer);
  schedule(place.pollAfterMs);
}

function drawLine(place, longest) {
  show(el("section", { class: "card line", id: "line", tabindex: "-1", "aria-labelledby": "line-title" },
    el("h2", { id: "line-title" }, `${event.name} · ${t.hall_waiting}`),
    el("dl", { class: "facts" },
      el("div", {}, el("dt", {}, t.hall_place), el("dd", { id: "place" })),
      el("div", {}, el("dt", {}, t.hall_ahead), el("dd", { id: "ahead" })),
      el("div", {}, el("dt", {}, t.hall_wait), el("dd", { id: "wait" }))),
    el("progress", { id: "progress", max: longest + 1, value: 0, "aria-label": t.hall_place }),
    el("p", { id: "closed", class: "mark held", hidden: true }),
    el("p", { class: "quiet" }, t.hall_stay_here), el("p", { class: "visually-hidden", role: "status", id: "heard" }),
    el("div", { class: "row" }, button(t.hall_leave, leave, { id: "leave" }))));
  updateLine(place, longest);
  focus(document.getElementById("line"));
}

let heardAt = 0;

function updateLine(place, longest) {
  const put = (id, text) => { document.getElementById(id).textContent = text; };
  put("place", number(place.rank + 1));
  put("ahead", fill(t.hall_people, { count: number(place.aheadCount) }));
  put("wait", waitWord(place.estimatedWaitSeconds));
  document.getElementById("progress").value = Math.max(0, longest - place.rank);
  const isClosed = event.salesOpenAt && Date.parse(event.salesOpenAt) > now();
  const closed = document.getElementById("closed");
  closed.hidden = !(isClosed || event.paused);
  closed.textContent = event.paused ? t.hall_paused : t.hall_not_open;
  // Screen readers get an update now and then, not with every step of the queue.
  if (now() - heardAt > 15_000) {
    heardAt = now();
    put("heard", `${t.hall_place} ${number(place.rank + 1)}`);
  }
  call("GET", path("")).then((seen) => { event = seen; }).catch(() => {});
}

function waitWord(seconds) {
  if (seconds < 5) return t.hall_wait_soon;
  if (seconds < 90) return fill(t.hall_wait_seconds, { count: seconds });
  return fill(t.hall_wait_minutes, { count: number(Math.round(seconds / 60)) });
}

function showTurn(place) {
  const until = place.readyUntil;
  show(el("section", { class: "card turn", id: "line", tabindex: "-1" }, el("h2", { role: "status" }, t.hall_your_turn),
    until && el("p", {}, fill(t.hall_enter_within, { time: minutes(Date.parse(until) - now()) })), until && countdown(until, () => {}),
    el("div", { class: "row" }, button(t.hall_enter, enter, { kind: "primary big", id: "enter" }), button(t.hall_leave, leave))));
  focus(document.getElementById("enter"));
}

async function leave() {
  await call("DELETE", path("/queue"));
  await lobby();
  say(t.hall_left_line);
}

async function enter() {
  await call("POST", path("/queue/enter"), {});
  await inside();
}

/** Inside: the seat map. */
async function inside() {
  stop();
  unsay();
  remember(`concert.from.${event.id}`, null);
  const seats = await call("GET", path("/seats"));
  if (seats.every((seat) => seat.status === "RESERVED")) return soldOut();
  const chosen = el("p", { class: "sum", role: "status" });
  const holdButton = button(t.hall_hold_chosen, () => hold(map.chosen()), { kind: "primary big", id: "hold", refused });
  const map = seatMap(seats, event.currency, (picked) => {
    const total = picked.reduce((sum, seat) => sum + seat.price, 0);
    chosen.replaceChildren(
      el("span", {}, picked.map((seat) => seat.label).join(", ") || t.hall_nothing_chosen),
      el("strong", {}, picked.length ? money(total, event.currency) : ""));
    holdButton.disabled = picked.length === 0;
  });
  let count = 2;
  const best = select([1, 2, 3, 4].map((one) => [one, String(one)]), count, (value) => { count = Number(value); });
  show(el("div", { class: "hall" }, el("section", { class: "card", "aria-label": t.hall_choose }, el("h2", {}, t.hall_choose), map.element),
    el("div", { class: "stack side" },
      el("section", { class: "card sticky" }, chosen, holdButton),
      el("section", { class: "card" }, el("div", { class: "row low" }, field(t.hall_how_many, best),
        button(t.hall_best, async () => showHold(await call("POST", path("/seats/best"), { count })), { id: "best", refused }))),
      el("div", { class: "row" }, button(t.hall_leave_hall, leave)))));
  map.announce();
  focus(map.element.querySelector("[tabindex='0']"));
  // Polling renews the entry and updates the seat map.
  const stopSeats = every(1_500, async () => {
    const next = await call("GET", path("/seats"));
    if (next.every((seat) => seat.status === "RESERVED")) return soldOut();
    map.update(next);
  });
  const stopEntry = every(10_000, async () => {
    try {
      const { status } = await call("GET", path("/queue"));
      if (status !== "entered") await entryOver();
    } catch (error) {
      if (error.code === "NOT_IN_QUEUE") await entryOver();
    }
  });
  stop = () => { stopSeats(); stopEntry(); };

  function refused(error) {
    const seat = seats.find((seat) => seat.id === error.problem.seatId);
    if (["SEAT_HELD_BY_ANOTHER", "SEAT_ALREADY_RESERVED"].includes(error.code)) {
      say(fill(t.hall_lost, { label: seat?.label ?? "" }), { way: t.hall_lost_way, kind: "held" });
      call("GET", path("/seats")).then(map.update, () => {});
    } else if (error.code === "NOT_ENOUGH_SEATS") {
      const { available } = error.problem;
      if (available) say(fill(t.hall_too_few, { count: available }), { kind: "held" });
      else say(t.hall_all_held, { way: t.hall_back_soon, kind: "held" });
    } else if (error.code === "SEAT_LIMIT_REACHED") say(fill(t.hall_limit, { max: error.problem.max }), { kind: "held" });
    else if (error.code === "SOLD_OUT") soldOut();
    else if (error.code === "QUEUE_TOKEN_REQUIRED") entryOver();
    else return false;
    return true;
  }
}

async function entryOver() {
  await lobby();
  say(t.hall_entry_over, { way: t.hall_entry_over_way, kind: "held" });
}

async function hold(seats) {
  showHold(await call("POST", path("/seats/hold"), { seatIds: seats.map((seat) => seat.id) }));
}

function showHold(held) {
  stop();
  unsay();
  remember(HOLD, held.holdId);
  const lines = held.seats.map((seat) => [seatName(seat), money(seat.price, held.currency)]);
  const over = () => {
    remember(HOLD, null);
    showTimeIsUp(join);
  };
  show(holdPanel({
    lines, total: money(held.totalPrice, held.currency), until: held.expiresAt, over,
    pay: async () => {
      const reservation = await call("POST", `/v1/seat-holds/${held.holdId}/confirm`);
      remember(HOLD, null);
      showPaid(reservation, lines);
    },
    letGo: async () => {
      await call("DELETE", `/v1/seat-holds/${held.holdId}`);
      remember(HOLD, null);
      await inside();
      say(t.demo_let_go_done);
    },
    refused: (error) => {
      if (error.code !== "SEAT_HOLD_EXPIRED") return false;
      over();
      return true;
    },
  }));
  focus(document.querySelector(".hold"));
}

function showPaid({ reservationId }, lines) {
  stop();
  remember(inLine(), null);
  const cancel = async () => {
    await call("POST", `/v1/seat-reservations/${reservationId}/cancel`);
    await lobby();
    say(t.demo_cancelled, { kind: "free" });
  };
  showDone({
    title: t.hall_tickets, name: t.demo_number, number: reservationId, lines,
    actions: [button(t.demo_cancel, cancel), button(t.demo_start_over, lobby)],
  });
}

/** Restores the step before a reload. */
async function resume() {
  const quietly = (answer) => answer.catch((error) => { if (error instanceof Refusal) return null; throw error; });
  const held = remembered(HOLD) && await quietly(call("GET", `/v1/seat-holds/${remembered(HOLD)}`));
  if (held?.status === "HELD" && held.eventId === event.id) return showHold(held);
  const place = remembered(inLine()) && await quietly(call("GET", path("/queue")));
  return place ? line(place) : lobby();
}

others = (await call("GET", "/v1/events?limit=50")).items;
const asked = Number(new URLSearchParams(location.search).get("event"));
event = others.find((one) => one.id === asked) ?? others.find((one) => one.queueEnabled && one.remainingSeats > 0) ?? others.at(-1);
await resume();
