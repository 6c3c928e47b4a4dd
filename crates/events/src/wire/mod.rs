//! JSON of events and messages, and conversions to the types of [`holdfast_api`]. No rule is here.

pub mod event;
pub mod message;

use holdfast_core::Timestamp;
use serde::Serializer;

/// Serializes a time as RFC 3339 in UTC, to the millisecond.
pub fn time<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    holdfast_api::time(&time.to_jiff(), serializer)
}
