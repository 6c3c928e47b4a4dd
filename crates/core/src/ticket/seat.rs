//! Which seats are sold, held and free.

use super::event;
use super::{EventId, PlannedSeat, SeatId, SeatPlan, SeatReservationId, SeatsOf, event_unit, seat_of, seat_unit};
use crate::command::{Context, Decision};
use crate::hold;
use crate::rows::Rows;
use crate::table::Row;
use crate::time::Timestamp;
use crate::unit::{Tally, Unit, Units};

/// A seat that is reserved.
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

/// All seats of an event and what they are at one moment.
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

pub fn seat_map(rows: &mut Rows, at: &Context<'_>, id: EventId) -> Decision<SeatMap> {
    rows.ticket.plans.want(&id);
    let event = event::find(rows, id)?;
    let plan = event::plan(rows, id)?;
    let statuses = statuses(rows, id, event.seat_count, at.now)?;
    Ok(SeatMap { event: id, plan, statuses })
}

/// What each seat of an event is. The event has to be found before: stores without a list of what is held look at as many
/// names as it has seats.
pub(super) fn statuses(rows: &mut Rows, event: EventId, seat_count: u32, now: Timestamp) -> Decision<Vec<SeatStatus>> {
    // Both are named before either is needed.
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

/// How much of a unit counts as held although it may be reserved, or free, in a moment.
pub(super) fn in_doubt(rows: &mut Rows, unit: Unit) -> Decision<u32> {
    Ok(rows.held.get(&unit)?.map_or(0, Tally::pinned))
}

/// The event as a whole and each of its seats.
pub(super) fn units_of(event: EventId, seat_count: u32) -> Units {
    Units { first: event_unit(event), last_part: seat_count }
}

/// Whether a seat is held by anybody.
pub(super) fn is_held(rows: &mut Rows, seat: SeatId, now: Timestamp) -> Decision<bool> {
    Ok(hold::available(rows, seat_unit(seat), 1, 0, now)? == 0)
}
