//! The HTTP API as types: bodies, parameters, identifiers. The server, the client, tools and tests share them.
//!
//! Every type can be serialized and deserialized. No rule is here, and no domain type is serialized directly.
//!
//! | feature | adds |
//! | --- | --- |
//! | `core` | conversions from and to the types of the rules |
//! | `openapi` | schemas of the `OpenAPI` document |

pub mod calendar;
pub mod error;
pub mod ids;
pub mod list;
pub mod params;
#[cfg(feature = "core")]
pub mod parse;
pub mod queue;
pub mod shop;
pub mod stay;
pub mod tee;
pub mod ticket;
pub mod vertical;
pub mod webhook;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serializer};

#[cfg(feature = "core")]
pub use parse::InvalidField;

/// Distinguishes `null` from a missing field.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Serializes a time as RFC 3339 in UTC, to the millisecond.
pub fn time<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.3}"))
}

/// Serializes a time as [`time`] does, and its absence as `null`.
pub fn optional_time<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(moment) => self::time(moment, serializer),
        None => serializer.serialize_none(),
    }
}
