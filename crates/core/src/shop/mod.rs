//! Goods from stock. A unit is a product option; a hold claims the quantities of a whole cart, at the prices of that
//! moment. Paying turns it into an order: stock, money, coupon and cart change together or not at all.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`user`] | accounts and their balance |
//! | [`product`] | what is sold: products and their options |
//! | [`stock`] | how much of an option there is: looking at it, changing it |
//! | [`cart`] | what a user means to buy |
//! | [`coupon`] | discounts, first come, first served |
//! | [`reservation`] | holding a cart: reserving, exchanging, giving back |
//! | [`payment`] | turning a reservation into an order |
//! | [`order`] | what was bought, and its cancellation |
//! | [`audit`] | what must be true of a whole store |

pub mod audit;
pub mod cart;
pub mod coupon;
pub mod order;
pub mod payment;
pub mod product;
pub mod reservation;
pub mod stock;
#[cfg(test)]
mod tests;
pub mod user;

use crate::id::{HoldId, UserId};
use crate::table::Table;
use crate::time::Span;
use crate::unit::{Kind, Resource, Unit};

pub use cart::{Cart, CartItem, CartItemId, CartLine, CartOf};
pub use coupon::{Coupon, CouponCode, CouponState, Discount, UserCoupon, UserCouponId};
pub use order::{Order, OrderId, OrderState};
pub use payment::PaidOrder;
pub use product::{Product, ProductId, ProductOption, ProductOptionId};
pub use reservation::{InventoryReservationId, LastHold, OrderClaim, OrderHold, OrderLine, ReservedOrder};
pub use stock::{Inventory, StockView};
pub use user::UserAccount;

/// The most options one product may have.
pub const PRODUCT_OPTIONS_MAX: usize = 100;
/// The most lines a cart may have, and with it a reservation and an order.
pub const CART_LINES_MAX: usize = 100;
/// The most pieces of one option in a cart.
pub const LINE_QUANTITY_MAX: u32 = 1_000_000;
/// The most pieces of one option that may be said to be there.
pub const STOCK_MAX: u32 = 1_000_000_000;
/// The most pieces of one option that may ever come in; any database's integer holds it.
pub const RECEIVED_MAX: u32 = 2_000_000_000;

/// Settings of this vertical.
#[derive(Clone, Debug)]
pub struct Limits {
    pub hold_ttl: Span,
}

/// The rows of the shop.
#[derive(Debug, Default)]
pub struct Tables {
    pub users: Table<UserId, UserAccount>,
    pub products: Table<ProductId, Product>,
    pub options: Table<ProductOptionId, ProductOption>,
    pub inventory: Table<ProductOptionId, Inventory>,
    pub cart: Table<CartItemId, CartItem, CartOf>,
    pub coupons: Table<CouponCode, Coupon>,
    pub user_coupons: Table<UserCouponId, UserCoupon>,
    pub holds: Table<HoldId, OrderHold>,
    /// Derived: the latest hold of a user, unless it was paid or given back.
    pub by_user: Table<UserId, LastHold>,
    pub orders: Table<OrderId, Order>,
}

crate::table_set!(Tables { users, products, options, inventory, cart, coupons, user_coupons, holds, by_user, orders });

impl Tables {
    pub(crate) fn memory() -> Self {
        Self {
            users: Table::cache(),
            products: Table::cache(),
            options: Table::cache(),
            inventory: Table::cache(),
            cart: Table::cache(),
            coupons: Table::cache(),
            user_coupons: Table::cache(),
            holds: Table::cache(),
            by_user: Table::complete(),
            orders: Table::cache(),
        }
    }

    pub(crate) fn take_live(&mut self) -> Self {
        Self { holds: std::mem::take(&mut self.holds), by_user: std::mem::take(&mut self.by_user), ..Self::default() }
    }

    pub(crate) fn complete() -> Self {
        Self {
            users: Table::complete(),
            products: Table::complete(),
            options: Table::complete(),
            inventory: Table::complete(),
            cart: Table::complete(),
            coupons: Table::complete(),
            user_coupons: Table::complete(),
            holds: Table::complete(),
            by_user: Table::complete(),
            orders: Table::complete(),
        }
    }
}

/// What the stock of an option belongs to.
pub fn resource(option: ProductOptionId) -> Resource {
    Resource { kind: Kind::Shop, id: option.get() }
}

/// The unit of an option's stock: it has no parts.
pub fn stock_unit(option: ProductOptionId) -> Unit {
    Unit { kind: Kind::Shop, resource: option.get(), part: 0 }
}

/// The option of a unit of the shop.
pub fn option_of(unit: Unit) -> ProductOptionId {
    ProductOptionId::new(unit.resource).expect("units are made from options")
}
