//! A clock that is set back never revives ended holds.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use std::sync::Arc;

use holdfast_core::hold::Hold;
use holdfast_core::id::UserId;
use holdfast_core::stay::place::PlaceStayHold;
use holdfast_core::stay::room_type::{CreateRoomType, RoomTypeDraft, RoomTypeId};
use holdfast_core::stay::{ClientHoldKey, ConfirmStayHold};
use holdfast_core::time::Span;
use holdfast_core::{Actor, Command, Limits, Rejection, StayRejection, Timestamp, stay};
use holdfast_engine::{Answer, Batch, ManualClock, NoSink, Refused};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};
use jiff::civil::date;
use uuid::Uuid;

const START: i64 = 1_800_000_000_000;

fn open(directory: &std::path::Path, millis: i64) -> (SqliteStore, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(millis)));
    let options = OpenOptions { durable: false, ..OpenOptions::new(directory) };
    (SqliteStore::open(options, clock.clone()).unwrap(), clock)
}

async fn run<C: Command>(store: &SqliteStore, command: C) -> Result<C::Outcome, Refused> {
    let limits = Limits { stay: stay::Limits { hold_ttl: Span::from_secs(60) }, ..Limits::DEFAULT };
    let mut batch = Batch::default();
    let answer = batch.add(command, None);
    batch.run(store, &NoSink, &limits).await;
    match answer.await.unwrap()? {
        Answer::Fresh(outcome) => Ok(outcome),
        Answer::Recorded(_) | Answer::Replayed(_) => unreachable!("no key, no idempotency record"),
    }
}

fn place(user: u64) -> PlaceStayHold {
    PlaceStayHold {
        quantity: 1,
        random: [user as u8; 10],
        user: UserId::new(user).unwrap(),
        room_type: RoomTypeId::new(1).unwrap(),
        check_in: date(2_030, 1, 1),
        check_out: date(2_030, 1, 2),
        client_key: ClientHoldKey::Uuid(Uuid::from_u128(user.into())),
    }
}

fn confirm(hold: &Hold) -> ConfirmStayHold {
    ConfirmStayHold::new(hold.id, Actor::User(hold.owner.clone()))
}

#[tokio::test]
async fn time_never_precedes_last_commit() {
    let directory = tempfile::tempdir().unwrap();
    let (store, clock) = open(directory.path(), START);
    let draft = RoomTypeDraft {
        name: Some("the only room".into()),
        total_quantity: Some(1),
        base_price: Some(1),
        ..RoomTypeDraft::default()
    };
    run(&store, CreateRoomType(draft)).await.unwrap();
    let first = run(&store, place(1)).await.unwrap();
    clock.advance(Span::from_secs(61));
    let second = run(&store, place(2)).await.unwrap();
    drop(store);

    let (store, _clock) = open(directory.path(), START + 30_000);
    assert_eq!(
        run(&store, confirm(&first)).await,
        Err(Refused::Rejected(Rejection::Stay(StayRejection::StayHoldExpired)))
    );
    run(&store, confirm(&second)).await.unwrap();
}
