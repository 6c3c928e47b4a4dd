//! Coupons. A coupon is issued to a limited number of users, first come, first served; each may use it once.

use std::sync::Arc;

use super::order::OrderId;
use super::user;
use crate::command::{Command, Context, Decision, writes};
use crate::id::UserId;
use crate::money::{AMOUNT_MAX, Currency, check_amount, parse_currency};
use crate::rejection::{Fault, Rejection, ShopRejection};
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

pub const COUPON_CODE_CHARS_MAX: usize = 64;
pub const COUPON_USES_MAX: u32 = 1_000_000_000;

/// Code of a coupon: not blank, at most [`COUPON_CODE_CHARS_MAX`] characters, no whitespace. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CouponCode(Arc<str>);

impl CouponCode {
    pub fn parse(field: &'static str, text: &str) -> Result<Self, Rejection> {
        if text.is_empty() {
            return Err(Rejection::invalid(field, Fault::Blank));
        }
        if text.chars().count() > COUPON_CODE_CHARS_MAX {
            return Err(Rejection::invalid(field, Fault::TooLong { max: COUPON_CODE_CHARS_MAX }));
        }
        if text.chars().any(|char| char.is_control() || char.is_whitespace()) {
            return Err(Rejection::invalid(field, Fault::Malformed));
        }
        Ok(Self(text.into()))
    }

    /// Parses the code of a payment. An invalid code becomes the empty code, which no coupon has.
    pub fn typed(text: &str) -> Self {
        Self::parse("couponCode", text).unwrap_or_else(|_| Self("".into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for CouponCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A coupon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coupon {
    pub code: CouponCode,
    pub discount: Discount,
    /// The only currency it discounts. Every `Amount` has one; a `Percent` without one discounts any currency.
    pub currency: Option<Currency>,
    /// Maximum number of users to whom it is issued.
    pub max_uses: u32,
    /// Number of users to whom it was issued.
    pub issued: u32,
    pub valid_until: Option<Timestamp>,
}

impl Row for Coupon {}

/// Discount of a coupon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discount {
    /// Percentage of the total, rounded down.
    Percent(u32),
    Amount(i64),
}

impl Discount {
    /// Returns the discount on `total`, at most the total itself.
    pub fn of(self, total: i64) -> i64 {
        match self {
            Self::Percent(percent) => total * i64::from(percent) / 100,
            Self::Amount(amount) => amount.min(total),
        }
    }

    fn check(self) -> Result<(), Rejection> {
        let (value, max) = match self {
            Self::Percent(percent) => (percent.into(), 100),
            Self::Amount(amount) => (amount, AMOUNT_MAX),
        };
        check_amount("value", value, max).map(|_| ())
    }
}

impl Coupon {
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.valid_until.is_none_or(|end| now < end)
    }

    fn discounts(&self, currency: Currency) -> bool {
        self.currency.is_none_or(|own| own == currency)
    }
}

/// Key of a coupon issued to a user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserCouponId {
    pub code: CouponCode,
    pub user: UserId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserCoupon {
    pub state: CouponState,
}

impl Row for UserCoupon {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CouponState {
    Issued,
    Used { order: OrderId },
}

/// Creates a coupon.
#[derive(Clone, Debug)]
pub struct CreateCoupon {
    pub code: CouponCode,
    pub discount: Discount,
    /// An ISO 4217 code. Without one an `Amount` is in `KRW`, and a `Percent` discounts any currency.
    pub currency: Option<String>,
    pub max_uses: u32,
    /// May be in the past; the coupon can then be neither issued nor used.
    pub valid_until: Option<Timestamp>,
}

impl Command for CreateCoupon {
    type Outcome = Coupon;
    const NAME: &'static str = "shop.coupon.create";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<Coupon> {
        self.discount.check()?;
        let currency = match self.discount {
            Discount::Percent(_) if self.currency.is_none() => None,
            Discount::Percent(_) | Discount::Amount(_) => Some(parse_currency("currency", self.currency.as_deref())?),
        };
        check_amount("maxUses", self.max_uses.into(), COUPON_USES_MAX.into())?;
        if rows.shop.coupons.get(&self.code)?.is_some() {
            return Err(ShopRejection::CouponAlreadyExists.into());
        }
        let Self { code, discount, currency: _, max_uses, valid_until } = self.clone();
        let coupon = Coupon { code, discount, currency, max_uses, issued: 0, valid_until };
        rows.shop.coupons.put(coupon.code.clone(), coupon.clone());
        Ok(coupon)
    }
}

/// Issues a coupon to a user.
#[derive(Clone, Debug)]
pub struct IssueCoupon {
    pub code: CouponCode,
    pub user: UserId,
}

impl Command for IssueCoupon {
    /// The coupon after the issue.
    type Outcome = Coupon;
    const NAME: &'static str = "shop.coupon.issue";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Coupon> {
        let id = UserCouponId { code: self.code.clone(), user: self.user.clone() };
        rows.shop.coupons.request(&self.code);
        rows.shop.users.request(&self.user);
        rows.shop.user_coupons.request(&id);
        let coupon = rows.shop.coupons.get(&self.code)?.cloned().ok_or(ShopRejection::CouponNotFound)?;
        user::find(rows, &self.user)?;
        if !coupon.is_valid(at.now) {
            return Err(ShopRejection::CouponNotUsable.into());
        }
        if rows.shop.user_coupons.get(&id)?.is_some() {
            return Err(ShopRejection::CouponAlreadyIssued.into());
        }
        if coupon.issued >= coupon.max_uses {
            return Err(ShopRejection::CouponSoldOut.into());
        }
        let coupon = Coupon { issued: coupon.issued + 1, ..coupon };
        rows.shop.coupons.put(self.code.clone(), coupon.clone());
        rows.shop.user_coupons.put(id, UserCoupon { state: CouponState::Issued });
        Ok(coupon)
    }
}

/// The coupon, if the user has it and may still use it for a total in `currency`.
pub(super) fn usable(rows: &mut WorkingSet, id: &UserCouponId, currency: Currency, now: Timestamp) -> Decision<Coupon> {
    let coupon = rows.shop.coupons.get(&id.code)?;
    let coupon = coupon.filter(|coupon| coupon.is_valid(now) && coupon.discounts(currency)).cloned();
    let is_unused = rows.shop.user_coupons.get(id)?.is_some_and(|coupon| coupon.state == CouponState::Issued);
    Ok(coupon.filter(|_| is_unused).ok_or(ShopRejection::CouponNotUsable)?)
}
