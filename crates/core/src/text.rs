//! Checks of text that clients supply.

use crate::rejection::{Fault, Rejection};

pub const NAME_CHARS_MAX: usize = 200;

/// Checks a name: not blank, at most [`NAME_CHARS_MAX`] characters, no control characters.
pub fn check_name<'a>(field: &'static str, text: &'a str) -> Result<&'a str, Rejection> {
    if text.trim().is_empty() {
        return Err(Rejection::invalid(field, Fault::Blank));
    }
    check_text(field, text, NAME_CHARS_MAX)
}

/// Checks the length of a text, and rejects control characters except newline and tab.
pub fn check_text<'a>(field: &'static str, text: &'a str, chars_max: usize) -> Result<&'a str, Rejection> {
    if text.chars().count() > chars_max {
        return Err(Rejection::invalid(field, Fault::TooLong { max: chars_max }));
    }
    if text.chars().any(|char| char.is_control() && char != '\n' && char != '\t') {
        return Err(Rejection::invalid(field, Fault::ControlCharacter));
    }
    Ok(text)
}
