//! Which events somebody wants: by the beginning of their type, so that `order.` is all there is about orders.

use crate::rejection::{Fault, Rejection};

/// The most that may be named.
pub const TYPES_MAX: usize = 50;
/// The longest one.
pub const TYPE_CHARS_MAX: usize = 100;

/// Stands for every type there is.
const EVERY: &str = "*";

/// Types of events, or beginnings of them. None at all means every event, except those of holds, which have to be named whole;
/// `*` means these too.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EventTypes(Vec<String>);

impl EventTypes {
    /// `durable` and `fleeting` are all types there are: what is neither the beginning of one nor one of the other would never be
    /// told.
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
            let is_whole = prefix == EVERY || fleeting.contains(&prefix.as_str());
            if !is_whole && !durable.iter().any(|name| name.starts_with(prefix.as_str())) {
                return invalid(Fault::UnknownValue);
            }
            if types[..at].contains(prefix) {
                return invalid(Fault::Duplicate);
            }
        }
        Ok(Self(types))
    }

    /// For those who may name whatever they like. What is blank is left out.
    pub fn any(types: impl Iterator<Item = String>) -> Self {
        Self(types.filter(|prefix| !prefix.is_empty()).collect())
    }

    /// `a,b`, as it was written down.
    pub fn parse(text: &str) -> Self {
        Self::any(text.split(',').map(str::to_owned))
    }

    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    pub fn include(&self, event_type: &str) -> bool {
        let begins = |prefix: &String| prefix == EVERY || event_type.starts_with(prefix.as_str());
        self.0.is_empty() || self.0.iter().any(begins)
    }

    /// Whether this very type is named.
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
    const FLEETING: &[&str] = &["order.reserved", "stay.hold.placed"];

    fn types(types: &[&str]) -> Result<EventTypes, Rejection> {
        EventTypes::new(types.iter().map(ToString::to_string).collect(), DURABLE, FLEETING)
    }

    #[test]
    fn what_is_fleeting_has_to_be_named_whole() {
        assert!(types(&["order.reserved"]).unwrap().name("order.reserved"));
        assert!(!types(&["order."]).unwrap().name("order.reserved"));
        assert!(!types(&[]).unwrap().name("order.reserved"));
        let all = types(&["*"]).unwrap();
        assert!(all.name("order.reserved") && all.include("order.paid"));
        assert!(types(&["stay.hold."]).is_err(), "that would never be told");
    }

    #[test]
    fn a_type_is_wanted_by_its_name_or_its_beginning() {
        let some = types(&["order.", "booking.confirmed"]).unwrap();
        assert!(some.include("order.paid") && some.include("booking.confirmed"));
        assert!(!some.include("booking.cancelled") && !some.include("orders"));
        assert!(types(&[]).unwrap().include("whatever"), "none means all");
        assert_eq!(EventTypes::parse(&some.to_string()), some);
    }

    #[test]
    fn what_would_never_be_told_is_refused() {
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
