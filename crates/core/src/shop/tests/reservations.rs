use super::*;
use crate::hold::HoldState;
use crate::money::{AMOUNT_MAX, PRICE_MAX};
use crate::rejection::ShopRejection;
use crate::time::Span;

#[test]
fn a_cart_is_reserved_for_half_an_hour_line_by_line_in_ascending_option_id() {
    both(|shop| {
        let (user, first, second) = (shop.user(0), shop.option(1_000, 10), shop.option(2_500, 16));
        shop.put(user, second, 1);
        shop.put(user, first, 2);
        let reserved = shop.reserve(user).unwrap();
        let lines: Vec<_> = reserved
            .hold
            .lines
            .iter()
            .map(|line| (line.reservation.get(), line.option, line.quantity, line.unit_price))
            .collect();
        assert_eq!(lines, [(1, first, 2, 1_000), (2, second, 1, 2_500)]);
        assert_eq!(reserved.available, [8, 15], "after this reservation");
        assert_eq!(reserved.hold.total, 4_500);
        assert_eq!(&*reserved.hold.lines[0].product_name, "에티오피아 예가체프 G1");
        assert_eq!(&*reserved.hold.lines[0].option_code, "ETH-HD-200");
        assert_eq!(reserved.hold.created_at, shop.world.now);
        assert_eq!(reserved.hold.expires_at, shop.world.now + Span::from_secs(1_800));
        assert_eq!(shop.reservation(user).unwrap(), reserved);
        assert_eq!(shop.cart(user).len(), 2, "the cart stays as it is");
        assert_eq!(shop.world.events, [Event::OrderReserved(reserved.hold)]);
    });
}

#[test]
fn a_reservation_changes_no_durable_count() {
    both(|shop| {
        let (user, option) = (shop.user(0), shop.option(1_000, 10));
        shop.put(user, option, 2);
        shop.reserve(user).unwrap();
        assert_eq!(shop.stock(option), (10, 2, 8));
    });
}

#[test]
fn checked_in_this_order_user_cart_inactive_option_live_reservation_stock() {
    both(|shop| {
        let (user, first, second) = (shop.user(0), shop.option(1_000, 5), shop.option(1_000, 5));
        assert_eq!(shop.reserve(nobody()).unwrap_err(), Rejection::Shop(ShopRejection::UserNotFound));
        assert_eq!(shop.reserve(user).unwrap_err(), Rejection::Shop(ShopRejection::CartEmpty));
        shop.put(user, first, 1);
        shop.reserve(user).unwrap();
        shop.put(user, first, 0);
        assert_eq!(
            shop.reserve(user).unwrap_err(),
            Rejection::Shop(ShopRejection::CartEmpty),
            "before the live reservation"
        );
        for option in [second, first] {
            shop.put(user, option, 100);
            shop.run(&ChangeOption { id: option, price: None, is_active: Some(false), stock: None }).unwrap();
            let refused = shop.reserve(user).unwrap_err();
            assert_eq!(
                refused,
                Rejection::Shop(ShopRejection::ProductOptionInactive { option }),
                "the one with the lowest id"
            );
        }
        for id in [first, second] {
            shop.run(&ChangeOption { id, price: None, is_active: Some(true), stock: None }).unwrap();
        }
        assert_eq!(
            shop.reserve(user).unwrap_err(),
            Rejection::Shop(ShopRejection::DuplicateReservation),
            "before stock"
        );
        shop.release(user).unwrap();
        let shortage = Rejection::Shop(ShopRejection::InsufficientAvailableStock { option: first, available: 5 });
        assert_eq!(shop.reserve(user).unwrap_err(), shortage, "the one with the lowest id");
        shop.put(user, first, 5);
        let shortage = Rejection::Shop(ShopRejection::InsufficientAvailableStock { option: second, available: 5 });
        assert_eq!(shop.reserve(user).unwrap_err(), shortage);
        assert_eq!(shop.stock(first), (5, 0, 5), "all lines or none");
    });
}

#[test]
fn what_others_hold_is_not_available_and_the_last_piece_goes_to_one() {
    both(|shop| {
        let option = shop.option(1_000, 50);
        let users: Vec<_> = (0..300).map(|_| shop.user(0)).collect();
        let mut reserved = 0;
        for user in users {
            shop.put(user, option, 1);
            match shop.reserve(user) {
                Ok(_) => reserved += 1,
                Err(refused) => {
                    assert_eq!(
                        refused,
                        Rejection::Shop(ShopRejection::InsufficientAvailableStock { option, available: 0 })
                    );
                }
            }
        }
        assert_eq!(reserved, 50);
    });
}

