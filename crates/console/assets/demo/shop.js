// Coffee beans: fill the cart, reserve all or none, then pay with balance and coupon.
import { call, customer, needsToken, Refusal, remember, remembered } from "./api.js";
import { button, el, every, focus, holdPanel, say, show, showDone, showTimeIsUp, unsay } from "./ui.js";
import { fill, money, t } from "../texts.js";

const COUPON = "WELCOME10", HAVE_COUPON = "shop.coupon", RESERVED = "shop.reserved";
const FIRST_BALANCE = 100_000, TOP_UP = 100_000;
let products = [], cart = { items: [] }, account = null;
let stopLooking = () => {};

const optionOf = (id) => products.flatMap((product) => product.options).find((option) => option.id === id);
const nameOf = (line) => `${line.productName} ${line.optionCode}`;

async function refresh() {
  const user = encodeURIComponent(await customer());
  [{ items: products }, cart, account] = await Promise.all([
    call("GET", "/api/products"), call("GET", "/api/cart"), call("GET", `/api/users/${user}`)]);
}

async function put(productOptionId, quantity) {
  cart = await call("PUT", "/api/cart/items", { productOptionId, quantity });
  draw();
}

async function look() {
  await refresh();
  draw();
  stopLooking();
  stopLooking = every(3_000, async () => { await refresh(); draw(); });
}

let drawn = "";

function draw() {
  // Rendered again only after a change, so that a button does not move while it is pressed.
  const state = JSON.stringify([products, cart, account]);
  if (state === drawn && document.getElementById("cart")) return;
  drawn = state;
  const pressed = document.activeElement?.dataset?.key;
  show(wallet(), el("div", { class: "two" },
    el("div", { class: "stack" }, products.map((product) => el("section", { class: "card" }, el("h2", {}, product.name),
      el("ul", { class: "lines" }, product.options.map(option))))),
    cartCard()));
  if (pressed) document.querySelector(`[data-key="${pressed}"]`)?.focus();
}

function wallet() {
  return el("p", { class: "row between wallet" },
    el("span", {}, t.goods_balance, " ", el("strong", { id: "balance" }, money(account.balance, account.currency))),
    // With authentication on, an operator tops up balances.
    !needsToken && topUpButton({ kind: "slim", "data-key": "top-up" }));
}

const topUpButton = (properties) => button(fill(t.goods_top_up, { amount: money(TOP_UP, account.currency) }), topUp, properties);

async function topUp() {
  account = await call("POST", `/api/users/${encodeURIComponent(account.id)}/balance`, { amount: TOP_UP });
  const shown = document.getElementById("balance");
  if (shown) shown.textContent = money(account.balance, account.currency);
  say(t.goods_topped_up, { kind: "free" });
}

function option(option) {
  const inCart = cart.items.find((line) => line.productOptionId === option.id)?.quantity ?? 0;
  const isOut = option.availableStock === 0 || !option.isActive;
  return el("li", { "data-option": option.id },
    el("span", {}, el("strong", {}, option.optionCode),
      el("span", { class: "quiet small" }, " ", isOut ? t.goods_sold_out : fill(t.goods_in_stock, { count: option.availableStock }))),
    el("span", { class: "row" }, money(option.price, option.currency),
      button(t.goods_add, () => put(option.id, inCart + 1), {
        kind: "slim", disabled: isOut, "data-key": `add-${option.id}`, "aria-label": `${t.goods_add}: ${nameOf(option)}`,
      })));
}

function cartCard() {
  if (cart.items.length === 0) {
    return el("section", { class: "card cart", id: "cart" }, el("h2", {}, t.goods_cart), el("p", { class: "quiet" }, t.goods_cart_empty));
  }
  const total = cart.items.reduce((sum, line) => sum + line.price * line.quantity, 0);
  return el("section", { class: "card cart", id: "cart" }, el("h2", {}, t.goods_cart),
    el("ul", { class: "lines" }, cart.items.map((line) => el("li", { "data-line": line.productOptionId },
      el("span", {}, nameOf(line)),
      el("span", { class: "stepper", role: "group", "aria-label": fill(t.goods_quantity, { name: nameOf(line) }) },
        step(line, -1, "−", t.goods_less),
        el("output", {}, String(line.quantity)),
        step(line, 1, "+", t.goods_more))))),
    el("p", { class: "sum" }, el("span", {}, t.demo_total), el("strong", {}, money(total, account.currency))),
    button(t.goods_reserve, reserve, { kind: "primary big", id: "reserve", "data-key": "reserve", refused: tooFew }));
}

const step = (line, by, sign, label) => button(sign, () => put(line.productOptionId, line.quantity + by),
  { kind: "slim", "aria-label": label, "data-key": `${sign}${line.productOptionId}` });

async function reserve() {
  await call("POST", "/api/order/reserve", {});
  remember(RESERVED, "yes");
  unsay();
  await showReserved();
}

