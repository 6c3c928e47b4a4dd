//! JSON representations. Domain types are never serialized directly, and no rule is here.

pub mod calendar;
pub mod event;
pub mod ids;
pub mod list;
pub mod message;
pub mod params;
pub mod queue;
pub mod shop;
pub mod stay;
pub mod tee;
pub mod ticket;
pub mod webhook;

use holdfast_core::Timestamp;
use serde::{Deserialize, Deserializer, Serializer};

/// Distinguishes `null` from a missing field.
pub fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// RFC 3339 in UTC, to the millisecond.
pub fn time<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{:.3}", time.to_jiff()))
}

pub fn optional_time<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(moment) => self::time(moment, serializer),
        None => serializer.serialize_none(),
    }
}
