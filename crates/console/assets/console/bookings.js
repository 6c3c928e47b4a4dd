// Bookings of tee times, each with its saga as a timeline.
import { act } from "./act.js";
import { api, button, fill, h, live, mark, moment, money, select, status, t } from "./kit.js";

const states = ["PENDING", "CONFIRMED", "FAILED", "CANCELLED", "COMPLETED", "NO_SHOW"];
const asked = new URLSearchParams(location.search).get("status") ?? "";
/** Expanded histories, by booking and state. */
const open = new Map();

document.getElementById("tools").append(select(t.common_status, [["", t.bookings_all], ...states.map((it) => [it, status(it)])], asked, (value) => page.choose({ status: value })));

const page = live("bookings", { status: asked }, ({ bookings }) => {
  if (bookings.length === 0) return h("section", { class: "card" }, h("p", { class: "empty" }, t.common_none));
  for (const it of bookings) if (open.has(it.id) && open.get(it.id).status !== it.status) tell(it);
  const heads = [t.bookings_number, t.common_user, t.bookings_tee_off, t.bookings_players, t.bookings_total, t.common_status];
  return h("section", { class: "card" }, h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((it, at) => h("th", { scope: "col", class: at === 3 || at === 4 ? "number" : undefined }, it)), h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, t.common_actions)))),
    h("tbody", {}, bookings.flatMap((it) => [row(it), open.has(it.id) && story(open.get(it.id))])))));
});

async function tell(it) {
  open.set(it.id, await api(`/bookings/${it.id}`));
  page.again();
}

function row(it) {
  const isOpen = open.has(it.id);
  const toggle = () => { if (open.delete(it.id)) page.again(); else tell(it); };
  return h("tr", { "data-booking": it.id },
    h("td", {}, h("a", { href: `/console/search?q=${it.id}`, class: "mono" }, it.bookingNumber)),
    h("td", {}, it.userId), h("td", {}, moment(it.teeOff)), h("td", { class: "number" }, it.playerCount), h("td", { class: "number" }, money(it.totalPrice, it.currency)),
    h("td", {}, mark(it.status), " ", it.failureReason && h("code", { class: "small" }, it.failureReason)),
    h("td", { class: "number" }, h("span", { class: "row end" },
      h("button", { type: "button", class: "slim", id: `story-${it.id}`, "aria-expanded": String(isOpen), onclick: toggle }, t.bookings_story),
      it.status === "CONFIRMED" && [button(t.bookings_complete, () => finish(it, "complete"), "slim"), button(t.bookings_no_show, () => finish(it, "no-show"), "slim")],
      ["PENDING", "CONFIRMED"].includes(it.status) && button(t.bookings_cancel, () => cancel(it), "slim danger"))));
}

function story(it) {
  const steps = it.history.map((step) => h("li", { class: `step-${step.action}` }, moment(step.at), h("span", {}, status(step.action)), h("span", { class: "quiet small" }, [step.by, step.reason].filter(Boolean).join(" · "))));
  const refund = it.refund && h("p", { class: "quiet small" }, fill(t.bookings_refund, { amount: money(it.refund.amount, it.currency), percent: it.refund.percent, rule: it.refund.rule }));
  return h("tr", { class: "detail" }, h("td", { colspan: 7 }, h("ol", { class: "timeline across" }, steps), refund));
}

async function cancel(it) {
  const quote = await api(`/bookings/${it.id}/refund-quote`);
  act({ title: t.bookings_cancel, fields: [{ name: "reason", label: t.bookings_reason, required: false, wide: true }], will: fill(t.bookings_will_cancel, { id: it.bookingNumber, amount: money(quote.amount, it.currency), percent: quote.percent }), tone: "danger", request: (body) => ({ method: "POST", path: `/bookings/${it.id}/cancel`, body }) });
}

function finish(it, verb) {
  const name = verb.replace("-", "_");
  act({ title: t[`bookings_${name}`], will: fill(t[`bookings_will_${name}`], { id: it.bookingNumber }), request: () => ({ method: "POST", path: `/bookings/${it.id}/${verb}` }) });
}
