//! Naive implementation of the rules of stays, from the contract: linear searches, every count computed from all
//! records, no index, no cache. It shares core's record types, because replies are compared with `==`, and none of its
//! logic.

use holdfast_core::hold::Hold;
use holdfast_core::id::HoldId;
use holdfast_core::idempotency::IdempotencyRecord;
use holdfast_core::stay::availability::{Availability, NightAvailability};
use holdfast_core::stay::{RoomType, RoomTypeId, StayDates, StayReservation, StayReservationState};
use holdfast_core::{Limits, Rejection, Timestamp};
use jiff::civil::Date;

use super::call::{Call, Key, Outcome, Reply, Request};
use super::view::{Scope, View};

mod rules;

pub use rules::{is_live, stay, today};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

#[derive(Clone, Debug)]
pub struct Model {
    limits: Limits,
    room_types: Vec<RoomType>,
    closed: Vec<(RoomTypeId, Date)>,
    holds: Vec<Hold>,
    reservations: Vec<StayReservation>,
    responses: Vec<RecordedResponse>,
}

/// First successful response under an idempotency key.
#[derive(Clone, Debug)]
struct RecordedResponse {
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
            responses: Vec::new(),
        }
    }

    /// Executes a call, and returns the expected reply.
    pub fn apply(&mut self, call: &Call, now: Timestamp) -> Reply {
        if let Some(key) = &call.key
            && let Some(recorded) =
                self.responses.iter().find(|recorded| recorded.key.id == key.id && now < recorded.until)
        {
            return if recorded.key.request == key.request {
                Reply::Replayed(recorded.response.clone())
            } else {
                Reply::Rejected(Rejection::IdempotencyKeyReused)
            };
        }
        match self.execute(&call.request, now) {
            Ok(outcome) => {
                if let Some(key) = call.key.clone() {
                    let until = Timestamp::from_millis(now.as_millis() + DAY_MILLIS);
                    self.responses.retain(|recorded| recorded.key.id != key.id);
                    self.responses.push(RecordedResponse { key, response: outcome.render(), until });
                }
                Reply::Done(outcome)
            }
            Err(rejection) => Reply::Rejected(rejection),
        }
    }

    /// Removes the record of an ended hold that was purged.
    pub fn remove_hold(&mut self, hold: HoldId) {
        self.holds.retain(|known| known.id != hold);
    }

    pub fn room_types(&self) -> &[RoomType] {
        &self.room_types
    }

    pub fn holds(&self) -> &[Hold] {
        &self.holds
    }

    pub fn reservations(&self) -> &[StayReservation] {
        &self.reservations
    }

    /// Returns the expected readable state.
    pub fn view(&self, scope: &Scope, now: Timestamp) -> View {
        let availability = self.room_types.iter().map(|room_type| self.availability(room_type, scope.dates, now));
        let idempotency_records = self.responses.iter().filter(|recorded| now < recorded.until).map(|recorded| {
            let fingerprint = recorded.key.fingerprint();
            let receipt =
                IdempotencyRecord { fingerprint, response: recorded.response.clone(), expires_at: recorded.until };
            (recorded.key.id.clone(), receipt)
        });
        View {
            room_types: self.room_types.iter().map(|room_type| (room_type.id, room_type.clone())).collect(),
            availability: availability.collect(),
            holds: self.holds.iter().map(|hold| (hold.id, hold.clone())).collect(),
            reservations: self.reservations.iter().map(|row| (row.id, row.clone())).collect(),
            idempotency_records: idempotency_records.collect(),
        }
    }

    fn execute(&mut self, request: &Request, now: Timestamp) -> Result<Outcome, Rejection> {
        match request {
            Request::CreateRoomType(command) => Ok(Outcome::RoomType(self.create(&command.0))),
            Request::ChangeRoomType(command) => self.change(command.id, &command.draft, now).map(Outcome::RoomType),
            Request::SetNightsClosed(command) => self.set_closed(command).map(Outcome::Nights),
            Request::Place(place) => self.place(place, now).map(Outcome::Hold),
            Request::PlaceMany(places) => {
                Ok(Outcome::Holds(places.0.iter().map(|place| self.place(place, now)).collect()))
            }
            Request::Confirm(command) => {
                self.confirm(command.id, &command.actor.clone(), now).map(Outcome::Reservation)
            }
            Request::Cancel(command) => {
                self.cancel(command.id, &command.actor.clone(), now).map(|()| Outcome::Released)
            }
            Request::Extend(command) => self.extend(command, now).map(Outcome::Extended),
            Request::CancelReservation(command) => {
                self.cancel_reservation(command.id, &command.actor.clone(), now).map(Outcome::Reservation)
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

    /// Counts the reservations of a night.
    fn reserved(&self, room_type: RoomTypeId, date: Date) -> u32 {
        let active = self.reservations.iter().filter(|reservation| {
            reservation.state == StayReservationState::Confirmed
                && reservation.room_type == room_type
                && rules::covers(reservation.dates, date)
        });
        active.count() as u32
    }

    /// Counts the effective holds on a night; `except` is one that is about to be replaced.
    fn held(&self, room_type: RoomTypeId, date: Date, now: Timestamp, except: Option<HoldId>) -> u32 {
        let effective = self.holds.iter().filter(|hold| {
            is_live(hold, now)
                && stay(hold).room_type == room_type
                && rules::covers(stay(hold).dates, date)
                && Some(hold.id) != except
        });
        effective.count() as u32
    }

    fn is_closed(&self, room_type: RoomTypeId, date: Date) -> bool {
        self.closed.contains(&(room_type, date))
    }
}
