//! The HTTP API as types: bodies, parameters, identifiers. The server, the client, tools and tests share them.
//!
//! Every type can be serialized and deserialized. No rule is here, and no domain type is serialized directly.
//!
//! | feature | adds |
//! | --- | --- |
//! | `core` | conversions from and to the types of the rules |
//! | `openapi` | schemas of the `OpenAPI` document |

pub mod calendar;
pub mod claim;
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

use std::marker::PhantomData;

use jiff::Timestamp;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serializer};

#[cfg(feature = "core")]
pub use parse::InvalidField;

/// Distinguishes `null` from a missing field.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Deserializes a list, and drops elements beyond `MAX`, so that a huge list does not use memory. The caller refuses lists of
/// that length.
pub fn bounded<'de, T: Deserialize<'de>, D: Deserializer<'de>, const MAX: usize>(list: D) -> Result<Vec<T>, D::Error> {
    struct Elements<T, const MAX: usize>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Elements<T, MAX> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut elements = Vec::new();
            while elements.len() < MAX
                && let Some(element) = list.next_element()?
            {
                elements.push(element);
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(elements)
        }
    }
    list.deserialize_seq(Elements::<T, MAX>(PhantomData))
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
