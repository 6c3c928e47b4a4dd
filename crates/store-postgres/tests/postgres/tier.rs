//! Servers that share a database.

use std::time::Duration;

use holdfast_core::command::Attempt;
use holdfast_core::hold::HoldState;
use holdfast_core::id::HoldId;
use holdfast_core::receipt::ReceiptId;
use holdfast_core::stay::hold::{ConfirmHold, want_derived};
use holdfast_core::stay::room_type::{ChangeRoomType, RoomTypeDraft};
use holdfast_core::stay::{StayClaim, StayHold, StayReservation};
use holdfast_core::table::TableSet as _;
use holdfast_core::{Actor, Command, Context, Rows, Stop, Timestamp};
use holdfast_engine::store::Page;
use holdfast_engine::{OutboxEntry, StoreError};
use holdfast_store_postgres::{Decision, DurableSession, DurableTier, OpenError, PostgresOptions, PostgresStore};
use holdfast_testkit::TestDatabase;

use crate::support::{connect, create, database, limits, number, open, place};

async fn join(database: &TestDatabase) -> DurableTier {
    DurableTier::open(PostgresOptions::new(database.url())).await.unwrap()
}

/// Decides a command on what the tier has and on live rows that are given, as if they were in another store.
async fn decide<C: Command>(session: &mut DurableSession, rows: &mut Rows, live: &Rows, command: &C) -> C::Outcome {
    let limits = limits();
    let mut now = Timestamp::default();
    for _ in 0..8 {
        match rows.attempt(|rows| command.decide(rows, &Context { now, limits: &limits })) {
            Ok(outcome) => return outcome,
            Err(Stop::Busy) => panic!("nobody else is there"),
            Err(Stop::Missing) => {
                rows.answer_from(live);
                now = session.load(rows).await.unwrap();
            }
            Err(Stop::Rejected(rejection)) => panic!("{rejection:?}"),
        }
    }
    panic!("asks in circles");
}

/// A live hold of the user on the test's night, and all live rows that there are.
fn live_hold(tier: &DurableTier, user: u64) -> (StayHold, Rows) {
    let now = tier.now();
    let place = place(user);
    let dates = holdfast_core::stay::StayDates { check_in: place.check_in, check_out: place.check_out };
    let hold = StayHold {
        id: HoldId::new(now, place.random),
        owner: place.user,
        created_at: now,
        expires_at: now + limits().stay.hold_ttl,
        state: HoldState::Held,
        attempts: Attempt::default(),
        claim: StayClaim {
            room_type: place.room_type,
            dates,
            client_key: place.client_key,
            price: 100,
            currency: holdfast_core::money::Currency::KRW,
        },
    };
    let mut live = Rows::complete();
    let mut rows = Rows::default();
    want_derived(&mut rows, &hold);
    rows.answer_from(&live);
    holdfast_core::stay::hold::remember(&mut rows, &hold, now).unwrap();
    rows.stay.holds.insert(hold.id, hold.clone());
    live.absorb(&mut rows);
    (hold, live)
}

async fn confirm_in(session: &mut DurableSession, rows: &mut Rows, (hold, live): &(StayHold, Rows)) -> StayReservation {
    // Only live rows: durable ones are the tier's to know.
    let mut only_live = Rows::memory();
    only_live.absorb(&mut copy(hold, live));
    decide(session, rows, &only_live, &ConfirmHold { id: hold.id, actor: Actor::Admin }).await
}

fn copy(hold: &StayHold, live: &Rows) -> Rows {
    let mut rows = Rows::default();
    want_derived(&mut rows, hold);
    rows.answer_from(live);
    holdfast_core::stay::hold::remember(&mut rows, hold, hold.created_at).unwrap();
    rows.stay.holds.insert(hold.id, hold.clone());
    rows
}

fn decision(reservation: &StayReservation, attempt: u32) -> Decision {
    Decision { hold: reservation.hold, attempt, reservation: reservation.id.get() }
}

