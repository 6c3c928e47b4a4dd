//! Single calls: sensible, conflicting, invalid and repeated ones.

use holdfast_core::hold::{ExtendHold, Hold, NewEnd};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::idempotency::IdempotencyRecordId;
use holdfast_core::stay::place::{PlaceStayHold, PlaceStayHolds};
use holdfast_core::stay::reservation::CancelStayReservation;
use holdfast_core::stay::room_type::{ChangeRoomType, RoomTypeDraft, SetNightsClosed, TOTAL_QUANTITY_MAX};
use holdfast_core::stay::{
    CancelStayHold, ClientHoldKey, ConfirmStayHold, DAYS_AHEAD_MAX, RoomTypeId, StayDates, StayItem, StayReservationId,
};
use holdfast_core::time::Span;
use holdfast_core::{Actor, Timestamp};
use jiff::civil::Date;
use rand::RngExt;
use rand::seq::IndexedRandom;
use uuid::Uuid;

use super::Workload;
use crate::stay::call::{Call, Key, Request, hold_id};
use crate::stay::model::{Model, is_live, stay, today};

/// Maximum nights of a stay, and of closing; one more is rejected.
const NIGHTS_MAX: i32 = 90;
const CLOSED_NIGHTS_MAX: i32 = 366;
const CLIENT_KEYS: u128 = 4;
const ULID: &[u8; 26] = b"01ARZ3NDEKTSV4RRFFQ69G5FAV";

impl Workload {
    /// Plans a call; `batch` contains the calls planned for the same batch.
    pub(super) fn plan_call(&mut self, model: &Model, now: Timestamp, batch: &[Call]) -> Call {
        if !self.unanswered.is_empty() && self.rng.random_bool(0.6) {
            let call = self.unanswered.swap_remove(self.rng.random_range(0..self.unanswered.len()));
            return self.repeat(call);
        }
        if self.rng.random_bool(0.12)
            && let Some(call) = self.keyed.choose(&mut self.rng).cloned()
        {
            return self.repeat(call);
        }
        let (request, caller) = self.plan_request(model, now, batch);
        let call = Call { request, key: self.rng.random_bool(0.25).then(|| self.plan_key(caller)) };
        if call.key.is_some() {
            self.keyed.push(call.clone());
        }
        call
    }

    /// Repeats a request. As at the server's edge, it gets new random bytes.
    fn repeat(&mut self, mut call: Call) -> Call {
        match &mut call.request {
            Request::Place(place) => place.random = self.rng.random(),
            Request::PlaceMany(PlaceStayHolds(places)) => {
                for place in places {
                    place.random = self.rng.random();
                }
            }
            _ => {}
        }
        call
    }

    /// Plans a key, at times one that was used for another request.
    fn plan_key(&mut self, caller: Actor) -> Key {
        self.requests_made += 1;
        let number = if self.rng.random_bool(0.2) { self.rng.random_range(1..=3) } else { self.requests_made };
        let caller = match caller {
            Actor::User(user) => format!("user {user}"),
            Actor::Admin => "admin".into(),
        };
        Key { id: IdempotencyRecordId { caller, key: format!("key-{number}") }, request: self.requests_made }
    }

    /// Plans a request and its sender.
    fn plan_request(&mut self, model: &Model, now: Timestamp, batch: &[Call]) -> (Request, Actor) {
        match self.rng.random_range(0..100) {
            0..40 => {
                let place = self.plan_place(model, now);
                let user = place.user.clone();
                (Request::Place(place), Actor::User(user))
            }
            40..46 => {
                let places = (0..self.rng.random_range(0..=4)).map(|_| self.plan_place(model, now)).collect();
                (Request::PlaceMany(PlaceStayHolds(places)), Actor::User(self.user()))
            }
            46..62 => {
                let (id, actor) = self.plan_hold(model, now, batch);
                (Request::Confirm(ConfirmStayHold::new(id, actor.clone())), actor)
            }
            62..72 => {
                let (id, actor) = self.plan_hold(model, now, batch);
                (Request::Cancel(CancelStayHold::new(id, actor.clone())), actor)
            }
            72..80 => {
                let (id, actor) = self.plan_hold(model, now, batch);
                let end = self.plan_end(model, id, now);
                (Request::Extend(ExtendHold { version: None, id, actor: actor.clone(), end }), actor)
            }
            80..86 if !model.reservations().is_empty() => {
                let (id, actor) = self.plan_reservation(model);
                (Request::CancelReservation(CancelStayReservation { id, actor: actor.clone() }), actor)
            }
            80..92 => (Request::ChangeRoomType(self.plan_change(model)), Actor::Admin),
            _ => (Request::SetNightsClosed(self.plan_closing(model, now)), Actor::Admin),
        }
    }

