//! Status of seats.

use super::event;
use super::{EventId, PlannedSeat, SeatId, SeatPlan, SeatReservationId, SeatsOf, event_unit, seat_of, seat_unit};
use crate::command::{Context, Decision};
use crate::hold;
use crate::table::Row;
use crate::time::Timestamp;
use crate::unit::{Tally, Unit, Units};
use crate::working_set::WorkingSet;

/// A reserved seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoldSeat {
    pub reservation: SeatReservationId,
}

impl Row for SoldSeat {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeatStatus {
    Available,
    Held,
    Reserved,
}

/// All seats of an event, and their status at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatMap {
    pub event: EventId,
    pub plan: SeatPlan,
    /// In the order of the plan.
    pub statuses: Vec<SeatStatus>,
}

impl SeatMap {
    pub fn seats(&self) -> impl Iterator<Item = (SeatId, &PlannedSeat, SeatStatus)> {
        let seats = (1..).zip(self.plan.seats().iter()).zip(&self.statuses);
        seats.map(|((position, seat), status)| (self.event.seat(position), seat, *status))
    }
}

pub fn seat_map(rows: &mut WorkingSet, at: &Context<'_>, id: EventId) -> Decision<SeatMap> {
    rows.ticket.plans.request(&id);
    let event = event::find(rows, id)?;
    let plan = event::plan(rows, id)?;
    let statuses = statuses(rows, id, event.seat_count, at.now)?;
    Ok(SeatMap { event: id, plan, statuses })
}

/// Returns the status of each seat of an event. The caller has read the event: stores that cannot list held units look
/// up `seat_count` of them.
pub(super) fn statuses(
    rows: &mut WorkingSet,
    event: EventId,
    seat_count: u32,
    now: Timestamp,
) -> Decision<Vec<SeatStatus>> {
    // Both ranges are requested before either is used.
    let units = rows.held.scan(&units_of(event, seat_count));
    let sold = rows.ticket.seats.scan(&SeatsOf { event, seat_count });
    let mut statuses = vec![SeatStatus::Available; seat_count as usize];
    for unit in units? {
        let Some(seat) = seat_of(unit) else { continue };
        if hold::held(rows, unit, now)? > 0 {
            statuses[seat.position() as usize - 1] = SeatStatus::Held;
        }
    }
    for seat in sold? {
        statuses[seat.position() as usize - 1] = SeatStatus::Reserved;
    }
    Ok(statuses)
}

/// Returns the quantity of prepared holds, which may become reserved or free.
pub(super) fn prepared(rows: &mut WorkingSet, unit: Unit) -> Decision<u32> {
    Ok(rows.held.get(&unit)?.map_or(0, Tally::prepared))
}

/// Returns the range of the event as a whole and each of its seats.
pub(super) fn units_of(event: EventId, seat_count: u32) -> Units {
    Units { first: event_unit(event), last_part: seat_count }
}

/// Whether the seat is held.
pub(super) fn is_held(rows: &mut WorkingSet, seat: SeatId, now: Timestamp) -> Decision<bool> {
    Ok(hold::available(rows, seat_unit(seat), 1, 0, now)? == 0)
}
