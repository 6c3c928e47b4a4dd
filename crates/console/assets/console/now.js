// Activity: plots of the last five minutes, fed by one event per second.
import { fill, h, number, t } from "./kit.js";

const SPAN = 300;
const verticals = ["stay", "shop", "tee", "ticket", "room"];
const colours = ["--series-1", "--series-2", "--series-3", "--series-4", "--series-5"];
const samples = [];

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const sum = (list) => list.reduce((total, value) => total + value, 0);
const one = (value) => (value === null || value === undefined ? "–" : value < 10 ? value.toFixed(1) : number(Math.round(value)));

/** Returns the sum over the minute that ends at `at`. */
function minute(at, pick) {
  let total = 0;
  for (let back = Math.max(0, at - 59); back <= at; back += 1) total += pick(samples[back]);
  return total;
}

const plots = [
  { title: t.now_live, series: verticals.map((name, at) => [t[`now_${name}`], colours[at], (it) => samples[it].live[at]]).filter((_, at) => at !== 2) },
  { title: t.now_confirmed, series: verticals.map((name, at) => [t[`now_${name}`], colours[at], (it) => minute(it, (sample) => sample.confirmed[at])]) },
  { title: `${t.now_latency} (ms)`, series: [["p50", colours[0], (it) => samples[it].p50], ["p99", colours[3], (it) => samples[it].p99], [t.now_commit, colours[2], (it) => samples[it].commitP99]] },
  { title: t.now_requests, series: [[t.now_requests, colours[0], (it) => samples[it].requests]] },
  { title: t.now_batch, series: [[t.now_batch, colours[1], (it) => samples[it].batch]] },
  { title: `${t.now_expired} · ${t.now_refused}`, series: [[t.now_expired, colours[2], (it) => minute(it, (sample) => sum(sample.expired))], [t.now_refused, colours[4], (it) => minute(it, (sample) => sample.refused)]] },
];

function make(plot) {
  const place = h("div", { class: "plot", role: "img", "aria-label": plot.title });
  const legend = h("p", { class: "legend", "aria-hidden": true }, plot.series.map(([label], at) => h("span", { class: `key key-${colours.indexOf(plot.series[at][1]) + 1}` }, label)));
  plot.card = h("section", { class: "card" }, h("header", { class: "row between" }, h("h2", {}, plot.title), plot.series.length > 1 && legend), place);
  plot.place = place;
  document.getElementById("plots").append(plot.card);
}

function draw(plot) {
  const axis = { stroke: css("--muted"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false }, font: `11px ${css("--font")}` };
  const options = {
    width: plot.place.clientWidth,
    height: 150,
    padding: [8, 26, 0, 0],
    cursor: { y: false, points: { size: 5 } },
    legend: { show: false },
    scales: { x: { range: (_, low, high) => [Math.min(low, high - 60), high] }, y: { range: (_, low, high) => [0, Math.max(high ?? 0, 1) * 1.1] } },
    axes: [
      { ...axis, size: 24, space: 76, values: (_, ticks) => ticks.map((tick) => new Date(tick * 1000).toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })) },
      { ...axis, size: 42, space: 28, values: (_, ticks) => ticks.map((tick) => (tick >= 1000 ? `${tick / 1000}k` : String(tick))) },
    ],
    series: [{}, ...plot.series.map(([label, colour], at) => ({ label, stroke: css(colour), width: 1.75, fill: plot.series.length === 1 && at === 0 ? `${css(colour)}22` : undefined, points: { show: false }, spanGaps: true }))],
  };
  plot.chart?.destroy();
  plot.chart = new window.uPlot(options, data(plot), plot.place);
}

function data(plot) {
  const at = samples.map((_, index) => index).slice(-SPAN);
  return [at.map((index) => samples[index].at / 1000), ...plot.series.map(([, , pick]) => at.map(pick))];
}

const tiles = {};
function tile(name, label) {
  tiles[name] = h("dd", {}, "–");
  document.getElementById("tiles").append(h("div", { class: "tile" }, h("dt", {}, label), tiles[name]));
}

