use super::*;
use crate::hold::HoldState;
use crate::rejection::ShopRejection;
use crate::time::Span;

/// Creates a user with this balance and a reservation of two pieces at 1,000 each.
fn reserved(shop: &mut Shop, balance: i64) -> (UserId, ProductOptionId, Hold) {
    let (user, option) = (shop.user(balance), shop.option(1_000, 10));
    shop.put(&user, option, 2);
    let hold = shop.reserve(&user).unwrap().hold;
    (user, option, hold)
}

#[test]
fn payment_debits_money_stock_and_cart() {
    both(|shop| {
        let (user, option, hold) = reserved(shop, 5_000);
        let paid = shop.pay(&user).unwrap();
        let order = &paid.order;
        assert_eq!((order.total, order.discount, order.paid, paid.balance_after), (2_000, 0, 2_000, 3_000));
        assert_eq!((order.user.clone(), order.hold, order.state), (user.clone(), hold.id, OrderState::Paid));
        assert_eq!((order.created_at, &order.coupon), (shop.world.now, &None));
        assert!(order.items.iter().eq(hold.items::<StockItem>()));
        assert_eq!(shop.stock(option), (8, 0, 8), "paid goods are counted once");
        assert_eq!((shop.balance(&user), shop.cart(&user)), (3_000, vec![]));
        let confirmed = shop.world.hold(hold.id);
        assert_eq!((confirmed.state, confirmed.record()), (HoldState::Confirmed, Some(order.id.get())));
        assert_eq!(shop.world.ask(|rows, _| order::find(rows, order.id, &Actor::User(user.clone()))).unwrap(), *order);
        assert_eq!(shop.world.events.last(), Some(&Event::OrderPaid(order.clone())));
    });
}

