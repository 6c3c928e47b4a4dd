//! Claiming seats, shared by holding them and reserving them in one step. Checks are in this order: the event, the
//! request, unknown seats, start of sales, sold out, each seat, then the limits of the user.

use std::sync::Arc;

use super::event::{self, TicketEvent};
use super::line::SeatsItem;
use super::{BuyerId, EventId, ReservedSeat, SEATS_AT_ONCE_MAX, SeatId, event_unit, seat, seat_unit};
use crate::command::{Context, Decision, Stop};
use crate::hold::{self, Extras, Hold, Item, Origin, Placement, cancel, owner, place};
use crate::id::{HoldId, UserId};
use crate::rejection::{Fault, Rejection, TicketRejection};
use crate::time::Timestamp;
use crate::unit::Kind;
use crate::working_set::WorkingSet;

/// Seats that a client requests, as given.
#[derive(Clone, Debug)]
pub(super) struct SeatRequest<'a> {
    pub event: EventId,
    pub user: &'a UserId,
    pub seats: &'a [u64],
}

/// A new claim on seats that were free, or held by the same user.
pub(super) struct SeatClaimed {
    /// Not inserted yet.
    pub hold: Hold,
    /// Holds of the same user that it replaces; they have ended.
    pub replaced: Vec<Hold>,
}

impl SeatRequest<'_> {
    /// Requests all rows at once.
    pub(super) fn request_rows(&self, rows: &mut WorkingSet) {
        rows.ticket.plans.request(&self.event);
        event::request_remaining(rows, self.event);
        rows.ticket.buyers.request(&self.buyer());
        self.request_live_rows(rows);
        for seat in self.ids() {
            rows.ticket.seats.request(&seat);
        }
    }

    /// Requests the live rows that a hold on the seats writes.
    pub(super) fn request_live_rows(&self, rows: &mut WorkingSet) {
        rows.held.request(&event_unit(self.event));
        owner::request(rows, Kind::Ticket, self.user);
        rows.ticket.buyers_held.request(&self.buyer());
        for seat in self.ids() {
            rows.held.request(&seat_unit(seat));
            rows.ticket.by_seat.request(&seat);
        }
    }

    /// Returns the event and the seats in ascending order, if the request is valid.
    pub(super) fn check(
        &self,
        rows: &mut WorkingSet,
        at: &Context<'_>,
    ) -> Decision<(TicketEvent, Arc<[ReservedSeat]>)> {
        let event = event::find(rows, self.event)?;
        check_at_once(&event, self.seats.len(), "seatIds", Fault::TooManyItems { max: SEATS_AT_ONCE_MAX })?;
        let numbers = self.check_numbers()?;
        let plan = event::plan(rows, self.event)?;
        let found = numbers.into_iter().map(|number| {
            let id = SeatId::new(number).filter(|id| id.event() == self.event);
            id.and_then(|id| plan.reserved_seat(id)).ok_or(TicketRejection::SeatNotFound { seat: number })
        });
        let seats = found.collect::<Result<_, _>>()?;
        check_on_sale(rows, at, &event)?;
        Ok((event, seats))
    }

    fn check_numbers(&self) -> Result<Vec<u64>, Rejection> {
        let invalid = |fault| Err(Rejection::invalid("seatIds", fault));
        if self.seats.is_empty() {
            return invalid(Fault::Blank);
        }
        let mut numbers = self.seats.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() < self.seats.len() {
            return invalid(Fault::Duplicate);
        }
        Ok(numbers)
    }

    /// Returns the valid seat ids of the event.
    pub(super) fn ids(&self) -> impl Iterator<Item = SeatId> {
        let event = self.event;
        let numbers = self.seats.iter().take(SEATS_AT_ONCE_MAX);
        numbers.filter_map(|number| SeatId::new(*number)).filter(move |seat| seat.event() == event)
    }

    fn buyer(&self) -> BuyerId {
        BuyerId { event: self.event, user: self.user.clone() }
    }
}

/// Rejects more seats than one command may claim; as a limit of the user if they exceed that too.
pub(super) fn check_at_once(
    event: &TicketEvent,
    count: usize,
    field: &'static str,
    fault: Fault,
) -> Result<(), Rejection> {
    let max = event.max_seats_per_user;
    match count {
        0..=SEATS_AT_ONCE_MAX => Ok(()),
        _ if count > max as usize => Err(TicketRejection::SeatLimitReached { max }.into()),
        _ => Err(Rejection::invalid(field, fault)),
    }
}

