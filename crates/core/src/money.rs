//! Amounts of money, as integers in the minor unit of the currency.

use crate::rejection::{Fault, Rejection};

/// Largest price of one unit. The total of ninety nights at this price is below 2^53.
pub const PRICE_MAX: i64 = 1_000_000_000_000;

/// Largest amount: an order's total, a discount, the lifetime deposits of a user. It is below 2^53, and a hundred times
/// it fits into 64 bits, so that percentages can be computed.
pub const AMOUNT_MAX: i64 = 1_000_000_000_000_000;

/// An ISO 4217 code: three capital letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    pub const KRW: Self = Self(*b"KRW");

    pub fn parse(text: &str) -> Option<Self> {
        let code: [u8; 3] = text.as_bytes().try_into().ok()?;
        code.iter().all(u8::is_ascii_uppercase).then_some(Self(code))
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("three ASCII letters")
    }
}

/// Checks a price; zero is allowed.
pub fn check_price(field: &'static str, price: i64) -> Result<i64, Rejection> {
    if (0..=PRICE_MAX).contains(&price) {
        Ok(price)
    } else {
        Err(Rejection::invalid(field, Fault::OutOfRange { min: 0, max: PRICE_MAX }))
    }
}

/// Checks an amount to pay or deposit; it is positive.
pub fn check_amount(field: &'static str, amount: i64, max: i64) -> Result<i64, Rejection> {
    if (1..=max).contains(&amount) {
        Ok(amount)
    } else {
        Err(Rejection::invalid(field, Fault::OutOfRange { min: 1, max }))
    }
}

/// Parses a currency code; the default is the won.
pub fn parse_currency(field: &'static str, code: Option<&str>) -> Result<Currency, Rejection> {
    match code {
        None => Ok(Currency::KRW),
        Some(code) => Currency::parse(code).ok_or_else(|| Rejection::invalid(field, Fault::UnknownCurrency)),
    }
}
