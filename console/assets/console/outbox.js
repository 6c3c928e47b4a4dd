// The outbox: what was given up and can be tried again, and what was handed on lately.
import { act } from "./act.js";
import { api, button, fill, follow, h, latest, mark, moment, number, page, t, table } from "./kit.js";

const heads = ["#", t.outbox_event, t.common_status, [t.outbox_retries], t.outbox_created, t.outbox_payload, ""];

const refresh = page(async () => {
  const [dead, recent] = await Promise.all([api("/v1/admin/outbox?status=FAILED&limit=100"), latest("/v1/admin/outbox", 50)]);
  return [
    h("section", { class: "card", id: "dead" }, h("h2", {}, `${t.outbox_dead} (${number(dead.items.length)})`), dead.items.length === 0 ? h("p", { class: "empty" }, t.outbox_no_dead) : table(heads, dead.items.map(row))),
    h("section", { class: "card" }, h("h2", {}, t.outbox_latest), table(heads, recent.map(row))),
  ];
});

follow("stay.reservation,order.,booking.,seat.,room.,queue.", { refresh });

const row = (it) => [it.id, h("code", {}, it.eventType), mark(it.status), number(it.retryCount), moment(it.createdAt),
  h("details", {}, h("summary", {}, t.outbox_payload), h("pre", {}, JSON.stringify(it.payload, null, 2))),
  it.status === "FAILED" && button(t.outbox_retry, () => retry(it), "slim")];

function retry(it) {
  act({ title: t.outbox_retry, will: fill(t.outbox_will_retry, { id: it.id, type: it.eventType }), request: () => ({ method: "POST", path: `/v1/admin/outbox/${it.id}/retry` }), done: refresh });
}
