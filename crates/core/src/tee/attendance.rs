//! Attendance: completed bookings and no-shows.

use super::booking::{self, Booking, BookingAction, BookingId, BookingState, BookingStatus, By, Step};
use super::refund;
use crate::command::{Command, Context, Decision, writes};
use crate::rejection::TeeRejection;
use crate::working_set::WorkingSet;

/// Completes a booking whose players came.
#[derive(Clone, Debug)]
pub struct CompleteBooking {
    pub id: BookingId,
}

impl Command for CompleteBooking {
    type Outcome = Booking;
    const NAME: &'static str = "tee.booking.complete";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Booking> {
        let booking = find_confirmed(rows, self.id, BookingStatus::Completed)?;
        let step = Step { action: BookingAction::Completed, by: By::Admin, reason: None };
        booking::advance(rows, at, &booking, BookingState::Completed { at: at.now }, step)
    }

    fn lane(&self) -> u64 {
        self.id.get()
    }
}

/// Marks a booking as no-show, without a refund.
#[derive(Clone, Debug)]
pub struct NoShowBooking {
    pub id: BookingId,
}

impl Command for NoShowBooking {
    type Outcome = Booking;
    const NAME: &'static str = "tee.booking.no_show";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Booking> {
        let booking = find_confirmed(rows, self.id, BookingStatus::NoShow)?;
        let state = BookingState::NoShow { at: at.now, refund: refund::on_no_show(&booking) };
        let step = Step { action: BookingAction::NoShow, by: By::Admin, reason: None };
        booking::advance(rows, at, &booking, state, step)
    }

    fn lane(&self) -> u64 {
        self.id.get()
    }
}

fn find_confirmed(rows: &mut WorkingSet, id: BookingId, to: BookingStatus) -> Decision<Booking> {
    let booking = booking::find(rows, id)?;
    match booking.status() {
        BookingStatus::Confirmed => Ok(booking),
        from => Err(TeeRejection::InvalidStateTransition { from, to }.into()),
    }
}
