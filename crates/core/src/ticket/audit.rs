//! Consistency rules of tickets: counts equal the number of their seats; sold seats and reservations match; every
//! confirmed hold has its reservation; no seat is held twice, or held and sold.

use std::collections::BTreeMap;

use super::{
    Buyer, BuyerId, EventId, EventSales, SeatId, SeatPlan, SeatReservation, SeatReservationId, SeatReservationState,
    SeatsItem, SoldSeat, TicketEvent, seat, seat_of,
};
use crate::hold::{Hold, Status};
use crate::time::Timestamp;
use crate::unit::{Unit, Units};

/// Collects records in any order; [`finish`](Self::finish) returns the violations.
#[derive(Debug)]
pub struct TicketAudit {
    now: Timestamp,
    events: BTreeMap<EventId, CountedEvent>,
    seats: BTreeMap<SeatId, CountedSeat>,
    buyers: BTreeMap<BuyerId, CountedBuyer>,
    findings: Vec<String>,
    records: u64,
}

#[derive(Debug, Default)]
struct CountedEvent {
    seat_count: Option<u32>,
    /// Number of seats in its plan.
    planned: u32,
    /// Count of its row.
    reserved: u32,
    /// Quantity held of the event as a whole.
    held: u32,
}

#[derive(Debug, Default)]
struct CountedSeat {
    sold: Option<SeatReservationId>,
    /// Active reservations that list the seat.
    reservations: Vec<SeatReservationId>,
    held: u32,
}

#[derive(Debug, Default)]
struct CountedBuyer {
    /// Count of its row.
    reserved: u32,
    found: u32,
}

impl TicketAudit {
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            events: BTreeMap::new(),
            seats: BTreeMap::new(),
            buyers: BTreeMap::new(),
            findings: Vec::new(),
            records: 0,
        }
    }

    pub fn event(&mut self, event: &TicketEvent) {
        self.records += 1;
        self.events.entry(event.id).or_default().seat_count = Some(event.seat_count);
    }

    pub fn plan(&mut self, id: EventId, plan: &SeatPlan) {
        self.records += 1;
        self.events.entry(id).or_default().planned = plan.seats().len() as u32;
    }

    pub fn sales(&mut self, id: EventId, sales: EventSales) {
        self.records += 1;
        self.events.entry(id).or_default().reserved = sales.reserved;
    }

    pub fn seat(&mut self, id: SeatId, seat: SoldSeat) {
        self.records += 1;
        self.seats.entry(id).or_default().sold = Some(seat.reservation);
    }

    pub fn buyer(&mut self, id: &BuyerId, buyer: Buyer) {
        self.records += 1;
        self.buyers.entry(id.clone()).or_default().reserved = buyer.reserved;
    }

    pub fn line(&mut self, hold: &Hold, item: &SeatsItem) {
        match hold.status(self.now) {
            Status::Held | Status::Prepared => {
                self.events.entry(item.event).or_default().held += item.seats.len() as u32;
                for seat in &*item.seats {
                    self.seats.entry(seat.seat).or_default().held += 1;
                }
            }
            Status::Confirmed | Status::Cancelled | Status::Replaced | Status::Expired => {}
        }
    }

    /// Returns the units that could be held, from the events collected so far.
    pub fn units(&self) -> Vec<Units> {
        let seats = |(id, event): (&EventId, &CountedEvent)| Some(seat::units_of(*id, event.seat_count?));
        self.events.iter().filter_map(seats).collect()
    }

    /// Adds the quantity that is counted as held of a seat or of a whole event, where holds cannot be listed.
    pub fn held(&mut self, unit: Unit, quantity: u32) {
        self.records += 1;
        match (seat_of(unit), EventId::new(unit.resource)) {
            (Some(seat), _) => self.seats.entry(seat).or_default().held += quantity,
            (None, Some(event)) => self.events.entry(event).or_default().held += quantity,
            (None, None) => self.findings.push(format!("held of event {}, which is no valid id", unit.resource)),
        }
    }

    pub fn reservation(&mut self, reservation: &SeatReservation) {
        self.records += 1;
        if reservation.state == SeatReservationState::Reserved {
            let buyer = BuyerId { event: reservation.event, user: reservation.user.clone() };
            self.buyers.entry(buyer).or_default().found += reservation.seats.len() as u32;
            for seat in &*reservation.seats {
                self.seats.entry(seat.seat).or_default().reservations.push(reservation.id);
            }
        }
    }

    /// Returns the number of records collected.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns one sentence per violation; empty if the store is consistent.
    pub fn finish(mut self) -> Vec<String> {
        self.check_seats();
        self.check_events();
        self.check_buyers();
        self.findings.sort();
        self.findings
    }

    fn check_seats(&mut self) {
        for (id, seat) in &self.seats {
            match (seat.sold, &seat.reservations[..]) {
                (None, []) => {}
                (Some(sold), [only]) if sold == *only => {}
                (sold, found) => {
                    let sold = sold.map_or("no reservation".to_owned(), |number| format!("reservation {number}"));
                    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
                    let found = found.join(", ");
                    self.findings.push(format!("seat {id}: sold to {sold}, listed by reservations [{found}]"));
                }
            }
            if seat.held > 1 {
                self.findings.push(format!("seat {id}: held {} times", seat.held));
            }
            if seat.held > 0 && seat.sold.is_some() {
                self.findings.push(format!("seat {id}: held and sold"));
            }
            let seat_count = self.events.get(&id.event()).and_then(|event| event.seat_count).unwrap_or(0);
            if id.position() > seat_count {
                self.findings.push(format!("seat {id}: the seat does not exist"));
            }
        }
    }

    fn check_events(&mut self) {
        let mut counted: BTreeMap<EventId, (u32, u32)> = BTreeMap::new();
        for (id, seat) in &self.seats {
            let (sold, held) = counted.entry(id.event()).or_default();
            *sold += u32::from(seat.sold.is_some());
            *held += seat.held;
        }
        for (id, event) in &self.events {
            let (sold, seats_held) = counted.get(id).copied().unwrap_or_default();
            let CountedEvent { seat_count, planned, reserved, held } = *event;
            let Some(seat_count) = seat_count else {
                self.findings.push(format!("event {id}: the event does not exist"));
                continue;
            };
            if planned != seat_count {
                self.findings.push(format!("event {id}: has {seat_count} seats, but {planned} in its plan"));
            }
            if reserved != sold {
                self.findings.push(format!("event {id}: {reserved} counted as reserved, but {sold} sold seats found"));
            }
            if held != seats_held {
                self.findings.push(format!("event {id}: {held} counted as held, but {seats_held} held seats found"));
            }
            if reserved + held > seat_count {
                self.findings.push(format!("event {id}: oversold: {reserved} reserved + {held} held of {seat_count}"));
            }
        }
    }

    fn check_buyers(&mut self) {
        for (BuyerId { event, user }, CountedBuyer { reserved, found }) in &self.buyers {
            if reserved != found {
                let buyer_label = format!("event {event}, user {user}");
                self.findings
                    .push(format!("{buyer_label}: {reserved} counted as reserved, but {found} reserved seats found"));
            }
        }
    }
}
