//! Test support: a store on a database of its own, commands, and direct access to the database.

use std::sync::Arc;

use holdfast_core::audit::Audit;
use holdfast_core::hold::Hold;
use holdfast_core::id::UserId;
use holdfast_core::stay::place::PlaceStayHold;
use holdfast_core::stay::room_type::{CreateRoomType, RoomTypeDraft, RoomTypeId};
use holdfast_core::stay::{ClientHoldKey, ConfirmStayHold, availability};
use holdfast_core::{Actor, Command, Context, Limits, Timestamp, WorkingSet};
use holdfast_engine::{Answer, Batch, ManualClock, NoSink, Refused, Store};
use holdfast_store_postgres::{PostgresOptions, PostgresStore};
use holdfast_testkit::{TestDatabase, postgres};
use jiff::civil::{Date, date};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

pub(crate) const START: i64 = 1_800_000_000_000;
pub(crate) const NIGHT: Date = date(2_030, 1, 1);

pub(crate) fn limits() -> Limits {
    Limits::DEFAULT
}

/// Creates an empty database with the schema.
pub(crate) fn database() -> TestDatabase {
    postgres().database_from("store_postgres", async |url| {
        PostgresStore::open(PostgresOptions::new(url)).await.unwrap();
    })
}

pub(crate) async fn open(url: &str) -> (PostgresStore, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(START)));
    let options = PostgresOptions { clock: Some(clock.clone()), ..PostgresOptions::new(url) };
    (PostgresStore::open(options).await.unwrap(), clock)
}

/// Connects without any of the store's settings.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

pub(crate) async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Terminates every other connection to the database.
pub(crate) async fn cut_all(client: &Client) {
    let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    client.execute(others, &[]).await.unwrap();
}

pub(crate) async fn run<C: Command>(store: &dyn Store, command: C) -> Result<C::Outcome, Refused> {
    run_all(store, [command]).await.pop().unwrap()
}

/// Runs all commands in one batch.
pub(crate) async fn run_all<C: Command>(
    store: &dyn Store,
    commands: impl IntoIterator<Item = C>,
) -> Vec<Result<C::Outcome, Refused>> {
    let mut batch = Batch::default();
    let answers: Vec<_> = commands.into_iter().map(|command| batch.add(command, None)).collect();
    batch.run(store, &NoSink, &limits()).await;
    let mut outcomes = Vec::new();
    for answer in answers {
        outcomes.push(answer.await.unwrap().map(|answer| match answer {
            Answer::Fresh(outcome) => outcome,
            Answer::Recorded(_) | Answer::Replayed(_) => unreachable!("no key, no idempotency record"),
        }));
    }
    outcomes
}

pub(crate) fn room_type() -> RoomTypeId {
    RoomTypeId::new(1).unwrap()
}

pub(crate) fn create(rooms: u32) -> CreateRoomType {
    CreateRoomType(RoomTypeDraft {
        name: Some("twin".into()),
        total_quantity: Some(rooms),
        base_price: Some(100),
        ..RoomTypeDraft::default()
    })
}

pub(crate) fn place(user: u64) -> PlaceStayHold {
    let mut random = [7; 10];
    random[..8].copy_from_slice(&user.to_be_bytes());
    PlaceStayHold {
        quantity: 1,
        random,
        user: UserId::new(user).unwrap(),
        room_type: room_type(),
        check_in: NIGHT,
        check_out: NIGHT.tomorrow().unwrap(),
        client_key: ClientHoldKey::Uuid(Uuid::from_u128(user.into())),
    }
}

pub(crate) fn confirm(hold: &Hold) -> ConfirmStayHold {
    ConfirmStayHold::new(hold.id, Actor::Admin)
}

/// Returns total, reserved and held of [`NIGHT`], as a query sees it.
pub(crate) async fn counts(store: &dyn Store) -> (u32, u32, u32) {
    let mut rows = WorkingSet::default();
    let limits = limits();
    let mut at = Context { now: Timestamp::default(), limits: &limits };
    let ask = |rows: &mut WorkingSet, at: &Context<'_>| {
        availability::availability(rows, at, room_type(), NIGHT, NIGHT.tomorrow().unwrap())
    };
    ask(&mut rows, &at).unwrap_err();
    at.now = store.read(&mut rows).await.unwrap();
    let night = ask(&mut rows, &at).unwrap().nights[0];
    (night.total_quantity, night.reserved, night.held)
}

/// Returns the auditor's findings.
pub(crate) async fn findings(store: &PostgresStore) -> Vec<String> {
    let mut audit = Audit::new(store.now());
    store.audit(&mut audit).await.unwrap();
    audit.finish()
}
