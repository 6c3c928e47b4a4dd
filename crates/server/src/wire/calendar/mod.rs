//! Rooms by the hour in JSON.

pub mod lock;
pub mod room;
pub mod slot;

use jiff::civil::Date;
use serde::Serializer;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn date<S: Serializer>(date: &Date, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(date)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn optional_date<S: Serializer>(date: &Option<Date>, serializer: S) -> Result<S::Ok, S::Error> {
    match date {
        Some(date) => serializer.collect_str(date),
        None => serializer.serialize_none(),
    }
}