    fn plan_place(&mut self, model: &Model, now: Timestamp) -> PlaceStayHold {
        let room_type = self.room_type(model);
        let (check_in, check_out) = self.plan_dates(model, room_type, now);
        let (random, user, client_key) = (self.rng.random(), self.user(), self.client_key());
        let place = PlaceStayHold { quantity: 1, random, user, room_type, check_in, check_out, client_key };
        let live: Vec<&Hold> = model.holds().iter().filter(|hold| is_live(hold, now)).collect();
        let Some(other) = live.choose(&mut self.rng) else { return place };
        let StayItem { room_type, dates: StayDates { check_in, check_out }, client_key, .. } = *stay(other);
        let client_key = client_key.expect("the workload places holds under a key");
        let on_same_dates = PlaceStayHold { room_type, check_in, check_out, ..place.clone() };
        match self.rng.random_range(0..100) {
            // Replaces the hold, under the same client key or another one.
            0..15 => PlaceStayHold { user: other.owner.clone(), ..on_same_dates },
            15..22 => PlaceStayHold { user: other.owner.clone(), client_key, ..on_same_dates },
            // Client key of another user on the same dates.
            22..32 => PlaceStayHold { client_key, ..on_same_dates },
            // Client key of another hold on other dates.
            32..36 => PlaceStayHold { client_key, ..place },
            _ => place,
        }
    }

    fn plan_dates(&mut self, model: &Model, room_type: RoomTypeId, now: Timestamp) -> (Date, Date) {
        let today = today_at(model, room_type, now);
        let check_in = days_after(today, self.rng.random_range(0..=3));
        let nights = self.rng.random_range(1..=3);
        match self.rng.random_range(0..100) {
            0..3 => (days_after(today, -1), days_after(today, 1)),
            3 => (check_in, check_in),
            4 => (check_in, days_after(check_in, NIGHTS_MAX + self.rng.random_range(0..=1))),
            5 => {
                let check_in = days_after(today, DAYS_AHEAD_MAX as i32 + 1);
                (check_in, days_after(check_in, 1))
            }
            _ => (check_in, days_after(check_in, nights)),
        }
    }

    /// Plans a hold to end and its actor: mostly a live one, by its owner.
    fn plan_hold(&mut self, model: &Model, now: Timestamp, batch: &[Call]) -> (HoldId, Actor) {
        let placed_now: Vec<(HoldId, UserId)> =
            batch.iter().flat_map(Call::places).map(|place| (hold_id(place, now), place.user.clone())).collect();
        let live = model.holds().iter().filter(|hold| is_live(hold, now));
        let live: Vec<(HoldId, UserId)> = live.map(|hold| (hold.id, hold.owner.clone())).collect();
        let all: Vec<(HoldId, UserId)> = model.holds().iter().map(|hold| (hold.id, hold.owner.clone())).collect();
        let first_choice = match self.rng.random_range(0..100) {
            0..10 => &placed_now,
            10..75 => &live,
            75..97 => &all,
            _ => return (self.hold_id(now), Actor::User(self.user())),
        };
        let chosen = [first_choice, &live, &all, &placed_now].into_iter().find_map(|from| from.choose(&mut self.rng));
        match chosen.cloned() {
            Some((id, owner)) => (id, self.actor_for(owner)),
            None => (self.hold_id(now), Actor::User(self.user())),
        }
    }

