//! Orders, and their cancellation.

use std::sync::Arc;

use super::coupon::{CouponCode, CouponState, UserCoupon, UserCouponId};
use super::line::StockItem;
use super::stock::{self, Inventory};
use super::user::{self, UserAccount};
use crate::actor::Actor;
use crate::command::{Command, Context, Decision, writes};
use crate::event::Event;
use crate::hold;
use crate::id::{HoldId, UserId, number_id};
use crate::money::Currency;
use crate::rejection::ShopRejection;
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

number_id!(
    /// Number of an order.
    OrderId
);

/// A paid order. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub id: OrderId,
    pub user: UserId,
    pub hold: HoldId,
    /// Lines of the reservation.
    pub items: Arc<[StockItem]>,
    pub total: i64,
    pub discount: i64,
    /// `total − discount`.
    pub paid: i64,
    pub coupon: Option<CouponCode>,
    pub currency: Currency,
    pub created_at: Timestamp,
    pub state: OrderState,
}

impl Row for Order {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderState {
    Paid,
    Cancelled { at: Timestamp },
}

/// Cancels an order: returns goods to stock, and money and coupon to the user.
#[derive(Clone, Debug)]
pub struct CancelOrder {
    pub id: OrderId,
    pub actor: Actor,
}

impl Command for CancelOrder {
    type Outcome = Order;
    const NAME: &'static str = "shop.order.cancel";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Order> {
        let cancelled = cancel(rows, self.id, &self.actor, at.now)?;
        hold::cancel_lines(rows, cancelled.hold, |_| true)?;
        Ok(cancelled)
    }
}

/// Cancels an order, without the lines of its hold.
pub(crate) fn cancel(rows: &mut WorkingSet, id: OrderId, actor: &Actor, now: Timestamp) -> Decision<Order> {
    let order = find(rows, id, actor)?;
    if order.state != OrderState::Paid {
        return Err(ShopRejection::OrderAlreadyCancelled.into());
    }
    rows.shop.users.request(&order.user);
    for item in order.items.iter() {
        rows.shop.inventory.request(&item.option);
    }
    hold::request(rows, order.hold);
    return_coupon(rows, &order)?;
    for item in order.items.iter() {
        let old = stock::inventory(rows, item.option)?;
        let sold = old.sold.checked_sub(item.quantity).expect("paid items are counted as sold");
        rows.shop.inventory.put(item.option, Inventory { sold, ..old });
    }
    let account = user::find(rows, &order.user)?;
    let balance = account.balance + order.paid;
    assert!(balance <= account.charged, "a refund does not exceed the deposits");
    rows.shop.users.put(account.id.clone(), UserAccount { balance, ..account });
    let cancelled = Order { state: OrderState::Cancelled { at: now }, ..order };
    rows.shop.orders.put(cancelled.id, cancelled.clone());
    rows.emit(Event::OrderCancelled(cancelled.clone()));
    Ok(cancelled)
}

/// Marks the order's coupon as unused; it can be used again while it is valid.
fn return_coupon(rows: &mut WorkingSet, order: &Order) -> Decision<()> {
    let Some(code) = order.coupon.clone() else { return Ok(()) };
    let id = UserCouponId { code, user: order.user.clone() };
    let state = rows.shop.user_coupons.get(&id)?.map(|coupon| coupon.state);
    assert_eq!(state, Some(CouponState::Used { order: order.id }), "an order's coupon is used by it");
    rows.shop.user_coupons.put(id, UserCoupon { state: CouponState::Issued });
    Ok(())
}

/// Returns the order to its owner or an operator.
pub fn find(rows: &mut WorkingSet, id: OrderId, actor: &Actor) -> Decision<Order> {
    let order = rows.shop.orders.get(&id)?.cloned().ok_or(ShopRejection::OrderNotFound)?;
    actor.must_own(&order.user)?;
    Ok(order)
}
