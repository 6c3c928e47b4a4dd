// Bookings of tee times, each with its saga as a timeline.
import { act } from "./act.js";
import { api, button, fill, follow, h, latest, mark, moment, money, page, select, status, t } from "./kit.js";

const states = ["PENDING", "CONFIRMED", "FAILED", "CANCELLED", "COMPLETED", "NO_SHOW"];
let asked = new URLSearchParams(location.search).get("status") ?? "";
const open = new Set();

document.getElementById("tools").append(select(t.common_status, [["", t.bookings_all], ...states.map((it) => [it, status(it)])], asked, (value) => { asked = value; refresh(); }));

const refresh = page(async () => {
  const bookings = await latest(`/bookings${asked && `?status=${asked}`}`);
  const stories = new Map(await Promise.all(bookings.filter((it) => open.has(it.id)).map(async (it) => [it.id, await api(`/bookings/${it.id}`)])));
  if (bookings.length === 0) return h("section", { class: "card" }, h("p", { class: "empty" }, t.common_none));
  const heads = [t.bookings_number, t.common_user, t.bookings_tee_off, t.bookings_players, t.bookings_total, t.common_status];
  return h("section", { class: "card" }, h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((it, at) => h("th", { scope: "col", class: at === 3 || at === 4 ? "number" : undefined }, it)), h("th", {}, h("span", { class: "visually-hidden" }, t.common_actions)))),
    h("tbody", {}, bookings.flatMap((it) => [row(it), stories.has(it.id) && story(stories.get(it.id))])))));
});

follow("booking.", { refresh });

function row(it) {
  const isOpen = open.has(it.id);
  const tell = () => { if (isOpen) open.delete(it.id); else open.add(it.id); refresh(); };
  return h("tr", { "data-booking": it.id },
    h("td", {}, h("a", { href: `/console/search?q=${it.id}`, class: "mono" }, it.bookingNumber)),
    h("td", {}, it.userId), h("td", {}, moment(it.teeOff)), h("td", { class: "number" }, it.playerCount), h("td", { class: "number" }, money(it.totalPrice, it.currency)),
    h("td", {}, mark(it.status), " ", it.failureReason && h("code", { class: "small" }, it.failureReason)),
    h("td", { class: "number" }, h("span", { class: "row end" },
      h("button", { type: "button", class: "slim", id: `story-${it.id}`, "aria-expanded": String(isOpen), onclick: tell }, t.bookings_story),
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
  act({ title: t.bookings_cancel, fields: [{ name: "reason", label: t.bookings_reason, required: false, wide: true }], will: fill(t.bookings_will_cancel, { id: it.bookingNumber, amount: money(quote.amount, it.currency), percent: quote.percent }), tone: "danger", request: (body) => ({ method: "POST", path: `/bookings/${it.id}/cancel`, body }), done: refresh });
}

function finish(it, verb) {
  const name = verb.replace("-", "_");
  act({ title: t[`bookings_${name}`], will: fill(t[`bookings_will_${name}`], { id: it.bookingNumber }), request: () => ({ method: "POST", path: `/bookings/${it.id}/${verb}` }), done: refresh });
}
