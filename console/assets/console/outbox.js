// The outbox: what was given up and can be tried again, and what was handed on lately.
import { act } from "./act.js";
import { all, button, fill, follow, h, latest, mark, moment, number, page, t, table } from "./kit.js";

const heads = ["#", t.outbox_event, t.common_status, [t.outbox_retries], t.outbox_created, t.outbox_payload, ""];

/** All events are looked through for them, so not each time another one comes. */
const LOOK_EVERY = 15000;
let dead = [];
let looked = -LOOK_EVERY;

const refresh = page(async () => {
  if (performance.now() - looked >= LOOK_EVERY) {
    looked = performance.now();
    dead = await all("/v1/admin/outbox?status=FAILED");
  }
  const recent = await latest("/v1/admin/outbox");
  return [
    h("section", { class: "card", id: "dead" }, h("h2", {}, `${t.outbox_dead} (${number(dead.length)})`), dead.length === 0 ? h("p", { class: "empty" }, t.outbox_no_dead) : table(heads, dead.slice(0, 100).map(row))),
    h("section", { class: "card" }, h("h2", {}, t.outbox_latest), table(heads, recent.slice(0, 30).map(row))),
  ];
});

follow("stay.reservation,order.,booking.,seat.,room.,queue.", { refresh });

setInterval(() => { if (document.visibilityState === "visible") refresh(); }, LOOK_EVERY);

const row = (it) => [it.id, h("code", {}, it.eventType), mark(it.status), number(it.retryCount), moment(it.createdAt),
  h("details", { id: `payload-${it.id}` }, h("summary", {}, t.outbox_payload), h("pre", {}, JSON.stringify(it.payload, null, 2))),
  it.status === "FAILED" && button(t.outbox_retry, () => retry(it), "slim")];

function retry(it) {
  act({ title: t.outbox_retry, will: fill(t.outbox_will_retry, { id: it.id, type: it.eventType }), request: () => ({ method: "POST", path: `/v1/admin/outbox/${it.id}/retry` }), done: () => { looked = -LOOK_EVERY; return refresh(); } });
}
