//! Between the steps of a command, where live and durable rows lie in two stores.

use super::payment::SettleOrder;
use super::*;
use crate::command::{Attempt, Stop};
use crate::hold::{Decided, HoldState, TryId};
use crate::rejection::ShopRejection;
use crate::time::Span;

/// A user with money and a reservation of two of four pieces at 1,000 each.
fn reserved(balance: i64) -> (Shop, UserId, ProductOptionId, OrderHold) {
    let mut shop = Shop::new(true);
    let (user, option) = (shop.user(balance), shop.option(1_000, 4));
    shop.put(user, option, 2);
    let hold = shop.reserve(user).unwrap().hold;
    (shop, user, option, hold)
}

impl Shop {
    fn is_busy<C: Command>(&mut self, command: &C) -> bool {
        let stopped = match C::WRITES {
            crate::command::Writes::Both => self.world.prepare(command).err(),
            writes => self.world.step(writes, |rows, at| command.decide(rows, at)).err(),
        };
        stopped == Some(Stop::Busy)
    }

    fn state(&mut self, hold: &OrderHold) -> HoldState {
        self.world.memory.shop.holds.get(&hold.id).unwrap().unwrap().state
    }

    fn decide_try(&mut self, of: TryId, record: Option<u64>) {
        let mut rows = Rows::default();
        rows.decisions.supply(of, Some(Decided { record }));
        self.world.memory.absorb(&mut rows);
    }
}

fn lower(id: ProductOptionId, stock: StockChange) -> ChangeOption {
    ChangeOption { id, price: None, is_active: None, stock: Some(stock) }
}

