//! Tables of the shop.

use crate::hold::RecordType;
use crate::id::UserId;
use crate::shop::{
    CartItem, CartItemId, CartOf, Coupon, CouponCode, CouponState, Discount, Inventory, InventoryReservationId,
    LastHold, Order, OrderId, OrderState, Product, ProductId, ProductOption, ProductOptionId, StockItem, StockSale,
    StockSaleId, StockSaleState, UserAccount, UserCoupon, UserCouponId,
};

use crate::schema::column::{ColumnType, Columns, Type, type_of};
use crate::schema::declare::child_row;
use crate::schema::list::{Filter, List};
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
            audit |key, _, audit| audit.shop.cart_item(key);
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
            audit |_, row, audit| {
                audit.shop.order(row);
                audit.holds.record(RecordType::Order, row.id.get(), row.hold);
            };
        },
        sales: Table<StockSaleId, StockSale> => durable cached {
            table "stock_sale";
            key id => id;
            fixed {
                hold as hold_id, line as line_no, user as user_id, option as product_option_id, quantity, price, currency,
                sold_at,
            };
            changing { state as cancelled_at };
            audit |_, row, audit| {
                audit.shop.sale(row);
                audit.holds.record(RecordType::StockSale, row.id.get(), row.hold);
            };
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
        /// Latest hold of a user on a cart.
        last_holds: Table<UserId, LastHold> => live cached {
            table "last_cart_hold";
            key user_id;
            changing { hold as hold_id, kept_until };
            name |user| format_args!("order-hold:user:{}", user.key_part());
        },
    }
}

number_id!(ProductId, ProductOptionId, InventoryReservationId, OrderId, StockSaleId);
text!(CouponCode, |code| code.as_str().into(), |text| CouponCode::parse("code", text).ok());
cancelled_at!(OrderState, Paid);
cancelled_at!(StockSaleState, Sold);

child_row!(StockItem {
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
