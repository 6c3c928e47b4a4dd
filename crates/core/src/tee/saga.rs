//! Effects of the course service's replies, and of timeouts, on a booking. Replies may be late, repeated, or follow the
//! end of the booking; places reserved too late are released.

use std::sync::Arc;

use super::CANCELLED_AT_ONCE_MAX;
use super::booking::{
    self, Booking, BookingAction, BookingId, BookingState, BookingStatus, By, OpenBooking, OpenBookingId,
    OpenBookingsOf, Step,
};
use super::cancel;
use super::inbox::Handled;
use super::message::{Allotment, FailureReason};
use super::slot::TeeSlotId;
use crate::command::{Command, Context, Decision, writes};
use crate::working_set::WorkingSet;

/// Fails a booking that got no reply before its deadline. No effect if it is no longer pending, or the deadline has not
/// passed.
#[derive(Clone, Debug)]
pub struct TimeOutBooking {
    pub id: BookingId,
}

impl Command for TimeOutBooking {
    /// The booking, if it failed now.
    type Outcome = Option<Booking>;
    const NAME: &'static str = "tee.booking.time_out";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Option<Booking>> {
        let booking = booking::find(rows, self.id)?;
        if booking.state != BookingState::Pending || at.now < booking.deadline {
            return Ok(None);
        }
        let failed = fail(rows, at, &booking, FailureReason::SagaTimeout, None)?;
        // The request may still be in flight, or its reply lost.
        booking::release(rows, &failed);
        Ok(Some(failed))
    }

    fn lane(&self) -> u64 {
        self.id.get()
    }
}

pub(super) fn request_rows(rows: &mut WorkingSet, places: &Allotment) {
    rows.tee.bookings.request(&places.booking);
    rows.tee.by_slot.request(&OpenBookingId { slot: places.slot, booking: places.booking });
}

pub(super) fn request_open(rows: &mut WorkingSet, slot: TeeSlotId) {
    // The scan records its request even if it fails.
    rows.tee.by_slot.scan(&OpenBookingsOf(slot)).ok();
}

/// Returns the booking of a reply; `None` if the reply is about another slot, so does not answer this booking's
/// request.
fn booking_of(rows: &mut WorkingSet, places: Allotment) -> Decision<Option<Booking>> {
    let booking = booking::find(rows, places.booking)?;
    Ok(Some(booking).filter(|booking| booking.slot == places.slot))
}

/// `slot.reserved`: confirms the booking, or releases the places if it has ended meanwhile.
pub(super) fn reserved(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    places: Allotment,
    version: Option<u64>,
) -> Decision<()> {
    let Some(booking) = booking_of(rows, places)? else { return Ok(()) };
    match booking.status() {
        BookingStatus::Pending => {
            let open = OpenBookingId { slot: booking.slot, booking: booking.id };
            rows.tee.by_slot.get(&open)?;
            // Without a version it stays based on the one of its creation.
            if let Some(slot_version) = version {
                rows.tee.by_slot.put(open, OpenBooking { slot_version });
            }
            let state = BookingState::Confirmed { at: at.now };
            booking::advance(rows, at, &booking, state, Step::by_system(BookingAction::Confirmed))?;
        }
        BookingStatus::Confirmed | BookingStatus::Completed | BookingStatus::NoShow => {}
        BookingStatus::Cancelled | BookingStatus::Failed => {
            if booking.released_at.is_none() {
                booking::release(rows, &booking);
            }
        }
    }
    Ok(())
}

/// `slot.reserve.failed`: fails the booking.
pub(super) fn reserve_failed(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    places: Allotment,
    reason: FailureReason,
    words: Option<&Arc<str>>,
) -> Decision<()> {
    let Some(booking) = booking_of(rows, places)? else { return Ok(()) };
    if booking.state == BookingState::Pending {
        fail(rows, at, &booking, reason, words)?;
    }
    Ok(())
}

/// `slot.released`: records that the course service has released the places for good.
pub(super) fn released(rows: &mut WorkingSet, at: &Context<'_>, places: Allotment) -> Decision<()> {
    let Some(booking) = booking_of(rows, places)? else { return Ok(()) };
    let has_ended = matches!(booking.status(), BookingStatus::Cancelled | BookingStatus::Failed);
    if has_ended && booking.released_at.is_none() {
        let revision = booking.revision + 1;
        rows.tee.bookings.put(booking.id, Booking { released_at: Some(at.now), revision, ..booking });
    }
    Ok(())
}

/// `slot.closed`: cancels open bookings of the slot, some at a time. Bookings based on a later version were made after
/// the slot was reopened.
pub(super) fn closed(rows: &mut WorkingSet, at: &Context<'_>, slot: TeeSlotId, version: u64) -> Decision<Handled> {
    let mut affected = Vec::new();
    for open in rows.tee.by_slot.scan(&OpenBookingsOf(slot))? {
        if rows.tee.by_slot.get(&open)?.is_some_and(|row| row.slot_version < version) {
            affected.push(open.booking);
        }
    }
    let is_more = affected.len() > CANCELLED_AT_ONCE_MAX;
    affected.truncate(CANCELLED_AT_ONCE_MAX);
    for id in &affected {
        rows.tee.bookings.request(id);
    }
    for id in affected {
        let booking = booking::find(rows, id)?;
        cancel::cancel(rows, at, &booking, By::System, Some(FailureReason::SlotClosed.as_str().into()))?;
    }
    Ok(if is_more { Handled::More } else { Handled::Done })
}

/// Fails a booking; its history keeps an unknown reason as worded by the course service.
fn fail(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    booking: &Booking,
    reason: FailureReason,
    words: Option<&Arc<str>>,
) -> Decision<Booking> {
    let state = BookingState::Failed { at: at.now, reason };
    let reason_text = words.cloned().unwrap_or_else(|| reason.as_str().into());
    let step = Step { reason: Some(reason_text), ..Step::by_system(BookingAction::Failed) };
    booking::advance(rows, at, booking, state, step)
}
