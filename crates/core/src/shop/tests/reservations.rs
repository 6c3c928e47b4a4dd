use super::*;
use crate::hold::HoldState;
use crate::money::{AMOUNT_MAX, PRICE_MAX};
use crate::rejection::ShopRejection;
use crate::time::Span;

#[test]
fn cart_is_reserved_for_half_an_hour() {
    both(|shop| {
        let (user, first, second) = (shop.user(0), shop.option(1_000, 10), shop.option(2_500, 16));
        shop.put(&user, second, 1);
        shop.put(&user, first, 2);
        let reserved = shop.reserve(&user).unwrap();
        let items: Vec<&StockItem> = reserved.hold.items().collect();
        let lines: Vec<_> =
            items.iter().map(|item| (item.reservation.get(), item.option, item.quantity, item.unit_price)).collect();
        assert_eq!(lines, [(1, first, 2, 1_000), (2, second, 1, 2_500)]);
        assert_eq!(reserved.available, [8, 15], "after this reservation");
        assert_eq!(reserved.hold.total(), 4_500);
        assert_eq!(&*items[0].product_name, "에티오피아 예가체프 G1");
        assert_eq!(&*items[0].option_code, "ETH-HD-200");
        assert_eq!(reserved.hold.created_at, shop.world.now);
        assert_eq!(reserved.hold.expires_at, shop.world.now + Span::from_secs(1_800));
        assert_eq!(shop.reservation(&user).unwrap(), reserved);
        assert_eq!(shop.cart(&user).len(), 2, "the cart stays as it is");
        assert_eq!(shop.world.events, [Event::HoldPlaced(reserved.hold)]);
    });
}

#[test]
fn reservation_changes_no_durable_count() {
    both(|shop| {
        let (user, option) = (shop.user(0), shop.option(1_000, 10));
        shop.put(&user, option, 2);
        shop.reserve(&user).unwrap();
        assert_eq!(shop.stock(option), (10, 2, 8));
    });
}

#[test]
fn reserve_checks_in_documented_order() {
    both(|shop| {
        let (user, first, second) = (shop.user(0), shop.option(1_000, 5), shop.option(1_000, 5));
        assert_eq!(shop.reserve(&unknown_user()).unwrap_err(), Rejection::Shop(ShopRejection::UserNotFound));
        assert_eq!(shop.reserve(&user).unwrap_err(), Rejection::Shop(ShopRejection::CartEmpty));
        shop.put(&user, first, 1);
        shop.reserve(&user).unwrap();
        shop.put(&user, first, 0);
        assert_eq!(
            shop.reserve(&user).unwrap_err(),
            Rejection::Shop(ShopRejection::CartEmpty),
            "before the live reservation"
        );
        for option in [second, first] {
            shop.put(&user, option, 100);
            shop.run(&ChangeOption { id: option, price: None, is_active: Some(false), stock: None }).unwrap();
            let rejected = shop.reserve(&user).unwrap_err();
            assert_eq!(
                rejected,
                Rejection::Shop(ShopRejection::ProductOptionInactive { option }),
                "the one with the lowest id"
            );
        }
        for id in [first, second] {
            shop.run(&ChangeOption { id, price: None, is_active: Some(true), stock: None }).unwrap();
        }
        assert_eq!(
            shop.reserve(&user).unwrap_err(),
            Rejection::Shop(ShopRejection::DuplicateReservation),
            "before stock"
        );
        shop.release(&user).unwrap();
        let shortage = Rejection::Shop(ShopRejection::InsufficientAvailableStock { option: first, available: 5 });
        assert_eq!(shop.reserve(&user).unwrap_err(), shortage, "the one with the lowest id");
        shop.put(&user, first, 5);
        let shortage = Rejection::Shop(ShopRejection::InsufficientAvailableStock { option: second, available: 5 });
        assert_eq!(shop.reserve(&user).unwrap_err(), shortage);
        assert_eq!(shop.stock(first), (5, 0, 5), "all lines or none");
    });
}

#[test]
fn held_pieces_are_not_available_to_others() {
    both(|shop| {
        let option = shop.option(1_000, 50);
        let users: Vec<_> = (0..300).map(|_| shop.user(0)).collect();
        let mut reserved = 0;
        for user in users {
            shop.put(&user, option, 1);
            match shop.reserve(&user) {
                Ok(_) => reserved += 1,
                Err(rejected) => {
                    assert_eq!(
                        rejected,
                        Rejection::Shop(ShopRejection::InsufficientAvailableStock { option, available: 0 })
                    );
                }
            }
        }
        assert_eq!(reserved, 50);
    });
}