fn event(tier: &DurableTier) -> OutboxEntry {
    OutboxEntry { event_type: "test", owner: None, at: tier.now(), data: "{\"a\": 1}".into() }
}

/// Makes room type 1.
async fn create_room_type(tier: &DurableTier, rooms: u32) {
    let (mut session, mut rows) = (tier.begin().await.unwrap(), Rows::default());
    decide(&mut session, &mut rows, &Rows::memory(), &create(rooms)).await;
    session.commit(&rows, &[], &[]).await.unwrap();
}

/// Confirms a hold from beginning to end.
async fn confirm(tier: &DurableTier, hold: &(StayHold, Rows)) -> Result<Vec<u64>, StoreError> {
    let (mut session, mut rows) = (tier.begin().await.unwrap(), Rows::default());
    let reservation = confirm_in(&mut session, &mut rows, hold).await;
    session.commit(&rows, &[event(tier)], &[decision(&reservation, 1)]).await
}

#[tokio::test]
async fn servers_alone_and_servers_that_share_keep_each_other_out() {
    let database = database();
    let (alone, _) = open(database.url()).await;
    let error = DurableTier::open(PostgresOptions::new(database.url())).await.unwrap_err();
    assert!(matches!(error, OpenError::InUseAlone), "{error}");
    drop(alone);
    let (one, two) = (join(&database).await, join(&database).await);
    let error = PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap_err();
    assert!(matches!(error, OpenError::InUseByCluster), "{error}");
    drop((one, two));
    open(database.url()).await;
}

#[tokio::test]
async fn of_two_batches_on_the_same_night_the_second_conflicts_and_succeeds_when_decided_again() {
    let database = database();
    let (one, two) = (join(&database).await, join(&database).await);
    create_room_type(&one, 2).await;
    let (first, second) = (live_hold(&one, 1), live_hold(&one, 2));
    // Neither on a night without a row, nor on one with.
    for attempt in 1..3 {
        let (mut a, mut rows_a) = (one.begin().await.unwrap(), Rows::default());
        let (mut b, mut rows_b) = (two.begin().await.unwrap(), Rows::default());
        let hold_a = if attempt == 1 { &first } else { &live_hold(&one, 3) };
        if attempt == 2 {
            let client = connect(database.url()).await;
            client.batch_execute("UPDATE room_type SET total_quantity = 5, version = version + 1").await.unwrap();
        }
        let reservation_a = confirm_in(&mut a, &mut rows_a, hold_a).await;
        let reservation_b = confirm_in(&mut b, &mut rows_b, &second).await;
        a.commit(&rows_a, &[], &[decision(&reservation_a, 1)]).await.unwrap();
        let lost = b.commit(&rows_b, &[], &[decision(&reservation_b, 1)]).await;
        assert!(matches!(lost, Err(StoreError::Conflict)), "{lost:?}");
    }
    confirm(&two, &second).await.unwrap();
    let client = connect(database.url()).await;
    assert_eq!(number(&client, "SELECT reserved_count::bigint FROM room_type_stock").await, 3);
    assert_eq!(number(&client, "SELECT count(*) FROM hold_decision").await, 3);
    let confirmed = one.confirmed_as(&[first.0.id, second.0.id, HoldId::new(one.now(), [1; 10])]).await.unwrap();
    assert_eq!(confirmed.len(), 2);
    let mut audit = holdfast_core::audit::Audit::new(one.now());
    one.audit(&mut audit).await.unwrap();
    assert_eq!(audit.finish(), [""; 0]);
}

#[tokio::test]
async fn a_room_type_that_was_only_read_must_not_move_either() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 2).await;
    let hold = live_hold(&tier, 1);
    let (mut confirming, mut rows) = (tier.begin().await.unwrap(), Rows::default());
    let reservation = confirm_in(&mut confirming, &mut rows, &hold).await;

    let (mut changing, mut changed) = (tier.begin().await.unwrap(), Rows::default());
    let draft = RoomTypeDraft { total_quantity: Some(0), ..RoomTypeDraft::default() };
    let change = ChangeRoomType { id: crate::support::room_type(), draft };
    decide(&mut changing, &mut changed, &Rows::memory(), &change).await;
    changing.commit(&changed, &[], &[]).await.unwrap();

    let lost = confirming.commit(&rows, &[], &[decision(&reservation, 1)]).await;
    assert!(matches!(lost, Err(StoreError::Conflict)), "{lost:?}");
}

