//! The rules of stays once more, written from the contract and as naively as possible: lists that are searched from end
//! to end, every count made anew from every record, nothing derived, nothing cached. It shares core's record types,
//! because answers are compared with `==`, and none of its logic.

use holdfast_core::hold::HoldState;
use holdfast_core::id::HoldId;
use holdfast_core::receipt::Receipt;
use holdfast_core::stay::availability::{Availability, NightAvailability};
use holdfast_core::stay::{ReservationState, RoomType, RoomTypeId, StayDates, StayHold, StayReservation};
use holdfast_core::{Limits, Rejection, Timestamp};
use jiff::civil::Date;

use crate::call::{Call, Key, Outcome, Reply, Request};
use crate::look::{Scope, View};

mod rules;

pub use rules::today;

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

#[derive(Clone, Debug)]
pub struct Model {
    limits: Limits,
    room_types: Vec<RoomType>,
    closed: Vec<(RoomTypeId, Date)>,
    holds: Vec<Held>,
    reservations: Vec<StayReservation>,
    answers: Vec<Kept>,
}

/// A hold, and the moment from which its units are free again if nothing is done with it.
#[derive(Clone, Debug)]
pub struct Held {
    pub hold: StayHold,
    pub counts_until: Timestamp,
}

/// The first success under an idempotency key.
#[derive(Clone, Debug)]
struct Kept {
    key: Key,
    response: Vec<u8>,
    until: Timestamp,
}

impl Model {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            room_types: Vec::new(),
            closed: Vec::new(),
            holds: Vec::new(),
            reservations: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Does what is asked, and says what the caller must be told.
    pub fn apply(&mut self, call: &Call, now: Timestamp) -> Reply {
        if let Some(key) = &call.key
            && let Some(kept) = self.answers.iter().find(|kept| kept.key.id == key.id && now < kept.until)
        {
            return if kept.key.request == key.request {
                Reply::Replayed(kept.response.clone())
            } else {
                Reply::Rejected(Rejection::IdempotencyKeyReused)
            };
        }
        match self.carry_out(&call.request, now) {
            Ok(outcome) => {
                if let Some(key) = call.key.clone() {
                    let until = Timestamp::from_millis(now.as_millis() + DAY_MILLIS);
                    self.answers.retain(|kept| kept.key.id != key.id);
                    self.answers.push(Kept { key, response: outcome.render(), until });
                }
                Reply::Done(outcome)
            }
            Err(rejection) => Reply::Rejected(rejection),
        }
    }

    /// The store was opened anew. It counts from the records of holds that are still live, so the rest of the second in
    /// which one has ended is not waited for.
    pub fn restart(&mut self, now: Timestamp) {
        for held in &mut self.holds {
            if held.hold.expires_at <= now {
                held.counts_until = held.hold.expires_at;
            }
        }
    }

    /// The record of an ended hold was cleared away.
    pub fn forget(&mut self, hold: HoldId) {
        self.holds.retain(|held| held.hold.id != hold);
    }

    pub fn room_types(&self) -> &[RoomType] {
        &self.room_types
    }

    pub fn holds(&self) -> &[Held] {
        &self.holds
    }

    pub fn reservations(&self) -> &[StayReservation] {
        &self.reservations
    }

    /// What must be found by whoever looks.
    pub fn view(&self, scope: &Scope, now: Timestamp) -> View {
        let availability = self.room_types.iter().map(|room_type| self.availability(room_type, scope.dates, now));
        let receipts = self.answers.iter().filter(|kept| now < kept.until).map(|kept| {
            let fingerprint = kept.key.fingerprint();
            let receipt = Receipt { fingerprint, response: kept.response.clone(), expires_at: kept.until };
            (kept.key.id.clone(), receipt)
        });
        View {
            room_types: self.room_types.iter().map(|room_type| (room_type.id, room_type.clone())).collect(),
            availability: availability.collect(),
            holds: self.holds.iter().map(|held| (held.hold.id, held.hold.clone())).collect(),
            reservations: self.reservations.iter().map(|row| (row.id, row.clone())).collect(),
            receipts: receipts.collect(),
        }
    }

