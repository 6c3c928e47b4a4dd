//! Goods from stock. A unit is a product option; a hold claims the quantities of a whole cart, at the prices of that
//! moment. Payment confirms it as an order: stock, money, coupon and cart change in one commit.
//!
//! | module | contents |
//! | --- | --- |
//! | [`user`] | accounts and their balance |
//! | [`product`] | products and their options |
//! | [`stock`] | stock of an option: view and change |
//! | [`cart`] | carts |
//! | [`coupon`] | coupons, first come, first served |
//! | [`reservation`] | holds on carts: reserving, replacing, releasing |
//! | [`payment`] | confirming a reservation as an order |
//! | [`order`] | orders, and their cancellation |
//! | [`sale`] | sales of stock without a cart |
//! | [`audit`] | consistency rules of a whole store |

pub mod audit;
pub mod cart;
pub mod coupon;
pub mod line;
pub mod order;
pub mod payment;
pub mod product;
pub mod reservation;
pub mod sale;
pub mod stock;
#[cfg(test)]
mod tests;
pub mod user;

use crate::time::Span;
use crate::unit::{Kind, Resource, Unit};

pub use cart::{Cart, CartItem, CartItemId, CartLine, CartOf};
pub use coupon::{Coupon, CouponCode, CouponState, Discount, UserCoupon, UserCouponId};
pub use line::{InventoryReservationId, LastHold, StockItem, StockRequest};
pub use order::{Order, OrderId, OrderState};
pub use payment::PaidOrder;
pub use product::{Product, ProductId, ProductOption, ProductOptionId};
pub use reservation::ReservedOrder;
pub use sale::{StockSale, StockSaleId, StockSaleState};
pub use stock::{Inventory, StockView};
pub use user::UserAccount;

/// Maximum number of options of a product.
pub const PRODUCT_OPTIONS_MAX: usize = 100;
/// Maximum number of lines of a cart, and so of a reservation and an order.
pub const CART_LINES_MAX: usize = 100;
/// Maximum quantity of one option in a cart.
pub const LINE_QUANTITY_MAX: u32 = 1_000_000;
/// Maximum stock of one option.
pub const STOCK_MAX: u32 = 1_000_000_000;
/// Maximum quantity of one option that is ever received; fits into a 32-bit integer of any database.
pub const RECEIVED_MAX: u32 = 2_000_000_000;

/// Settings of the shop.
#[derive(Clone, Debug)]
pub struct Limits {
    pub hold_ttl: Span,
}

/// Returns the resource of an option's stock.
pub fn resource(option: ProductOptionId) -> Resource {
    Resource { kind: Kind::Shop, id: option.get() }
}

/// Returns the unit of an option's stock, which has a single part.
pub fn stock_unit(option: ProductOptionId) -> Unit {
    Unit { kind: Kind::Shop, resource: option.get(), part: 0 }
}

/// Returns the option of a shop unit.
pub fn option_of(unit: Unit) -> ProductOptionId {
    ProductOptionId::new(unit.resource).expect("units are made from options")
}
