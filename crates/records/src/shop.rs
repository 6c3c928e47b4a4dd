//! Schema of the shop.

use std::sync::Arc;

use holdfast_core::audit::Audit;
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::money::Currency;
use holdfast_core::shop::{
    CartItem, CartItemId, Coupon, CouponCode, CouponState, Discount, Inventory, InventoryReservationId, Order,
    OrderClaim, OrderHold, OrderId, OrderLine, OrderState, Product, ProductId, ProductOption, ProductOptionId,
    UserAccount, UserCoupon, UserCouponId,
};

use crate::cell::{Cells, Taken, Value, number_id, text as text_cell};
use crate::hold::{self, OWNER};
use crate::layout::{Column, Layout, Parts, big, boolean, int, moment, text, uuid};
use crate::list::{Filter, List};
use crate::record::Record;

number_id!(ProductId, ProductOptionId, InventoryReservationId, OrderId);
text_cell!(CouponCode, |code| code.as_str().into(), |text| CouponCode::parse("code", text).ok());

impl Record for UserAccount {
    type Key = UserId;

    const LAYOUT: &'static Layout = &Layout {
        table: "users",
        key: &[big("id")],
        fixed: &[text("name"), text("currency")],
        changing: &[big("balance"), big("charged")],
        parts: None,
    };

    fn put_key<'a>(key: &'a UserId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a UserId, cells: &mut Cells<'a>) {
        cells.add(&self.name).add(&self.currency).add(&self.balance).add(&self.charged);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(UserId, Self)> {
        let (id, name, currency) = (cells.take()?, cells.take()?, cells.take()?);
        Some((id, Self { id, name, currency, balance: cells.take()?, charged: cells.take()? }))
    }

    fn show(_key: &UserId, row: &Self, audit: &mut Audit) {
        audit.shop.user(row);
    }
}

impl Record for Product {
    type Key = ProductId;

    const LAYOUT: &'static Layout = &Layout {
        table: "product",
        key: &[big("id")],
        fixed: &[text("name"), text("currency"), big("first_option_id"), int("option_count")],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a ProductId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a ProductId, cells: &mut Cells<'a>) {
        cells.add(&self.name).add(&self.currency).add(&self.first_option).add(&self.option_count);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(ProductId, Self)> {
        let (id, name, currency) = (cells.take()?, cells.take()?, cells.take()?);
        Some((id, Self { id, name, currency, first_option: cells.take()?, option_count: cells.take()? }))
    }

    fn show(_key: &ProductId, _row: &Self, _audit: &mut Audit) {}
}

impl Record for ProductOption {
    type Key = ProductOptionId;

    const LAYOUT: &'static Layout = &Layout {
        table: "product_option",
        key: &[big("id")],
        fixed: &[big("product_id"), text("product_name"), text("option_code"), text("currency")],
        changing: &[big("price"), boolean("is_active")],
        parts: None,
    };

    fn put_key<'a>(key: &'a ProductOptionId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a ProductOptionId, cells: &mut Cells<'a>) {
        cells.add(&self.product).add(&self.product_name).add(&self.option_code).add(&self.currency);
        cells.add(&self.price).add(&self.is_active);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(ProductOptionId, Self)> {
        let id = cells.take()?;
        let option = Self {
            id,
            product: cells.take()?,
            product_name: cells.take()?,
            option_code: cells.take()?,
            currency: cells.take()?,
            price: cells.take()?,
            is_active: cells.take()?,
        };
        Some((id, option))
    }

    fn show(_key: &ProductOptionId, row: &Self, audit: &mut Audit) {
        audit.shop.option(row);
    }
}

impl Record for Inventory {
    type Key = ProductOptionId;

    const LAYOUT: &'static Layout = &Layout {
        table: "inventory",
        key: &[big("product_option_id")],
        fixed: &[],
        changing: &[int("received_quantity"), int("sold_quantity")],
        parts: None,
    };

    fn put_key<'a>(key: &'a ProductOptionId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a ProductOptionId, cells: &mut Cells<'a>) {
        cells.add(&self.received).add(&self.sold);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(ProductOptionId, Self)> {
        Some((cells.take()?, Self { received: cells.take()?, sold: cells.take()? }))
    }

    fn show(key: &ProductOptionId, row: &Self, audit: &mut Audit) {
        audit.shop.inventory(*key, *row);
    }
}

