use super::*;
use crate::money::{AMOUNT_MAX, Currency};
use crate::rejection::ShopRejection;
use crate::time::Span;

#[test]
fn coupon_code_is_one_unique_word() {
    both(|shop| {
        shop.coupon("SPRING", Discount::Percent(10), 1);
        let create = CreateCoupon {
            code: code("SPRING"),
            discount: Discount::Amount(1),
            currency: None,
            max_uses: 5,
            valid_until: None,
        };
        assert_eq!(shop.run(&create).unwrap_err(), Rejection::Shop(ShopRejection::CouponAlreadyExists));
    });
    assert_eq!(invalid(CouponCode::parse("code", "")), ("code", Fault::Blank));
    assert_eq!(invalid(CouponCode::parse("code", "A B")), ("code", Fault::Malformed));
    assert_eq!(invalid(CouponCode::parse("code", &"A".repeat(65))), ("code", Fault::TooLong { max: 64 }));
    assert_eq!(code("봄맞이-10").as_str(), "봄맞이-10");
}

#[test]
fn discounts_and_uses_have_bounds() {
    both(|shop| {
        let mut create = |discount, max_uses| {
            shop.run(&CreateCoupon { code: code("SPRING"), discount, currency: None, max_uses, valid_until: None })
        };
        for percent in [0, 101] {
            let rejected = create(Discount::Percent(percent), 1);
            assert_eq!(invalid(rejected), ("value", Fault::OutOfRange { min: 1, max: 100 }));
        }
        for amount in [-1, 0, AMOUNT_MAX + 1] {
            let rejected = create(Discount::Amount(amount), 1);
            assert_eq!(invalid(rejected), ("value", Fault::OutOfRange { min: 1, max: AMOUNT_MAX }));
        }
        for uses in [0, coupon::COUPON_USES_MAX + 1] {
            let range = Fault::OutOfRange { min: 1, max: coupon::COUPON_USES_MAX.into() };
            assert_eq!(invalid(create(Discount::Percent(1), uses)), ("maxUses", range));
        }
        create(Discount::Percent(100), 1).unwrap();
    });
}

#[test]
fn coupons_are_issued_once_per_user_until_gone() {
    both(|shop| {
        let users: Vec<_> = (0..3).map(|_| shop.user(0)).collect();
        shop.coupon("SPRING", Discount::Percent(10), 2);
        assert_eq!(shop.issue("SPRING", &users[0]).unwrap().issued, 1);
        assert_eq!(shop.issue("SPRING", &users[0]).unwrap_err(), Rejection::Shop(ShopRejection::CouponAlreadyIssued));
        assert_eq!(shop.issue("SPRING", &users[1]).unwrap().issued, 2);
        assert_eq!(shop.issue("SPRING", &users[2]).unwrap_err(), Rejection::Shop(ShopRejection::CouponSoldOut));
        let repeated = shop.issue("SPRING", &users[1]).unwrap_err();
        assert_eq!(repeated, Rejection::Shop(ShopRejection::CouponAlreadyIssued), "takes precedence over sold out");
    });
}

#[test]
fn issue_checks_coupon_then_user_then_validity() {
    both(|shop| {
        let user = shop.user(0);
        assert_eq!(shop.issue("NONE", &unknown_user()).unwrap_err(), Rejection::Shop(ShopRejection::CouponNotFound));
        let valid_until = Some(shop.world.now + Span::from_secs(10));
        let discount = Discount::Percent(10);
        shop.run(&CreateCoupon { code: code("SPRING"), discount, currency: None, max_uses: 1, valid_until }).unwrap();
        shop.issue("SPRING", &user).unwrap();
        shop.world.wait(Span::from_secs(10));
        assert_eq!(shop.issue("SPRING", &unknown_user()).unwrap_err(), Rejection::Shop(ShopRejection::UserNotFound));
        let late = shop.issue("SPRING", &user).unwrap_err();
        assert_eq!(late, Rejection::Shop(ShopRejection::CouponNotUsable), "takes precedence over already issued");
    });
}

/// An `AMOUNT` without a currency is in KRW; a `PERCENT` with a currency discounts only that one.
#[test]
fn coupon_discounts_only_its_own_currency() {
    both(|shop| {
        let mut create = |name, discount, currency: Option<&str>| {
            let currency = currency.map(str::to_owned);
            shop.run(&CreateCoupon { code: code(name), discount, currency, max_uses: 9, valid_until: None })
        };
        let unknown = create("NONE", Discount::Amount(100), Some("won"));
        assert_eq!(invalid(unknown), ("currency", Fault::UnknownCurrency));
        assert_eq!(create("WON", Discount::Amount(100), None).unwrap().currency, Some(Currency::KRW));
        create("DOLLARS", Discount::Amount(100), Some("USD")).unwrap();
        create("TENTH-OF-DOLLARS", Discount::Percent(10), Some("USD")).unwrap();
        assert_eq!(create("TENTH", Discount::Percent(10), None).unwrap().currency, None);

        let (option, user) = (shop.option(1_000, 9), shop.user(10_000));
        for name in ["WON", "DOLLARS", "TENTH-OF-DOLLARS", "TENTH"] {
            shop.issue(name, &user).unwrap();
        }
        shop.put(&user, option, 1);
        shop.reserve(&user).unwrap();
        for name in ["DOLLARS", "TENTH-OF-DOLLARS"] {
            let refused = shop.pay_with(&user, name).unwrap_err();
            assert_eq!(refused, Rejection::Shop(ShopRejection::CouponNotUsable), "{name}");
        }
        assert_eq!(shop.pay_with(&user, "WON").unwrap().order.paid, 900);
        shop.put(&user, option, 1);
        shop.reserve(&user).unwrap();
        assert_eq!(shop.pay_with(&user, "TENTH").unwrap().order.paid, 900);
    });
}

#[test]
fn discount_rounds_down_and_is_at_most_total() {
    assert_eq!(Discount::Percent(10).of(1_999), 199);
    assert_eq!(Discount::Percent(100).of(1_999), 1_999);
    assert_eq!(Discount::Percent(99).of(AMOUNT_MAX), AMOUNT_MAX / 100 * 99);
    assert_eq!(Discount::Amount(500).of(1_999), 500);
    assert_eq!(Discount::Amount(5_000).of(1_999), 1_999);
    assert_eq!(Discount::Percent(50).of(0), 0);
}
