//! Parsing of texts in bodies and queries.

use holdfast_core::Fault;
use holdfast_core::id::UserId;
use jiff::civil::Date;

/// Maximum number of entries in a list; a higher limit is lowered to it.
pub const LIST_LIMIT_MAX: usize = 500;
const LIST_LIMIT_DEFAULT: usize = 50;

/// Field of a request with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidField {
    pub field: &'static str,
    pub fault: Fault,
}

impl InvalidField {
    pub fn new(field: &'static str, fault: Fault) -> Self {
        Self { field, fault }
    }
}

/// Parses `YYYY-MM-DD` and no other spelling of a date.
pub fn parse_date(field: &'static str, text: &str) -> Result<Date, InvalidField> {
    let number = |range: std::ops::Range<usize>| -> Option<i16> {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let shape = text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
    shape
        .then(|| Date::new(number(0..4)?, number(5..7)? as i8, number(8..10)? as i8).ok())
        .flatten()
        .ok_or_else(|| InvalidField::new(field, Fault::NotADate))
}

/// Parses a user in a header, path or query, where digits mean the integer.
pub fn parse_user(field: &'static str, text: &str) -> Result<UserId, InvalidField> {
    UserId::parse_text(text).ok_or_else(|| InvalidField::new(field, Fault::NotAUser))
}

/// Parses a date that must be given.
pub fn required_date(field: &'static str, text: Option<&str>) -> Result<Date, InvalidField> {
    parse_date(field, text.ok_or_else(|| InvalidField::new(field, Fault::Missing))?)
}

/// Parses the maximum number of entries of a list.
pub fn list_limit(text: Option<&str>) -> Result<usize, InvalidField> {
    let Some(text) = text else { return Ok(LIST_LIMIT_DEFAULT) };
    let out_of_range = Fault::OutOfRange { min: 1, max: LIST_LIMIT_MAX as i64 };
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(InvalidField::new("limit", out_of_range));
    }
    match text.parse::<usize>() {
        Ok(0) => Err(InvalidField::new("limit", out_of_range)),
        Ok(limit) => Ok(limit.min(LIST_LIMIT_MAX)),
        Err(_) => Ok(LIST_LIMIT_MAX),
    }
}
