//! Events as `CloudEvents` 1.0.

use std::sync::LazyLock;

use holdfast_api::calendar::lock::{BlockedView, LockView, RoomReservationView};
use holdfast_api::claim::{ClaimView, StockSaleView};
use holdfast_api::queue::AdmissionView;
use holdfast_api::shop::{OrderView, ReservationEventView};
use holdfast_api::stay::{StayHoldView, StayReservationView};
use holdfast_api::ticket::{SeatHoldView, SeatReservationView};
use holdfast_api::vertical;
use holdfast_core::hold::{Hold, Origin};
use holdfast_core::tee::Subject;
use holdfast_core::{Event, Timestamp};
use holdfast_engine::Trace;
use serde::Serialize;
use serde_json::value::RawValue;

/// Types of durable events that are published outside the services.
pub static DURABLE_TYPES: LazyLock<Vec<&'static str>> = LazyLock::new(vertical::durable_events);

/// Ephemeral events of holds: they are not in the outbox, and may be lost.
pub static EPHEMERAL_TYPES: LazyLock<Vec<&'static str>> = LazyLock::new(vertical::ephemeral_events);

/// Whether an event is for subscribers; messages between services are not.
pub fn is_public(event_type: &str) -> bool {
    Subject::parse(event_type).is_none_or(Subject::is_public)
}

/// Type of an event on the wire.
pub fn type_of(event: &Event) -> &'static str {
    match event {
        Event::HoldPlaced(hold) => hold_types(hold.origin).placed,
        Event::HoldCancelled(hold) => hold_types(hold.origin).cancelled,
        Event::HoldReplaced(hold) => hold_types(hold.origin).replaced,
        Event::ClaimExtended(_) => "claim.extended",
        Event::ClaimChanged(_) => "claim.changed",
        Event::ClaimConfirmed(_) => "claim.confirmed",
        Event::ClaimCancelled(_) => "claim.cancelled",
        Event::StockSold(_) => "stock.sold",
        Event::StockReturned(_) => "stock.returned",
        Event::StayReservationConfirmed(_) => "stay.reservation.confirmed",
        Event::StayReservationCancelled(_) => "stay.reservation.cancelled",
        Event::OrderPaid(_) => "order.paid",
        Event::OrderCancelled(_) => "order.cancelled",
        Event::RoomSlotsReserved(_) => "room.slot.reserved",
        Event::RoomSlotsCancelled(_) => "room.slot.cancelled",
        Event::RoomSlotsBlocked { .. } => "room.slot.blocked",
        Event::SeatsReserved(_) => "seat.reserved",
        Event::SeatsCancelled(_) => "seat.cancelled",
        Event::QueueAdmitted(_) => "queue.admitted",
        Event::Tee(message) => message.subject().as_str(),
        Event::BookingPublished(published) => published.action.subject().as_str(),
    }
}

/// Types of the events of a hold, by its origin.
struct HoldTypes {
    placed: &'static str,
    cancelled: &'static str,
    replaced: &'static str,
}

fn hold_types(origin: Origin) -> HoldTypes {
    let (placed, cancelled, replaced) = match origin {
        Origin::Stay => ("stay.hold.placed", "stay.hold.cancelled", "stay.hold.replaced"),
        Origin::Cart => ("order.reserved", "order.released", "order.released"),
        Origin::Seats => ("seat.held", "seat.released", "seat.released"),
        Origin::Lock | Origin::System => ("room.slot.locked", "room.slot.released", "room.slot.released"),
        Origin::Claim => ("claim.held", "claim.cancelled", "claim.cancelled"),
    };
    HoldTypes { placed, cancelled, replaced }
}

fn hold_data(hold: &Hold, at: Timestamp) -> serde_json::Result<String> {
    match hold.origin {
        Origin::Stay => serde_json::to_string(&StayHoldView::new(hold, at)),
        Origin::Cart => serde_json::to_string(&ReservationEventView::new(hold)),
        Origin::Claim => serde_json::to_string(&ClaimView::new(hold, at)),
        Origin::Seats => serde_json::to_string(&SeatHoldView::new(hold, at)),
        Origin::Lock | Origin::System => serde_json::to_string(&LockView::new(hold, at)),
    }
}

/// Data of an event: the JSON that a GET of the object would have returned at that moment.
pub fn data_of(event: &Event, at: Timestamp) -> String {
    let json = match event {
        Event::HoldPlaced(hold) | Event::HoldCancelled(hold) | Event::HoldReplaced(hold) => hold_data(hold, at),
        Event::ClaimExtended(hold)
        | Event::ClaimChanged(hold)
        | Event::ClaimConfirmed(hold)
        | Event::ClaimCancelled(hold) => serde_json::to_string(&ClaimView::new(hold, at)),
        Event::StockSold(sale) | Event::StockReturned(sale) => serde_json::to_string(&StockSaleView::new(sale)),
        Event::StayReservationConfirmed(reservation) | Event::StayReservationCancelled(reservation) => {
            serde_json::to_string(&StayReservationView::new(reservation))
        }
        Event::Tee(message) => return super::message::data_of(message),
        Event::BookingPublished(published) => return published.data.as_ref().to_owned(),
        Event::OrderPaid(order) | Event::OrderCancelled(order) => serde_json::to_string(&OrderView::new(order)),
        Event::RoomSlotsReserved(reservation) | Event::RoomSlotsCancelled(reservation) => {
            serde_json::to_string(&RoomReservationView::new(reservation))
        }
        Event::RoomSlotsBlocked { room, slots, status } => {
            serde_json::to_string(&BlockedView::new(*room, slots, *status))
        }
        Event::SeatsReserved(reservation) | Event::SeatsCancelled(reservation) => {
            serde_json::to_string(&SeatReservationView::new(reservation))
        }
        Event::QueueAdmitted(admission) => serde_json::to_string(&AdmissionView::new(admission)),
    };
    json.expect("wire types can be written as JSON")
}

/// Time of an event, as a rule that of its commit.
pub fn time_of(event: &Event, committed_at: Timestamp) -> Timestamp {
    match event {
        Event::BookingPublished(published) => published.at.unwrap_or(committed_at),
        _ => committed_at,
    }
}

/// Writes an event of this installation (`source`). `trace` names the request that caused it, for consumers that act on it.
pub fn cloud_event(
    source: &str,
    id: &str,
    event_type: &str,
    at: Timestamp,
    data: &str,
    trace: Option<Trace>,
) -> String {
    #[derive(Serialize)]
    struct CloudEvent<'a> {
        specversion: &'a str,
        id: &'a str,
        source: &'a str,
        r#type: &'a str,
        #[serde(serialize_with = "super::time")]
        time: Timestamp,
        datacontenttype: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        traceparent: Option<String>,
        data: &'a RawValue,
    }
    let event = CloudEvent {
        specversion: "1.0",
        id,
        source,
        r#type: event_type,
        time: at,
        datacontenttype: "application/json",
        traceparent: trace.map(|trace| trace.to_string()),
        data: serde_json::from_str(data).expect("event data is JSON"),
    };
    serde_json::to_string(&event).expect("wire types can be written as JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_events_can_be_subscribed() {
        for subject in Subject::ALL {
            assert_eq!(DURABLE_TYPES.contains(&subject.as_str()), subject.is_public(), "{subject}");
            assert_eq!(is_public(subject.as_str()), subject.is_public());
        }
        assert!(is_public("order.paid"));
    }
}
