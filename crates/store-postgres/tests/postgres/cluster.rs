//! Support of the durable tier's tests: live rows that are stored elsewhere, and batches on both.

use holdfast_core::command::Attempt;
use holdfast_core::command::TwoPhase as _;
use holdfast_core::hold::{AttemptId, Extras, Hold, HoldState, Item, Origin, Placement};
use holdfast_core::id::HoldId;
use holdfast_core::money::Currency;
use holdfast_core::stay::room_type::{ChangeRoomType, RoomTypeDraft};
use holdfast_core::stay::{ConfirmStayHold, StayDates, StayItem, StayReservation};
use holdfast_core::table::{StateSet as _, TableSet as _};
use holdfast_core::{Actor, Command, Context, Decision, InMemoryState, Stop, Timestamp, WorkingSet};
use holdfast_engine::{OutboxEntry, StoreError};
use holdfast_store_postgres::{DurableSession, DurableTier, PostgresOptions};
use holdfast_testkit::TestDatabase;
use jiff::ToSpan as _;

use crate::support::{NIGHT, create, limits, place, room_type};

pub(crate) async fn join(database: &TestDatabase) -> DurableTier {
    DurableTier::open(PostgresOptions::new(database.url())).await.unwrap()
}

/// Decides a command on the tier's rows and on given live rows, as if they were in another store.
pub(crate) async fn decide<C: Command>(
    session: &mut DurableSession,
    rows: &mut WorkingSet,
    live: &InMemoryState,
    command: &C,
) -> C::Outcome {
    decide_step(session, rows, live, |rows, at| command.decide(rows, at)).await
}

/// Decides a step of a command likewise.
async fn decide_step<T>(
    session: &mut DurableSession,
    rows: &mut WorkingSet,
    live: &InMemoryState,
    step: impl Fn(&mut WorkingSet, &Context<'_>) -> Decision<T>,
) -> T {
    let limits = limits();
    let mut now = Timestamp::default();
    for _ in 0..8 {
        match rows.attempt(|rows| step(rows, &Context { now, limits: &limits })) {
            Ok(outcome) => return outcome,
            Err(Stop::Retry) => panic!("no other server commits"),
            Err(Stop::NeedRows) => {
                rows.fill_from(live);
                now = session.load(rows).await.unwrap();
            }
            Err(Stop::Rejected(rejection)) => panic!("{rejection:?}"),
        }
    }
    panic!("the read set does not converge");
}

/// Prepared hold, and the rows of the other store.
pub(crate) struct Live {
    pub(crate) hold: Hold,
    rows: InMemoryState,
}

/// Prepares a hold on the test's night, by its first attempt.
pub(crate) fn live_hold(tier: &DurableTier, user: u64) -> Live {
    live_hold_on(tier, user, 0, 1)
}

pub(crate) fn live_hold_on(tier: &DurableTier, user: u64, days_later: u64, nights: u64) -> Live {
    let now = tier.now();
    let place = place(user);
    let check_in = NIGHT + (days_later as i64).days();
    let item = StayItem {
        quantity: 1,
        room_type: place.room_type,
        dates: StayDates { check_in, check_out: check_in + (nights as i64).days() },
        client_key: Some(place.client_key),
    };
    let placement = Placement {
        extras: Extras::default(),
        id: HoldId::new(now, place.random),
        owner: place.user,
        origin: Origin::Stay,
        created_at: now,
        expires_at: (now + limits().stay.hold_ttl).rounded_up_to_second(),
        currency: Currency::KRW,
        lines: [(100, Item::Stay(item))],
    };
    let hold = Hold { state: HoldState::Prepared, attempt: Attempt(1), ..placement.into_hold() };
    // It has no rows of durable tables.
    let mut live = InMemoryState::of_store();
    let mut rows = WorkingSet::default();
    rows.holds.insert(hold.id, hold.clone());
    live.apply(&mut rows);
    Live { hold, rows: live }
}

pub(crate) async fn confirm_in(session: &mut DurableSession, rows: &mut WorkingSet, live: &Live) -> StayReservation {
    let confirm = ConfirmStayHold::new(live.hold.id, Actor::Admin);
    decide_step(session, rows, &live.rows, |rows, at| confirm.record(rows, at, &live.hold.attempt_id())).await
}

pub(crate) fn decision(reservation: &StayReservation, attempt: u32) -> AttemptId {
    AttemptId { hold: reservation.hold, attempt: Attempt(attempt) }
}

pub(crate) fn event(tier: &DurableTier) -> OutboxEntry {
    let (at, data) = (tier.now(), "{\"a\": 1}".into());
    OutboxEntry { event_type: "test", owner: None, at, data, trace: None, imported: false }
}

/// Creates room type 1.
pub(crate) async fn create_room_type(tier: &DurableTier, rooms: u32) {
    let (mut session, mut rows) = (tier.begin().await.unwrap(), WorkingSet::default());
    decide(&mut session, &mut rows, &InMemoryState::of_store(), &create(rooms)).await;
    session.commit(&rows, &[], &[]).await.unwrap();
}

/// Confirms a hold in one session.
pub(crate) async fn confirm(tier: &DurableTier, hold: &Live) -> Result<StayReservation, StoreError> {
    let (mut session, mut rows) = (tier.begin().await.unwrap(), WorkingSet::default());
    let reservation = confirm_in(&mut session, &mut rows, hold).await;
    session.commit(&rows, &[event(tier)], &[decision(&reservation, 1)]).await?;
    Ok(reservation)
}

/// Changes the number of rooms in one session.
pub(crate) async fn change_rooms(tier: &DurableTier, total: u32) -> Result<Vec<u64>, StoreError> {
    let (mut session, mut rows) = (tier.begin().await.unwrap(), WorkingSet::default());
    decide(&mut session, &mut rows, &InMemoryState::of_store(), &to_rooms(total)).await;
    session.commit(&rows, &[], &[]).await
}

pub(crate) fn to_rooms(total: u32) -> ChangeRoomType {
    let draft = RoomTypeDraft { total_quantity: Some(total), ..RoomTypeDraft::default() };
    ChangeRoomType { id: room_type(), draft }
}
