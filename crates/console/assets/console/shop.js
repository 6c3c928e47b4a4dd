// Shop: stock by option as bars, and orders.
import { act, ending } from "./act.js";
import { button, fill, h, live, mark, moment, money, number, t, table } from "./kit.js";

document.getElementById("tools").append(
  button(t.shop_coupon, coupon), button(t.shop_issue, issue), button(t.shop_balance, balance), button(t.shop_account, account), button(t.shop_create, create, "primary"));

live("shop", {}, ({ products, orders }) => {
  const most = Math.max(1, ...products.flatMap((product) => product.options.map((option) => option.stockQuantity + option.soldQuantity)));
  return [
    h("section", { class: "card" },
      h("header", { class: "row between" }, h("h2", {}, t.shop_stock), key()),
      products.length === 0 ? h("p", { class: "empty" }, t.common_none) : h("div", { class: "scroll" }, h("table", { class: "stock" },
        h("thead", {}, h("tr", {}, [t.shop_option, t.common_price].map((it, at) => h("th", { scope: "col", class: at > 0 && "number" }, it)), h("th", { scope: "col", class: "bar-head" }, t.shop_stock),
          [t.common_free, t.common_held, t.common_sold].map((it) => h("th", { scope: "col", class: "number" }, it)), h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, t.common_actions)))),
        products.map((product) => h("tbody", {}, h("tr", { class: "group" }, h("th", { scope: "rowgroup", colspan: 7 }, product.name)),
          product.options.map((option) => row(option, most))))))),
    h("section", { class: "card" }, h("h2", {}, t.shop_orders), table(
      ["#", t.common_user, t.shop_items, [t.shop_paid], t.common_status, t.outbox_created, ""],
      orders.map((it) => [h("a", { href: `/console/search?q=${it.orderId}` }, it.orderId), it.userId, it.items.map((item) => `${item.optionCode} × ${item.quantity}`).join(", "), money(it.paidAmount, it.currency), mark(it.status), moment(it.createdAt),
        it.status === "PAID" && ending(t.stays_cancel, t.shop_will_cancel, it.orderId, `/api/orders/${it.orderId}/cancel`)]))),
  ];
});

const key = () => h("p", { class: "legend" }, h("span", { class: "key swatch-free" }, t.common_free), h("span", { class: "key swatch-held" }, t.common_held), h("span", { class: "key swatch-sold" }, t.common_sold));

function row(option, most) {
  const parts = [["free", Math.max(0, option.availableStock)], ["held", option.reservedQuantity], ["sold", option.soldQuantity]];
  return h("tr", { "data-option": option.id },
    h("td", {}, h("span", { class: "mono" }, option.optionCode), " ", !option.isActive && h("span", { class: "mark danger" }, t.shop_inactive)),
    h("td", { class: "number" }, money(option.price, option.currency)),
    h("td", {}, bar(parts, most)),
    parts.map(([name, value]) => h("td", { class: `number count-${name}` }, number(value))),
    h("td", { class: "number" }, h("span", { class: "row end" }, button(t.shop_restock, () => restock(option), "slim"), button(t.shop_change, () => change(option), "slim"))));
}

function bar(parts, most) {
  const label = parts.map(([name, value]) => `${t[`common_${name}`]} ${value}`).join(", ");
  let x = 0;
  const rects = parts.filter(([, value]) => value > 0).map(([name, value]) => {
    const width = (value / most) * 100;
    const rect = h("rect", { class: `fill-${name}`, x: `${x}%`, y: 0, width: `${width}%`, height: 12 });
    x += width;
    return rect;
  });
  return h("svg", { class: "bar", width: "100%", height: 12, role: "img", "aria-label": label }, rects);
}

function create() {
  act({
    title: t.shop_create,
    fields: [
      { name: "name", label: t.common_name, wide: true },
      { name: "currency", label: t.common_currency, required: false, maxlength: 3, pattern: "[A-Z]{3}" },
      { name: "options", label: t.shop_options, type: "rows", add: t.shop_add_option, value: [{}], columns: [{ name: "optionCode", label: t.shop_option_code }, { name: "price", label: t.common_price, type: "integer", value: 10000 }, { name: "stockQuantity", label: t.shop_stock, type: "integer", value: 10 }] },
    ],
    will: (it) => fill(t.shop_will_create, { name: it.name ?? "…", options: it.options.map((option) => `${option.optionCode ?? "…"} ${money(option.price ?? 0, it.currency?.length === 3 ? it.currency : "KRW")} × ${number(option.stockQuantity ?? 0)}`).join(", ") || "…" }),
    request: (body) => ({ method: "POST", path: "/api/products", body }),
  });
}