#[tokio::test]
async fn a_night_that_appears_in_a_range_that_was_read_is_a_conflict() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 2).await;
    let (mut changing, mut changed) = (tier.begin().await.unwrap(), Rows::default());
    let draft = RoomTypeDraft { total_quantity: Some(0), ..RoomTypeDraft::default() };
    let change = ChangeRoomType { id: crate::support::room_type(), draft };
    decide(&mut changing, &mut changed, &Rows::memory(), &change).await;
    confirm(&tier, &live_hold(&tier, 1)).await.unwrap();
    let lost = changing.commit(&changed, &[], &[]).await;
    assert!(matches!(lost, Err(StoreError::Conflict)), "{lost:?}");
}

#[tokio::test]
async fn whoever_decides_first_decides() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 5).await;

    let aborted = live_hold(&tier, 1);
    assert_eq!(tier.decide_aborted(aborted.0.id, 1).await.unwrap(), None);
    assert_eq!(tier.decide_aborted(aborted.0.id, 1).await.unwrap(), None);
    let late = confirm(&tier, &aborted).await;
    assert!(matches!(late, Err(StoreError::Conflict)), "{late:?}");
    let client = connect(database.url()).await;
    assert_eq!(number(&client, "SELECT count(*) FROM stay_reservation").await, 0);
    assert_eq!(number(&client, "SELECT count(*) FROM room_type_stock").await, 0);

    let confirmed = live_hold(&tier, 2);
    confirm(&tier, &confirmed).await.unwrap();
    let number = tier.confirmed_as(&[confirmed.0.id]).await.unwrap()[0].1;
    assert_eq!(tier.decide_aborted(confirmed.0.id, 1).await.unwrap(), Some(number));
    assert_eq!(tier.decide_aborted(confirmed.0.id, 2).await.unwrap(), Some(number));
}

#[tokio::test]
async fn aborting_waits_for_a_confirm_in_flight_and_loses_to_it() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 5).await;
    let hold = HoldId::new(tier.now(), [9; 10]);
    let mut client = connect(database.url()).await;
    let transaction = client.transaction().await.unwrap();
    let insert = format!("INSERT INTO hold_decision VALUES ('{hold}', 1, 77, now())");
    transaction.batch_execute(&insert).await.unwrap();
    let deciding = tokio::spawn({
        let tier = tier.clone();
        async move { tier.decide_aborted(hold, 1).await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!deciding.is_finished(), "it waits");
    transaction.commit().await.unwrap();
    assert_eq!(deciding.await.unwrap().unwrap(), Some(77));

    let transaction = client.transaction().await.unwrap();
    transaction.batch_execute(&insert.replace(", 1, 77", ", 2, 77")).await.unwrap();
    let began = std::time::Instant::now();
    let stuck = tier.decide_aborted(hold, 2).await;
    assert!(matches!(stuck, Err(StoreError::Conflict)), "{stuck:?}");
    assert!(began.elapsed() < Duration::from_secs(3), "it does not wait for ever");
}

#[tokio::test]
async fn rows_loaded_too_long_ago_are_not_decided_upon() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 5).await;
    let client = connect(database.url()).await;
    // Eleven seconds later, as far as the database can tell.
    let later = "CREATE OR REPLACE FUNCTION expect_fresh(loaded_at timestamptz, age_max interval) RETURNS void
        LANGUAGE plpgsql AS $$ BEGIN
            IF clock_timestamp() + interval '11 s' > loaded_at + age_max THEN
                RAISE EXCEPTION 'too old' USING ERRCODE = 'UH004';
            END IF;
        END $$";
    client.batch_execute(later).await.unwrap();
    let lost = confirm(&tier, &live_hold(&tier, 1)).await;
    assert!(matches!(lost, Err(StoreError::Conflict)), "{lost:?}");
}

