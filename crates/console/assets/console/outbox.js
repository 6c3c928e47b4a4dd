// The outbox: dead letters, which can be retried, and the latest events.
import { act } from "./act.js";
import { button, fill, h, live, mark, moment, number, t, table } from "./kit.js";

const heads = ["#", t.outbox_event, t.common_status, [t.outbox_retries], t.outbox_created, t.outbox_payload, ""];

live("outbox", {}, ({ dead, hasMoreDead, recent }) => [
  h("section", { class: "card", id: "dead" }, h("h2", {}, `${t.outbox_dead} (${number(dead.length)}${hasMoreDead ? "+" : ""})`), dead.length === 0 ? h("p", { class: "empty" }, t.outbox_no_dead) : table(heads, dead.map((it) => row(it, "dead")))),
  h("section", { class: "card" }, h("h2", {}, t.outbox_latest), table(heads, recent.map((it) => row(it, "recent")))),
]);

const row = (it, where) => [h("a", { href: `/console/search?q=${it.id}` }, it.id), h("code", {}, it.eventType), mark(it.status), number(it.retryCount), moment(it.createdAt),
  h("details", { id: `payload-${where}-${it.id}` }, h("summary", {}, t.outbox_payload), h("pre", {}, JSON.stringify(it.payload, null, 2))),
  it.status === "FAILED" && button(t.outbox_retry, () => retry(it), "slim")];

function retry(it) {
  act({ title: t.outbox_retry, will: fill(t.outbox_will_retry, { id: it.id, type: it.eventType }), request: () => ({ method: "POST", path: `/v1/admin/outbox/${it.id}/retry` }) });
}