#[test]
fn time_alone_ends_a_reservation_and_the_next_is_allowed_at_once() {
    both(|shop| {
        let (user, option) = (shop.user(0), shop.option(1_000, 2));
        shop.put(user, option, 2);
        shop.reserve(user).unwrap();
        shop.world.wait(Span::from_millis(1_799_999));
        assert_eq!(shop.reserve(user).unwrap_err(), Rejection::Shop(ShopRejection::DuplicateReservation));
        assert_eq!(shop.stock(option), (2, 2, 0));
        shop.world.wait(Span::from_millis(1));
        assert_eq!(shop.reservation(user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        assert_eq!(shop.release(user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        assert_eq!(shop.stock(option), (2, 0, 2));
        shop.reserve(user).unwrap();
    });
}

#[test]
fn a_reservation_given_back_is_free_at_once_and_cannot_be_given_back_twice() {
    both(|shop| {
        let (user, option) = (shop.user(9_000), shop.option(1_000, 2));
        assert_eq!(shop.release(user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        shop.put(user, option, 2);
        let hold = shop.reserve(user).unwrap().hold;
        shop.release(user).unwrap();
        let released = OrderHold { state: HoldState::Cancelled, ..hold };
        assert_eq!(shop.world.events.last(), Some(&Event::OrderReleased(released)));
        assert_eq!(shop.release(user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        assert_eq!(shop.reservation(user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        assert_eq!(shop.pay(user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        assert_eq!(shop.stock(option), (2, 0, 2));
        shop.reserve(user).unwrap();
    });
}

#[test]
fn a_live_reservation_is_exchanged_for_the_present_cart_in_one_step() {
    both(|shop| {
        let (user, old, new) = (shop.user(0), shop.option(1_000, 3), shop.option(1_000, 1));
        shop.put(user, old, 2);
        let first = shop.replace(user).unwrap().hold;
        shop.put(user, old, 3);
        shop.put(user, new, 1);
        let second = shop.replace(user).unwrap();
        assert_eq!(second.available, [0, 0], "what was held counts as free for the new one");
        assert_eq!((shop.stock(old), shop.stock(new)), ((3, 3, 0), (1, 1, 0)));
        assert_eq!(shop.reservation(user).unwrap(), second);
        let replaced = OrderHold { state: HoldState::Replaced { by: second.hold.id }, ..first.clone() };
        let told = [Event::OrderReserved(first), Event::OrderReleased(replaced), Event::OrderReserved(second.hold)];
        assert_eq!(shop.world.events, told);
        shop.put(user, old, 0);
        shop.replace(user).unwrap();
        assert_eq!((shop.stock(old), shop.stock(new)), ((3, 0, 3), (1, 1, 0)));
    });
}

#[test]
fn if_the_new_reservation_is_refused_the_old_one_stays() {
    both(|shop| {
        let (user, option) = (shop.user(0), shop.option(1_000, 3));
        shop.put(user, option, 2);
        let reserved = shop.reserve(user).unwrap();
        shop.put(user, option, 4);
        let shortage = Rejection::Shop(ShopRejection::InsufficientAvailableStock { option, available: 3 });
        assert_eq!(shop.replace(user).unwrap_err(), shortage);
        assert_eq!(shop.reservation(user).unwrap(), reserved);
        assert_eq!(shop.world.events.len(), 1);
    });
}

#[test]
fn prices_are_those_of_the_moment_of_the_reservation() {
    both(|shop| {
        let (user, id) = (shop.user(9_000), shop.option(1_000, 3));
        shop.put(user, id, 2);
        shop.reserve(user).unwrap();
        shop.run(&ChangeOption { id, price: Some(4_000), is_active: Some(false), stock: None }).unwrap();
        shop.put(user, id, 3);
        let reserved = shop.reservation(user).unwrap().hold;
        assert_eq!((reserved.lines[0].quantity, reserved.lines[0].unit_price, reserved.total), (2, 1_000, 2_000));
        let paid = shop.pay(user).unwrap();
        assert_eq!(paid.balance_after, 7_000);
        assert_eq!(shop.cart(user), [(id, 1)], "what was bought leaves the cart, what was added since stays");
    });
}

#[test]
fn no_total_is_larger_than_any_sum_of_money_may_be() {
    both(|shop| {
        let (user, dear) = (shop.user(0), shop.option(PRICE_MAX, LINE_QUANTITY_MAX));
        for quantity in [1_001, LINE_QUANTITY_MAX] {
            shop.put(user, dear, quantity);
            assert_eq!(invalid(shop.reserve(user)), ("totalAmount", Fault::OutOfRange { min: 0, max: AMOUNT_MAX }));
        }
        shop.put(user, dear, 1_000);
        assert_eq!(shop.reserve(user).unwrap().hold.total, AMOUNT_MAX);
    });
}

#[test]
fn while_holds_are_suspended_nothing_is_reserved() {
    let mut shop = Shop::new(false);
    let (user, option) = (shop.user(0), shop.option(1_000, 3));
    shop.put(user, option, 1);
    let until = shop.world.now + Span::from_secs(5);
    let random = shop.random();
    let refused = shop.world.step(crate::command::Writes::Live, |rows, at| {
        rows.suspended_until = Some(until);
        ReserveOrder { random, user, replace: false }.decide(rows, at)
    });
    assert_eq!(refused, Err(Rejection::HoldsSuspended { until }.into()));
}

#[test]
fn after_a_restart_everything_is_as_it_was() {
    both(|shop| {
        let option = shop.option(1_000, 100);
        let [live, late, gone, paid, again] = [(); 5].map(|()| {
            let user = shop.user(9_000);
            shop.put(user, option, 2);
            shop.reserve(user).unwrap();
            user
        });
        shop.release(gone).unwrap();
        shop.pay(paid).unwrap();
        shop.world.wait(Span::from_secs(1_800));
        shop.replace(live).unwrap();
        shop.world.wait(Span::from_secs(10));
        shop.replace(live).unwrap();
        shop.reserve(again).unwrap();
        shop.release(again).unwrap();
        let before = shop.stock(option);
        shop.restart();
        assert_eq!(shop.stock(option), before);
        assert_eq!(shop.pay(late).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationExpired));
        for user in [gone, paid, again] {
            assert_eq!(shop.pay(user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        }
        assert_eq!(shop.reserve(live).unwrap_err(), Rejection::Shop(ShopRejection::DuplicateReservation));
        shop.pay(live).unwrap();
    });
}
