//! Schema of tickets.

use std::sync::Arc;

use holdfast_core::audit::Audit;
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::ticket::{
    Buyer, BuyerId, EventId, EventSales, PlannedSeat, ReservedSeat, SeatClaim, SeatHold, SeatId, SeatPlan,
    SeatReservation, SeatReservationId, SeatReservationState, SoldSeat, TicketEvent,
};

use crate::cell::{Cells, Taken, Value, number_id};
use crate::hold::{self, OWNER};
use crate::layout::{Column, Layout, Parts, big, boolean, int, moment, text, uuid};
use crate::list::{Filter, List};
use crate::record::Record;

number_id!(EventId, SeatId, SeatReservationId);

impl Record for TicketEvent {
    type Key = EventId;

    const LAYOUT: &'static Layout = &Layout {
        table: "ticket_event",
        key: &[big("id")],
        fixed: &[text("currency"), int("seat_count")],
        changing: &[
            text("name"),
            moment("starts_at"),
            moment("sales_open_at"),
            int("max_concurrent"),
            boolean("queue_enabled"),
            int("max_seats_per_user"),
            boolean("paused"),
            big("revision"),
        ],
        parts: None,
    };

    fn put_key<'a>(key: &'a EventId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a EventId, cells: &mut Cells<'a>) {
        cells.add(&self.currency).add(&self.seat_count).add(&self.name).add(&self.starts_at).add(&self.sales_open_at);
        cells.add(&self.max_concurrent).add(&self.queue_enabled).add(&self.max_seats_per_user);
        cells.add(&self.paused).add(&self.revision);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(EventId, Self)> {
        let id = cells.take()?;
        let event = Self {
            id,
            currency: cells.take()?,
            seat_count: cells.take()?,
            name: cells.take()?,
            starts_at: cells.take()?,
            sales_open_at: cells.take()?,
            max_concurrent: cells.take()?,
            queue_enabled: cells.take()?,
            max_seats_per_user: cells.take()?,
            paused: cells.take()?,
            revision: cells.take()?,
        };
        Some((id, event))
    }

    fn show(_key: &EventId, row: &Self, audit: &mut Audit) {
        audit.ticket.event(row);
    }
}

impl Record for SeatPlan {
    type Key = EventId;

    const NEVER_CHANGES: bool = true;

    const LAYOUT: &'static Layout = &Layout {
        table: "seat_plan",
        key: &[big("event_id")],
        fixed: &[int("seat_count")],
        changing: &[],
        parts: Some(Parts {
            table: "seat",
            owner: "event_id",
            columns: &[text("label"), text("section"), big("price")],
        }),
    };

    fn put_key<'a>(key: &'a EventId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a EventId, cells: &mut Cells<'a>) {
        cells.add_value(self.seats().len() as u64);
    }

    fn put_parts<'a>(&'a self, lines: &mut Vec<Cells<'a>>) {
        for seat in self.seats().iter() {
            let mut cells = Cells::default();
            cells.add(&seat.label).add(&seat.section).add(&seat.price);
            lines.push(cells);
        }
    }

    fn take(cells: &mut Taken<'_>, lines: Vec<Taken<'_>>) -> Option<(EventId, Self)> {
        let (id, seat_count): (_, u32) = (cells.take()?, cells.take()?);
        let mut sections: Vec<Arc<str>> = Vec::new();
        let seat = |mut cells: Taken<'_>| {
            let (label, section, price) = (cells.take()?, cells.take::<Option<Arc<str>>>()?, cells.take()?);
            Some(PlannedSeat { label, section: section.map(|name| intern_section(&mut sections, name)), price })
        };
        let seats: Vec<PlannedSeat> = lines.into_iter().map(seat).collect::<Option<_>>()?;
        (seats.len() == seat_count as usize).then(|| (id, Self::new(seats)))
    }

    fn show(key: &EventId, row: &Self, audit: &mut Audit) {
        audit.ticket.plan(*key, row);
    }
}

/// Interns the name of a section, which thousands of seats share, mostly with their neighbours.
fn intern_section(sections: &mut Vec<Arc<str>>, name: Arc<str>) -> Arc<str> {
    if let Some(existing) = sections.iter().rev().take(4).find(|known| **known == name) {
        return existing.clone();
    }
    sections.push(name.clone());
    name
}

impl Record for EventSales {
    type Key = EventId;

    const LAYOUT: &'static Layout = &Layout {
        table: "event_sales",
        key: &[big("event_id")],
        fixed: &[],
        changing: &[int("reserved_count")],
        parts: None,
    };

    fn put_key<'a>(key: &'a EventId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a EventId, cells: &mut Cells<'a>) {
        cells.add(&self.reserved);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(EventId, Self)> {
        Some((cells.take()?, Self { reserved: cells.take()? }))
    }

    fn show(key: &EventId, row: &Self, audit: &mut Audit) {
        audit.ticket.sales(*key, *row);
    }
}

impl Record for SoldSeat {
    type Key = SeatId;

    const LAYOUT: &'static Layout = &Layout {
        table: "sold_seat",
        key: &[big("seat_id")],
        fixed: &[],
        // Updated if a seat is cancelled and reserved again in one batch.
        changing: &[big("reservation_id")],
        parts: None,
    };

    fn put_key<'a>(key: &'a SeatId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a SeatId, cells: &mut Cells<'a>) {
        cells.add(&self.reservation);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(SeatId, Self)> {
        Some((cells.take()?, Self { reservation: cells.take()? }))
    }

    fn show(key: &SeatId, row: &Self, audit: &mut Audit) {
        audit.ticket.seat(*key, *row);
    }
}

