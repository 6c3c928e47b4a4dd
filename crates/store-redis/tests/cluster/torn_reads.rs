//! A command loads its rows in several rounds, and another server commits in between. This is a conflict, whether the
//! inconsistent rows break an assertion or lead to a rejection.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdfast_core::actor::Actor;
use holdfast_core::command::writes;
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
    a.reserve(user.clone()).await.unwrap();
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

/// A command that only reads, in a session of live or of durable rows.
macro_rules! reading_command {
    ($name:ident($id:ty), $writes:ident, $decide:ident) => {
        struct $name<const PANICS: bool>($id);

        impl<const PANICS: bool> Command for $name<PANICS> {
            type Outcome = ();
            const NAME: &'static str = "test.read";
            type Writes = writes::$writes;

            fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
                let agrees = $decide(self.0, rows, at)?;
                assert!(agrees || !PANICS, "the rows agree");
                if agrees { Ok(()) } else { Err(Rejection::Forbidden.into()) }
            }
        }
    };
}
reading_command!(CompareInLive(StayReservationId), Live, agrees_with_night);
reading_command!(CompareInDurable(StayReservationId), Durable, agrees_with_night);
reading_command!(DurableFirstInLive(RoomTypeId), Live, is_claimed);
reading_command!(DurableFirstInDurable(RoomTypeId), Durable, is_claimed);

/// Whether a reservation and its night agree, which one commit changes.
fn agrees_with_night(id: StayReservationId, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<bool> {
    let reservation = rows.stay.reservations.get(&id)?.expect("it exists").clone();
    let night = NightId { room_type: reservation.room_type, date: tomorrow() };
    let reserved = rows.stay.nights.get(&night)?.map_or(0, |night| night.reserved);
    Ok((reserved == 1) == (reservation.state == StayReservationState::Confirmed))
}

/// Whether a unit is held or reserved, as after every commit. Loads the durable row first, the live one in a later round.
fn is_claimed(room_type: RoomTypeId, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<bool> {
    let night = NightId { room_type, date: tomorrow() };
    let reserved = rows.stay.nights.get(&night)?.map_or(0, |night| night.reserved);
    let held = rows.held.get(&night_unit(room_type, tomorrow()))?.map_or(0, |tally| tally.live(at.now));
    Ok(reserved + held == 1)
}

async fn compare<C: Command<Outcome = ()>>(command: fn(StayReservationId) -> C, point: Point) -> Result<(), Refused> {
    let (_cluster, a, b) = servers().await;
    let id = reserved(&a).await;
    let a = interrupted(&a, point, async move {
        b.run(cancel(id)).await.unwrap();
    });
    a.run(command(id)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn rejection_of_torn_rows_is_a_conflict() {
    assert_eq!(compare(CompareInDurable::<false>, Point::RecordLoaded).await, Ok(()));
    assert_eq!(compare(CompareInLive::<false>, Point::DurableRead).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_on_torn_rows_is_a_conflict() {
    let panicked = panics::count();
    assert_eq!(compare(CompareInDurable::<true>, Point::RecordLoaded).await, Ok(()));
    assert_eq!(compare(CompareInLive::<true>, Point::DurableRead).await, Ok(()));
    expect_no_panic(panicked);
}

async fn durable_first<C: Command<Outcome = ()>>(command: fn(RoomTypeId) -> C, point: Point) -> Result<(), Refused> {
    let (_cluster, a, b) = servers().await;
    let room_type = a.room_type(1).await;
    let hold = a.place(1, room_type).await.unwrap().id;
    let a = interrupted(&a, point, async move {
        b.confirm(hold).await.unwrap();
    });
    a.run(command(room_type)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn live_rows_after_a_snapshot_are_a_conflict() {
    let panicked = panics::count();
    assert_eq!(durable_first(DurableFirstInDurable::<false>, Point::RecordLoaded).await, Ok(()));
    assert_eq!(durable_first(DurableFirstInLive::<false>, Point::DurableRead).await, Ok(()));
    assert_eq!(durable_first(DurableFirstInDurable::<true>, Point::RecordLoaded).await, Ok(()));
    assert_eq!(durable_first(DurableFirstInLive::<true>, Point::DurableRead).await, Ok(()));
    expect_no_panic(panicked);
}