function show() {
  const last = samples.length - 1;
  const sample = samples[last];
  tiles.live.textContent = number(sum(sample.live));
  tiles.confirmed.textContent = number(minute(last, (it) => sum(it.confirmed)));
  tiles.expired.textContent = number(minute(last, (it) => sum(it.expired)));
  tiles.refused.textContent = number(minute(last, (it) => it.refused));
  tiles.requests.textContent = number(sample.requests);
  const measured = samples.slice(-60).findLast((it) => it.p50 !== null);
  tiles.latency.replaceChildren(one(measured?.p50), h("small", {}, " / "), one(measured?.p99), h("small", {}, " ms"));
  document.getElementById("looking").textContent = fill(t.now_looking, { n: number(sample.looking) });

  const rows = verticals.map((name, at) => h("tr", {}, h("th", { scope: "row" }, h("span", { class: `key key-${at + 1}` }, t[`now_${name}`])),
    h("td", { class: "number" }, name === "tee" ? "–" : number(sample.live[at])),
    h("td", { class: "number" }, number(minute(last, (it) => it.placed[at]))),
    h("td", { class: "number" }, number(minute(last, (it) => it.confirmed[at]))),
    h("td", { class: "number" }, name === "tee" ? "–" : number(minute(last, (it) => it.expired[at])))));
  const heads = [t.now_vertical, t.now_live, t.now_placed, t.now_confirmed, t.now_expired].map((text, at) => h("th", { scope: "col", class: at > 0 && "number" }, text));
  document.getElementById("verticals").replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)));

  const codes = new Map();
  for (const it of samples.slice(-60)) for (const [code, count] of Object.entries(it.refusedByCode)) codes.set(code, (codes.get(code) ?? 0) + count);
  const reasons = [...codes].sort((a, b) => b[1] - a[1]).slice(0, 8);
  document.getElementById("refusals").replaceChildren(reasons.length === 0 ? h("p", { class: "quiet small" }, t.now_no_refusals) : h("ul", { class: "reasons" }, reasons.map(([code, count]) => h("li", {}, h("code", {}, code), h("span", {}, number(count))))));

  const parts = [["engine", t.now_engine], ["store", t.now_store], ["bus", t.now_bus]];
  const health = parts.map(([part, label]) => [label, sample.faults[part]]);
  const text = JSON.stringify(health);
  // Updated on change only: a screen reader would announce it every second.
  if (show.said !== text) {
    show.said = text;
    document.getElementById("health").replaceChildren(...health.map(([label, fault]) => h("li", {}, h("span", {}, label), fault ? h("span", { class: "mark danger" }, fault) : h("span", { class: "mark free" }, t.now_ok))));
  }
}

function redraw() {
  for (const plot of plots) draw(plot);
}

tile("live", t.now_live);
tile("confirmed", t.now_confirmed);
tile("expired", t.now_expired);
tile("refused", t.now_refused);
tile("requests", t.now_requests);
tile("latency", "p50 / p99");
for (const plot of plots) make(plot);

/** Adds a sample of one second. */
function add(sample) {
  // Samples of the server replace those that were filled in here.
  while (samples.length > 0 && samples.at(-1).at >= sample.at) samples.pop();
  samples.push(sample);
  if (samples.length > SPAN + 60) samples.shift();
  for (const plot of plots) plot.chart.setData(data(plot));
  show();
  document.body.dataset.samples = samples.length;
}

/** A sample of an idle second, which the server does not send. */
function quiet(before) {
  const none = [0, 0, 0, 0, 0];
  return { ...before, at: before.at + 1000, placed: none, confirmed: none, expired: none, refused: 0, refusedByCode: {}, requests: 0, p50: null, p99: null, batches: 0, batch: null, commitP99: null };
}

let heard = 0;
setInterval(() => {
  const isOpen = source?.readyState === EventSource.OPEN;
  if (isOpen && samples.length > 0 && performance.now() - heard > 1500) add(quiet(samples.at(-1)));
}, 1000);

const link = document.getElementById("link");
let source;
function listen() {
  source = new EventSource("/console/figures");
  source.addEventListener("recent", (event) => {
    samples.splice(0, samples.length, ...JSON.parse(event.data));
    link.textContent = t.common_live;
    link.className = "mark free";
    heard = performance.now();
    redraw();
    if (samples.length > 0) show();
  });
  source.addEventListener("figures", (event) => {
    heard = performance.now();
    const sample = JSON.parse(event.data);
    // At most the plotted range: a longer absence leaves a gap.
    for (let missed = 0; missed < SPAN && samples.length > 0 && sample.at - samples.at(-1).at > 1800; missed += 1) add(quiet(samples.at(-1)));
    add(sample);
  });
  source.onerror = () => {
    link.textContent = t.common_lost;
    link.className = "mark danger";
  };
}

// A hidden page closes its stream, so that it costs the server nothing.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") source?.close();
  else if (source?.readyState === EventSource.CLOSED) listen();
});
new ResizeObserver(() => plots.forEach((plot) => plot.chart?.setSize({ width: plot.place.clientWidth, height: 150 }))).observe(document.getElementById("plots"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("pagehide", () => source.close());
listen();
