//! Schema of the shop.

use std::sync::Arc;

use crate::audit::Audit;
use crate::id::UserId;
use crate::money::Currency;
use crate::shop::{
    CartItem, CartItemId, Coupon, CouponCode, CouponState, Discount, Inventory, InventoryReservationId, Order, OrderId,
    OrderState, Product, ProductId, ProductOption, ProductOptionId, StockItem, UserAccount, UserCoupon, UserCouponId,
};

use crate::schema::list::{Filter, List};
use crate::schema::record::Record;
use crate::schema::table::{ChildRows, Column, TableSchema, big, boolean, int, moment, text, uuid};
use crate::schema::value::{Value, ValueReader, Values, number_id, text as text_cell};
use crate::unit::Kind;

number_id!(ProductId, ProductOptionId, InventoryReservationId, OrderId);
text_cell!(CouponCode, |code| code.as_str().into(), |text| CouponCode::parse("code", text).ok());

impl Record for UserAccount {
    type Key = UserId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "users",
        key: &[text("id")],
        fixed: &[text("name"), text("currency")],
        changing: &[big("balance"), big("charged")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a UserId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a UserId, values: &mut Values<'a>) {
        values.add(&self.name).add(&self.currency).add(&self.balance).add(&self.charged);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(UserId, Self)> {
        let (id, name, currency): (UserId, _, _) = (values.take()?, values.take()?, values.take()?);
        Some((id.clone(), Self { id, name, currency, balance: values.take()?, charged: values.take()? }))
    }

    fn show(_key: &UserId, row: &Self, audit: &mut Audit) {
        audit.shop.user(row);
    }
}

impl Record for Product {
    type Key = ProductId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "product",
        key: &[big("id")],
        fixed: &[text("name"), text("currency"), big("first_option_id"), int("option_count")],
        changing: &[],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a ProductId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a ProductId, values: &mut Values<'a>) {
        values.add(&self.name).add(&self.currency).add(&self.first_option).add(&self.option_count);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(ProductId, Self)> {
        let (id, name, currency) = (values.take()?, values.take()?, values.take()?);
        Some((id, Self { id, name, currency, first_option: values.take()?, option_count: values.take()? }))
    }

    fn show(_key: &ProductId, _row: &Self, _audit: &mut Audit) {}
}

impl Record for ProductOption {
    type Key = ProductOptionId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "product_option",
        key: &[big("id")],
        fixed: &[big("product_id"), text("product_name"), text("option_code"), text("currency")],
        changing: &[big("price"), boolean("is_active")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a ProductOptionId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a ProductOptionId, values: &mut Values<'a>) {
        values.add(&self.product).add(&self.product_name).add(&self.option_code).add(&self.currency);
        values.add(&self.price).add(&self.is_active);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(ProductOptionId, Self)> {
        let id = values.take()?;
        let option = Self {
            id,
            product: values.take()?,
            product_name: values.take()?,
            option_code: values.take()?,
            currency: values.take()?,
            price: values.take()?,
            is_active: values.take()?,
        };
        Some((id, option))
    }

    fn show(_key: &ProductOptionId, row: &Self, audit: &mut Audit) {
        audit.shop.option(row);
    }
}

impl Record for Inventory {
    type Key = ProductOptionId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "inventory",
        key: &[big("product_option_id")],
        fixed: &[],
        changing: &[int("received_quantity"), int("sold_quantity")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a ProductOptionId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a ProductOptionId, values: &mut Values<'a>) {
        values.add(&self.received).add(&self.sold);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(ProductOptionId, Self)> {
        Some((values.take()?, Self { received: values.take()?, sold: values.take()? }))
    }

    fn show(key: &ProductOptionId, row: &Self, audit: &mut Audit) {
        audit.shop.inventory(*key, *row);
    }
}

impl Record for CartItem {
    type Key = CartItemId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "cart_item",
        key: &[text("user_id"), big("product_option_id")],
        fixed: &[],
        changing: &[int("quantity")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a CartItemId, values: &mut Values<'a>) {
        values.add(&key.user).add(&key.option);
    }

