//! Live holds are found by their end: however old they are, they survive restarts and purges.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::sync::Arc;

use holdfast_core::hold::{self, ExtendHold, Hold, HoldState, LineState, NewEnd, Status};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::stay::availability::availability;
use holdfast_core::stay::place::PlaceStayHold;
use holdfast_core::stay::room_type::{CreateRoomType, RoomTypeDraft};
use holdfast_core::stay::{
    CancelStayHold, ClientHoldKey, ConfirmStayHold, RoomTypeId, StayReservation, StayReservationId, reservation,
};
use holdfast_core::time::Span;
use holdfast_core::{Actor, Command, Context, Decision, Limits, Rejection, StayRejection, Stop, Timestamp, WorkingSet};
use holdfast_engine::store::Keep;
use holdfast_engine::{Answer, Batch, Clock as _, ManualClock, NoSink, Refused, Store};
use holdfast_testkit::{Place, Profile, profiles};
use jiff::civil::{Date, date};
use uuid::Uuid;

/// 2027-01-15, at a full second.
const START_MILLIS: i64 = 1_800_000_000_000;
const NIGHT: Date = date(2027, 12, 1);
/// TTL of every hold. Longer ones are extended.
const TTL: Span = Span::from_secs(600);
const DAY: Span = Span::from_hours(24);
static LIMITS: Limits = Limits {
    hold: hold::Limits { extensions_max: 5, lifetime_max: Span::from_days(31), ..hold::Limits::DEFAULT },
    ..Limits::DEFAULT
};

/// A room type in a store.
struct Hotel {
    place: Place,
    clock: Arc<ManualClock>,
    /// `None` only during a restart.
    store: Option<Arc<dyn Store>>,
    room_type: RoomTypeId,
}

impl Hotel {
    async fn new(profile: Profile, rooms: u32) -> Self {
        let clock = Arc::new(ManualClock::at(start()));
        let place = Place::new(profile);
        let store = Some(place.open(clock.clone()).await);
        let room_type = RoomTypeId::new(1).unwrap();
        let hotel = Self { place, clock, store, room_type };
        let draft = RoomTypeDraft {
            name: Some("twin".into()),
            total_quantity: Some(rooms),
            base_price: Some(100),
            ..RoomTypeDraft::default()
        };
        assert_eq!(hotel.run(CreateRoomType(draft)).await.unwrap().id, room_type);
        hotel
    }

    fn store(&self) -> &dyn Store {
        &**self.store.as_ref().expect("the store is open except during a restart")
    }

    async fn run<C: Command>(&self, command: C) -> Result<C::Outcome, Refused> {
        let mut batch = Batch::default();
        let answer = batch.add(command, None);
        batch.run(self.store(), &NoSink, &LIMITS).await;
        match answer.await.unwrap()? {
            Answer::Fresh(outcome) => Ok(outcome),
            Answer::Recorded(_) | Answer::Replayed(_) => unreachable!("no key, no idempotency record"),
        }
    }

