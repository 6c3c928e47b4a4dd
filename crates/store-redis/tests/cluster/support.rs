//! Servers without HTTP: a store each, on shared storage, with one clock that the test sets.

use std::sync::Arc;
use std::time::Duration;

use holdfast_core::actor::Actor;
use holdfast_core::hold::{self, ExtendHold, Hold, NewEnd, RecoverHold};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::stay::availability::{NightAvailability, availability};
use holdfast_core::stay::place::PlaceStayHold;
use holdfast_core::stay::room_type::{ChangeRoomType, CreateRoomType, RoomTypeDraft};
use holdfast_core::stay::{CancelStayHold, ClientHoldKey, ConfirmStayHold, RoomTypeId, StayReservation};
use holdfast_core::time::Span;
use holdfast_core::{Command, Context, Decision, Limits, Rejection, Stop, Timestamp, WorkingSet, stay};
use holdfast_engine::store::RecoveredAttempt;
use holdfast_engine::{Answer, Batch, Clock as _, Engine, EngineSettings, ManualClock, NoSink, Refused, Store as _};
use holdfast_store_redis::ClusterStore;
use holdfast_testkit::{Place, Profile};
use jiff::civil::{Date, date};
use uuid::Uuid;

pub(crate) const TODAY: Date = date(2027, 3, 1);
pub(crate) const TTL: Span = Span::from_secs(600);
/// Longest time from placing a hold to its end.
pub(crate) const LIFETIME_MAX: Span = Span::from_days(31);

/// Shared storage of several servers.
pub(crate) struct Cluster {
    pub(crate) place: Place,
    pub(crate) clock: Arc<ManualClock>,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self::at(Place::new(Profile::Cluster))
    }

    pub(crate) fn at(place: Place) -> Self {
        let noon: jiff::Timestamp = "2027-03-01T03:00:00Z".parse().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(noon.as_millisecond())));
        Self { place, clock }
    }

    /// Starts a server, to which every unfinished attempt counts as abandoned.
    pub(crate) async fn server(&self) -> Server {
        let store = self.place.open_cluster(self.clock.clone(), Span::from_millis(0)).await;
        Server { store, clock: self.clock.clone() }
    }
}

/// One server.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) store: ClusterStore,
    pub(crate) clock: Arc<ManualClock>,
}

pub(crate) fn limits() -> Limits {
    Limits {
        holds_per_user_max: 1_000,
        hold: hold::Limits { extensions_max: 5, lifetime_max: LIFETIME_MAX, ..hold::Limits::DEFAULT },
        stay: stay::Limits { hold_ttl: TTL },
        ..Limits::DEFAULT
    }
}

impl Server {
    pub(crate) async fn run<C: Command>(&self, command: C) -> Result<C::Outcome, Refused> {
        let mut batch = Batch::default();
        let pending = batch.add(command, None);
        batch.run(&self.store, &NoSink, &limits()).await;
        match pending.await.unwrap()? {
            Answer::Fresh(outcome) => Ok(outcome),
            Answer::Recorded(_) | Answer::Replayed(_) => panic!("there was no key"),
        }
    }

    /// Returns an engine of its own, for concurrent commands.
    pub(crate) fn engine(&self) -> (Engine, std::thread::JoinHandle<()>) {
        let settings = EngineSettings { lock_wait: Duration::from_secs(1), queue_max: 10_000, limits: limits() };
        Engine::start(Arc::new(self.store.clone()), Arc::new(NoSink), settings).unwrap()
    }

    pub(crate) async fn room_type(&self, total_quantity: u32) -> RoomTypeId {
        let draft = RoomTypeDraft {
            name: Some("객실".into()),
            total_quantity: Some(total_quantity),
            base_price: Some(100),
            ..RoomTypeDraft::default()
        };
        self.run(CreateRoomType(draft)).await.unwrap().id
    }