#[test]
fn reservation_expires_without_a_job() {
    both(|shop| {
        let (user, option) = (shop.user(0), shop.option(1_000, 2));
        shop.put(&user, option, 2);
        shop.reserve(&user).unwrap();
        shop.world.wait(Span::from_millis(1_799_999));
        assert_eq!(shop.reserve(&user).unwrap_err(), Rejection::Shop(ShopRejection::DuplicateReservation));
        assert_eq!(shop.stock(option), (2, 2, 0));
        shop.world.wait(Span::from_millis(1));
        assert_eq!(shop.reservation(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        assert_eq!(shop.release(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        assert_eq!(shop.stock(option), (2, 0, 2));
        shop.reserve(&user).unwrap();
    });
}

#[test]
fn released_reservation_is_free_at_once() {
    both(|shop| {
        let (user, option) = (shop.user(9_000), shop.option(1_000, 2));
        assert_eq!(shop.release(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        shop.put(&user, option, 2);
        let hold = shop.reserve(&user).unwrap().hold;
        shop.release(&user).unwrap();
        let released = hold.with_state(HoldState::Cancelled);
        assert_eq!(shop.world.events.last(), Some(&Event::HoldCancelled(released)));
        assert_eq!(shop.release(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        assert_eq!(shop.reservation(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        assert_eq!(shop.pay(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        assert_eq!(shop.stock(option), (2, 0, 2));
        shop.reserve(&user).unwrap();
    });
}

#[test]
fn replace_exchanges_reservation_in_one_step() {
    both(|shop| {
        let (user, old, new) = (shop.user(0), shop.option(1_000, 3), shop.option(1_000, 1));
        shop.put(&user, old, 2);
        let first = shop.replace(&user).unwrap().hold;
        shop.put(&user, old, 3);
        shop.put(&user, new, 1);
        let second = shop.replace(&user).unwrap();
        assert_eq!(second.available, [0, 0], "the replaced hold is free for the new one");
        assert_eq!((shop.stock(old), shop.stock(new)), ((3, 3, 0), (1, 1, 0)));
        assert_eq!(shop.reservation(&user).unwrap(), second);
        let replaced = first.with_state(HoldState::Replaced { by: second.hold.id });
        let expected = [Event::HoldPlaced(first), Event::HoldReplaced(replaced), Event::HoldPlaced(second.hold)];
        assert_eq!(shop.world.events, expected);
        shop.put(&user, old, 0);
        shop.replace(&user).unwrap();
        assert_eq!((shop.stock(old), shop.stock(new)), ((3, 0, 3), (1, 1, 0)));
    });
}

#[test]
fn rejected_replacement_keeps_reservation() {
    both(|shop| {
        let (user, option) = (shop.user(0), shop.option(1_000, 3));
        shop.put(&user, option, 2);
        let reserved = shop.reserve(&user).unwrap();
        shop.put(&user, option, 4);
        let shortage = Rejection::Shop(ShopRejection::InsufficientAvailableStock { option, available: 3 });
        assert_eq!(shop.replace(&user).unwrap_err(), shortage);
        assert_eq!(shop.reservation(&user).unwrap(), reserved);
        assert_eq!(shop.world.events.len(), 1);
    });
}

#[test]
fn prices_are_fixed_when_reserved() {
    both(|shop| {
        let (user, id) = (shop.user(9_000), shop.option(1_000, 3));
        shop.put(&user, id, 2);
        shop.reserve(&user).unwrap();
        shop.run(&ChangeOption { id, price: Some(4_000), is_active: Some(false), stock: None }).unwrap();
        shop.put(&user, id, 3);
        let reserved = shop.reservation(&user).unwrap().hold;
        let item = reserved.items::<StockItem>().next().unwrap();
        assert_eq!((item.quantity, item.unit_price, reserved.total()), (2, 1_000, 2_000));
        let paid = shop.pay(&user).unwrap();
        assert_eq!(paid.balance_after, 7_000);
        assert_eq!(shop.cart(&user), [(id, 1)], "only the bought quantity leaves the cart");
    });
}

#[test]
fn total_is_bounded() {
    both(|shop| {
        let (user, expensive) = (shop.user(0), shop.option(PRICE_MAX, LINE_QUANTITY_MAX));
        for quantity in [1_001, LINE_QUANTITY_MAX] {
            shop.put(&user, expensive, quantity);
            assert_eq!(invalid(shop.reserve(&user)), ("totalAmount", Fault::OutOfRange { min: 0, max: AMOUNT_MAX }));
        }
        shop.put(&user, expensive, 1_000);
        assert_eq!(shop.reserve(&user).unwrap().hold.total(), AMOUNT_MAX);
    });
}

#[test]
fn reserve_is_rejected_while_suspended() {
    let mut shop = Shop::new(false);
    let (user, option) = (shop.user(0), shop.option(1_000, 3));
    shop.put(&user, option, 1);
    let until = shop.world.now + Span::from_secs(5);
    let random = shop.random();
    let rejected = shop.world.step(crate::command::Writes::Live, |rows, at| {
        rows.suspended_until = Some(until);
        ReserveOrder { random, user: user.clone(), replace: false }.decide(rows, at)
    });
    assert_eq!(rejected, Err(Rejection::HoldsSuspended { until }.into()));
}

#[test]
fn restart_rebuilds_the_same_state() {
    both(|shop| {
        let option = shop.option(1_000, 100);
        let [live, late, released, paid, rereserved] = [(); 5].map(|()| {
            let user = shop.user(9_000);
            shop.put(&user, option, 2);
            shop.reserve(&user).unwrap();
            user
        });
        shop.release(&released).unwrap();
        shop.pay(&paid).unwrap();
        shop.world.wait(Span::from_secs(1_800));
        shop.replace(&live).unwrap();
        shop.world.wait(Span::from_secs(10));
        shop.replace(&live).unwrap();
        shop.reserve(&rereserved).unwrap();
        shop.release(&rereserved).unwrap();
        let before = shop.stock(option);
        shop.restart();
        assert_eq!(shop.stock(option), before);
        assert_eq!(shop.pay(&late).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationExpired));
        for user in [released, paid, rereserved] {
            assert_eq!(shop.pay(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        }
        assert_eq!(shop.reserve(&live).unwrap_err(), Rejection::Shop(ShopRejection::DuplicateReservation));
        shop.pay(&live).unwrap();
    });
}