impl Record for Buyer {
    type Key = BuyerId;

    const LAYOUT: &'static Layout = &Layout {
        table: "event_buyer",
        key: &[big("event_id"), big("user_id")],
        fixed: &[],
        changing: &[int("reserved_count")],
        parts: None,
    };

    fn put_key<'a>(key: &'a BuyerId, cells: &mut Cells<'a>) {
        cells.add(&key.event).add(&key.user);
    }

    fn put<'a>(&'a self, _key: &'a BuyerId, cells: &mut Cells<'a>) {
        cells.add(&self.reserved);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(BuyerId, Self)> {
        let id = BuyerId { event: cells.take()?, user: cells.take()? };
        Some((id, Self { reserved: cells.take()? }))
    }

    fn show(key: &BuyerId, row: &Self, audit: &mut Audit) {
        audit.ticket.buyer(*key, *row);
    }
}

/// Columns of a seat, the same for holds and reservations.
const SEAT: &[Column] = &[big("seat_id"), text("label"), text("section"), big("price")];

fn put_seats<'a>(seats: &'a [ReservedSeat], out: &mut Vec<Cells<'a>>) {
    for seat in seats {
        let mut cells = Cells::default();
        cells.add(&seat.seat).add(&seat.label).add(&seat.section).add(&seat.price);
        out.push(cells);
    }
}

fn take_seats(lines: Vec<Taken<'_>>) -> Option<Arc<[ReservedSeat]>> {
    let seat = |mut cells: Taken<'_>| {
        Some(ReservedSeat { seat: cells.take()?, label: cells.take()?, section: cells.take()?, price: cells.take()? })
    };
    lines.into_iter().map(seat).collect()
}

impl Record for SeatHold {
    type Key = HoldId;

    const LAYOUT: &'static Layout = &Layout {
        table: "seat_hold",
        key: hold::KEY,
        fixed: &[OWNER[0], OWNER[1], OWNER[2], big("event_id"), big("total_price"), text("currency")],
        changing: hold::STATE,
        parts: Some(Parts { table: "seat_hold_seat", owner: "hold_id", columns: SEAT }),
    };

    fn put_key<'a>(key: &'a HoldId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a HoldId, cells: &mut Cells<'a>) {
        hold::put_owner(self, cells);
        cells.add(&self.claim.event).add(&self.claim.total).add(&self.claim.currency);
        hold::put_state(self, cells);
    }

    fn put_parts<'a>(&'a self, lines: &mut Vec<Cells<'a>>) {
        put_seats(&self.claim.seats, lines);
    }

    fn take(cells: &mut Taken<'_>, lines: Vec<Taken<'_>>) -> Option<(HoldId, Self)> {
        let header = hold::take_owner(cells)?;
        let (event, total, currency) = (cells.take()?, cells.take()?, cells.take()?);
        header.with_claim(SeatClaim { event, seats: take_seats(lines)?, total, currency }, cells)
    }

    fn show(_key: &HoldId, row: &Self, audit: &mut Audit) {
        audit.ticket.hold(row);
    }
}

impl Record for SeatReservation {
    type Key = SeatReservationId;

    const LAYOUT: &'static Layout = &Layout {
        table: "seat_reservation",
        key: &[big("id")],
        fixed: &[
            uuid("hold_id"),
            big("event_id"),
            big("user_id"),
            big("total_price"),
            text("currency"),
            moment("reserved_at"),
        ],
        changing: &[moment("cancelled_at")],
        parts: Some(Parts { table: "seat_reservation_seat", owner: "reservation_id", columns: SEAT }),
    };

    fn put_key<'a>(key: &'a SeatReservationId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a SeatReservationId, cells: &mut Cells<'a>) {
        cells.add(&self.hold).add(&self.event).add(&self.user).add(&self.total).add(&self.currency);
        cells.add(&self.reserved_at);
        match &self.state {
            SeatReservationState::Reserved => cells.add_value(Value::Null),
            SeatReservationState::Cancelled { at } => cells.add(at),
        };
    }

    fn put_parts<'a>(&'a self, lines: &mut Vec<Cells<'a>>) {
        put_seats(&self.seats, lines);
    }

    fn take(cells: &mut Taken<'_>, lines: Vec<Taken<'_>>) -> Option<(SeatReservationId, Self)> {
        let id = cells.take()?;
        let reservation = Self {
            id,
            hold: cells.take()?,
            event: cells.take()?,
            user: cells.take()?,
            total: cells.take()?,
            currency: cells.take()?,
            reserved_at: cells.take()?,
            state: match cells.take()? {
                Some(at) => SeatReservationState::Cancelled { at },
                None => SeatReservationState::Reserved,
            },
            seats: take_seats(lines)?,
        };
        Some((id, reservation))
    }

    fn show(_key: &SeatReservationId, row: &Self, audit: &mut Audit) {
        audit.ticket.reservation(row);
    }
}

/// Lists reservations in order of number: all, or those of a user or an event, which have an index each.
pub fn reservations(
    user: Option<UserId>,
    event: Option<EventId>,
    after: Option<SeatReservationId>,
    limit: usize,
) -> List {
    let list = List::of::<SeatReservation>(after.as_ref(), limit);
    match (user, event) {
        (Some(user), Some(event)) => list.by("user_id", user.get()).filter(Filter::Is("event_id", event.get().into())),
        (Some(user), None) => list.by("user_id", user.get()),
        (None, Some(event)) => list.by("event_id", event.get()),
        (None, None) => list,
    }
}