    pub(crate) async fn lower(&self, id: RoomTypeId, total_quantity: u32) -> Result<(), Refused> {
        let draft = RoomTypeDraft { total_quantity: Some(total_quantity), ..RoomTypeDraft::default() };
        self.run(ChangeRoomType { id, draft }).await.map(|_| ())
    }

    pub(crate) async fn place(&self, user: u64, room_type: RoomTypeId) -> Result<Hold, Refused> {
        self.run(place(user, room_type)).await
    }

    /// Places a hold that ends as late as possible.
    pub(crate) async fn place_long(&self, user: u64, room_type: RoomTypeId) -> Result<Hold, Refused> {
        let hold = self.place(user, room_type).await?;
        let end = NewEnd::At(hold.created_at + LIFETIME_MAX);
        self.run(ExtendHold { version: None, id: hold.id, actor: Actor::Admin, end }).await
    }

    pub(crate) async fn confirm(&self, id: HoldId) -> Result<StayReservation, Refused> {
        self.run(ConfirmStayHold::new(id, Actor::Admin)).await
    }

    pub(crate) async fn cancel(&self, id: HoldId) -> Result<(), Refused> {
        self.run(CancelStayHold::new(id, Actor::Admin)).await
    }

    /// Resolves abandoned attempts, as the server's job does.
    pub(crate) async fn recover_in_doubt(&self) -> usize {
        let resolved = self.store.recover_in_doubt().await.unwrap();
        for one in &resolved {
            self.recover(one).await.unwrap();
        }
        resolved.len()
    }

    pub(crate) async fn recover(&self, one: &RecoveredAttempt) -> Result<(), Refused> {
        self.run(RecoverHold { of: one.of, is_committed: one.is_committed }).await
    }

    /// Returns the availability of the fixture's night.
    pub(crate) async fn night(&self, room_type: RoomTypeId) -> NightAvailability {
        let check_out = next_day(tomorrow());
        self.ask(|rows, at| availability(rows, at, room_type, tomorrow(), check_out)).await.unwrap().nights[0]
    }

    /// Runs a query on committed state.
    pub(crate) async fn ask<T>(
        &self,
        mut question: impl FnMut(&mut WorkingSet, &Context<'_>) -> Decision<T>,
    ) -> Result<T, Rejection> {
        let mut rows = WorkingSet::default();
        let limits = limits();
        loop {
            let at = Context { now: self.clock.now(), limits: &limits };
            match question(&mut rows, &at) {
                Ok(answer) => return Ok(answer),
                Err(Stop::Rejected(rejection)) => return Err(rejection),
                Err(Stop::NeedRows) => self.store.read(&mut rows).await.unwrap(),
                Err(other @ Stop::Retry) => panic!("{other:?}"),
            };
        }
    }
}

pub(crate) fn place(user: u64, room_type: RoomTypeId) -> PlaceStayHold {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut random = [0; 10];
    // The UUID's version and variant overwrite parts of the first bytes.
    random[4..].copy_from_slice(&number.to_be_bytes()[2..]);
    PlaceStayHold {
        quantity: 1,
        random,
        user: UserId::new(user).unwrap(),
        room_type,
        check_in: tomorrow(),
        check_out: next_day(tomorrow()),
        client_key: ClientHoldKey::Uuid(Uuid::from_u64_pair(number, 0)),
    }
}

pub(crate) fn tomorrow() -> Date {
    next_day(TODAY)
}

/// Returns different bytes each time.
pub(crate) fn random() -> [u8; 10] {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut random = [0; 10];
    random[2..]
        .copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    random
}

fn next_day(date: Date) -> Date {
    date.tomorrow().unwrap()
}

pub(crate) fn rejected<T: std::fmt::Debug>(result: Result<T, Refused>) -> Rejection {
    match result {
        Err(Refused::Rejected(rejection)) => rejection,
        other => panic!("not rejected by a rule: {other:?}"),
    }
}
