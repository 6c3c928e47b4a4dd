//! Log lines of the booking saga. Operators know its tags. Each line has the id of the booking, and of the trace that
//! all steps share.

use holdfast_core::tee::{BookingId, Handled, Message, OrderingKey, Service};
use holdfast_engine::{Answer, Refused, trace};

/// Logs at `info` with a booking, and at `debug` without one, because there are thousands of messages about slots.
macro_rules! say {
    ($booking:expr, $($rest:tt)+) => {
        match $booking {
            Some(booking) => tracing::info!(bookingId = booking, $($rest)+),
            None => tracing::debug!($($rest)+),
        }
    };
}

/// Returns the trace id of the running task, for the log.
pub fn trace_id() -> Option<String> {
    trace::current().map(|trace| trace.id().to_string())
}

/// Logs that a booking was created, or found under its key.
pub fn created(request_id: &str, booking: BookingId, number: &str, is_new: bool) {
    let (id, trace) = (booking.get(), trace_id());
    if is_new {
        tracing::info!(
            bookingId = id,
            traceId = trace,
            "[REQ-{request_id}] Booking {number} created with PENDING status"
        );
    } else {
        tracing::info!(
            bookingId = id,
            traceId = trace,
            "[REQ-{request_id}] DUPLICATE REQUEST: booking {number} is returned"
        );
    }
}

/// Logs a received message.
pub fn received(message: &Message) {
    let (tag, subject) = (tag(message), message.subject());
    let (booking, slot, trace) = (booking_of(message), message.slot().get(), trace_id());
    say!(booking, slotId = slot, traceId = trace, "{tag} {subject} received");
}

/// Logs a processed message.
pub fn handled(message: &Message, handled: &Answer<Handled>) {
    let (tag, subject) = (tag(message), message.subject());
    let (booking, slot, trace) = (booking_of(message), message.slot().get(), trace_id());
    match handled {
        Answer::Fresh(Handled::Repeated) => {
            say!(booking, slotId = slot, traceId = trace, "{tag} DUPLICATE {subject}: ignored");
        }
        _ => say!(booking, slotId = slot, traceId = trace, "{tag} {subject} done"),
    }
}

/// Logs a message whose processing failed.
pub fn failed(message: &Message, error: &Refused) {
    let (tag, subject) = (tag(message), message.subject());
    let (booking, slot, trace) = (booking_of(message), message.slot().get(), trace_id());
    tracing::warn!(bookingId = booking, slotId = slot, traceId = trace, %error, "{tag} {subject} failed");
}

/// Returns the tag of the service that processes a message.
fn tag(message: &Message) -> &'static str {
    match message.subject().consumer() {
        Some(Service::Course) => "[Saga]",
        Some(Service::Booking) => "[SagaHandler]",
        Some(Service::Notify) | None => "[Notify]",
    }
}

/// Returns the booking that a message is about.
pub fn booking_of(message: &Message) -> Option<u64> {
    match message.ordering_key() {
        OrderingKey::Booking(booking) => Some(booking.get()),
        OrderingKey::Slot(_) => None,
    }
}
