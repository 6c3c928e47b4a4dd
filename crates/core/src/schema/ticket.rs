//! Schema of tickets.

use std::sync::Arc;

use crate::audit::Audit;
use crate::id::UserId;
use crate::ticket::{
    Buyer, BuyerId, EventId, EventSales, PlannedSeat, ReservedSeat, SeatId, SeatPlan, SeatReservation,
    SeatReservationId, SeatReservationState, SoldSeat, TicketEvent,
};

use crate::schema::list::{Filter, List};
use crate::schema::record::Record;
use crate::schema::table::{ChildRows, Column, TableSchema, big, boolean, int, moment, text, uuid};
use crate::schema::value::{Value, ValueReader, Values, number_id};
use crate::unit::Kind;

number_id!(EventId, SeatId, SeatReservationId);

impl Record for TicketEvent {
    type Key = EventId;

    const SCHEMA: &'static TableSchema = &TableSchema {
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
        child_rows: None,
    };

    fn put_key<'a>(key: &'a EventId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a EventId, values: &mut Values<'a>) {
        values.add(&self.currency).add(&self.seat_count).add(&self.name).add(&self.starts_at).add(&self.sales_open_at);
        values.add(&self.max_concurrent).add(&self.queue_enabled).add(&self.max_seats_per_user);
        values.add(&self.paused).add(&self.revision);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(EventId, Self)> {
        let id = values.take()?;
        let event = Self {
            id,
            currency: values.take()?,
            seat_count: values.take()?,
            name: values.take()?,
            starts_at: values.take()?,
            sales_open_at: values.take()?,
            max_concurrent: values.take()?,
            queue_enabled: values.take()?,
            max_seats_per_user: values.take()?,
            paused: values.take()?,
            revision: values.take()?,
        };
        Some((id, event))
    }

    fn show(_key: &EventId, row: &Self, audit: &mut Audit) {
        audit.ticket.event(row);
    }
}

impl Record for SeatPlan {
    type Key = EventId;

    const IS_IMMUTABLE: bool = true;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "seat_plan",
        key: &[big("event_id")],
        fixed: &[int("seat_count")],
        changing: &[],
        child_rows: Some(ChildRows {
            table: "seat",
            owner: "event_id",
            columns: &[text("label"), text("section"), big("price")],
        }),
    };

    fn put_key<'a>(key: &'a EventId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a EventId, values: &mut Values<'a>) {
        values.add_value(self.seats().len() as u64);
    }

    fn put_child_rows<'a>(&'a self, lines: &mut Vec<Values<'a>>) {
        for seat in self.seats().iter() {
            let mut values = Values::default();
            values.add(&seat.label).add(&seat.section).add(&seat.price);
            lines.push(values);
        }
    }

    fn take(values: &mut ValueReader<'_>, lines: Vec<ValueReader<'_>>) -> Option<(EventId, Self)> {
        let (id, seat_count): (_, u32) = (values.take()?, values.take()?);
        let mut sections: Vec<Arc<str>> = Vec::new();
        let seat = |mut values: ValueReader<'_>| {
            let (label, section, price) = (values.take()?, values.take::<Option<Arc<str>>>()?, values.take()?);
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

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "event_sales",
        key: &[big("event_id")],
        fixed: &[],
        changing: &[int("reserved_count")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a EventId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a EventId, values: &mut Values<'a>) {
        values.add(&self.reserved);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(EventId, Self)> {
        Some((values.take()?, Self { reserved: values.take()? }))
    }

    fn show(key: &EventId, row: &Self, audit: &mut Audit) {
        audit.ticket.sales(*key, *row);
    }
}

impl Record for SoldSeat {
    type Key = SeatId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "sold_seat",
        key: &[big("seat_id")],
        fixed: &[],
        // Updated if a seat is cancelled and reserved again in one batch.
        changing: &[big("reservation_id")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a SeatId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a SeatId, values: &mut Values<'a>) {
        values.add(&self.reservation);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(SeatId, Self)> {
        Some((values.take()?, Self { reservation: values.take()? }))
    }

    fn show(key: &SeatId, row: &Self, audit: &mut Audit) {
        audit.ticket.seat(*key, *row);
    }
}

impl Record for Buyer {
    type Key = BuyerId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "event_buyer",
        key: &[big("event_id"), text("user_id")],
        fixed: &[],
        changing: &[int("reserved_count")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a BuyerId, values: &mut Values<'a>) {
        values.add(&key.event).add(&key.user);
    }

    fn put<'a>(&'a self, _key: &'a BuyerId, values: &mut Values<'a>) {
        values.add(&self.reserved);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(BuyerId, Self)> {
        let id = BuyerId { event: values.take()?, user: values.take()? };
        Some((id, Self { reserved: values.take()? }))
    }

    fn show(key: &BuyerId, row: &Self, audit: &mut Audit) {
        audit.ticket.buyer(key, *row);
    }
}

/// Columns of a seat, the same for holds and reservations.
const SEAT: &[Column] = &[big("seat_id"), text("label"), text("section"), big("price")];

fn put_seats<'a>(seats: &'a [ReservedSeat], out: &mut Vec<Values<'a>>) {
    for seat in seats {
        let mut values = Values::default();
        values.add(&seat.seat).add(&seat.label).add(&seat.section).add(&seat.price);
        out.push(values);
    }
}

fn take_seats(lines: Vec<ValueReader<'_>>) -> Option<Arc<[ReservedSeat]>> {
    let seat = |mut values: ValueReader<'_>| {
        Some(ReservedSeat {
            seat: values.take()?,
            label: values.take()?,
            section: values.take()?,
            price: values.take()?,
        })
    };
    lines.into_iter().map(seat).collect()
}

