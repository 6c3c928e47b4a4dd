//! The auditor reports every violation.

use super::*;
use crate::hold::{Line, Records};
use crate::id::HoldId;

/// A shop in which a user has bought two pieces with a coupon, and has reserved another.
struct Sold {
    shop: Shop,
    account: UserAccount,
    option: ProductOption,
    order: Order,
    hold: Hold,
}

fn sold() -> Sold {
    let mut shop = Shop::new(false);
    let (user, option) = (shop.user(5_000), shop.option(1_000, 10));
    shop.coupon("TENTH", Discount::Percent(10), 5);
    shop.issue("TENTH", &user).unwrap();
    shop.put(&user, option, 2);
    shop.reserve(&user).unwrap();
    let order = shop.pay_with(&user, "TENTH").unwrap().order;
    shop.put(&user, option, 1);
    let hold = shop.reserve(&user).unwrap().hold;
    let account = shop.world.ask(|rows, _| user::find(rows, &user)).unwrap();
    let option = shop.world.ask(|rows, _| product::find_option(rows, option)).unwrap();
    Sold { shop, account, option, order, hold }
}

/// Returns the findings after `spoil` has added an inconsistent record.
fn found(spoil: impl FnOnce(&mut Audit, &Sold)) -> String {
    let sold = sold();
    let mut audit = sold.shop.audit();
    let records = audit.records();
    spoil(&mut audit, &sold);
    assert!(audit.records() > records);
    audit.finish().join("; ")
}

fn check(finding: &str, spoil: impl FnOnce(&mut Audit, &Sold)) {
    let findings = found(spoil);
    assert!(findings.contains(finding), "{finding:?} is not in {findings:?}");
}

#[test]
fn consistent_shop_has_no_findings() {
    assert_eq!(sold().shop.audit().finish(), Vec::<String>::new());
}

#[test]
fn unbalanced_money_is_found() {
    check("user 1: balance 3201 + paid 1800 is not the 5000 deposited", |audit, sold| {
        audit.shop.user(&UserAccount { balance: sold.account.balance + 1, ..sold.account.clone() });
    });
    check("user 1: balance -1", |audit, sold| audit.shop.user(&UserAccount { balance: -1, ..sold.account.clone() }));
    check("order 7: its amounts do not add up", |audit, sold| {
        audit_order(audit, &Order { id: OrderId::new(7).unwrap(), paid: 5, ..sold.order.clone() });
    });
    check("its total differs from the sum of its lines", |audit, sold| {
        let line = Line { price: 5, ..sold.hold.lines[0].clone() };
        audit.hold(&Hold { lines: [line].into(), ..sold.hold.clone() });
    });
}

#[test]
fn cart_without_account_or_too_long_is_found() {
    check("user 999: has a cart", |audit, sold| {
        audit.shop.cart_item(&CartItemId { user: unknown_user(), option: sold.option.id });
    });
    check("user 1: 101 lines in the cart", |audit, sold| {
        (0..100)
            .for_each(|_| audit.shop.cart_item(&CartItemId { user: sold.account.id.clone(), option: sold.option.id }));
    });
}

#[test]
fn unbalanced_stock_is_found() {
    check("product option 1: 3 counted as sold, but 2 in orders", |audit, sold| {
        audit.shop.inventory(sold.option.id, Inventory { received: 10, sold: 3 });
    });
    check("product option 1: oversold: 2 sold + 9 held of 10", |audit, sold| audit.shop.held(sold.option.id, 8));
    check("product option 999: the option or its inventory", |audit, _| {
        audit.shop.inventory(unknown_option(), Inventory { received: 1, sold: 0 });
    });
    check("product option 999: the option or its inventory", |audit, sold| {
        audit.shop.option(&ProductOption { id: unknown_option(), ..sold.option.clone() });
    });
}

#[test]
fn inconsistent_coupons_are_found() {
    let coupon = |max_uses, issued| Coupon {
        code: code("TENTH"),
        discount: Discount::Percent(10),
        currency: None,
        max_uses,
        issued,
        valid_until: None,
    };
    let of = |name, user| UserCouponId { code: code(name), user };
    let used = |number| UserCoupon { state: CouponState::Used { order: OrderId::new(number).unwrap() } };
    check("coupon TENTH: 2 counted as issued, but 1 found", |audit, _| audit.shop.coupon(&coupon(5, 2)));
    check("coupon TENTH: 1 issued of 0", |audit, _| audit.shop.coupon(&coupon(0, 1)));
    check("coupon NONE: issued, but does not exist", |audit, sold| {
        audit.shop.user_coupon(&of("NONE", sold.account.id.clone()), UserCoupon { state: CouponState::Issued });
    });
    check("coupon TENTH of user 999: used, but not by order 1", |audit, _| {
        audit.shop.user_coupon(&of("TENTH", unknown_user()), used(1));
    });
    check("order 1: its coupon is not marked as used by it", |audit, sold| {
        audit.shop.user_coupon(&of("TENTH", sold.account.id.clone()), used(2));
    });
}

#[test]
fn mismatched_holds_and_orders_are_found() {
    check("of the same user", |audit, sold| {
        audit.hold(&Hold { id: HoldId::earliest_at(sold.hold.created_at), ..sold.hold.clone() });
    });
    check("ends before it begins", |audit, sold| {
        audit.hold(&Hold { expires_at: sold.hold.created_at, ..sold.hold.clone() });
    });
    check("confirmed, but order 9 is not its own", |audit, sold| {
        audit.hold(&sold.hold.confirmed(Records::Shared(9)));
    });
    check("confirmed, but order 1 is not its own", |audit, sold| {
        audit.hold(&sold.hold.confirmed(Records::Shared(1)));
    });
    check("confirmed twice, as order [2] too", |audit, sold| {
        audit_order(audit, &Order { id: OrderId::new(2).unwrap(), ..sold.order.clone() });
    });
    check("order 1: number is not unique", |audit, sold| audit_order(audit, &sold.order));
}