impl Record for CartItem {
    type Key = CartItemId;

    const LAYOUT: &'static Layout = &Layout {
        table: "cart_item",
        key: &[big("user_id"), big("product_option_id")],
        fixed: &[],
        changing: &[int("quantity")],
        parts: None,
    };

    fn put_key<'a>(key: &'a CartItemId, cells: &mut Cells<'a>) {
        cells.add(&key.user).add(&key.option);
    }

    fn put<'a>(&'a self, _key: &'a CartItemId, cells: &mut Cells<'a>) {
        cells.add(&self.quantity);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(CartItemId, Self)> {
        let id = CartItemId { user: cells.take()?, option: cells.take()? };
        Some((id, Self { quantity: cells.take()? }))
    }

    fn show(key: &CartItemId, _row: &Self, audit: &mut Audit) {
        audit.shop.cart_item(*key);
    }
}

impl Record for Coupon {
    type Key = CouponCode;

    const LAYOUT: &'static Layout = &Layout {
        table: "coupon",
        key: &[text("code")],
        fixed: &[text("discount_type"), big("value"), int("max_uses"), moment("valid_until"), text("currency")],
        changing: &[int("issued_count")],
        parts: None,
    };

    fn put_key<'a>(key: &'a CouponCode, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a CouponCode, cells: &mut Cells<'a>) {
        match self.discount {
            Discount::Percent(percent) => cells.add_value("PERCENT").add_value(percent),
            Discount::Amount(amount) => cells.add_value("AMOUNT").add_value(amount),
        };
        cells.add(&self.max_uses).add(&self.valid_until).add(&self.currency).add(&self.issued);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(CouponCode, Self)> {
        let code: CouponCode = cells.take()?;
        let (kind, value): (String, i64) = (cells.take()?, cells.take()?);
        let discount = match &*kind {
            "PERCENT" => Discount::Percent(value.try_into().ok()?),
            "AMOUNT" => Discount::Amount(value),
            _ => return None,
        };
        let (max_uses, valid_until, currency) = (cells.take()?, cells.take()?, cells.take::<Option<Currency>>()?);
        // Amounts written before coupons had a currency have none in their row.
        let currency = currency.or(matches!(discount, Discount::Amount(_)).then_some(Currency::KRW));
        Some((code.clone(), Self { code, discount, currency, max_uses, issued: cells.take()?, valid_until }))
    }

    fn show(_key: &CouponCode, row: &Self, audit: &mut Audit) {
        audit.shop.coupon(row);
    }
}

impl Record for UserCoupon {
    type Key = UserCouponId;

    const LAYOUT: &'static Layout = &Layout {
        table: "user_coupon",
        key: &[text("coupon_code"), big("user_id")],
        fixed: &[],
        changing: &[big("used_by_order_id")],
        parts: None,
    };

    fn put_key<'a>(key: &'a UserCouponId, cells: &mut Cells<'a>) {
        cells.add(&key.code).add(&key.user);
    }

    fn put<'a>(&'a self, _key: &'a UserCouponId, cells: &mut Cells<'a>) {
        match &self.state {
            CouponState::Issued => cells.add_value(Value::Null),
            CouponState::Used { order } => cells.add(order),
        };
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(UserCouponId, Self)> {
        let id = UserCouponId { code: cells.take()?, user: cells.take()? };
        let state = cells.take::<Option<OrderId>>()?.map_or(CouponState::Issued, |order| CouponState::Used { order });
        Some((id, Self { state }))
    }

    fn show(key: &UserCouponId, row: &Self, audit: &mut Audit) {
        audit.shop.user_coupon(key, *row);
    }
}

/// Columns of a line, the same for reservations and orders.
const LINE: &[Column] = &[
    big("id"),
    big("product_option_id"),
    text("product_name"),
    text("option_code"),
    int("quantity"),
    big("unit_price"),
];

fn put_lines<'a>(lines: &'a [OrderLine], out: &mut Vec<Cells<'a>>) {
    for line in lines {
        let mut cells = Cells::default();
        cells.add(&line.reservation).add(&line.option).add(&line.product_name).add(&line.option_code);
        cells.add(&line.quantity).add(&line.unit_price);
        out.push(cells);
    }
}

