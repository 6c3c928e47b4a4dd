// The sale simulation: start, progress, report. On the start page, and in the console of a demo.
import { ask } from "./api.js";
import { button, el, every, field } from "./ui.js";
import { fill, number, t } from "../texts.js";

// Rendered again only when the actions change, so that a button does not move while it is pressed.
const meters = el("div", {}), actions = el("div", {});
const box = document.getElementById("sale");
const phase = el("p", { class: "phase", role: "status", id: "phase" });
const people = el("input", { type: "number", min: "1", max: "5000", value: "400", inputmode: "numeric" });
let stop = () => {};

const isOn = (sale) => sale.phase && !["done", "failed"].includes(sale.phase);

async function start() {
  draw(await ask("POST", "/demo/sale", { people: Number(people.value) || 400 }));
  follow();
}

/** Polls while a sale runs. */
function follow() {
  stop();
  stop = every(400, async () => {
    const sale = await ask("GET", "/demo/sale");
    draw(sale);
    if (!isOn(sale)) stop();
  });
}

const bar = (label, value, max) =>
  el("div", { class: "meter" },
    el("span", {}, label),
    el("progress", { max: Math.max(1, max), value, "aria-label": label }),
    el("strong", {}, `${number(value)} / ${number(max)}`));

const form = () => el("div", { class: "row low" },
  field(t.demo_sale_people, people),
  button(t.demo_sale_start, start, { kind: "primary", id: "start-sale" }));

function draw(sale) {
  const inLine = sale.people - Math.floor(sale.people / 5);
  if (sale.phase) {
    const counters = {
      waiting: number(sale.waiting), inside: number(sale.inside), lost: number(sale.lostRaces), let_go: number(sale.letGo),
      requests: number(sale.requests), p99: number(Math.round(sale.p99Ms * 10) / 10),
    };
    meters.replaceChildren(
      bar(t.demo_sale_joined, sale.joined, inLine),
      bar(t.demo_sale_seats, sale.seatsSold, sale.seats),
      bar(t.demo_sale_nights, sale.nightsSold, sale.nights),
      el("p", { class: "quiet small" }, fill(t.demo_sale_counters, counters)));
  }
  if (actions.dataset.phase === (sale.phase ?? "none")) return;
  actions.dataset.phase = sale.phase ?? "none";
  phase.dataset.phase = sale.phase ?? "none";
  phase.textContent = sale.error ? `${t.demo_sale_failed} ${sale.error}` : t[`demo_sale_${sale.phase}`] ?? "";
  actions.replaceChildren(isOn(sale)
    ? el("div", { class: "row" },
      el("a", { class: "button", href: `${box.dataset.watch}?event=${sale.eventId ?? ""}` }, t.demo_sale_watch),
      button(t.demo_sale_stop, () => ask("DELETE", "/demo/sale")))
    : el("div", { class: "stack" },
      sale.report && el("p", {}, el("a", { class: "button primary", href: sale.report, id: "report" }, t.demo_sale_report)),
      form()));
}

box.append(phase, meters, actions);
const sale = await ask("GET", "/demo/sale");
draw(sale);
if (isOn(sale)) follow();