#[tokio::test]
async fn numbers_are_drawn_in_blocks_and_never_twice() {
    let database = database();
    let (one, two) = (join(&database).await, join(&database).await);
    create_room_type(&one, 100).await;
    let mut numbers = Vec::new();
    for user in 1..=6 {
        let tier = if user % 2 == 0 { &one } else { &two };
        let hold = live_hold(tier, user);
        confirm(tier, &hold).await.unwrap();
        numbers.push(tier.confirmed_as(&[hold.0.id]).await.unwrap()[0].1);
    }
    assert_eq!(numbers, [1, 32_769, 2, 32_770, 3, 32_771]);
    assert_eq!(one.outbox_last().await.unwrap(), 6);
    let outbox = two.outbox_after(2, 3).await.unwrap();
    assert_eq!(outbox.iter().map(|record| record.id).collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!(outbox[0].data, "{\"a\": 1}", "as it was written");
}

#[tokio::test]
async fn of_two_servers_with_the_same_request_one_is_refused() {
    let database = database();
    let (one, two) = (join(&database).await, join(&database).await);
    let id = ReceiptId { caller: "u1".into(), key: "k".into() };
    let write = async |tier: &DurableTier, response: &str| {
        let (mut session, mut rows) = (tier.begin().await.unwrap(), Rows::default());
        rows.receipts.want(&id);
        let now = session.load(&mut rows).await.unwrap();
        assert!(rows.receipts.get(&id).unwrap().is_none());
        let limits = limits();
        let at = Context { now, limits: &limits };
        holdfast_core::receipt::keep(&mut rows, &at, id.clone(), [1; 32], response.into());
        (session, rows)
    };
    let (mut a, rows_a) = write(&one, "first").await;
    let (mut b, rows_b) = write(&two, "second").await;
    a.commit(&rows_a, &[], &[]).await.unwrap();
    let lost = b.commit(&rows_b, &[], &[]).await;
    assert!(matches!(lost, Err(StoreError::Conflict)), "{lost:?}");
    let mut rows = Rows::default();
    rows.receipts.want(&id);
    two.read(&mut rows).await.unwrap();
    assert_eq!(rows.receipts.get(&id).unwrap().unwrap().response, b"first");
}

#[tokio::test]
async fn a_batch_is_one_round_trip_to_load_and_one_to_commit_and_live_rows_stay_wanted() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 10).await;
    let hold = live_hold(&tier, 1);
    let (mut session, mut rows) = (tier.begin().await.unwrap(), Rows::default());
    rows.stay.holds.want(&hold.0.id);
    rows.stay.room_types.want(&crate::support::room_type());
    let before = tier.round_trips();
    session.load(&mut rows).await.unwrap();
    assert_eq!(tier.round_trips() - before, 1);
    assert!(!rows.is_settled(), "the hold is not the tier's to know");
    assert!(rows.stay.room_types.get(&crate::support::room_type()).unwrap().is_some());

    let reservation = confirm_in(&mut session, &mut rows, &hold).await;
    let before = tier.round_trips();
    session.commit(&rows, &[event(&tier)], &[decision(&reservation, 1)]).await.unwrap();
    assert_eq!(tier.round_trips() - before, 1);
    tier.check().await.unwrap();
    assert!(!tier.tidy().await.unwrap());
    assert_eq!(tier.room_types(Page { after: None, limit: 10 }).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_server_alone_does_not_trust_its_memory_after_others_were_there() {
    let database = database();
    let (alone, _) = open(database.url()).await;
    crate::support::run(&alone, create(5)).await.unwrap();
    let client = connect(database.url()).await;
    let before = number(&client, "SELECT count FROM commits").await;
    drop(alone);
    join(&database).await;
    assert!(number(&client, "SELECT count FROM commits").await > before);
}
