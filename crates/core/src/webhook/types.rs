//! Event type filters of a subscription: types, or prefixes of them, such as `order.` for all events of orders.

use crate::rejection::{Fault, Rejection};

/// Maximum number of types.
pub const TYPES_MAX: usize = 50;
/// Maximum length of a type.
pub const TYPE_CHARS_MAX: usize = 100;

/// Matches every type.
const EVERY: &str = "*";

/// Event types, or prefixes of them. An empty list matches every durable event; ephemeral events match only `*` or
/// their full type.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EventTypes(Vec<String>);

impl EventTypes {
    /// Checks the filters. `durable` and `fleeting` are all existing types; a filter that matches none of them is
    /// rejected.
    pub fn new(types: Vec<String>, durable: &[&str], fleeting: &[&str]) -> Result<Self, Rejection> {
        let invalid = |fault| Err(Rejection::invalid("types", fault));
        if types.len() > TYPES_MAX {
            return invalid(Fault::TooManyItems { max: TYPES_MAX });
        }
        for (at, prefix) in types.iter().enumerate() {
            if prefix.is_empty() {
                return invalid(Fault::Blank);
            }
            if prefix.len() > TYPE_CHARS_MAX {
                return invalid(Fault::TooLong { max: TYPE_CHARS_MAX });
            }
            let is_full_type = prefix == EVERY || fleeting.contains(&prefix.as_str());
            if !is_full_type && !durable.iter().any(|name| name.starts_with(prefix.as_str())) {
                return invalid(Fault::UnknownValue);
            }
            if types[..at].contains(prefix) {
                return invalid(Fault::Duplicate);
            }
        }
        Ok(Self(types))
    }

    /// Builds filters without checking them; empty ones are dropped.
    pub fn any(types: impl Iterator<Item = String>) -> Self {
        Self(types.filter(|prefix| !prefix.is_empty()).collect())
    }

    /// Parses the stored form `a,b`.
    pub fn parse(text: &str) -> Self {
        Self::any(text.split(',').map(str::to_owned))
    }

    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    pub fn include(&self, event_type: &str) -> bool {
        let matches = |prefix: &String| prefix == EVERY || event_type.starts_with(prefix.as_str());
        self.0.is_empty() || self.0.iter().any(matches)
    }

    /// Whether the full type is listed, or `*` is.
    pub fn name(&self, event_type: &str) -> bool {
        self.0.iter().any(|name| name == EVERY || name == event_type)
    }
}

impl std::fmt::Display for EventTypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DURABLE: &[&str] = &["order.paid", "order.cancelled", "booking.confirmed"];
    const EPHEMERAL: &[&str] = &["order.reserved", "stay.hold.placed"];

    fn types(types: &[&str]) -> Result<EventTypes, Rejection> {
        EventTypes::new(types.iter().map(ToString::to_string).collect(), DURABLE, EPHEMERAL)
    }

    #[test]
    fn ephemeral_events_match_full_types_only() {
        assert!(types(&["order.reserved"]).unwrap().name("order.reserved"));
        assert!(!types(&["order."]).unwrap().name("order.reserved"));
        assert!(!types(&[]).unwrap().name("order.reserved"));
        let all = types(&["*"]).unwrap();
        assert!(all.name("order.reserved") && all.include("order.paid"));
        assert!(types(&["stay.hold."]).is_err(), "a prefix matches no ephemeral type");
    }

    #[test]
    fn types_match_by_name_or_prefix() {
        let some = types(&["order.", "booking.confirmed"]).unwrap();
        assert!(some.include("order.paid") && some.include("booking.confirmed"));
        assert!(!some.include("booking.cancelled") && !some.include("orders"));
        assert!(types(&[]).unwrap().include("any.type"), "an empty list matches all");
        assert_eq!(EventTypes::parse(&some.to_string()), some);
    }

    #[test]
    fn filters_without_a_match_are_rejected() {
        let fault = |names: &[&str]| match types(names) {
            Err(Rejection::InvalidInput { field: "types", fault }) => fault,
            other => panic!("{other:?}"),
        };
        assert_eq!(fault(&[""]), Fault::Blank);
        assert_eq!(fault(&["orders"]), Fault::UnknownValue);
        assert_eq!(fault(&["order.", "order."]), Fault::Duplicate);
        assert_eq!(fault(&[&"o".repeat(101)]), Fault::TooLong { max: 100 });
        assert_eq!(fault(&["order."; 51]), Fault::TooManyItems { max: 50 });
    }
}
