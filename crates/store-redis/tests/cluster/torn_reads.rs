//! A command loads its rows in several rounds, and another server commits in between. This is a conflict, whether the
//! inconsistent rows break an assertion or lead to a rejection.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdfast_core::actor::Actor;
use holdfast_core::command::Writes;
use holdfast_core::idempotency::IdempotencyRecordId;
use holdfast_core::stay::reservation::{CancelStayReservation, StayReservationState};
use holdfast_core::stay::room_type::NightId;
use holdfast_core::stay::{RoomTypeId, StayReservationId, night_unit};
use holdfast_core::{Command, Context, Decision, Rejection, StayRejection, WorkingSet};
use holdfast_engine::{Answer, Batch, NoSink, Once, Refused, StoreError, panics};
use holdfast_store_redis::fault::{Faults, Point};

use crate::support::{Cluster, Server, limits, rejected, tomorrow};

/// Acts once, after the first load of another server's command.
struct Between {
    point: Point,
    act: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

#[async_trait]
impl Faults for Between {
    async fn at(&self, point: Point) -> Result<(), StoreError> {
        let act = if point == self.point { self.act.lock().unwrap().take() } else { None };
        if let Some(act) = act {
            act.await;
        }
        Ok(())
    }
}

/// The same server; `act` happens once, after the first load at this point.
fn interrupted(server: &Server, point: Point, act: impl Future<Output = ()> + Send + 'static) -> Server {
    let between = Between { point, act: Mutex::new(Some(Box::pin(act))) };
    Server { store: server.store.clone().with_faults(Arc::new(between)), ..server.clone() }
}

async fn servers() -> (Cluster, Server, Server) {
    panics::install();
    let cluster = Cluster::new();
    let (a, b) = (cluster.server().await, cluster.server().await);
    (cluster, a, b)
}

fn cancel(id: StayReservationId) -> CancelStayReservation {
    CancelStayReservation { id, actor: Actor::Admin }
}

async fn reserved(server: &Server) -> StayReservationId {
    let room_type = server.room_type(1).await;
    let hold = server.place(1, room_type).await.unwrap();
    server.confirm(hold.id).await.unwrap().id
}

/// Panics of the process since the test began must be none.
fn expect_no_panic(before: u64) {
    assert_eq!(panics::count(), before, "{:?}", panics::last());
}

#[tokio::test(flavor = "multi_thread")]
async fn reservation_cancelled_between_loads() {
    let (_cluster, a, b) = servers().await;
    let panicked = panics::count();
    let id = reserved(&a).await;
    let a = interrupted(&a, Point::RecordLoaded, async move {
        b.run(cancel(id)).await.unwrap();
    });
    let lost = rejected(a.run(cancel(id)).await);
    assert_eq!(lost, Rejection::Stay(StayRejection::StayReservationAlreadyCancelled));
    expect_no_panic(panicked);
}

#[tokio::test(flavor = "multi_thread")]
async fn seats_cancelled_between_loads() {
    let (_cluster, a, b) = servers().await;
    let panicked = panics::count();
    let event = a.concert(3).await;
    let id = a.reserve_seats(1, event, &[1]).await.unwrap().id;
    let a = interrupted(&a, Point::RecordLoaded, async move { drop(b.cancel_seats(id).await.unwrap()) });
    rejected(a.cancel_seats(id).await);
    assert_eq!(a.taken(event).await, (0, 0));
    expect_no_panic(panicked);
}

#[tokio::test(flavor = "multi_thread")]
async fn room_cancelled_between_loads() {
    let (_cluster, a, b) = servers().await;
    let panicked = panics::count();
    let room = a.meeting_room().await;
    let lock = a.lock(1, room, &[9, 10]).await.unwrap();
    let id = a.confirm_lock(lock.id).await.unwrap().id;
    let a = interrupted(&a, Point::RecordLoaded, async move { drop(b.cancel_room(id).await.unwrap()) });
    rejected(a.cancel_room(id).await);
    expect_no_panic(panicked);
}

#[tokio::test(flavor = "multi_thread")]
async fn order_cancelled_between_loads() {
    let (_cluster, a, b) = servers().await;
    let panicked = panics::count();
    let option = a.goods(10).await;
    let user = a.buyer(option, 2).await;
    a.reserve(user).await.unwrap();
    let id = a.pay(user).await.unwrap().order.id;
    let a = interrupted(&a, Point::RecordLoaded, async move { drop(b.cancel_order(id).await.unwrap()) });
    rejected(a.cancel_order(id).await);
    assert_eq!(a.stock(option).await, (10, 0, 10));
    expect_no_panic(panicked);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_at_two_servers_gets_one_answer() {
    let (_cluster, a, b) = servers().await;
    let panicked = panics::count();
    let id = reserved(&a).await;
    let under_key = async move |server: &Server| {
        let id_of_key = IdempotencyRecordId { caller: "admin".into(), key: "k".into() };
        let render = Box::new(|_: &_| Some(b"cancelled".to_vec()));
        let mut batch = Batch::default();
        let pending = batch.add(cancel(id), Some(Once { id: id_of_key, fingerprint: [7; 32], render }));
        batch.run(&server.store, &NoSink, &limits()).await;
        pending.await.unwrap()
    };
    let a = interrupted(&a, Point::RecordLoaded, async move {
        let first = under_key(&b).await;
        assert!(matches!(first, Ok(Answer::Recorded(_))), "{first:?}");
    });
    let second = under_key(&a).await;
    assert!(matches!(&second, Ok(Answer::Replayed(answer)) if answer == b"cancelled"), "{second:?}");
    expect_no_panic(panicked);
}

/// Is rejected if a reservation and its night, which one commit changes, do not agree. Panics if `PANICS`.
struct Compare<const LIVE: bool, const PANICS: bool>(StayReservationId);

impl<const LIVE: bool, const PANICS: bool> Command for Compare<LIVE, PANICS> {
    type Outcome = ();
    const NAME: &'static str = "test.compare";
    const WRITES: Writes = if LIVE { Writes::Live } else { Writes::Durable };

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<()> {
        let reservation = rows.stay.reservations.get(&self.0)?.expect("it exists").clone();
        let night = NightId { room_type: reservation.room_type, date: tomorrow() };
        let reserved = rows.stay.nights.get(&night)?.map_or(0, |night| night.reserved);
        let agrees = (reserved == 1) == (reservation.state == StayReservationState::Confirmed);
        assert!(agrees || !PANICS, "a reservation is counted");
        if agrees { Ok(()) } else { Err(Rejection::Forbidden.into()) }
    }
}

async fn compare<const LIVE: bool, const PANICS: bool>(point: Point) -> Result<(), Refused> {
    let (_cluster, a, b) = servers().await;
    let id = reserved(&a).await;
    let a = interrupted(&a, point, async move {
        b.run(cancel(id)).await.unwrap();
    });
    a.run(Compare::<LIVE, PANICS>(id)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn rejection_of_torn_rows_is_a_conflict() {
    assert_eq!(compare::<false, false>(Point::RecordLoaded).await, Ok(()));
    assert_eq!(compare::<true, false>(Point::DurableRead).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_on_torn_rows_is_a_conflict() {
    let panicked = panics::count();
    assert_eq!(compare::<false, true>(Point::RecordLoaded).await, Ok(()));
    assert_eq!(compare::<true, true>(Point::DurableRead).await, Ok(()));
    expect_no_panic(panicked);
}

/// Is rejected if a unit is neither held nor reserved, which no commit leads to. Loads the durable row first, the live one in
/// a later round. Panics if `PANICS`.
struct DurableFirst<const LIVE: bool, const PANICS: bool>(RoomTypeId);

impl<const LIVE: bool, const PANICS: bool> Command for DurableFirst<LIVE, PANICS> {
    type Outcome = ();
    const NAME: &'static str = "test.durable_first";
    const WRITES: Writes = if LIVE { Writes::Live } else { Writes::Durable };

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        let night = NightId { room_type: self.0, date: tomorrow() };
        let reserved = rows.stay.nights.get(&night)?.map_or(0, |night| night.reserved);
        let held = rows.held.get(&night_unit(self.0, tomorrow()))?.map_or(0, |tally| tally.live(at.now));
        let is_claimed = reserved + held == 1;
        assert!(is_claimed || !PANICS, "a unit is held or reserved");
        if is_claimed { Ok(()) } else { Err(Rejection::Forbidden.into()) }
    }
}

async fn durable_first<const LIVE: bool, const PANICS: bool>(point: Point) -> Result<(), Refused> {
    let (_cluster, a, b) = servers().await;
    let room_type = a.room_type(1).await;
    let hold = a.place(1, room_type).await.unwrap().id;
    let a = interrupted(&a, point, async move {
        b.confirm(hold).await.unwrap();
    });
    a.run(DurableFirst::<LIVE, PANICS>(room_type)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn live_rows_after_a_snapshot_are_a_conflict() {
    let panicked = panics::count();
    assert_eq!(durable_first::<false, false>(Point::RecordLoaded).await, Ok(()));
    assert_eq!(durable_first::<true, false>(Point::DurableRead).await, Ok(()));
    assert_eq!(durable_first::<false, true>(Point::RecordLoaded).await, Ok(()));
    assert_eq!(durable_first::<true, true>(Point::DurableRead).await, Ok(()));
    expect_no_panic(panicked);
}