    async fn ask<T>(&self, question: impl Fn(&mut WorkingSet, &Context<'_>) -> Decision<T>) -> T {
        let mut rows = WorkingSet::default();
        loop {
            match question(&mut rows, &Context { now: self.clock.now(), limits: &LIMITS }) {
                Ok(answer) => return answer,
                Err(Stop::NeedRows) => self.store().read(&mut rows).await.unwrap(),
                Err(other) => panic!("{other:?}"),
            };
        }
    }

    async fn place(&self, user: u64) -> Result<HoldId, Refused> {
        let place = PlaceStayHold {
            quantity: 1,
            random: [user as u8; 10],
            user: UserId::new(user).unwrap(),
            room_type: self.room_type,
            check_in: NIGHT,
            check_out: NIGHT.tomorrow().unwrap(),
            client_key: ClientHoldKey::Uuid(Uuid::from_u128(user.into())),
        };
        Ok(self.run(place).await?.id)
    }

    /// Places a hold that ends this long after the start.
    async fn place_until(&self, user: u64, lifetime: Span) -> HoldId {
        let id = self.place(user).await.unwrap();
        let extend = ExtendHold { version: None, id, actor: Actor::Admin, end: NewEnd::At(start() + lifetime) };
        assert_eq!(self.run(extend).await.unwrap().expires_at, start() + lifetime);
        id
    }

    async fn confirm(&self, id: HoldId) -> Result<StayReservation, Refused> {
        self.run(ConfirmStayHold::new(id, Actor::Admin)).await
    }

    async fn hold(&self, id: HoldId) -> Option<Hold> {
        self.ask(|rows, _| hold::get(rows, id)).await
    }

    async fn reservation(&self, id: StayReservationId) -> StayReservation {
        self.ask(|rows, _| reservation::find(rows, id, &Actor::Admin)).await
    }

    async fn status(&self, id: HoldId) -> Option<Status> {
        self.hold(id).await.map(|hold| hold.status(self.clock.now()))
    }

    /// Returns the reserved and the held quantity of the night.
    async fn counts(&self) -> (u32, u32) {
        let night = self.ask(|rows, at| availability(rows, at, self.room_type, NIGHT, NIGHT.tomorrow().unwrap())).await;
        (night.nights[0].reserved, night.nights[0].held)
    }

    /// Advances the clock to a time after the start, purges, and opens the store anew.
    async fn restart_at(&mut self, after_start: Span) {
        let until = start() + after_start;
        self.clock.advance(Span::from_millis(until.as_millis() - self.clock.now().as_millis()));
        while self.store().purge(Keep::default()).await.unwrap() {}
        self.store = None;
        self.store = Some(self.place.open(self.clock.clone()).await);
        assert_eq!(self.clock.now(), until);
    }
}

fn start() -> Timestamp {
    Timestamp::from_millis(START_MILLIS)
}

profiles!(long_holds_survive_restart_and_purge);
async fn long_holds_survive_restart_and_purge(profile: Profile) {
    let mut hotel = Hotel::new(profile, 4).await;
    let hours = [26, 49, 31 * 24];
    let mut holds = Vec::new();
    for (user, hours) in (1..).zip(hours) {
        holds.push((hotel.place_until(user, Span::from_hours(hours)).await, hours));
    }
    hotel.place(4).await.unwrap();
    for (hour, user) in [(25, 10), (48, 20), (20 * 24, 30)] {
        hotel.restart_at(Span::from_hours(hour)).await;
        let live: Vec<_> = holds.iter().filter(|(_, end)| hour < *end).collect();
        for (id, end) in &live {
            assert_eq!(hotel.status(*id).await, Some(Status::Held), "hold of {end} h after {hour} h");
        }
        assert_eq!(hotel.counts().await, (0, live.len() as u32), "after {hour} h");
        // No unit of a live hold is sold again.
        for user in (user..).take(4 - live.len()) {
            hotel.place(user).await.unwrap();
        }
        let refused = hotel.place(user + 9).await;
        let is_full = Rejection::Stay(StayRejection::RoomNotAvailable { available: 0, date: NIGHT });
        assert_eq!(refused, Err(Refused::Rejected(is_full)), "after {hour} h");
    }
    hotel.restart_at(Span::from_hours(31 * 24 - 1)).await;
    let [.., (longest, _)] = holds[..] else { unreachable!("three holds were placed") };
    hotel.confirm(longest).await.unwrap();
    assert_eq!(hotel.counts().await, (1, 0));
}

profiles!(longest_hold_ends_on_time);
async fn longest_hold_ends_on_time(profile: Profile) {
    let mut hotel = Hotel::new(profile, 1).await;
    let id = hotel.place_until(1, Span::from_days(31)).await;
    hotel.restart_at(Span::from_days(31)).await;
    assert_eq!(hotel.status(id).await, Some(Status::Expired));
    let expired = Rejection::Stay(StayRejection::StayHoldExpired);
    assert_eq!(hotel.confirm(id).await, Err(Refused::Rejected(expired)));
    assert_eq!(hotel.counts().await, (0, 0));
    hotel.place(2).await.unwrap();
}

// Redis deletes ended holds by its own clock: their time to live is checked in the tests of its store.
profiles!(ended_holds_are_purged_a_day_later: embedded postgres);
async fn ended_holds_are_purged_a_day_later(profile: Profile) {
    let mut hotel = Hotel::new(profile, 5).await;
    let expired = hotel.place(1).await.unwrap();
    let cancelled = hotel.place(2).await.unwrap();
    hotel.run(CancelStayHold::new(cancelled, Actor::Admin)).await.unwrap();
    let long = hotel.place_until(3, Span::from_hours(30)).await;
    let live = hotel.place_until(4, Span::from_days(31)).await;

    hotel.restart_at(TTL + DAY).await;
    assert_eq!(hotel.status(expired).await, Some(Status::Expired));
    assert_eq!(hotel.status(cancelled).await, Some(Status::Cancelled));
    hotel.restart_at(TTL + DAY + Span::from_millis(1)).await;
    assert_eq!((hotel.status(expired).await, hotel.status(cancelled).await), (None, None));
    assert_eq!(hotel.status(long).await, Some(Status::Held));

    hotel.restart_at(Span::from_hours(30) + DAY).await;
    assert_eq!(hotel.status(long).await, Some(Status::Expired));
    hotel.restart_at(Span::from_hours(30) + DAY + Span::from_millis(1)).await;
    assert_eq!(hotel.status(long).await, None);
    assert_eq!(hotel.status(live).await, Some(Status::Held));
    assert_eq!(hotel.counts().await, (0, 1));
}

profiles!(confirmed_holds_outlive_purges);
async fn confirmed_holds_outlive_purges(profile: Profile) {
    let mut hotel = Hotel::new(profile, 2).await;
    let holds = [hotel.place(1).await.unwrap(), hotel.place_until(2, Span::from_days(31)).await];
    let mut confirmed = Vec::new();
    for id in holds {
        let reservation = hotel.confirm(id).await.unwrap().id;
        let hold = hotel.hold(id).await.unwrap();
        assert_eq!(hold.state, HoldState::Confirmed);
        assert_eq!(hold.lines[0].state, LineState::Confirmed { record: reservation.get() });
        confirmed.push((hold, reservation));
    }
    for after in [Span::from_hours(25), Span::from_hours(48), Span::from_days(400)] {
        hotel.restart_at(after).await;
        for (hold, reservation) in &confirmed {
            assert_eq!(hotel.hold(hold.id).await.as_ref(), Some(hold), "after {after:?}");
            assert_eq!(hotel.reservation(*reservation).await.hold, hold.id, "after {after:?}");
        }
    }
}
