//! Intermediate states of commands, where live and durable rows lie in two stores.

use super::*;
use crate::command::{Attempt, Stop};
use crate::hold::{AttemptId, HoldState, RecoverHold};
use crate::id::HoldId;
use crate::rejection::ShopRejection;
use crate::table::StateSet as _;
use crate::time::Span;

/// Creates a user with this balance and a reservation of two of four pieces at 1,000 each.
fn reserved(balance: i64) -> (Shop, UserId, ProductOptionId, Hold) {
    let mut shop = Shop::new(true);
    let (user, option) = (shop.user(balance), shop.option(1_000, 4));
    shop.put(&user, option, 2);
    let hold = shop.reserve(&user).unwrap().hold;
    (shop, user, option, hold)
}

impl Shop {
    fn must_retry<C: Command>(&mut self, command: &C) -> bool {
        self.world.begin(command).err() == Some(Stop::Retry)
    }

    /// Returns the state of a hold, and its order.
    fn state(&self, hold: &Hold) -> (HoldState, Option<u64>) {
        let hold = self.world.hold(hold.id);
        (hold.state, hold.record())
    }
}

fn lower(id: ProductOptionId, stock: StockChange) -> ChangeOption {
    ChangeOption { id, price: None, is_active: None, stock: Some(stock) }
}

