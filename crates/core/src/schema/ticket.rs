//! Tables of tickets.

use std::sync::Arc;

use crate::audit::Audit;
use crate::hold::RecordType;
use crate::id::UserId;
use crate::ticket::{
    Buyer, BuyerId, EventId, EventSales, PlannedSeat, ReservedSeat, SeatId, SeatPlan, SeatPointer, SeatReservation,
    SeatReservationId, SeatReservationState, SeatsOf, SoldSeat, TicketEvent,
};
use crate::unit::Tally;

use crate::schema::column::named;
use crate::schema::declare::child_row;
use crate::schema::list::{Filter, List};
use crate::schema::row::{ChildRow as _, TableRow, put_lines};
use crate::schema::spec::{ChildRows, TableSpec};
use crate::schema::value::{ValueReader, Values, cancelled_at, number_id};

crate::tables! {
    /// Tables of tickets.
    {
        events: Table<EventId, TicketEvent> => durable cached {
            table "ticket_event";
            key id => id;
            fixed { currency, seat_count };
            changing {
                name, starts_at, sales_open_at, max_concurrent, queue_enabled, max_seats_per_user, paused, revision,
            };
            audit |_, row, audit| audit.ticket.event(row);
        },
        /// Inserted with the event, and never changed.
        plans: Table<EventId, SeatPlan> => durable cached { by_hand; },
        /// Events with sales; other events have no row.
        sales: Table<EventId, EventSales> => durable cached {
            table "event_sales";
            key event_id;
            changing { reserved as reserved_count };
            audit |key, row, audit| audit.ticket.sales(*key, *row);
        },
        reservations: Table<SeatReservationId, SeatReservation> => durable cached {
            table "seat_reservation";
            key id => id;
            fixed {
                hold as hold_id, line as line_no, event as event_id, user as user_id, total as total_price, currency, reserved_at,
            };
            changing { state as cancelled_at };
            lines seats in "seat_reservation_seat" by "reservation_id";
            audit |_, row, audit| {
                audit.ticket.reservation(row);
                audit.holds.record(RecordType::SeatReservation, row.id.get(), row.hold);
            };
        },
        /// Seats that are reserved; other seats have no row.
        seats: Table<SeatId, SoldSeat, SeatsOf> => durable cached {
            table "sold_seat";
            key seat_id;
            // Updated if a seat is cancelled and reserved again in one batch.
            changing { reservation as reservation_id };
            audit |key, row, audit| audit.ticket.seat(*key, *row);
        },
        /// Users with reserved seats of an event; users without any have no row.
        buyers: Table<BuyerId, Buyer> => durable cached {
            table "event_buyer";
            key { event as event_id, user as user_id };
            changing { reserved as reserved_count };
            audit |key, row, audit| audit.ticket.buyer(key, *row);
        },
        /// Secondary index: the live hold on a seat.
        by_seat: Table<SeatId, SeatPointer, SeatsOf> => live complete {
            table "seat_hold_by_seat";
            key seat_id;
            changing { hold as hold_id, owner as user_id, expires_at };
            name |seat| format_args!("seat:hold:{seat}");
        },
        /// Secondary index: number of seats of an event that a user holds.
        buyers_held: Table<BuyerId, Tally> => live complete {
            table "seat_hold_count";
            key { event as event_id, user as user_id };
            row (prepared, ends);
            name |buyer| format_args!("seat:count:{}:{}", buyer.event, buyer.user.key_part());
        },
    }
}

number_id!(EventId, SeatId, SeatReservationId);
cancelled_at!(SeatReservationState, Reserved);

child_row!(PlannedSeat { label, section, price });
child_row!(ReservedSeat { seat as seat_id, label, section, price });

impl TableRow<EventId> for SeatPlan {
    const SPEC: &'static TableSpec = &TableSpec {
        table: "seat_plan",
        is_index: false,
        is_immutable: true,
        key: &[named::<EventId>("event_id")],
        fixed: &[named::<u32>("seat_count")],
        changing: &[],
        child_rows: Some(ChildRows { table: "seat", owner: "event_id", columns: PlannedSeat::COLUMNS }),
        month: None,
        purge: None,
    };

    fn put_key<'a>(key: &'a EventId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        values.add_value(self.seats().len() as u64);
    }

    fn put_child_rows<'a>(&'a self, lines: &mut Vec<Values<'a>>) {
        put_lines(self.seats(), lines);
    }

    fn take_key(values: &mut ValueReader<'_>) -> Option<EventId> {
        values.take()
    }

    fn take(_key: &EventId, values: &mut ValueReader<'_>, lines: Vec<ValueReader<'_>>) -> Option<Self> {
        let seat_count: u32 = values.take()?;
        let mut sections: Vec<Arc<str>> = Vec::new();
        let seat = |mut values: ValueReader<'_>| {
            let seat = PlannedSeat::take(&mut values)?;
            let section = seat.section.map(|name| intern_section(&mut sections, name));
            Some(PlannedSeat { section, ..seat })
        };
        let seats: Vec<PlannedSeat> = lines.into_iter().map(seat).collect::<Option<_>>()?;
        (seats.len() == seat_count as usize).then(|| Self::new(seats))
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