function change(option) {
  act({
    title: t.shop_change,
    fields: [{ name: "price", label: t.common_price, type: "integer", value: option.price }, { name: "stockQuantity", label: t.shop_stock, type: "integer", value: option.stockQuantity }, { name: "isActive", label: t.shop_active, type: "checkbox", value: option.isActive }],
    will: (it) => fill(t.shop_will_change, { code: option.optionCode, price: money(it.price ?? 0, option.currency), n: number(it.stockQuantity ?? 0), active: it.isActive ? t.shop_active : t.shop_inactive }),
    // Stock that was not edited is not sent: it may have been sold in the meantime.
    request: ({ stockQuantity, ...body }) => ({ method: "PATCH", path: `/api/product-options/${option.id}`, body: stockQuantity === option.stockQuantity ? body : { ...body, stockQuantity } }),
  });
}

function restock(option) {
  act({
    title: t.shop_restock,
    fields: [{ name: "stockDelta", label: t.shop_delta, type: "integer", min: -1000000000, max: 1000000000, value: 10, hint: t.shop_delta_hint, wide: true }],
    will: (it) => fill(t[(it.stockDelta ?? 0) < 0 ? "shop_will_take" : "shop_will_restock"], { code: option.optionCode, n: number(Math.abs(it.stockDelta ?? 0)) }),
    request: (body) => ({ method: "PATCH", path: `/api/product-options/${option.id}`, body }),
  });
}

function account() {
  act({
    title: t.shop_account,
    fields: [{ name: "name", label: t.common_name, wide: true }, { name: "id", label: t.shop_user_id, type: "user", required: false, hint: t.shop_user_id_hint }, { name: "currency", label: t.common_currency, required: false, maxlength: 3, pattern: "[A-Z]{3}" }],
    will: (it) => fill(t.shop_will_account, { name: it.name ?? "…" }),
    request: (body) => ({ method: "POST", path: "/api/users", body }),
    done: (made) => { location.assign(`/console/search?q=${encodeURIComponent(made.id)}`); },
  });
}

function balance() {
  act({
    title: t.shop_balance,
    fields: [{ name: "id", label: t.shop_user_id, type: "user", value: 1 }, { name: "amount", label: t.shop_amount, type: "integer", min: 1, value: 10000 }],
    will: (it) => fill(t.shop_will_balance, { id: it.id ?? "…", n: number(it.amount ?? 0) }),
    request: ({ id, amount }) => ({ method: "POST", path: `/api/users/${encodeURIComponent(id)}/balance`, body: { amount } }),
  });
}

function coupon() {
  act({
    title: t.shop_coupon,
    fields: [
      { name: "code", label: t.shop_code, maxlength: 64, wide: true },
      { name: "discountType", label: t.shop_discount, options: [["PERCENT", t.shop_percent], ["AMOUNT", t.shop_fixed]], value: "PERCENT" },
      { name: "value", label: t.shop_value, type: "integer", min: 1, value: 10 },
      { name: "currency", label: t.common_currency, required: false, maxlength: 3, pattern: "[A-Z]{3}" },
      { name: "maxUses", label: t.shop_uses, type: "integer", min: 1, value: 100 },
      { name: "validUntil", label: t.shop_valid_until, type: "moment", required: false, hint: t.common_here },
    ],
    will: (it) => fill(it.validUntil ? t.shop_will_coupon_until : t.shop_will_coupon, { code: it.code ?? "…", n: number(it.maxUses ?? 0), until: it.validUntil ? new Date(it.validUntil).toLocaleString(document.documentElement.lang) : "" }),
    request: (body) => ({ method: "POST", path: "/api/coupons", body }),
  });
}

function issue() {
  act({
    title: t.shop_issue,
    fields: [{ name: "code", label: t.shop_code, maxlength: 64 }, { name: "userId", label: t.shop_user_id, type: "user" }],
    will: (it) => fill(t.shop_will_issue, { code: it.code ?? "…", id: it.userId ?? "…" }),
    request: ({ code, userId }) => ({ method: "POST", path: `/api/coupons/${encodeURIComponent(code)}/issue`, body: { userId } }),
  });
}