#[test]
fn while_a_reservation_is_being_paid_its_user_waits() {
    let (mut shop, user, ..) = reserved(5_000);
    let attempt = shop.world.prepare(&payment_of(user)).unwrap();
    let random = shop.random();
    for replace in [false, true] {
        assert!(shop.is_busy(&ReserveOrder { random, user, replace }));
    }
    assert!(shop.is_busy(&ReleaseOrder { user }));
    assert!(shop.is_busy(&payment_of(user)));
    assert_eq!(shop.reservation(user).unwrap().hold.state, HoldState::Confirming, "it is still shown");
    let paid = shop.world.record(&payment_of(user), attempt).unwrap();
    shop.world.finish(&payment_of(user), attempt, Some(&paid));
    assert_eq!(shop.release(user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
    shop.inspect();
}

#[test]
fn while_a_reservation_is_being_paid_nobody_is_told_that_there_is_too_little() {
    let (mut shop, user, option, _) = reserved(5_000);
    let other = shop.user(5_000);
    shop.put(other, option, 3);
    let attempt = shop.world.prepare(&payment_of(user)).unwrap();
    let random = shop.random();
    let reserve = ReserveOrder { random, user: other, replace: false };
    assert!(shop.is_busy(&reserve));
    assert!(shop.is_busy(&lower(option, StockChange::Set(1))));
    let paid = shop.world.record(&payment_of(user), attempt).unwrap();
    assert!(shop.is_busy(&reserve), "it counts twice now");
    shop.world.finish(&payment_of(user), attempt, Some(&paid));
    assert_eq!(
        shop.reserve(other),
        Err(Rejection::Shop(ShopRejection::InsufficientAvailableStock { option, available: 2 }))
    );
}

#[test]
fn what_is_being_paid_no_longer_ends_by_time() {
    let (mut shop, user, option, hold) = reserved(5_000);
    shop.world.wait(Span::from_millis(1_799_999));
    let attempt = shop.world.prepare(&payment_of(user)).unwrap();
    shop.world.wait(Span::from_secs(3_600));
    assert_eq!(shop.stock(option), (4, 2, 2));
    let random = shop.random();
    assert!(shop.is_busy(&ReserveOrder { random, user, replace: false }));
    let paid = shop.world.record(&payment_of(user), attempt).unwrap();
    shop.world.finish(&payment_of(user), attempt, Some(&paid));
    assert_eq!(shop.state(&hold), HoldState::Confirmed { record: paid.order.id.get() });
    shop.inspect();
}

#[test]
fn a_payment_that_is_refused_gives_the_reservation_back() {
    let (mut shop, user, option, hold) = reserved(100);
    let attempt = shop.world.prepare(&payment_of(user)).unwrap();
    let poor = Rejection::Shop(ShopRejection::InsufficientBalance { balance: 100, needed: 2_000 });
    assert_eq!(shop.world.record(&payment_of(user), attempt), Err(poor.into()));
    shop.world.finish(&payment_of(user), attempt, None);
    assert_eq!((shop.state(&hold), shop.stock(option)), (HoldState::Held, (4, 2, 2)));
    let again = shop.world.prepare(&payment_of(user)).unwrap();
    assert_eq!(again, Attempt(attempt.0 + 1));
    shop.world.wait(Span::from_secs(1_800));
    shop.world.finish(&payment_of(user), again, None);
    assert_eq!(shop.stock(option), (4, 0, 4), "its time was over");
    assert_eq!(shop.pay(user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationExpired));
}

#[test]
fn a_payment_that_a_dead_server_left_is_settled_as_it_was_decided() {
    for is_recorded in [false, true] {
        let (mut shop, user, option, hold) = reserved(5_000);
        let attempt = shop.world.prepare(&payment_of(user)).unwrap();
        let of = TryId { hold: hold.id, attempt };
        let record = is_recorded.then(|| shop.world.record(&payment_of(user), attempt).unwrap().order.id.get());
        let other_try = TryId { attempt: Attempt(attempt.0 + 1), ..of };
        shop.run(&SettleOrder { of: other_try, record }).unwrap();
        assert_eq!(shop.state(&hold), HoldState::Confirming, "another try says nothing about this one");
        for _ in 0..2 {
            shop.run(&SettleOrder { of, record }).unwrap();
            let state = record.map_or(HoldState::Held, |record| HoldState::Confirmed { record });
            assert_eq!(shop.state(&hold), state);
        }
        assert_eq!(shop.stock(option), if is_recorded { (2, 0, 2) } else { (4, 2, 2) });
        shop.inspect();
        let lost = TryId { hold: HoldId::earliest_at(shop.world.now), ..of };
        shop.run(&SettleOrder { of: lost, record }).unwrap();
    }
}

#[test]
fn a_try_that_was_given_up_records_nothing() {
    let (mut shop, user, _, hold) = reserved(5_000);
    let attempt = shop.world.prepare(&payment_of(user)).unwrap();
    shop.decide_try(TryId { hold: hold.id, attempt }, None);
    assert_eq!(shop.world.record(&payment_of(user), attempt), Err(Stop::Busy));
    shop.world.finish(&payment_of(user), attempt, None);
    shop.pay(user).unwrap();
    shop.inspect();
}

#[test]
fn a_try_that_was_recorded_is_not_recorded_again() {
    let (mut shop, user, _, hold) = reserved(5_000);
    let attempt = shop.world.prepare(&payment_of(user)).unwrap();
    let paid = shop.world.record(&payment_of(user), attempt).unwrap();
    assert_eq!(shop.world.record(&payment_of(user), attempt).unwrap(), paid);
    shop.world.finish(&payment_of(user), attempt, Some(&paid));
    assert_eq!(shop.state(&hold), HoldState::Confirmed { record: paid.order.id.get() });
    shop.inspect();
}

#[test]
fn a_late_end_of_a_try_does_not_end_that_of_the_next_reservation() {
    let (mut shop, user, _, hold) = reserved(5_000);
    let late = shop.world.prepare(&payment_of(user)).unwrap();
    shop.run(&SettleOrder { of: TryId { hold: hold.id, attempt: late }, record: None }).unwrap();
    shop.release(user).unwrap();
    shop.world.finish(&payment_of(user), late, None);
    let next = shop.reserve(user).unwrap().hold;
    shop.world.prepare(&payment_of(user)).unwrap();
    shop.world.finish(&payment_of(user), late, None);
    assert_eq!(shop.state(&next), HoldState::Confirming);
}

#[test]
fn less_stock_binds_everybody_before_it_is_recorded() {
    let (mut shop, _, option, _) = reserved(5_000);
    let other = shop.user(0);
    shop.put(other, option, 2);
    let change = lower(option, StockChange::Delta(-1));
    let attempt = shop.world.prepare(&change).unwrap();
    assert_eq!(
        shop.reserve(other),
        Err(Rejection::Shop(ShopRejection::InsufficientAvailableStock { option, available: 1 }))
    );
    assert!(shop.is_busy(&lower(option, StockChange::Set(2))), "one after another");
    let view = shop.world.record(&change, attempt).unwrap();
    assert_eq!((view.inventory.stock(), view.held, view.available), (3, 2, 1));
    shop.world.finish(&change, attempt, Some(&view));
    shop.set_stock(option, StockChange::Set(2)).unwrap();
    assert_eq!(shop.stock(option), (2, 2, 0));
    shop.inspect();
}

#[test]
fn less_stock_that_is_not_recorded_binds_nobody() {
    let (mut shop, _, option, _) = reserved(5_000);
    let change = lower(option, StockChange::Set(2));
    let attempt = shop.world.prepare(&change).unwrap();
    shop.world.finish(&change, attempt, None);
    assert_eq!(shop.stock(option), (4, 2, 2));
    shop.world.prepare(&change).unwrap();
    assert_eq!(shop.stock(option), (4, 2, 0));
    shop.world.wait(Span::from_secs(60));
    assert_eq!(shop.stock(option), (4, 2, 2), "also if whoever began it died");
}

#[test]
fn less_stock_is_recorded_in_time_or_prepared_again() {
    let (mut shop, _, option, _) = reserved(5_000);
    let change = lower(option, StockChange::Set(2));
    let attempt = shop.world.prepare(&change).unwrap();
    shop.world.wait(Span::from_secs(45));
    assert_eq!(shop.world.record(&change, attempt), Err(Stop::Busy));
    shop.world.finish(&change, attempt, None);
    shop.run(&change).unwrap();
}

#[test]
fn what_has_become_less_since_it_was_prepared_is_prepared_again() {
    let (mut shop, _, option, _) = reserved(5_000);
    let change = lower(option, StockChange::Set(6));
    let attempt = shop.world.prepare(&change).unwrap();
    shop.set_stock(option, StockChange::Set(9)).unwrap();
    assert_eq!(shop.world.record(&change, attempt), Err(Stop::Busy), "it was more when it was prepared");
    shop.world.finish(&change, attempt, None);
    shop.run(&change).unwrap();
    assert_eq!(shop.stock(option), (6, 2, 4));
}

#[test]
fn an_order_cancelled_while_stock_is_lowered_leaves_every_reservation_its_goods() {
    let (mut shop, user, option, _) = reserved(5_000);
    let order = shop.pay(user).unwrap().order;
    let change = lower(option, StockChange::Set(1));
    let attempt = shop.world.prepare(&change).unwrap();
    shop.cancel(order.id).unwrap();
    let other = shop.user(5_000);
    shop.put(other, option, 3);
    shop.reserve(other).unwrap();
    assert_eq!(shop.world.record(&change, attempt), Err(Stop::Busy));
    shop.world.finish(&change, attempt, None);
    assert_eq!(shop.run(&change), Err(Rejection::Shop(ShopRejection::StockInUse { in_use: 3 })));
    shop.pay(other).unwrap();
    shop.inspect();
}

#[test]
fn a_reservation_paid_while_stock_is_lowered_is_counted_once() {
    let (mut shop, user, option, _) = reserved(5_000);
    let change = lower(option, StockChange::Delta(-2));
    let attempt = shop.world.prepare(&change).unwrap();
    shop.pay(user).unwrap();
    let view = shop.world.record(&change, attempt).unwrap();
    shop.world.finish(&change, attempt, Some(&view));
    assert_eq!(shop.stock(option), (0, 0, 0));
    shop.inspect();
}

#[test]
fn stock_never_falls_below_what_is_sold_also_if_live_rows_were_lost() {
    let (mut shop, _, option, _) = reserved(5_000);
    let change = lower(option, StockChange::Delta(-2));
    let attempt = shop.world.prepare(&change).unwrap();
    let mut rows = Rows::default();
    rows.shop.inventory.supply(option, Some(Inventory { received: 4, sold: 3 }));
    shop.world.memory.absorb(&mut rows);
    assert_eq!(shop.world.record(&change, attempt), Err(ShopRejection::StockInUse { in_use: 2 }.into()));
}
