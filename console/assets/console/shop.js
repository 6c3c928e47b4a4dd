// Shop: stock of every option as a bar, and the orders.
import { act, ending } from "./act.js";
import { all, api, button, fill, follow, h, latest, mark, moment, money, number, page, t, table } from "./kit.js";

const ORDERS = 2000;

document.getElementById("tools").append(
  button(t.shop_coupon, coupon), button(t.shop_balance, balance), button(t.shop_account, account), button(t.shop_create, create, "primary"));

const refresh = page(async () => {
  const [products, paid, orders] = await Promise.all([all("/api/products"), all("/api/orders", ORDERS / 500), latest("/api/orders")]);
  const options = await Promise.all(products.flatMap((product) => product.options.map(async (option) => ({ product, ...(await api(`/api/product-options/${option.id}`)) }))));
  const sold = new Map();
  for (const order of paid.filter((it) => it.status === "PAID")) {
    for (const item of order.items) sold.set(item.productOptionId, (sold.get(item.productOptionId) ?? 0) + item.quantity);
  }
  const most = Math.max(1, ...options.map((option) => option.stockQuantity + (sold.get(option.id) ?? 0)));
  return [
    h("section", { class: "card" },
      h("header", { class: "row between" }, h("h2", {}, t.shop_stock), key()),
      products.length === 0 ? h("p", { class: "empty" }, t.common_none) : h("div", { class: "scroll" }, h("table", { class: "stock" },
        h("thead", {}, h("tr", {}, [t.shop_option, t.common_price].map((it, at) => h("th", { scope: "col", class: at && "number" }, it)), h("th", { scope: "col", class: "bar-head" }, t.shop_stock),
          [t.common_free, t.common_held, t.common_sold].map((it) => h("th", { scope: "col", class: "number" }, it)), h("th", {}, h("span", { class: "visually-hidden" }, t.common_actions)))),
        products.map((product) => h("tbody", {}, h("tr", { class: "group" }, h("th", { scope: "rowgroup", colspan: 7 }, product.name)),
          options.filter((option) => option.product.id === product.id).map((option) => row(option, product, sold.get(option.id) ?? 0, most)))))),
      h("p", { class: "hint" }, fill(t.shop_sold_note, { n: number(ORDERS) }))),
    h("section", { class: "card" }, h("h2", {}, t.shop_orders), table(
      ["#", t.common_user, t.shop_items, [t.shop_paid], t.common_status, t.outbox_created, ""],
      orders.slice(0, 15).map((it) => [h("a", { href: `/console/search?q=${it.orderId}` }, it.orderId), it.userId, it.items.map((item) => `${item.optionCode} × ${item.quantity}`).join(", "), money(it.paidAmount, it.currency), mark(it.status), moment(it.createdAt),
        it.status === "PAID" && ending(t.stays_cancel, t.shop_will_cancel, it.orderId, `/api/orders/${it.orderId}/cancel`, refresh)]))),
  ];
});

follow("order.", { refresh });

const key = () => h("p", { class: "legend" }, h("span", { class: "key swatch-free" }, t.common_free), h("span", { class: "key swatch-held" }, t.common_held), h("span", { class: "key swatch-sold" }, t.common_sold));

function row(option, product, sold, most) {
  const held = option.reservedQuantity;
  const free = Math.max(0, option.availableStock);
  return h("tr", { "data-option": option.id },
    h("td", {}, h("span", { class: "mono" }, option.optionCode), " ", !option.isActive && h("span", { class: "mark danger" }, t.shop_inactive)),
    h("td", { class: "number" }, money(option.price, product.currency ?? option.currency ?? "KRW")),
    h("td", {}, bar([["free", free], ["held", held], ["sold", sold]], most)),
    [["free", free], ["held", held], ["sold", sold]].map(([name, value]) => h("td", { class: `number count-${name}` }, number(value))),
    h("td", { class: "number" }, button(t.shop_change, () => change(option, product), "slim")));
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
    fields: [{ name: "name", label: t.common_name, wide: true }, { name: "optionCode", label: t.shop_option_code }, { name: "price", label: t.common_price, type: "integer", value: 10000 }, { name: "stockQuantity", label: t.shop_stock, type: "integer", value: 10 }],
    will: (it) => fill(t.shop_will_create, { name: it.name ?? "…", code: it.optionCode ?? "…", price: money(it.price ?? 0, "KRW"), n: number(it.stockQuantity ?? 0) }),
    request: ({ name, ...option }) => ({ method: "POST", path: "/api/products", body: { name, options: [option] } }),
    done: refresh,
  });
}

function change(option, product) {
  const currency = product.currency ?? option.currency ?? "KRW";
  act({
    title: t.shop_change,
    fields: [{ name: "price", label: t.common_price, type: "integer", value: option.price }, { name: "stockQuantity", label: t.shop_stock, type: "integer", value: option.stockQuantity }, { name: "isActive", label: t.shop_active, type: "checkbox", value: option.isActive }],
    will: (it) => fill(t.shop_will_change, { code: option.optionCode, price: money(it.price ?? 0, currency), n: number(it.stockQuantity ?? 0), active: it.isActive ? t.shop_active : t.shop_inactive }),
    request: (body) => ({ method: "PATCH", path: `/api/product-options/${option.id}`, body }),
    done: refresh,
  });
}

function account() {
  act({ title: t.shop_account, fields: [{ name: "name", label: t.common_name, wide: true }], will: (it) => fill(t.shop_will_account, { name: it.name ?? "…" }), request: (body) => ({ method: "POST", path: "/api/users", body }), done: refresh });
}

function balance() {
  act({
    title: t.shop_balance,
    fields: [{ name: "id", label: t.shop_user_id, type: "integer", min: 1, value: 1 }, { name: "amount", label: t.shop_amount, type: "integer", min: 1, value: 10000 }],
    will: (it) => fill(t.shop_will_balance, { id: it.id ?? "…", n: money(it.amount ?? 0, "KRW") }),
    request: ({ id, amount }) => ({ method: "POST", path: `/api/users/${id}/balance`, body: { amount } }),
  });
}

function coupon() {
  act({
    title: t.shop_coupon,
    fields: [{ name: "code", label: t.shop_code, wide: true }, { name: "discountType", label: t.shop_discount, options: [["PERCENT", t.shop_percent], ["AMOUNT", t.shop_fixed]], value: "PERCENT" }, { name: "value", label: t.shop_value, type: "integer", min: 1, value: 10 }, { name: "maxUses", label: t.shop_uses, type: "integer", min: 1, value: 100 }],
    will: (it) => fill(t.shop_will_coupon, { code: it.code ?? "…", n: number(it.maxUses ?? 0) }),
    request: (body) => ({ method: "POST", path: "/api/coupons", body }),
  });
}