    fn put<'a>(&'a self, _key: &'a CartItemId, values: &mut Values<'a>) {
        values.add(&self.quantity);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(CartItemId, Self)> {
        let id = CartItemId { user: values.take()?, option: values.take()? };
        Some((id, Self { quantity: values.take()? }))
    }

    fn show(key: &CartItemId, _row: &Self, audit: &mut Audit) {
        audit.shop.cart_item(key);
    }
}

impl Record for Coupon {
    type Key = CouponCode;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "coupon",
        key: &[text("code")],
        fixed: &[text("discount_type"), big("value"), int("max_uses"), moment("valid_until"), text("currency")],
        changing: &[int("issued_count")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a CouponCode, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a CouponCode, values: &mut Values<'a>) {
        match self.discount {
            Discount::Percent(percent) => values.add_value("PERCENT").add_value(percent),
            Discount::Amount(amount) => values.add_value("AMOUNT").add_value(amount),
        };
        values.add(&self.max_uses).add(&self.valid_until).add(&self.currency).add(&self.issued);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(CouponCode, Self)> {
        let code: CouponCode = values.take()?;
        let (kind, value): (String, i64) = (values.take()?, values.take()?);
        let discount = match &*kind {
            "PERCENT" => Discount::Percent(value.try_into().ok()?),
            "AMOUNT" => Discount::Amount(value),
            _ => return None,
        };
        let (max_uses, valid_until, currency) = (values.take()?, values.take()?, values.take::<Option<Currency>>()?);
        // Amounts written before coupons had a currency have none in their row.
        let currency = currency.or(matches!(discount, Discount::Amount(_)).then_some(Currency::KRW));
        Some((code.clone(), Self { code, discount, currency, max_uses, issued: values.take()?, valid_until }))
    }

    fn show(_key: &CouponCode, row: &Self, audit: &mut Audit) {
        audit.shop.coupon(row);
    }
}

impl Record for UserCoupon {
    type Key = UserCouponId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "user_coupon",
        key: &[text("coupon_code"), text("user_id")],
        fixed: &[],
        changing: &[big("used_by_order_id")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a UserCouponId, values: &mut Values<'a>) {
        values.add(&key.code).add(&key.user);
    }

    fn put<'a>(&'a self, _key: &'a UserCouponId, values: &mut Values<'a>) {
        match &self.state {
            CouponState::Issued => values.add_value(Value::Null),
            CouponState::Used { order } => values.add(order),
        };
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(UserCouponId, Self)> {
        let id = UserCouponId { code: values.take()?, user: values.take()? };
        let state = values.take::<Option<OrderId>>()?.map_or(CouponState::Issued, |order| CouponState::Used { order });
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

fn put_lines<'a>(lines: &'a [StockItem], out: &mut Vec<Values<'a>>) {
    for line in lines {
        let mut values = Values::default();
        values.add(&line.reservation).add(&line.option).add(&line.product_name).add(&line.option_code);
        values.add(&line.quantity).add(&line.unit_price);
        out.push(values);
    }
}

fn take_lines(lines: Vec<ValueReader<'_>>) -> Option<Arc<[StockItem]>> {
    let line = |mut values: ValueReader<'_>| {
        Some(StockItem {
            reservation: values.take()?,
            option: values.take()?,
            product_name: values.take()?,
            option_code: values.take()?,
            quantity: values.take()?,
            unit_price: values.take()?,
        })
    };
    lines.into_iter().map(line).collect()
}

impl Record for Order {
    type Key = OrderId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "orders",
        key: &[big("id")],
        fixed: &[
            uuid("hold_id"),
            text("user_id"),
            big("total_amount"),
            big("discount_amount"),
            big("paid_amount"),
            text("coupon_code"),
            text("currency"),
            moment("created_at"),
        ],
        changing: &[moment("cancelled_at")],
        child_rows: Some(ChildRows { table: "order_item", owner: "order_id", columns: LINE }),
    };

    fn put_key<'a>(key: &'a OrderId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a OrderId, values: &mut Values<'a>) {
        values.add(&self.hold).add(&self.user).add(&self.total).add(&self.discount).add(&self.paid);
        values.add(&self.coupon).add(&self.currency).add(&self.created_at);
        match &self.state {
            OrderState::Paid => values.add_value(Value::Null),
            OrderState::Cancelled { at } => values.add(at),
        };
    }

    fn put_child_rows<'a>(&'a self, lines: &mut Vec<Values<'a>>) {
        put_lines(&self.items, lines);
    }

    fn take(values: &mut ValueReader<'_>, lines: Vec<ValueReader<'_>>) -> Option<(OrderId, Self)> {
        let id = values.take()?;
        let order = Self {
            id,
            hold: values.take()?,
            user: values.take()?,
            total: values.take()?,
            discount: values.take()?,
            paid: values.take()?,
            coupon: values.take()?,
            currency: values.take()?,
            created_at: values.take()?,
            state: match values.take()? {
                Some(at) => OrderState::Cancelled { at },
                None => OrderState::Paid,
            },
            items: take_lines(lines)?,
        };
        Some((id, order))
    }

    fn show(_key: &OrderId, row: &Self, audit: &mut Audit) {
        audit.shop.order(row);
        audit.holds.record(Kind::Shop, row.id.get(), row.hold);
    }
}

/// Finds the order of a reservation line.
pub fn order_of(reservation: InventoryReservationId) -> List {
    List::of::<Order>(None, 1).filter(Filter::HasChildRow("id", reservation.get().into()))
}

/// Lists orders in order of number: all, or those of a user, by the index of users.
pub fn orders(user: Option<&UserId>, after: Option<OrderId>, limit: usize) -> List {
    let list = List::of::<Order>(after.as_ref(), limit);
    match user {
        Some(user) => list.by("user_id", user.to_string()),
        None => list,
    }
}
