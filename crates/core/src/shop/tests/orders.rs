use super::*;
use crate::rejection::ShopRejection;
use crate::time::Span;

/// Creates a user who has bought two pieces at 1,000 each, with a coupon of ten percent.
fn bought(shop: &mut Shop) -> (UserId, ProductOptionId, Order) {
    let (user, option) = (shop.user(5_000), shop.option(1_000, 10));
    let valid_until = Some(shop.world.now + Span::from_secs(60));
    let discount = Discount::Percent(10);
    shop.run(&CreateCoupon { code: code("TENTH"), discount, currency: None, max_uses: 1, valid_until }).unwrap();
    shop.issue("TENTH", &user).unwrap();
    shop.put(&user, option, 2);
    shop.reserve(&user).unwrap();
    let order = shop.pay_with(&user, "TENTH").unwrap().order;
    (user, option, order)
}

#[test]
fn cancelling_returns_stock_money_and_coupon() {
    both(|shop| {
        let (user, option, order) = bought(shop);
        assert_eq!((shop.balance(&user), shop.stock(option)), (3_200, (8, 0, 8)));
        shop.world.wait(Span::from_secs(5));
        let cancelled = shop.run(&CancelOrder { id: order.id, actor: Actor::User(user.clone()) }).unwrap();
        assert_eq!(cancelled, Order { state: OrderState::Cancelled { at: shop.world.now }, ..order });
        assert_eq!((shop.balance(&user), shop.stock(option)), (5_000, (10, 0, 10)));
        assert_eq!(shop.cart(&user), [], "the cart is not filled again");
        assert_eq!(shop.world.events.last(), Some(&Event::OrderCancelled(cancelled)));
        shop.put(&user, option, 1);
        shop.reserve(&user).unwrap();
        assert_eq!(shop.pay_with(&user, "TENTH").unwrap().order.paid, 900, "the coupon can be used again");
    });
}

#[test]
fn coupon_returned_after_its_end_is_not_usable() {
    both(|shop| {
        let (user, option, order) = bought(shop);
        shop.world.wait(Span::from_secs(60));
        shop.cancel(order.id).unwrap();
        shop.put(&user, option, 1);
        shop.reserve(&user).unwrap();
        assert_eq!(shop.pay_with(&user, "TENTH").unwrap_err(), Rejection::Shop(ShopRejection::CouponNotUsable));
    });
}

#[test]
fn order_is_cancelled_once() {
    both(|shop| {
        let (user, option, order) = bought(shop);
        shop.cancel(order.id).unwrap();
        assert_eq!(shop.cancel(order.id).unwrap_err(), Rejection::Shop(ShopRejection::OrderAlreadyCancelled));
        assert_eq!((shop.balance(&user), shop.stock(option)), (5_000, (10, 0, 10)));
    });
}

#[test]
fn order_is_accessible_to_owner_and_admins_only() {
    both(|shop| {
        let (_, _, order) = bought(shop);
        let other = Actor::User(shop.user(0));
        assert_eq!(shop.run(&CancelOrder { id: order.id, actor: other.clone() }).unwrap_err(), Rejection::Forbidden);
        assert_eq!(shop.world.ask(|rows, _| order::find(rows, order.id, &other)).unwrap_err(), Rejection::Forbidden);
        let none = OrderId::new(99).unwrap();
        assert_eq!(shop.cancel(none).unwrap_err(), Rejection::Shop(ShopRejection::OrderNotFound));
        assert_eq!(
            shop.world.ask(|rows, _| order::find(rows, none, &other)).unwrap_err(),
            Rejection::Shop(ShopRejection::OrderNotFound)
        );
        shop.cancel(order.id).unwrap();
    });
}

#[test]
fn order_events_have_owner_and_are_durable() {
    both(|shop| {
        let (user, _, order) = bought(shop);
        shop.cancel(order.id).unwrap();
        assert!(shop.world.events.iter().all(|event| event.owner() == Some(&user)));
        let durable: Vec<_> = shop.world.events.iter().map(Event::is_durable).collect();
        assert_eq!(durable, [false, true, true], "reserved, paid, cancelled");
    });
}
