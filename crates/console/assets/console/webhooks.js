// Webhooks: receivers of events, and their deliveries.
import { act } from "./act.js";
import { button, fill, h, live, mark, moment, number, t, table } from "./kit.js";

document.getElementById("tools").append(button(t.webhooks_create, create, "primary"));
let secret;

const page = live("webhooks", {}, (data) => [
  secret && h("p", { class: "note held" }, `${t.webhooks_secret}: `, h("code", {}, secret)),
  data.webhooks.length === 0 ? h("section", { class: "card" }, h("p", { class: "empty" }, t.common_none)) : data.webhooks.map((it) => card(it, data[`deliveries:${it.id}`])),
].flat());

function card(it, deliveries) {
  const types = it.types.length > 0 ? it.types.join(", ") : t.webhooks_every;
  return h("section", { class: "card", "data-webhook": it.id },
    h("header", { class: "row between" },
      h("div", {}, h("h2", { class: "mono" }, it.url), h("p", { class: "quiet small" }, types)),
      h("span", { class: "row" }, mark(it.status), it.status === "DISABLED" && button(t.webhooks_enable, () => enable(it), "slim"), button(t.webhooks_delete, () => remove(it), "slim danger"))),
    table(["#", t.outbox_event, t.common_status, [t.outbox_retries], t.webhooks_answer, t.webhooks_next_try, t.outbox_created, ""],
      deliveries.map((one) => [h("a", { href: `/console/search?q=${one.id}` }, one.id), h("code", {}, one.eventType), mark(one.status), number(one.attempts), one.lastStatus ?? h("span", { class: "quiet small" }, one.lastError ?? "–"), one.nextAttemptAt ? moment(one.nextAttemptAt) : "–", moment(one.createdAt),
        one.status === "FAILED" && button(t.webhooks_retry, () => retry(it, one), "slim")]), t.webhooks_deliveries));
}

const listed = (types) => (types ?? "").split(",").map((type) => type.trim()).filter(Boolean);

function create() {
  act({
    title: t.webhooks_create,
    fields: [{ name: "url", label: t.webhooks_url, type: "url", wide: true, maxlength: 2000 }, { name: "types", label: t.webhooks_types, required: false, maxlength: 2000, wide: true, hint: t.webhooks_types_hint }, { name: "secret", label: t.webhooks_own_secret, required: false, maxlength: 94, wide: true }],
    will: (it) => fill(t.webhooks_will_create, { url: it.url ?? "…", types: listed(it.types).join(", ") || t.webhooks_every }),
    request: (it) => ({ method: "POST", path: "/v1/webhooks", body: { url: it.url, types: listed(it.types), secret: it.secret } }),
    done: (made) => {
      secret = made.secret;
      page.again();
    },
  });
}

function remove(it) {
  act({ title: t.webhooks_delete, will: fill(t.webhooks_will_delete, { url: it.url }), tone: "danger", request: () => ({ method: "DELETE", path: `/v1/webhooks/${it.id}` }) });
}

function enable(it) {
  act({ title: t.webhooks_enable, will: fill(t.webhooks_will_enable, { url: it.url }), request: () => ({ method: "POST", path: `/v1/webhooks/${it.id}/enable` }) });
}

function retry(it, one) {
  act({ title: t.webhooks_retry, will: fill(t.webhooks_will_retry, { type: one.eventType }), request: () => ({ method: "POST", path: `/v1/webhooks/${it.id}/deliveries/${one.id}/retry` }) });
}