/** Stock is too low: show the remaining quantity, and offer it. */
function tooFew(error) {
  if (error.code !== "INSUFFICIENT_AVAILABLE_STOCK") return false;
  const { productOptionId, available = 0 } = error.problem;
  const fit = button(available ? t.goods_fit : t.goods_take_out, async () => { await put(productOptionId, available); unsay(); });
  const what = optionOf(productOptionId);
  say(available ? fill(t.goods_too_few, { count: available }) : t.goods_too_few_none,
    { way: what && `${what.productName} ${what.optionCode}`, kind: "held", actions: [fit] });
  return true;
}

async function showReserved() {
  stopLooking();
  const reserved = await call("GET", "/api/order/reserve");
  const priced = reserved.reservations.map((line) =>
    [`${nameOf(line)} × ${line.quantity}`, money(line.unitPrice * line.quantity, reserved.currency)]);
  const hasCoupon = remembered(HAVE_COUPON);
  const discount = hasCoupon ? Math.floor(reserved.totalAmount / 10) : 0;
  const lines = discount ? [...priced, [t.goods_discount, `−${money(discount, reserved.currency)}`]] : priced;
  const again = async () => {
    await look();
    await reserve();
  };
  const over = () => {
    remember(RESERVED, null);
    showTimeIsUp(again, tooFew);
  };
  show(wallet(), holdPanel({
    lines, total: money(reserved.totalAmount - discount, reserved.currency), until: reserved.expiresAt, extra: coupon(hasCoupon), over,
    pay: async () => showPaid(await call("POST", "/api/order", {
      couponCode: hasCoupon ? COUPON : undefined,
      // If the amount has changed, the payment is refused.
      expectedAmount: reserved.totalAmount - discount,
    })),
    letGo: async () => {
      await call("DELETE", "/api/order/reserve");
      remember(RESERVED, null);
      await look();
      say(t.demo_let_go_done);
    },
    refused: (error) => {
      if (error.code === "RESERVATION_EXPIRED") over();
      else if (error.code === "INSUFFICIENT_BALANCE") say(needsToken ? t.goods_no_money_ask : t.goods_no_money, { kind: "held", actions: !needsToken && [topUpButton({ kind: "primary", id: "add-money" })] });
      else return false;
      return true;
    },
  }));
  focus(document.querySelector(".hold"));
}

function coupon(hasCoupon) {
  if (hasCoupon) return el("p", { class: "mark free", id: "coupon" }, t.goods_coupon_have);
  return el("p", {}, button(t.goods_coupon_get, async () => {
    await call("POST", `/api/coupons/${COUPON}/issue`, {});
    remember(HAVE_COUPON, "yes");
    await showReserved();
  }, { kind: "slim", id: "get-coupon", refused: (error) => {
    if (error.code !== "COUPON_SOLD_OUT") return false;
    say(t.goods_coupon_gone);
    return true;
  } }));
}

function showPaid(order) {
  remember(HAVE_COUPON, null);
  remember(RESERVED, null);
  const lines = order.items.map((item) => [`${nameOf(item)} × ${item.quantity}`, money(item.amount, order.currency)]);
  if (order.discountAmount) lines.push([t.goods_discount, `−${money(order.discountAmount, order.currency)}`]);
  lines.push([t.demo_total, money(order.paidAmount, order.currency)], [t.goods_balance, money(order.balanceAfter, order.currency)]);
  unsay();
  const cancel = async () => {
    await call("POST", `/api/orders/${order.orderId}/cancel`);
    if (order.discountAmount) remember(HAVE_COUPON, "yes");
    await look();
    say(t.goods_order_cancelled, { kind: "free" });
  };
  showDone({
    title: t.goods_paid, name: t.goods_order, number: order.orderId, lines,
    actions: [button(t.goods_cancel_order, cancel), button(t.demo_start_over, look)],
  });
}

/** A signed-in customer may have no shop account. */
function showNoAccount() {
  show(el("section", { class: "card kind", id: "no-account" }, el("h2", {}, t.goods_no_account), el("p", {}, t.goods_no_account_way)));
}

async function open() {
  await refresh();
  // A new guest of the demo starts with a balance.
  if (account.balance === 0 && !needsToken && !remembered("shop.welcomed")) {
    account = await call("POST", `/api/users/${encodeURIComponent(account.id)}/balance`, { amount: FIRST_BALANCE });
  }
  remember("shop.welcomed", "yes");
  const kept = remembered(RESERVED) && await call("GET", "/api/order/reserve").catch((error) => {
    if (error instanceof Refusal) return null;
    throw error;
  });
  if (kept) await showReserved();
  else await look();
}

try {
  await open();
} catch (error) {
  if (error.code !== "USER_NOT_FOUND") throw error;
  showNoAccount();
}
