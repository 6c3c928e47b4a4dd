//! Payment: confirms a reservation as an order. It acts on the reservation, at its prices, not on the cart.

use super::cart::{CartItem, CartItemId};
use super::coupon::{self, CouponCode, CouponState, UserCoupon, UserCouponId};
use super::line::{InventoryReservationId, StockItem};
use super::order::{Order, OrderId, OrderState};
use super::reservation;
use super::stock;
use super::user::{self, UserAccount};
use super::{CART_LINES_MAX, stock_unit};
use crate::command::{Command, Context, Decision, Stop, TwoPhase, writes};
use crate::event::Event;
use crate::hold::{AttemptId, Hold, Records, Status, confirm};
use crate::id::{Sequence, UserId};
use crate::money::AMOUNT_MAX;
use crate::rejection::{Fault, Rejection, ShopRejection};
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// A new order, and the remaining balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaidOrder {
    pub order: Order,
    pub balance_after: i64,
}

/// Pays for the user's live reservation.
#[derive(Clone, Debug)]
pub struct PayOrder {
    pub user: UserId,
    pub coupon: Option<CouponCode>,
    /// Amount that the user expects; any other is rejected.
    pub expected_amount: Option<i64>,
    /// Reservation lines that the user expects, in any order; any other set is rejected.
    pub reservation_ids: Option<Vec<InventoryReservationId>>,
}

impl Command for PayOrder {
    type Outcome = PaidOrder;
    const NAME: &'static str = "shop.order.pay";
    type Writes = writes::Both;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<PaidOrder> {
        self.check_input()?;
        self.request_rows(rows, at.now);
        let hold = self.find_open(rows, at.now)?;
        let paid = self.pay(rows, &hold, at.now)?;
        confirm::end(rows, &hold, Records::Shared(paid.order.id.get()), at.now)?;
        Ok(paid)
    }

    fn weight(&self) -> usize {
        2
    }

    fn user(&self) -> Option<&UserId> {
        Some(&self.user)
    }
}

impl TwoPhase for PayOrder {
    type Prepared = AttemptId;

    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<AttemptId> {
        self.check_input()?;
        reservation::request_last_hold(rows, &self.user);
        let hold = self.find_open(rows, at.now)?;
        confirm::prepare(rows, &hold, at.now)
    }

    fn record(&self, rows: &mut WorkingSet, at: &Context<'_>, prepared: &AttemptId) -> Decision<PaidOrder> {
        self.request_rows(rows, at.now);
        let hold = confirm::find_prepared(rows, *prepared)?.ok_or(Stop::Retry)?;
        if let Some(confirmed) = confirm::recorded(rows, *prepared)? {
            // The attempt was recorded by a commit whose outcome was reported as unknown.
            return recorded(rows, confirmed.record().expect("a paid hold has an order"));
        }
        let paid = self.pay(rows, &hold, at.now)?;
        confirm::commit(rows, &hold, Records::Shared(paid.order.id.get()));
        Ok(paid)
    }

    fn finish(
        &self,
        rows: &mut WorkingSet,
        at: &Context<'_>,
        prepared: &AttemptId,
        outcome: Option<&PaidOrder>,
    ) -> Decision<()> {
        confirm::finish(rows, *prepared, outcome.map(|paid| Records::Shared(paid.order.id.get())), at.now)
    }
}

impl PayOrder {
    fn check_input(&self) -> Result<(), Rejection> {
        if self.expected_amount.is_some_and(|amount| !(0..=AMOUNT_MAX).contains(&amount)) {
            return Err(Rejection::invalid("expectedAmount", Fault::OutOfRange { min: 0, max: AMOUNT_MAX }));
        }
        if self.reservation_ids.as_ref().is_some_and(|ids| ids.len() > CART_LINES_MAX) {
            return Err(Rejection::invalid("reservationIds", Fault::TooManyItems { max: CART_LINES_MAX }));
        }
        Ok(())
    }

    /// Requests the rows of a payment, as far as they are known before the hold is loaded.
    fn request_rows(&self, rows: &mut WorkingSet, now: Timestamp) {
        rows.ids.request(&Sequence::Order);
        rows.shop.users.request(&self.user);
        if let Some(id) = self.user_coupon() {
            rows.shop.coupons.request(&id.code);
            rows.shop.user_coupons.request(&id);
        }
        reservation::request_last_hold(rows, &self.user);
        if let Ok(Some(hold)) = reservation::last_hold(rows, &self.user, now) {
            for line in hold.items::<StockItem>() {
                rows.shop.inventory.request(&line.option);
                rows.held.request(&stock_unit(line.option));
                rows.shop.cart.request(&CartItemId { user: self.user.clone(), option: line.option });
            }
        }
    }