#[test]
fn commands_back_off_during_payment() {
    let (mut shop, user, ..) = reserved(5_000);
    let attempt = shop.world.prepare(&payment_of(&user)).unwrap();
    let random = shop.random();
    for replace in [false, true] {
        assert!(shop.must_retry(&ReserveOrder { random, user: user.clone(), replace }));
    }
    assert!(shop.must_retry(&ReleaseOrder { user: user.clone() }));
    assert!(shop.must_retry(&payment_of(&user)));
    assert_eq!(shop.reservation(&user).unwrap().hold.state, HoldState::Prepared, "it is still returned");
    let paid = shop.world.record(&payment_of(&user), attempt).unwrap();
    shop.world.finish(&payment_of(&user), attempt, Some(&paid));
    assert_eq!(shop.release(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
    shop.inspect();
}

#[test]
fn shortage_is_not_reported_during_payment() {
    let (mut shop, user, option, _) = reserved(5_000);
    let other = shop.user(5_000);
    shop.put(&other, option, 3);
    let attempt = shop.world.prepare(&payment_of(&user)).unwrap();
    let random = shop.random();
    let reserve = ReserveOrder { random, user: other.clone(), replace: false };
    assert!(shop.must_retry(&reserve));
    assert!(shop.must_retry(&lower(option, StockChange::Set(1))));
    let paid = shop.world.record(&payment_of(&user), attempt).unwrap();
    assert!(shop.must_retry(&reserve), "the quantity counts twice");
    shop.world.finish(&payment_of(&user), attempt, Some(&paid));
    assert_eq!(
        shop.reserve(&other),
        Err(Rejection::Shop(ShopRejection::InsufficientAvailableStock { option, available: 2 }))
    );
}

#[test]
fn prepared_hold_does_not_expire() {
    let (mut shop, user, option, hold) = reserved(5_000);
    shop.world.wait(Span::from_millis(1_799_999));
    let attempt = shop.world.prepare(&payment_of(&user)).unwrap();
    shop.world.wait(Span::from_secs(3_600));
    assert_eq!(shop.stock(option), (4, 2, 2));
    let random = shop.random();
    assert!(shop.must_retry(&ReserveOrder { random, user: user.clone(), replace: false }));
    let paid = shop.world.record(&payment_of(&user), attempt).unwrap();
    shop.world.finish(&payment_of(&user), attempt, Some(&paid));
    assert_eq!(shop.state(&hold), (HoldState::Confirmed, Some(paid.order.id.get())));
    shop.inspect();
}

#[test]
fn rejected_payment_reverts_prepare() {
    let (mut shop, user, option, hold) = reserved(100);
    let attempt = shop.world.prepare(&payment_of(&user)).unwrap();
    let too_low = Rejection::Shop(ShopRejection::InsufficientBalance { balance: 100, needed: 2_000 });
    assert_eq!(shop.world.record(&payment_of(&user), attempt), Err(too_low.into()));
    shop.world.finish(&payment_of(&user), attempt, None);
    assert_eq!((shop.state(&hold), shop.stock(option)), ((HoldState::Held, None), (4, 2, 2)));
    let second = shop.world.prepare(&payment_of(&user)).unwrap();
    assert_eq!(second, AttemptId { attempt: Attempt(attempt.attempt.0 + 1), ..attempt });
    shop.world.wait(Span::from_secs(1_800));
    shop.world.finish(&payment_of(&user), second, None);
    assert_eq!(shop.stock(option), (4, 0, 4), "the hold had expired");
    assert_eq!(shop.pay(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationExpired));
}

#[test]
fn abandoned_payment_finishes_as_decided() {
    for is_committed in [false, true] {
        let (mut shop, user, option, hold) = reserved(5_000);
        let attempt = shop.world.prepare(&payment_of(&user)).unwrap();
        let of = attempt;
        let record = is_committed.then(|| shop.world.record(&payment_of(&user), attempt).unwrap().order.id.get());
        let other_attempt = AttemptId { attempt: Attempt(of.attempt.0 + 1), ..of };
        shop.run(&RecoverHold { of: other_attempt, is_committed }).unwrap();
        assert_eq!(shop.state(&hold), (HoldState::Prepared, None), "another attempt does not affect this one");
        for _ in 0..2 {
            shop.run(&RecoverHold { of, is_committed }).unwrap();
            let state = if is_committed { HoldState::Confirmed } else { HoldState::Held };
            assert_eq!(shop.state(&hold), (state, record));
        }
        assert_eq!(shop.stock(option), if is_committed { (2, 0, 2) } else { (4, 2, 2) });
        shop.inspect();
        let lost = AttemptId { hold: HoldId::earliest_at(shop.world.now), ..of };
        shop.run(&RecoverHold { of: lost, is_committed }).unwrap();
    }
}

#[test]
fn aborted_attempt_records_nothing() {
    let (mut shop, user, _, _) = reserved(5_000);
    let attempt = shop.world.prepare(&payment_of(&user)).unwrap();
    shop.world.decide_attempt(attempt, None);
    assert_eq!(shop.world.record(&payment_of(&user), attempt), Err(Stop::Retry));
    shop.world.finish(&payment_of(&user), attempt, None);
    shop.pay(&user).unwrap();
    shop.inspect();
}

#[test]
fn recorded_attempt_is_not_recorded_again() {
    let (mut shop, user, _, hold) = reserved(5_000);
    let attempt = shop.world.prepare(&payment_of(&user)).unwrap();
    let paid = shop.world.record(&payment_of(&user), attempt).unwrap();
    assert_eq!(shop.world.record(&payment_of(&user), attempt).unwrap(), paid);
    shop.world.finish(&payment_of(&user), attempt, Some(&paid));
    assert_eq!(shop.state(&hold), (HoldState::Confirmed, Some(paid.order.id.get())));
    shop.inspect();
}

#[test]
fn late_finish_does_not_affect_next_attempt() {
    let (mut shop, user, _, _) = reserved(5_000);
    let late = shop.world.prepare(&payment_of(&user)).unwrap();
    shop.run(&RecoverHold { of: late, is_committed: false }).unwrap();
    shop.release(&user).unwrap();
    shop.world.finish(&payment_of(&user), late, None);
    let next = shop.reserve(&user).unwrap().hold;
    shop.world.prepare(&payment_of(&user)).unwrap();
    shop.world.finish(&payment_of(&user), late, None);
    assert_eq!(shop.state(&next), (HoldState::Prepared, None));
}

#[test]
fn lower_stock_binds_before_it_is_recorded() {
    let (mut shop, _, option, _) = reserved(5_000);
    let other = shop.user(0);
    shop.put(&other, option, 2);
    let change = lower(option, StockChange::Delta(-1));
    let attempt = shop.world.prepare(&change).unwrap();
    assert_eq!(
        shop.reserve(&other),
        Err(Rejection::Shop(ShopRejection::InsufficientAvailableStock { option, available: 1 }))
    );
    assert!(shop.must_retry(&lower(option, StockChange::Set(2))), "one fence at a time");
    let view = shop.world.record(&change, attempt).unwrap();
    assert_eq!((view.inventory.stock(), view.held, view.available), (3, 2, 1));
    shop.world.finish(&change, attempt, Some(&view));
    shop.set_stock(option, StockChange::Set(2)).unwrap();
    assert_eq!(shop.stock(option), (2, 2, 0));
    shop.inspect();
}

#[test]
fn unrecorded_lower_stock_does_not_bind() {
    let (mut shop, _, option, _) = reserved(5_000);
    let change = lower(option, StockChange::Set(2));
    let attempt = shop.world.prepare(&change).unwrap();
    shop.world.finish(&change, attempt, None);
    assert_eq!(shop.stock(option), (4, 2, 2));
    shop.world.prepare(&change).unwrap();
    assert_eq!(shop.stock(option), (4, 2, 0));
    shop.world.wait(Span::from_secs(60));
    assert_eq!(shop.stock(option), (4, 2, 2), "the fence ends by itself");
}

#[test]
fn late_record_is_prepared_again() {
    let (mut shop, _, option, _) = reserved(5_000);
    let change = lower(option, StockChange::Set(2));
    let attempt = shop.world.prepare(&change).unwrap();
    shop.world.wait(Span::from_secs(45));
    assert_eq!(shop.world.record(&change, attempt), Err(Stop::Retry));
    shop.world.finish(&change, attempt, None);
    shop.run(&change).unwrap();
}

#[test]
fn change_that_became_lower_is_prepared_again() {
    let (mut shop, _, option, _) = reserved(5_000);
    let change = lower(option, StockChange::Set(6));
    let attempt = shop.world.prepare(&change).unwrap();
    shop.set_stock(option, StockChange::Set(9)).unwrap();
    assert_eq!(shop.world.record(&change, attempt), Err(Stop::Retry), "it was no reduction when it was prepared");
    shop.world.finish(&change, attempt, None);
    shop.run(&change).unwrap();
    assert_eq!(shop.stock(option), (6, 2, 4));
}

#[test]
fn cancel_while_lowering_keeps_reservations() {
    let (mut shop, user, option, _) = reserved(5_000);
    let order = shop.pay(&user).unwrap().order;
    let change = lower(option, StockChange::Set(1));
    let attempt = shop.world.prepare(&change).unwrap();
    shop.cancel(order.id).unwrap();
    let other = shop.user(5_000);
    shop.put(&other, option, 3);
    shop.reserve(&other).unwrap();
    assert_eq!(shop.world.record(&change, attempt), Err(Stop::Retry));
    shop.world.finish(&change, attempt, None);
    assert_eq!(shop.run(&change), Err(Rejection::Shop(ShopRejection::StockInUse { in_use: 3 })));
    shop.pay(&other).unwrap();
    shop.inspect();
}

#[test]
fn payment_while_lowering_is_counted_once() {
    let (mut shop, user, option, _) = reserved(5_000);
    let change = lower(option, StockChange::Delta(-2));
    let attempt = shop.world.prepare(&change).unwrap();
    shop.pay(&user).unwrap();
    let view = shop.world.record(&change, attempt).unwrap();
    shop.world.finish(&change, attempt, Some(&view));
    assert_eq!(shop.stock(option), (0, 0, 0));
    shop.inspect();
}

#[test]
fn stock_covers_sold_after_loss_of_live_rows() {
    let (mut shop, _, option, _) = reserved(5_000);
    let change = lower(option, StockChange::Delta(-2));
    let attempt = shop.world.prepare(&change).unwrap();
    let mut rows = WorkingSet::default();
    rows.shop.inventory.fill(option, Some(Inventory { received: 4, sold: 3 }));
    shop.world.memory.apply(&mut rows);
    assert_eq!(shop.world.record(&change, attempt), Err(ShopRejection::StockInUse { in_use: 2 }.into()));
}
