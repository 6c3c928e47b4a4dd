//! What the log says of a booking on its way. The tags are those operators know; each line has the booking's number, and the
//! trace that the whole way has in common.

use holdfast_core::tee::{BookingId, Handled, Message, OrderingKey, Service};
use holdfast_engine::{Answer, Refused, trace};

/// What is about a booking is for operators; what is about a slot alone, for those who look closer: there are thousands of them.
macro_rules! say {
    ($booking:expr, $($rest:tt)+) => {
        match $booking {
            Some(booking) => tracing::info!(bookingId = booking, $($rest)+),
            None => tracing::debug!($($rest)+),
        }
    };
}

/// The trace of the running task, for the log.
pub fn trace_id() -> Option<String> {
    trace::current().map(|trace| trace.id().to_string())
}

/// A booking was made, or found under its key.
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

/// A message has come.
pub fn received(message: &Message) {
    let (tag, subject) = (tag(message), message.subject());
    let (booking, slot, trace) = (booking_of(message), message.slot().get(), trace_id());
    say!(booking, slotId = slot, traceId = trace, "{tag} {subject} received");
}

/// It was acted on.
pub fn handled(message: &Message, handled: &Answer<Handled>) {
    let (tag, subject) = (tag(message), message.subject());
    let (booking, slot, trace) = (booking_of(message), message.slot().get(), trace_id());
    match handled {
        Answer::Fresh(Handled::Repeated) => {
            say!(booking, slotId = slot, traceId = trace, "{tag} DUPLICATE {subject}: nothing happened");
        }
        _ => say!(booking, slotId = slot, traceId = trace, "{tag} {subject} done"),
    }
}

/// It could not be acted on.
pub fn failed(message: &Message, error: &Refused) {
    let (tag, subject) = (tag(message), message.subject());
    let (booking, slot, trace) = (booking_of(message), message.slot().get(), trace_id());
    tracing::warn!(bookingId = booking, slotId = slot, traceId = trace, %error, "{tag} {subject} failed");
}

/// Who speaks: the course service, the booking service, or the one that notifies.
fn tag(message: &Message) -> &'static str {
    match message.subject().consumer() {
        Some(Service::Course) => "[Saga]",
        Some(Service::Booking) => "[SagaHandler]",
        Some(Service::Notify) | None => "[Notify]",
    }
}

/// The booking a message is about.
pub fn booking_of(message: &Message) -> Option<u64> {
    match message.ordering_key() {
        OrderingKey::Booking(booking) => Some(booking.get()),
        OrderingKey::Slot(_) => None,
    }
}