    fn carry_out(&mut self, request: &Request, now: Timestamp) -> Result<Outcome, Rejection> {
        match request {
            Request::CreateRoomType(command) => Ok(Outcome::RoomType(self.create(&command.0))),
            Request::ChangeRoomType(command) => self.change(command.id, &command.draft, now).map(Outcome::RoomType),
            Request::SetNightsClosed(command) => self.set_closed(command).map(Outcome::Nights),
            Request::Place(place) => self.place(place, now).map(Outcome::Hold),
            Request::PlaceMany(places) => {
                Ok(Outcome::Holds(places.0.iter().map(|place| self.place(place, now)).collect()))
            }
            Request::Confirm(command) => self.confirm(command.id, command.actor, now).map(Outcome::Reservation),
            Request::Cancel(command) => self.cancel(command.id, command.actor, now).map(|()| Outcome::Released),
            Request::CancelReservation(command) => {
                self.cancel_reservation(command.id, command.actor, now).map(Outcome::Reservation)
            }
        }
    }

    fn availability(&self, room_type: &RoomType, dates: StayDates, now: Timestamp) -> Availability {
        let night = |date| {
            let (reserved, held) = (self.reserved(room_type.id, date), self.held(room_type.id, date, now, None));
            let closed = self.is_closed(room_type.id, date);
            let free = i64::from(room_type.total_quantity) - i64::from(reserved) - i64::from(held);
            let available = if closed || free < 0 { 0 } else { free as u32 };
            NightAvailability { date, total_quantity: room_type.total_quantity, reserved, held, available, closed }
        };
        let nights: Vec<_> = rules::nights(dates).into_iter().map(night).collect();
        let available = nights.iter().map(|night| night.available).min().unwrap_or(0);
        Availability { room_type: room_type.id, dates, available, nights }
    }

    /// Reservations of a night, by counting them.
    fn reserved(&self, room_type: RoomTypeId, date: Date) -> u32 {
        let sold = self.reservations.iter().filter(|reservation| {
            reservation.state == ReservationState::Confirmed
                && reservation.room_type == room_type
                && rules::covers(reservation.dates, date)
        });
        sold.count() as u32
    }

    /// Holds on a night that count, by counting them; `except` is one that is about to be replaced.
    fn held(&self, room_type: RoomTypeId, date: Date, now: Timestamp, except: Option<HoldId>) -> u32 {
        let counting = self.holds.iter().filter(|held| {
            held.counts(now)
                && held.hold.room_type == room_type
                && rules::covers(held.hold.dates, date)
                && Some(held.hold.id) != except
        });
        counting.count() as u32
    }

    fn is_closed(&self, room_type: RoomTypeId, date: Date) -> bool {
        self.closed.contains(&(room_type, date))
    }
}

impl Held {
    /// `counts_until` is the end of the second in which the hold ends. The contract allows units to be free up to one
    /// second after the end of their hold, so that a unit's holds can be counted by second instead of listed; the model
    /// must know about this second, or it would promise rooms that the store may still withhold. The hold itself ends
    /// on the millisecond: it cannot be confirmed any more, replaces nobody, and its client key is free.
    fn new(hold: StayHold) -> Self {
        let millis = hold.expires_at.as_millis();
        let second_over = (millis + 999) / 1_000 * 1_000;
        Self { counts_until: Timestamp::from_millis(second_over), hold }
    }

    /// Whether it can be confirmed, cancelled or replaced.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.hold.state == HoldState::Held && now < self.hold.expires_at
    }

    /// Whether its units, and its place among its owner's holds, are taken.
    pub fn counts(&self, now: Timestamp) -> bool {
        self.hold.state == HoldState::Held && now < self.counts_until
    }
}