impl Record for SeatReservation {
    type Key = SeatReservationId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "seat_reservation",
        key: &[big("id")],
        fixed: &[
            uuid("hold_id"),
            big("event_id"),
            text("user_id"),
            big("total_price"),
            text("currency"),
            moment("reserved_at"),
        ],
        changing: &[moment("cancelled_at")],
        child_rows: Some(ChildRows { table: "seat_reservation_seat", owner: "reservation_id", columns: SEAT }),
    };

    fn put_key<'a>(key: &'a SeatReservationId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a SeatReservationId, values: &mut Values<'a>) {
        values.add(&self.hold).add(&self.event).add(&self.user).add(&self.total).add(&self.currency);
        values.add(&self.reserved_at);
        match &self.state {
            SeatReservationState::Reserved => values.add_value(Value::Null),
            SeatReservationState::Cancelled { at } => values.add(at),
        };
    }

    fn put_child_rows<'a>(&'a self, lines: &mut Vec<Values<'a>>) {
        put_seats(&self.seats, lines);
    }

    fn take(values: &mut ValueReader<'_>, lines: Vec<ValueReader<'_>>) -> Option<(SeatReservationId, Self)> {
        let id = values.take()?;
        let reservation = Self {
            id,
            hold: values.take()?,
            event: values.take()?,
            user: values.take()?,
            total: values.take()?,
            currency: values.take()?,
            reserved_at: values.take()?,
            state: match values.take()? {
                Some(at) => SeatReservationState::Cancelled { at },
                None => SeatReservationState::Reserved,
            },
            seats: take_seats(lines)?,
        };
        Some((id, reservation))
    }

    fn show(_key: &SeatReservationId, row: &Self, audit: &mut Audit) {
        audit.ticket.reservation(row);
        audit.holds.record(Kind::Ticket, row.id.get(), row.hold);
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
        (Some(user), Some(event)) => {
            list.by("user_id", user.to_string()).filter(Filter::Is("event_id", event.get().into()))
        }
        (Some(user), None) => list.by("user_id", user.to_string()),
        (None, Some(event)) => list.by("event_id", event.get()),
        (None, None) => list,
    }
}
