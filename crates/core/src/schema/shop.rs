//! Tables of the shop.

use crate::audit::Audit;
use crate::id::{HoldId, UserId};
use crate::money::Currency;
use crate::shop::{
    CartItem, CartItemId, CartOf, Coupon, CouponCode, CouponState, Discount, Inventory, InventoryReservationId,
    LastHold, Order, OrderClaim, OrderHold, OrderId, OrderLine, OrderState, Product, ProductId, ProductOption,
    ProductOptionId, UserAccount, UserCoupon, UserCouponId,
};

use crate::schema::column::{ColumnType, Columns, Type, named, type_of};
use crate::schema::declare::child_row;
use crate::schema::hold::{self, OWNER};
use crate::schema::list::{Filter, List};
use crate::schema::row::{ChildRow as _, TableRow, put_lines, take_lines};
use crate::schema::spec::{ChildRows, TableSpec};
use crate::schema::value::{FromValue, ToValue, Value, ValueReader, Values, cancelled_at, number_id, text};

crate::tables! {
    /// Tables of the shop.
    {
        users: Table<UserId, UserAccount> => durable cached {
            table "users";
            key id => id;
            fixed { name, currency };
            changing { balance, charged };
            audit |_, row, audit| audit.shop.user(row);
        },
        products: Table<ProductId, Product> => durable cached {
            table "product";
            key id => id;
            fixed { name, currency, first_option as first_option_id, option_count };
        },
        options: Table<ProductOptionId, ProductOption> => durable cached {
            table "product_option";
            key id => id;
            fixed { product as product_id, product_name, option_code, currency };
            changing { price, is_active };
            audit |_, row, audit| audit.shop.option(row);
        },
        inventory: Table<ProductOptionId, Inventory> => durable cached {
            table "inventory";
            key product_option_id;
            changing { received as received_quantity, sold as sold_quantity };
            audit |key, row, audit| audit.shop.inventory(*key, *row);
        },
        cart: Table<CartItemId, CartItem, CartOf> => durable cached {
            table "cart_item";
            key { user as user_id, option as product_option_id };
            changing { quantity };
            audit |key, _, audit| audit.shop.cart_item(*key);
        },
        orders: Table<OrderId, Order> => durable cached {
            table "orders";
            key id => id;
            fixed {
                hold as hold_id, user as user_id, total as total_amount, discount as discount_amount,
                paid as paid_amount, coupon as coupon_code, currency, created_at,
            };
            changing { state as cancelled_at };
            lines items in "order_item" by "order_id";
            audit |_, row, audit| audit.shop.order(row);
        },
        coupons: Table<CouponCode, Coupon> => durable cached {
            table "coupon";
            key code => code;
            fixed { discount as (discount_type, value), max_uses, valid_until, currency };
            changing { issued as issued_count };
            audit |_, row, audit| audit.shop.coupon(row);
        },
        user_coupons: Table<UserCouponId, UserCoupon> => durable cached {
            table "user_coupon";
            key { code as coupon_code, user as user_id };
            changing { state as used_by_order_id };
            audit |key, row, audit| audit.shop.user_coupon(key, *row);
        },
        holds: Table<HoldId, OrderHold> => live cached { by_hand; },
        /// Secondary index: the latest hold of a user, unless it was paid or released.
        by_user: Table<UserId, LastHold> => live complete {
            table "order_hold_by_user";
            key user_id;
            changing { hold as hold_id, kept_until };
            name |user| format_args!("order-hold:user:{user}");
        },
    }
}

number_id!(ProductId, ProductOptionId, InventoryReservationId, OrderId);
text!(CouponCode, |code| code.as_str().into(), |text| CouponCode::parse("code", text).ok());
cancelled_at!(OrderState, Paid);

child_row!(OrderLine {
    reservation as id,
    option as product_option_id,
    product_name,
    option_code,
    quantity,
    unit_price,
});

impl Columns for Discount {
    const TYPES: &'static [ColumnType] = &[type_of::<String>(), type_of::<i64>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        match self {
            Self::Percent(percent) => values.add_value("PERCENT").add_value(i64::from(*percent)),
            Self::Amount(amount) => values.add_value("AMOUNT").add(amount),
        };
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let (kind, value): (String, i64) = (values.take()?, values.take()?);
        match &*kind {
            "PERCENT" => Some(Self::Percent(value.try_into().ok()?)),
            "AMOUNT" => Some(Self::Amount(value)),
            _ => None,
        }
    }
}

impl ToValue for CouponState {
    fn to_value(&self) -> Value<'_> {
        match self {
            Self::Issued => Value::Null,
            Self::Used { order } => order.to_value(),
        }
    }
}

impl FromValue for CouponState {
    const TYPE: Type = Type::Big;
    const IS_NULLABLE: bool = true;

    fn from_value(value: Value<'_>) -> Option<Self> {
        Some(Option::from_value(value)?.map_or(Self::Issued, |order| Self::Used { order }))
    }
}

impl TableRow<HoldId> for OrderHold {
    const SPEC: &'static TableSpec = &TableSpec {
        fixed: &[OWNER[0], OWNER[1], OWNER[2], named::<Currency>("currency"), named::<i64>("total_amount")],
        child_rows: Some(ChildRows { table: "inventory_reservation", owner: "hold_id", columns: OrderLine::COLUMNS }),
        ..hold::spec("order_hold")
    };

    fn put_key<'a>(key: &'a HoldId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        hold::put_owner(self, values);
        values.add(&self.claim.currency).add(&self.claim.total);
        hold::put_state(self, values);
    }

    fn put_child_rows<'a>(&'a self, lines: &mut Vec<Values<'a>>) {
        put_lines(&self.claim.lines, lines);
    }

    fn take_key(values: &mut ValueReader<'_>) -> Option<HoldId> {
        values.take()
    }

    fn take(id: &HoldId, values: &mut ValueReader<'_>, lines: Vec<ValueReader<'_>>) -> Option<Self> {
        let header = hold::take_owner(values)?;
        let claim = OrderClaim { currency: values.take()?, total: values.take()?, lines: take_lines(lines)? };
        header.with_claim(*id, claim, values)
    }

    fn show(_key: &HoldId, row: &Self, audit: &mut Audit) {
        audit.shop.hold(row);
    }

    fn write_name(id: &HoldId, name: &mut String) {
        hold::write_name("order-hold", *id, name);
    }
}

/// Finds the order of a reservation line.
pub fn order_of(reservation: InventoryReservationId) -> List {
    List::of::<Order>(None, 1).filter(Filter::HasChildRow("id", reservation.get().into()))
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