    /// Plans a later end, at times the last one that is allowed, the first one that is not, or the present one.
    fn plan_end(&mut self, model: &Model, id: HoldId, now: Timestamp) -> NewEnd {
        let lifetime_max = self.limits.hold.lifetime_max;
        let known = model.holds().iter().find(|hold| hold.id == id);
        let (created_at, expires_at) = known.map_or((now, now), |hold| (hold.created_at, hold.expires_at));
        let last = created_at + lifetime_max;
        match self.rng.random_range(0..100) {
            0..25 => NewEnd::Later(self.limits.stay.hold_ttl),
            25..45 => NewEnd::Later(Span::from_millis(self.rng.random_range(0..=2_000))),
            45..75 => NewEnd::At(now + Span::from_millis(self.rng.random_range(0..=lifetime_max.as_millis()))),
            75..90 => NewEnd::At(last),
            90..95 => NewEnd::At(last + Span::from_secs(1)),
            _ => NewEnd::At(expires_at),
        }
    }

    fn plan_reservation(&mut self, model: &Model) -> (StayReservationId, Actor) {
        match model.reservations().choose(&mut self.rng) {
            Some(reservation) if self.rng.random_bool(0.95) => {
                (reservation.id, self.actor_for(reservation.user.clone()))
            }
            _ => {
                let number = self.rng.random_range(1..100);
                (StayReservationId::new(number).expect("positive"), Actor::User(self.user()))
            }
        }
    }

    fn plan_change(&mut self, model: &Model) -> ChangeRoomType {
        let total_quantity = match self.rng.random_range(0..10) {
            0..8 => Some(self.rng.random_range(0..=4)),
            8 => Some(TOTAL_QUANTITY_MAX + 1),
            _ => None,
        };
        let base_price = self.rng.random_bool(0.3).then(|| self.rng.random_range(-1_000..=100_000));
        let draft = RoomTypeDraft { total_quantity, base_price, ..RoomTypeDraft::default() };
        ChangeRoomType { id: self.room_type(model), draft }
    }

    fn plan_closing(&mut self, model: &Model, now: Timestamp) -> SetNightsClosed {
        let room_type = self.room_type(model);
        let from = days_after(today_at(model, room_type, now), self.rng.random_range(-1..=4));
        let nights = match self.rng.random_range(0..100) {
            0..2 => CLOSED_NIGHTS_MAX + 1,
            2..6 => self.rng.random_range(20..40),
            _ => self.rng.random_range(0..=3),
        };
        SetNightsClosed { room_type, from, to: days_after(from, nights), closed: self.rng.random_bool(0.4) }
    }

    /// Returns mostly the owner, sometimes an operator, sometimes another user.
    fn actor_for(&mut self, owner: UserId) -> Actor {
        match self.rng.random_range(0..100) {
            0..80 => Actor::User(owner),
            80..90 => Actor::Admin,
            _ => Actor::User(self.user()),
        }
    }

    fn user(&mut self) -> UserId {
        crate::user(self.rng.random_range(1..=self.users))
    }

    /// Returns mostly an existing room type.
    fn room_type(&mut self, model: &Model) -> RoomTypeId {
        let count = model.room_types().len() as u64;
        let number = if self.rng.random_bool(0.97) { self.rng.random_range(1..=count) } else { count + 1 };
        RoomTypeId::new(number).expect("positive")
    }

    fn client_key(&mut self) -> ClientHoldKey {
        match self.rng.random_range(0..=CLIENT_KEYS) {
            0 => ClientHoldKey::Ulid(*ULID),
            number => ClientHoldKey::Uuid(Uuid::from_u128(number)),
        }
    }

    fn hold_id(&mut self, now: Timestamp) -> HoldId {
        HoldId::new(now, self.rng.random())
    }
}

/// Returns the local date of a room type; for an unknown one, that of the first.
fn today_at(model: &Model, id: RoomTypeId, now: Timestamp) -> Date {
    let room_type = model.room_types().iter().find(|room_type| room_type.id == id);
    today(room_type.unwrap_or(&model.room_types()[0]), now)
}

fn days_after(date: Date, days: i32) -> Date {
    date.saturating_add(jiff::Span::new().days(days))
}
