//! The auditor reports every violation.

use super::*;
use crate::hold::{Item, Line, LineState, Records as HoldRecords};

/// An event of three seats: seat 1 sold to user 1 as reservation 1, seat 2 held by user 2.
struct Records {
    event: TicketEvent,
    plan: SeatPlan,
    sales: EventSales,
    sold: Vec<(SeatId, SoldSeat)>,
    buyer: Buyer,
    holds: Vec<Hold>,
    reservations: Vec<SeatReservation>,
    now: Timestamp,
}

impl Records {
    fn new() -> Self {
        let mut hall = Hall::new(Mode::SingleCommit, &[3]);
        hall.reserve(1, &[1]).unwrap();
        hall.hold(2, &[2]).unwrap();
        let tables = &hall.world.memory.ticket;
        let mut holds: Vec<Hold> = hall.world.memory.holds.rows().map(|(_, row)| row.clone()).collect();
        holds.sort_by_key(|hold| hold.owner.clone());
        Self {
            event: tables.events.rows().next().unwrap().1.clone(),
            plan: tables.plans.rows().next().unwrap().1.clone(),
            sales: *tables.sales.rows().next().unwrap().1,
            sold: tables.seats.rows().map(|(id, row)| (*id, *row)).collect(),
            buyer: *tables.buyers.rows().next().unwrap().1,
            holds,
            reservations: tables.reservations.rows().map(|(_, row)| row.clone()).collect(),
            now: hall.world.now,
        }
    }

    fn audit(&self) -> Audit {
        let mut audit = Audit::new(self.now);
        audit.ticket.event(&self.event);
        audit.ticket.plan(self.event.id, &self.plan);
        audit.ticket.sales(self.event.id, self.sales);
        self.sold.iter().for_each(|(id, row)| audit.ticket.seat(*id, *row));
        audit.ticket.buyer(&BuyerId { event: self.event.id, user: id(1) }, self.buyer);
        self.holds.iter().for_each(|hold| audit.hold(hold));
        self.reservations.iter().for_each(|reservation| audit_reservation(&mut audit, reservation));
        audit
    }
}

/// Asserts the findings after `corrupt` has changed the records.
fn check(corrupt: impl FnOnce(&mut Records), expected: &[&str]) {
    let mut records = Records::new();
    corrupt(&mut records);
    assert_eq!(records.audit().finish(), expected);
}

#[test]
fn consistent_event_has_no_findings() {
    check(|_| {}, &[]);
    assert_eq!(Records::new().audit().records(), 8);
}

#[test]
fn wrong_counts_are_found() {
    check(|records| records.sales.reserved = 2, &["event 1: 2 counted as reserved, but 1 sold seats found"]);
    check(
        |records| records.buyer.reserved = 3,
        &["event 1, user 1: 3 counted as reserved, but 1 reserved seats found"],
    );
    check(
        |records| records.sold.clear(),
        &[
            "event 1: 1 counted as reserved, but 0 sold seats found",
            "seat 1000001: sold to no reservation, listed by reservations [1]",
        ],
    );
}

#[test]
fn mismatched_seat_and_reservation_are_found() {
    let two = SeatReservationId::new(2).unwrap();
    let expected = "seat 1000001: sold to reservation 2, listed by reservations [1]";
    check(|records| records.sold[0].1.reservation = two, &[expected]);
    let cancelled = SeatReservationState::Cancelled { at: Timestamp::default() };
    check(
        |records| records.reservations[0].state = cancelled,
        &[
            "event 1, user 1: 1 counted as reserved, but 0 reserved seats found",
            "seat 1000001: sold to reservation 1, listed by reservations []",
        ],
    );
}

#[test]
fn seat_held_twice_or_sold_is_found() {
    check(|records| records.holds.push(records.holds[1].clone()), &["seat 1000002: held 2 times"]);
    check(
        |records| {
            let seats = records.reservations[0].seats.clone();
            let item = Item::Seats(SeatsItem { event: records.event.id, seats });
            records.holds[1].lines = [Line { item, ..records.holds[1].lines[0].clone() }].into();
        },
        &["seat 1000001: held and sold"],
    );
}

#[test]
fn seats_beyond_the_plan_are_found() {
    check(
        |records| records.event.seat_count = 1,
        &[
            "event 1: has 1 seats, but 3 in its plan",
            "event 1: oversold: 1 reserved + 1 held of 1",
            "seat 1000002: the seat does not exist",
        ],
    );
    let records = Records::new();
    let mut audit = Audit::new(records.now);
    audit.hold(&records.holds[1]);
    assert_eq!(audit.finish(), ["event 1: the event does not exist", "seat 1000002: the seat does not exist"]);
}

#[test]
fn mismatched_hold_and_reservation_are_found() {
    let records = Records::new();
    let hold = records.holds[0].id;
    check(
        |records| {
            let lines = [Line { state: LineState::Held, ..records.holds[0].lines[0].clone() }].into();
            records.holds[0] = Hold { lines, ..records.holds[0].clone() }.confirmed(HoldRecords::Shared(5));
        },
        &[
            &format!("hold {hold}: confirmed twice, as seat reservation [1] too"),
            &format!("hold {hold}: confirmed, but seat reservation 5 is not its own"),
        ],
    );
    let mut audit = records.audit();
    let reservation = SeatReservation {
        id: SeatReservationId::new(2).unwrap(),
        state: SeatReservationState::Cancelled { at: records.now },
        ..records.reservations[0].clone()
    };
    audit_reservation(&mut audit, &reservation);
    assert_eq!(audit.finish(), [format!("hold {hold}: confirmed twice, as seat reservation [2] too")]);
    let mut audit = records.audit();
    let reservation = SeatReservation {
        state: SeatReservationState::Cancelled { at: records.now },
        ..records.reservations[0].clone()
    };
    audit_reservation(&mut audit, &reservation);
    assert_eq!(audit.finish(), ["seat reservation 1: number is not unique"]);
}

#[test]
fn incomplete_plan_is_found() {
    check(|records| records.plan = SeatPlan::new([]), &["event 1: has 3 seats, but 0 in its plan"]);
}

#[test]
fn hold_ending_before_its_start_is_found() {
    let hold = Records::new().holds[0].id;
    let expected = format!("hold {hold}: ends before it begins");
    check(|records| records.holds[0].expires_at = records.holds[0].created_at, &[&expected]);
}

#[test]
fn counts_are_compared_without_hold_list() {
    let mut records = Records::new();
    let held = records.holds.remove(1).item::<SeatsItem>().seats[0].seat;
    let whole = event_unit(records.event.id);
    let audit = |counts: &[(Unit, u32)]| {
        let mut audit = records.audit();
        for (unit, quantity) in counts {
            audit.held(*unit, *quantity, false);
        }
        audit.finish()
    };
    assert_eq!(audit(&[(whole, 1), (seat_unit(held), 1)]), [""; 0]);
    assert_eq!(audit(&[(whole, 1)]), ["event 1: 1 counted as held, but 0 held seats found"]);
    assert_eq!(audit(&[(whole, 2), (seat_unit(held), 2)]), ["seat 1000002: held 2 times"]);
    let unknown = Unit { resource: 0, ..whole };
    assert_eq!(audit(&[(unknown, 1)]).len(), 1);
}