fn take_lines(lines: Vec<Taken<'_>>) -> Option<Arc<[OrderLine]>> {
    let line = |mut cells: Taken<'_>| {
        Some(OrderLine {
            reservation: cells.take()?,
            option: cells.take()?,
            product_name: cells.take()?,
            option_code: cells.take()?,
            quantity: cells.take()?,
            unit_price: cells.take()?,
        })
    };
    lines.into_iter().map(line).collect()
}

impl Record for OrderHold {
    type Key = HoldId;

    const LAYOUT: &'static Layout = &Layout {
        table: "order_hold",
        key: hold::KEY,
        fixed: &[OWNER[0], OWNER[1], OWNER[2], text("currency"), big("total_amount")],
        changing: hold::STATE,
        parts: Some(Parts { table: "inventory_reservation", owner: "hold_id", columns: LINE }),
    };

    fn put_key<'a>(key: &'a HoldId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a HoldId, cells: &mut Cells<'a>) {
        hold::put_owner(self, cells);
        cells.add(&self.claim.currency).add(&self.claim.total);
        hold::put_state(self, cells);
    }

    fn put_parts<'a>(&'a self, lines: &mut Vec<Cells<'a>>) {
        put_lines(&self.claim.lines, lines);
    }

    fn take(cells: &mut Taken<'_>, lines: Vec<Taken<'_>>) -> Option<(HoldId, Self)> {
        let header = hold::take_owner(cells)?;
        let claim = OrderClaim { currency: cells.take()?, total: cells.take()?, lines: take_lines(lines)? };
        header.with_claim(claim, cells)
    }

    fn show(_key: &HoldId, row: &Self, audit: &mut Audit) {
        audit.shop.hold(row);
    }
}

impl Record for Order {
    type Key = OrderId;

    const LAYOUT: &'static Layout = &Layout {
        table: "orders",
        key: &[big("id")],
        fixed: &[
            uuid("hold_id"),
            big("user_id"),
            big("total_amount"),
            big("discount_amount"),
            big("paid_amount"),
            text("coupon_code"),
            text("currency"),
            moment("created_at"),
        ],
        changing: &[moment("cancelled_at")],
        parts: Some(Parts { table: "order_item", owner: "order_id", columns: LINE }),
    };

    fn put_key<'a>(key: &'a OrderId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a OrderId, cells: &mut Cells<'a>) {
        cells.add(&self.hold).add(&self.user).add(&self.total).add(&self.discount).add(&self.paid);
        cells.add(&self.coupon).add(&self.currency).add(&self.created_at);
        match &self.state {
            OrderState::Paid => cells.add_value(Value::Null),
            OrderState::Cancelled { at } => cells.add(at),
        };
    }

    fn put_parts<'a>(&'a self, lines: &mut Vec<Cells<'a>>) {
        put_lines(&self.items, lines);
    }

    fn take(cells: &mut Taken<'_>, lines: Vec<Taken<'_>>) -> Option<(OrderId, Self)> {
        let id = cells.take()?;
        let order = Self {
            id,
            hold: cells.take()?,
            user: cells.take()?,
            total: cells.take()?,
            discount: cells.take()?,
            paid: cells.take()?,
            coupon: cells.take()?,
            currency: cells.take()?,
            created_at: cells.take()?,
            state: match cells.take()? {
                Some(at) => OrderState::Cancelled { at },
                None => OrderState::Paid,
            },
            items: take_lines(lines)?,
        };
        Some((id, order))
    }

    fn show(_key: &OrderId, row: &Self, audit: &mut Audit) {
        audit.shop.order(row);
    }
}

/// Finds the order of a reservation line.
pub fn order_of(reservation: InventoryReservationId) -> List {
    List::of::<Order>(None, 1).filter(Filter::HasLine("id", reservation.get().into()))
}

/// Lists holds in order of creation, for stores that keep holds in SQL tables.
pub fn order_holds(after: Option<&HoldId>, limit: usize) -> List {
    List::of::<OrderHold>(after, limit)
}

/// Lists orders in order of number: all, or those of a user, by the index of users.
pub fn orders(user: Option<UserId>, after: Option<OrderId>, limit: usize) -> List {
    let list = List::of::<Order>(after.as_ref(), limit);
    match user {
        Some(user) => list.by("user_id", user.get()),
        None => list,
    }
}
