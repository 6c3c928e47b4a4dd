//! Equivalence with the embedded store: the same commands have the same outcomes.

use std::fmt::Debug;
use std::sync::Arc;

use holdfast_core::id::HoldId;
use holdfast_core::schema::List;
use holdfast_core::schema::stay::StayReservationFilter;
use holdfast_core::stay::place::PlaceStayHold;
use holdfast_core::stay::reservation::{CancelStayReservation, StayReservationId};
use holdfast_core::stay::room_type::{ChangeRoomType, RoomTypeDraft, RoomTypeId, SetNightsClosed};
use holdfast_core::stay::{CancelStayHold, ConfirmStayHold, RoomType, StayReservation};
use holdfast_core::time::Span;
use holdfast_core::{Actor, Command, Timestamp};
use holdfast_engine::store;
use holdfast_engine::{Answer, Batch, ManualClock, NoSink, Store};
use holdfast_store_postgres::{PostgresOptions, PostgresStore};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};
use jiff::ToSpan as _;

use crate::support::{NIGHT, START, create, database, findings, limits, place};

/// Deterministic generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[derive(Clone)]
enum Step {
    Place(PlaceStayHold),
    Confirm(ConfirmStayHold),
    Cancel(CancelStayHold),
    CancelReservation(CancelStayReservation),
    Change(ChangeRoomType),
    Close(SetNightsClosed),
}

/// Returns the steps of one batch; `holds` are those placed so far.
fn plan(dice: &mut Dice, holds: &[HoldId], serial: &mut u64) -> Vec<Step> {
    let room_type = |dice: &mut Dice| RoomTypeId::new(1 + dice.roll(3)).unwrap();
    let steps = 1 + dice.roll(20);
    let any_hold = |dice: &mut Dice| match holds.len() as u64 {
        0 => HoldId::new(Timestamp::from_millis(START), [0; 10]),
        many => holds[dice.roll(many) as usize],
    };
    let mut step = |dice: &mut Dice| {
        let check_in = NIGHT + (dice.roll(6) as i64).days();
        match dice.roll(12) {
            0..5 => {
                *serial += 1;
                let check_out = check_in + (1 + dice.roll(3) as i64).days();
                let user = place(1 + dice.roll(8));
                let random = place(*serial).random;
                Step::Place(PlaceStayHold { random, room_type: room_type(dice), check_in, check_out, ..user })
            }
            5..8 => Step::Confirm(ConfirmStayHold::new(any_hold(dice), Actor::Admin)),
            8 => Step::Cancel(CancelStayHold::new(any_hold(dice), Actor::Admin)),
            9 => {
                let id = StayReservationId::new(1 + dice.roll(40)).unwrap();
                Step::CancelReservation(CancelStayReservation { id, actor: Actor::Admin })
            }
            10 => {
                let draft = RoomTypeDraft { total_quantity: Some(dice.roll(6) as u32), ..RoomTypeDraft::default() };
                Step::Change(ChangeRoomType { id: room_type(dice), draft })
            }
            _ => {
                let (from, to, closed) = (check_in, check_in + 2.days(), dice.roll(2) == 0);
                Step::Close(SetNightsClosed { room_type: room_type(dice), from, to, closed })
            }
        }
    };
    (0..steps).map(|_| step(dice)).collect()
}

/// Pending answer.
type Told = Box<dyn FnOnce() -> (String, Option<HoldId>)>;

/// Runs one batch. Returns the outcome of each step, and the holds placed.
async fn run(store: &dyn Store, steps: &[Step]) -> (Vec<String>, Vec<HoldId>) {
    let mut batch = Batch::default();
    let told: Vec<Told> = steps.iter().map(|step| add(&mut batch, step)).collect();
    batch.run(store, &NoSink, &limits()).await;
    let (told, placed): (Vec<_>, Vec<_>) = told.into_iter().map(|told| told()).unzip();
    (told, placed.into_iter().flatten().collect())
}

fn add(batch: &mut Batch, step: &Step) -> Told {
    fn later<C: Command>(batch: &mut Batch, command: C) -> Told
    where
        C::Outcome: Debug,
    {
        let mut pending = batch.add(command, None);
        Box::new(move || (format!("{:?}", pending.try_recv().unwrap()), None))
    }
    match step.clone() {
        Step::Place(command) => {
            let mut pending = batch.add(command, None);
            Box::new(move || {
                let answer = pending.try_recv().unwrap();
                let placed = if let Ok(Answer::Fresh(hold)) = &answer { Some(hold.id) } else { None };
                (format!("{answer:?}"), placed)
            })
        }
        Step::Confirm(command) => later(batch, command),
        Step::Cancel(command) => later(batch, command),
        Step::CancelReservation(command) => later(batch, command),
        Step::Change(command) => later(batch, command),
        Step::Close(command) => later(batch, command),
    }
}

async fn all(store: &dyn Store) -> String {
    let all = StayReservationFilter::default().list(None, 10_000);
    let reservations: Vec<StayReservation> = store::list(store, all).await.unwrap();
    let room_types: Vec<RoomType> = store::list(store, List::of::<RoomType>(None, 100)).await.unwrap();
    let outbox = store.outbox_after(0, 10_000).await.unwrap();
    format!("{room_types:?}\n{reservations:?}\n{outbox:?}")
}

#[tokio::test]
async fn outcomes_equal_embedded_store() {
    let (database, directory) = (database(), tempfile::tempdir().unwrap());
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(START)));
    let open = async || {
        let options = PostgresOptions { clock: Some(clock.clone()), ..PostgresOptions::new(database.url()) };
        PostgresStore::open(options).await.unwrap()
    };
    let mut here = open().await;
    let options = OpenOptions { durable: false, ..OpenOptions::new(directory.path()) };
    let there = SqliteStore::open(options, clock.clone()).unwrap();
    for store in [&here as &dyn Store, &there] {
        for rooms in [1, 2, 4] {
            crate::support::run(store, create(rooms)).await.unwrap();
        }
    }
    let (mut dice, mut holds, mut serial) = (Dice(42), Vec::new(), 0);
    for batch in 0..150 {
        let steps = plan(&mut dice, &holds, &mut serial);
        let (told, placed) = run(&here, &steps).await;
        let (expected, _) = run(&there, &steps).await;
        assert_eq!(told, expected, "batch {batch}");
        holds.extend(placed);
        clock.advance(Span::from_secs(dice.roll(60) as i64));
        if batch % 50 == 49 {
            drop(here);
            here = open().await;
        }
    }
    assert!(holds.len() > 50, "{} holds", holds.len());
    assert_eq!(all(&here).await, all(&there).await);
    assert_eq!(findings(&here).await, [""; 0]);
}