/// Rejects before the start of sales and if all seats are reserved, without reading seats.
pub(super) fn check_on_sale(rows: &mut WorkingSet, at: &Context<'_>, event: &TicketEvent) -> Decision<()> {
    if let Some(opens_at) = event.sales_open_at.filter(|opens_at| at.now < *opens_at) {
        return Err(TicketRejection::SalesNotOpen { opens_at }.into());
    }
    if event::sales(rows, event.id)?.reserved >= event.seat_count {
        return Err(TicketRejection::SoldOut.into());
    }
    Ok(())
}

/// Claims seats, given in ascending order, for a new hold of a user. Live holds of the same user on any of them are
/// replaced as a whole.
pub(super) fn claim_seats(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    id: HoldId,
    user: UserId,
    event: &TicketEvent,
    seats: Arc<[ReservedSeat]>,
) -> Decision<SeatClaimed> {
    let replaced = own_holds(rows, &user, &seats, at.now)?;
    for seat in &*seats {
        check_free(rows, seat.seat, &replaced, at.now)?;
    }
    for old in &replaced {
        cancel::replace(rows, old, id, at.now)?;
    }
    check_limit(rows, at, event, &user, seats.len() as u32)?;
    hold::check_suspended(rows, at)?;
    let total = seats.iter().map(|seat| seat.price).sum();
    let hold = Placement {
        id,
        owner: user,
        origin: Origin::Seats,
        created_at: at.now,
        expires_at: at.end_after(at.limits.ticket.hold_ttl),
        currency: event.currency,
        lines: [(total, Item::Seats(SeatsItem { event: event.id, seats }))],
        extras: Extras::of_new_hold(&at.limits.hold),
    }
    .into_hold();
    Ok(SeatClaimed { hold, replaced })
}

/// Returns the user's live holds on any of these seats, with their index entries. A prepared hold is not live; its
/// seats make `check_free` back off.
fn own_holds(rows: &mut WorkingSet, user: &UserId, seats: &[ReservedSeat], now: Timestamp) -> Decision<Vec<Hold>> {
    let mut ids = Vec::new();
    for seat in seats {
        match rows.ticket.by_seat.get(&seat.seat)? {
            Some(entry) if entry.owner == *user && entry.is_live(now) => ids.push(entry.hold),
            Some(_) | None => {}
        }
    }
    ids.sort_unstable();
    ids.dedup();
    for id in &ids {
        rows.holds.request(id);
    }
    let mut own = Vec::new();
    for id in ids {
        let is_own = |hold: &&Hold| hold.origin == Origin::Seats && hold.is_live(now);
        own.extend(rows.holds.get(&id)?.filter(is_own).cloned());
    }
    for hold in &own {
        place::request_indexes(rows, hold);
    }
    Ok(own)
}

pub(super) fn check_free(rows: &mut WorkingSet, id: SeatId, own: &[Hold], now: Timestamp) -> Decision<()> {
    if rows.ticket.seats.get(&id)?.is_some() {
        return Err(TicketRejection::SeatAlreadyReserved { seat: id.get() }.into());
    }
    let is_own = own.iter().any(|hold| hold.item::<SeatsItem>().seats.iter().any(|seat| seat.seat == id));
    if is_own || !seat::is_held(rows, id, now)? {
        return Ok(());
    }
    if hold::has_prepared(rows, seat_unit(id))? {
        return Err(Stop::Retry);
    }
    Err(TicketRejection::SeatHeldByAnother { seat: id.get() }.into())
}

/// Requests the rows of [`check_limit_of`].
pub(crate) fn request_limit(rows: &mut WorkingSet, event: EventId, user: &UserId) {
    let buyer = BuyerId { event, user: user.clone() };
    rows.ticket.events.request(&event);
    rows.ticket.buyers.request(&buyer);
    rows.ticket.buyers_held.request(&buyer);
}

/// Checks the limit of a user who takes over seats that another user holds.
pub(crate) fn check_limit_of(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    event: EventId,
    user: &UserId,
    more: u32,
) -> Decision<()> {
    let event = event::find(rows, event)?;
    check_limit(rows, at, &event, user, more)
}

/// Checks that held, reserved and requested seats of a user together do not exceed the limit.
pub(super) fn check_limit(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    event: &TicketEvent,
    user: &UserId,
    more: u32,
) -> Decision<()> {
    let buyer = BuyerId { event: event.id, user: user.clone() };
    let reserved = rows.ticket.buyers.get(&buyer)?.map_or(0, |buyer| buyer.reserved);
    let tally = rows.ticket.buyers_held.get(&buyer)?;
    let (held, prepared) = tally.map_or((0, 0), |tally| (tally.live(at.now), tally.prepared()));
    let max = event.max_seats_per_user;
    if reserved + held + more <= max {
        return Ok(());
    }
    // Prepared seats may be reserved already, or their attempt may be aborted.
    if reserved + held - prepared + more <= max {
        return Err(Stop::Retry);
    }
    Err(TicketRejection::SeatLimitReached { max }.into())
}
