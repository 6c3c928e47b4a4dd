//! Purging of old events and inbox records, on every profile.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::sync::Arc;

use holdfast_core::id::UserId;
use holdfast_core::relay::{AdvanceRelay, LeaseRelays, Partition, PublishOutcome};
use holdfast_core::tee::course::CreateCourse;
use holdfast_core::tee::import::ImportBookingEvent;
use holdfast_core::tee::inbox::Receive;
use holdfast_core::tee::slot::{CreateSlots, SlotDraft};
use holdfast_core::tee::{
    Allotment, BookingAction, BookingId, BookingPublished, Handled, Message, MessageKey, StartTime, TeeSlotId,
};
use holdfast_core::time::Span;
use holdfast_core::{Command, Limits, Timestamp};
use holdfast_engine::store::Keep;
use holdfast_engine::{Answer, Batch, ManualClock, NoSink, Store};
use holdfast_testkit::{Place, Profile, profiles};
use jiff::civil::date;

async fn run<C: Command>(store: &dyn Store, command: C) -> C::Outcome {
    let mut batch = Batch::default();
    let answer = batch.add(command, None);
    batch.run(store, &NoSink, &Limits::DEFAULT).await;
    match answer.await.unwrap().unwrap() {
        Answer::Fresh(outcome) => outcome,
        other => panic!("{}", std::any::type_name_of_val(&other)),
    }
}

fn external_event() -> BookingPublished {
    BookingPublished {
        action: BookingAction::Created,
        booking: BookingId::new(9).unwrap(),
        user: UserId::new(7).unwrap(),
        created_at: None,
        at: None,
        data: "{}".into(),
    }
}

async fn outbox(store: &dyn Store) -> Vec<u64> {
    store.outbox_after(0, 100).await.unwrap().iter().map(|record| record.id).collect()
}

profiles!(purge_removes_published_events_only);
async fn purge_removes_published_events_only(profile: Profile) {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let place = Place::new(profile);
    let store = place.open(clock.clone()).await;
    let course = run(&*store, CreateCourse { name: "course".into(), time_zone: None }).await.id;
    for minute in 0..3 {
        let start = StartTime::from_minutes(minute).unwrap();
        let slot = SlotDraft { date: date(2030, 1, 1), start, max_players: 4, price: 1, currency: None };
        run(&*store, CreateSlots { course, slots: vec![slot] }).await;
    }
    let places = Allotment { booking: BookingId::new(1).unwrap(), slot: TeeSlotId::new(1).unwrap(), players: 1 };
    let message = Receive::new(Message::SlotReserve(places));
    assert_eq!(run(&*store, message.clone()).await, Handled::Done);
    assert_eq!(run(&*store, message.clone()).await, Handled::Repeated);
    let import = ImportBookingEvent { key: MessageKey::parse("a").unwrap(), published: external_event() };
    assert_eq!(run(&*store, import.clone()).await, Handled::Done);
    // Event 1 was sent and event 2 has failed; the later events have not been read yet.
    let wanted = Partition::all().collect();
    run(&*store, LeaseRelays { server: 1, wanted, is_alone: true, yields: false, ends_own: false }).await;
    for partition in Partition::all() {
        let failed = (partition.get() == 0).then_some((2, PublishOutcome::Failed { jitter: 0 }));
        let outcomes = failed.into_iter().collect();
        run(&*store, AdvanceRelay { server: 1, partition, sent_up_to: 2, outcomes }).await;
    }
    assert!(!store.purge(Keep::default()).await.unwrap());
    assert_eq!(outbox(&*store).await, [1, 2, 3, 4, 5], "all events are recent");
    clock.advance(Span::from_hours(8 * 24));
    store.purge(Keep { outbox: Span::from_hours(9 * 24), ..Keep::default() }).await.unwrap();
    assert_eq!(run(&*store, import.clone()).await, Handled::Repeated, "imports are kept as long as events");
    let imported: Vec<bool> = store.outbox_after(3, 9).await.unwrap().iter().map(|record| record.imported).collect();
    assert_eq!(imported, [false, true], "imported events are marked");
    assert_eq!(outbox(&*store).await, [1, 2, 3, 4, 5], "kept for longer");
    store.purge(Keep::default()).await.unwrap();
    assert_eq!(outbox(&*store).await, [2, 3, 4, 5]);
    drop(store);
    let store = place.open(clock.clone()).await;
    let repeated = run(&*store, message).await;
    assert_eq!(repeated, Handled::Done, "the inbox record is purged");
    assert_eq!(run(&*store, import).await, Handled::Done, "the import record is purged with its event");
}
