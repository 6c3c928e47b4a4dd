//! The verticals, as the API, the settings, the metrics and the console name them. A new vertical is declared here; a test of
//! the console finds each place that lacks it.

/// Names of a vertical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vertical {
    /// Name in metrics and activity counters.
    pub name: &'static str,
    /// Tag of its operations in the `OpenAPI` document.
    pub tag: &'static str,
    /// Its section of the console.
    pub section: &'static str,
    /// First words of the names of its commands and events.
    pub prefixes: &'static [&'static str],
    /// Types of its events that go through the outbox.
    pub durable_events: &'static [&'static str],
    /// Types of the events of its holds, which are published best effort.
    pub ephemeral_events: &'static [&'static str],
    /// Setting with the lifetime of its holds; `None` if it has none.
    pub ttl_setting: Option<&'static str>,
}

pub const VERTICALS: [Vertical; 5] = [
    Vertical {
        name: "stay",
        tag: "stays",
        section: "stays",
        prefixes: &["stay"],
        durable_events: &["stay.reservation.confirmed", "stay.reservation.cancelled"],
        ephemeral_events: &["stay.hold.placed", "stay.hold.cancelled", "stay.hold.replaced"],
        ttl_setting: Some("stay.hold_ttl"),
    },
    Vertical {
        name: "shop",
        tag: "shop",
        section: "shop",
        prefixes: &["shop", "order", "stock"],
        durable_events: &["order.paid", "order.cancelled", "stock.sold", "stock.returned"],
        ephemeral_events: &["order.reserved", "order.released"],
        ttl_setting: Some("shop.hold_ttl"),
    },
    Vertical {
        name: "tee",
        tag: "tee times",
        section: "tee",
        prefixes: &["tee", "booking", "slot"],
        durable_events: &[
            "booking.created",
            "booking.confirmed",
            "booking.failed",
            "booking.cancelled",
            "booking.completed",
            "booking.no_show",
        ],
        ephemeral_events: &[],
        ttl_setting: None,
    },
    Vertical {
        name: "ticket",
        tag: "tickets",
        section: "tickets",
        prefixes: &["ticket", "seat", "queue"],
        durable_events: &["seat.reserved", "seat.cancelled", "queue.admitted"],
        ephemeral_events: &["seat.held", "seat.released"],
        ttl_setting: Some("ticket.hold_ttl"),
    },
    Vertical {
        name: "room",
        tag: "calendar",
        section: "rooms",
        prefixes: &["calendar", "room"],
        durable_events: &["room.slot.reserved", "room.slot.cancelled", "room.slot.blocked"],
        ephemeral_events: &["room.slot.locked", "room.slot.released"],
        ttl_setting: Some("calendar.lock_ttl"),
    },
];

/// Types of the events of claims that go through the outbox.
pub const CLAIM_DURABLE_EVENTS: &[&str] = &["claim.confirmed", "claim.cancelled"];
/// Types of the events of live claims, which are published best effort.
pub const CLAIM_EPHEMERAL_EVENTS: &[&str] = &["claim.held", "claim.extended", "claim.changed"];

/// Returns the index in [`VERTICALS`] of a command or an event, by the first word of its name.
pub fn index_of(name: &str) -> Option<usize> {
    let first = name.split('.').next().unwrap_or_default();
    VERTICALS.iter().position(|vertical| vertical.prefixes.contains(&first))
}

/// Returns the types of all events that go through the outbox.
pub fn durable_events() -> Vec<&'static str> {
    VERTICALS.iter().flat_map(|vertical| vertical.durable_events).chain(CLAIM_DURABLE_EVENTS).copied().collect()
}

/// Returns the types of all events of holds.
pub fn ephemeral_events() -> Vec<&'static str> {
    VERTICALS.iter().flat_map(|vertical| vertical.ephemeral_events).chain(CLAIM_EPHEMERAL_EVENTS).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_belong_to_one_vertical() {
        for (index, vertical) in VERTICALS.iter().enumerate() {
            for name in vertical.durable_events.iter().chain(vertical.ephemeral_events) {
                assert_eq!(index_of(name), Some(index), "{name}");
            }
        }
        assert_eq!(index_of("webhook.create"), None);
    }
}