    fn user_coupon(&self) -> Option<UserCouponId> {
        self.coupon.clone().map(|code| UserCouponId { code, user: self.user.clone() })
    }

    /// Returns the user's hold if it can still be paid and has the expected lines.
    fn find_open(&self, rows: &mut WorkingSet, now: Timestamp) -> Decision<Hold> {
        let hold = reservation::last_hold(rows, &self.user, now)?;
        match hold.as_ref().map(|hold| hold.status(now)) {
            Some(Status::Prepared) => Err(Stop::Retry),
            Some(Status::Expired) => reservation::reject(rows, &self.user, ShopRejection::OrderReservationExpired),
            Some(Status::Held | Status::Confirmed | Status::Cancelled | Status::Replaced) | None => {
                match hold.filter(|hold| hold.is_live(now) && self.has_expected_lines(hold)) {
                    Some(hold) => Ok(hold),
                    None => reservation::reject(rows, &self.user, ShopRejection::OrderReservationNotFound),
                }
            }
        }
    }

    fn has_expected_lines(&self, hold: &Hold) -> bool {
        let Some(mut expected) = self.reservation_ids.clone() else { return true };
        expected.sort_unstable();
        // The line numbers of a hold are ascending.
        expected.into_iter().eq(hold.items::<StockItem>().map(|item| item.reservation))
    }

    /// Debits the account, uses the coupon, takes the stock, and inserts the order of a hold.
    fn pay(&self, rows: &mut WorkingSet, hold: &Hold, now: Timestamp) -> Decision<PaidOrder> {
        let account = user::find(rows, &self.user)?;
        let discount = match self.user_coupon() {
            Some(id) => coupon::usable(rows, &id, hold.currency, now)?.discount.of(hold.total()),
            None => 0,
        };
        let needed = hold.total() - discount;
        if self.expected_amount.is_some_and(|expected| expected != needed) {
            return Err(ShopRejection::AmountChanged { amount: needed }.into());
        }
        let balance = account.balance;
        if balance < needed {
            return Err(ShopRejection::InsufficientBalance { balance, needed }.into());
        }
        for item in hold.items::<StockItem>() {
            stock::take(rows, item)?;
        }
        take_from_cart(rows, hold)?;
        let order = Order {
            id: OrderId::new(rows.next_id(Sequence::Order)?).expect("sequence numbers are valid ids"),
            user: self.user.clone(),
            hold: hold.id,
            items: hold.items().cloned().collect(),
            total: hold.total(),
            discount,
            paid: needed,
            coupon: self.coupon.clone(),
            currency: hold.currency,
            created_at: now,
            state: OrderState::Paid,
        };
        if let Some(id) = self.user_coupon() {
            rows.shop.user_coupons.put(id, UserCoupon { state: CouponState::Used { order: order.id } });
        }
        let balance_after = balance - needed;
        rows.shop.users.put(account.id.clone(), UserAccount { balance: balance_after, ..account });
        rows.shop.orders.insert(order.id, order.clone());
        rows.emit(Event::OrderPaid(order.clone()));
        Ok(PaidOrder { order, balance_after })
    }
}

/// Removes the bought quantities from the cart; quantities added since stay.
fn take_from_cart(rows: &mut WorkingSet, hold: &Hold) -> Decision<()> {
    for line in hold.items::<StockItem>() {
        let id = CartItemId { user: hold.owner.clone(), option: line.option };
        match rows.shop.cart.get(&id)?.copied() {
            Some(item) if item.quantity > line.quantity => {
                rows.shop.cart.put(id, CartItem { quantity: item.quantity - line.quantity });
            }
            Some(_) => rows.shop.cart.delete(id),
            None => {}
        }
    }
    Ok(())
}

/// Returns the outcome of a payment that was recorded before.
fn recorded(rows: &mut WorkingSet, number: u64) -> Decision<PaidOrder> {
    let id = OrderId::new(number).expect("a record number is an order id");
    let order = rows.shop.orders.get(&id)?.cloned().expect("a recorded order exists");
    let balance_after = user::find(rows, &order.user)?.balance;
    Ok(PaidOrder { order, balance_after })
}
