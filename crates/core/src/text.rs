//! Text that people write and others read.

use crate::rejection::{Fault, Rejection};

pub const NAME_CHARS_MAX: usize = 200;

/// What a thing is called: not blank, not long.
pub fn check_name<'a>(field: &'static str, text: &'a str) -> Result<&'a str, Rejection> {
    if text.trim().is_empty() {
        return Err(Rejection::invalid(field, Fault::Blank));
    }
    check_text(field, text, NAME_CHARS_MAX)
}

/// Of bounded length, and without characters that only do harm.
pub fn check_text<'a>(field: &'static str, text: &'a str, chars_max: usize) -> Result<&'a str, Rejection> {
    if text.chars().count() > chars_max {
        return Err(Rejection::invalid(field, Fault::TooLong { max: chars_max }));
    }
    if text.chars().any(|char| char.is_control() && char != '\n' && char != '\t') {
        return Err(Rejection::invalid(field, Fault::ControlCharacter));
    }
    Ok(text)
}
