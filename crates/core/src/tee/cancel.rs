//! Cancelling a booking, and quoting its refund.

use std::sync::Arc;

use super::REASON_CHARS_MAX;
use super::booking::{self, Booking, BookingAction, BookingId, BookingState, By, Step};
use super::refund::{self, Refund};
use crate::command::{Command, Context, Decision, writes};
use crate::rejection::Rejection;
use crate::text::check_text;
use crate::working_set::WorkingSet;

/// Cancels a booking and releases its places.
#[derive(Clone, Debug)]
pub struct CancelBooking {
    pub id: BookingId,
    pub by: By,
    pub reason: Option<String>,
}

impl Command for CancelBooking {
    type Outcome = Booking;
    const NAME: &'static str = "tee.booking.cancel";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Booking> {
        let reason = self.reason.as_deref().map(|text| check_text("reason", text, REASON_CHARS_MAX)).transpose()?;
        let booking = find(rows, self.id, &self.by)?;
        let reason = reason.filter(|text| !text.trim().is_empty()).map(Arc::from);
        cancel(rows, at, &booking, self.by.clone(), reason)
    }

    fn lane(&self) -> u64 {
        self.id.get()
    }
}

/// Returns the refund of cancelling the booking now. Rejected like cancelling.
pub fn quote(rows: &mut WorkingSet, at: &Context<'_>, id: BookingId, by: &By) -> Decision<Refund> {
    let booking = find(rows, id, by)?;
    Ok(refund::on_cancelling(&booking, by, at.now)?)
}

/// Cancels an open booking. Its places are released even if they were never reserved, because the request may be in
/// flight.
pub(super) fn cancel(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    booking: &Booking,
    by: By,
    reason: Option<Arc<str>>,
) -> Decision<Booking> {
    let refund = refund::on_cancelling(booking, &by, at.now)?;
    let state = BookingState::Cancelled { at: at.now, by: by.clone(), refund };
    let step = Step { action: BookingAction::Cancelled, by, reason };
    let cancelled = booking::advance(rows, at, booking, state, step)?;
    booking::release(rows, &cancelled);
    Ok(cancelled)
}

fn find(rows: &mut WorkingSet, id: BookingId, by: &By) -> Decision<Booking> {
    let booking = booking::find(rows, id)?;
    match by {
        By::User(user) if *user != booking.user => Err(Rejection::Forbidden.into()),
        By::User(_) | By::Admin | By::System => Ok(booking),
    }
}