#[test]
fn second_payment_needs_new_reservation() {
    both(|shop| {
        let (user, option, _) = reserved(shop, 5_000);
        shop.pay(&user).unwrap();
        assert_eq!(shop.pay(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        assert_eq!(shop.balance(&user), 3_000);
        shop.put(&user, option, 1);
        shop.reserve(&user).unwrap();
        assert_eq!(shop.pay(&user).unwrap().balance_after, 2_000);
    });
}

#[test]
fn expiry_is_reported_for_a_day_or_until_next() {
    both(|shop| {
        let (user, ..) = reserved(shop, 5_000);
        shop.world.wait(Span::from_secs(1_800));
        assert_eq!(shop.pay(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationExpired));
        shop.world.wait(Span::from_hours(24) + Span::from_millis(-1));
        assert_eq!(shop.pay(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationExpired));
        shop.world.wait(Span::from_millis(1));
        assert_eq!(shop.pay(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));

        let (user, ..) = reserved(shop, 5_000);
        shop.world.wait(Span::from_secs(1_800));
        shop.reserve(&user).unwrap();
        shop.release(&user).unwrap();
        assert_eq!(shop.pay(&user).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
    });
}

#[test]
fn payment_checks_in_documented_order() {
    both(|shop| {
        let all_wrong = |user| PayOrder {
            user,
            coupon: Some(code("NONE")),
            expected_amount: Some(1),
            reservation_ids: Some(vec![InventoryReservationId::new(77).unwrap()]),
        };
        assert_eq!(shop.run(&all_wrong(unknown_user())).unwrap_err(), Rejection::Shop(ShopRejection::UserNotFound));
        let (user, _, hold) = reserved(shop, 100);
        assert_eq!(
            shop.run(&all_wrong(user.clone())).unwrap_err(),
            Rejection::Shop(ShopRejection::OrderReservationNotFound)
        );
        let right_lines = PayOrder { reservation_ids: Some(reservation_ids(&hold)), ..all_wrong(user.clone()) };
        assert_eq!(shop.run(&right_lines).unwrap_err(), Rejection::Shop(ShopRejection::CouponNotUsable));
        let no_coupon = PayOrder { coupon: None, ..right_lines };
        assert_eq!(shop.run(&no_coupon).unwrap_err(), Rejection::Shop(ShopRejection::AmountChanged { amount: 2_000 }));
        let right_amount = PayOrder { expected_amount: Some(2_000), ..no_coupon };
        let too_low = Rejection::Shop(ShopRejection::InsufficientBalance { balance: 100, needed: 2_000 });
        assert_eq!(shop.run(&right_amount).unwrap_err(), too_low);
        assert_eq!(shop.reservation(&user).unwrap().hold.state, HoldState::Held, "the reservation is kept");
        shop.run(&AddBalance { user, amount: 1_900 }).unwrap();
        assert_eq!(shop.run(&right_amount).unwrap().balance_after, 0);
        shop.world.wait(Span::from_secs(1));
        assert_eq!(shop.run(&right_amount).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
    });
}

#[test]
fn expiry_is_reported_before_other_lines() {
    both(|shop| {
        let (user, ..) = reserved(shop, 100);
        shop.world.wait(Span::from_secs(1_800));
        let other = Some(vec![InventoryReservationId::new(77).unwrap()]);
        let payment = PayOrder { reservation_ids: other, ..payment_of(&user) };
        assert_eq!(shop.run(&payment).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationExpired));
    });
}

#[test]
fn expected_lines_must_equal_reserved_lines() {
    both(|shop| {
        let (user, first, second) = (shop.user(9_000), shop.option(1_000, 3), shop.option(1_000, 3));
        shop.put(&user, first, 1);
        shop.put(&user, second, 1);
        let lines = reservation_ids(&shop.reserve(&user).unwrap().hold);
        let (a, b) = (lines[0], lines[1]);
        for wrong in [vec![], vec![a], vec![b], vec![a, a, b], vec![a, b, InventoryReservationId::new(77).unwrap()]] {
            let payment = PayOrder { reservation_ids: Some(wrong), ..payment_of(&user) };
            assert_eq!(shop.run(&payment).unwrap_err(), Rejection::Shop(ShopRejection::OrderReservationNotFound));
        }
        shop.run(&PayOrder { reservation_ids: Some(vec![b, a]), ..payment_of(&user) }).unwrap();
    });
}

#[test]
fn coupon_discounts_one_order() {
    both(|shop| {
        let (user, option, _) = reserved(shop, 5_000);
        shop.coupon("SPRING", Discount::Percent(15), 10);
        shop.issue("SPRING", &user).unwrap();
        let payment = PayOrder { coupon: Some(code("SPRING")), expected_amount: Some(1_700), ..payment_of(&user) };
        let paid = shop.run(&payment).unwrap();
        assert_eq!((paid.order.total, paid.order.discount, paid.order.paid), (2_000, 300, 1_700));
        assert_eq!(paid.balance_after, 3_300);
        shop.put(&user, option, 1);
        shop.reserve(&user).unwrap();
        assert_eq!(
            shop.pay_with(&user, "SPRING").unwrap_err(),
            Rejection::Shop(ShopRejection::CouponNotUsable),
            "the coupon is used"
        );
        shop.pay(&user).unwrap();
    });
}

#[test]
fn unknown_or_expired_coupon_is_not_usable() {
    both(|shop| {
        let (user, ..) = reserved(shop, 5_000);
        assert_eq!(shop.pay_with(&user, "NONE").unwrap_err(), Rejection::Shop(ShopRejection::CouponNotUsable));
        let valid_until = Some(shop.world.now + Span::from_secs(10));
        let discount = Discount::Amount(500);
        shop.run(&CreateCoupon { code: code("SOON"), discount, currency: None, max_uses: 1, valid_until }).unwrap();
        assert_eq!(shop.pay_with(&user, "SOON").unwrap_err(), Rejection::Shop(ShopRejection::CouponNotUsable));
        shop.issue("SOON", &user).unwrap();
        shop.world.wait(Span::from_secs(10));
        assert_eq!(shop.pay_with(&user, "SOON").unwrap_err(), Rejection::Shop(ShopRejection::CouponNotUsable));
    });
}

#[test]
fn discount_above_total_makes_order_free() {
    both(|shop| {
        let (user, ..) = reserved(shop, 0);
        shop.coupon("FREE", Discount::Amount(1_000_000), 10);
        shop.issue("FREE", &user).unwrap();
        let paid = shop.pay_with(&user, "FREE").unwrap();
        assert_eq!((paid.order.discount, paid.order.paid, paid.balance_after), (2_000, 0, 0));
    });
}

#[test]
fn goods_sold_after_lost_hold_are_not_resold() {
    both(|shop| {
        let (user, option, _) = reserved(shop, 5_000);
        let mut rows = WorkingSet::default();
        rows.shop.inventory.fill(option, Some(Inventory { received: 10, sold: 9 }));
        shop.world.memory.apply(&mut rows);
        let shortage = Rejection::Shop(ShopRejection::InsufficientAvailableStock { option, available: 1 });
        assert_eq!(shop.pay(&user).unwrap_err(), shortage);
        assert_eq!((shop.balance(&user), shop.cart(&user).len()), (5_000, 1));
        let mut rows = WorkingSet::default();
        rows.shop.inventory.fill(option, Some(Inventory { received: 10, sold: 0 }));
        shop.world.memory.apply(&mut rows);
    });
}

#[test]
fn payment_input_is_bounded() {
    both(|shop| {
        let (user, option, hold) = reserved(shop, 5_000);
        for amount in [-1, crate::money::AMOUNT_MAX + 1] {
            let rejected = shop.run(&PayOrder { expected_amount: Some(amount), ..payment_of(&user) });
            assert_eq!(invalid(rejected).0, "expectedAmount");
        }
        let many = vec![reservation_ids(&hold)[0]; CART_LINES_MAX + 1];
        let rejected = shop.run(&PayOrder { reservation_ids: Some(many), ..payment_of(&user) });
        assert_eq!(invalid(rejected), ("reservationIds", Fault::TooManyItems { max: CART_LINES_MAX }));
        assert_eq!(shop.stock(option), (10, 2, 8), "the goods are still reserved");
    });
}
