//! Faults at every wait between the stores while slots are locked, confirmed or blocked. After each: no slot is sold
//! twice or split from its set, no reservation is lost, and no row is left over.

use holdfast_core::CalendarRejection;
use holdfast_core::calendar::SlotStatus::{self, Available, Locked, Maintenance, Reserved};
use holdfast_core::rejection::Rejection;
use holdfast_core::time::Span;
use holdfast_engine::{Refused, Store as _};
use holdfast_store_redis::fault::Point;

use crate::calendar::LOCK_LIFE;
use crate::faults::{LIVE, RECORD, dying, for_each_fault};
use crate::support::rejected;

const FREE: [SlotStatus; 3] = [Available, Available, Available];

#[tokio::test(flavor = "multi_thread")]
async fn slot_lock_survives_faults() {
    for_each_fault(&LIVE, async |cluster, broken, healthy, what| {
        let room = healthy.meeting_room().await;
        let locked = broken.lock(1, room, &[9, 10]).await;
        let shown = healthy.slots(room).await;
        let is_locked = shown == [Locked, Locked, Available];
        assert!(is_locked || shown == FREE, "{what}: split, {shown:?}");
        match &locked {
            Ok(_) => assert!(is_locked, "{what}: answered, so they are locked"),
            Err(Refused::StoreUnavailable(_)) => assert!(!is_locked, "{what}: nothing changed"),
            Err(Refused::OutcomeUnknown) => {}
            Err(other) => panic!("{what}: {other}"),
        }
        let other = healthy.lock(2, room, &[10, 11]).await;
        assert_eq!(other.is_err(), is_locked, "{what}: {other:?}");
        cluster.clock.advance(LOCK_LIFE);
        assert_eq!(healthy.slots(room).await, FREE, "{what}: time frees everything");
        healthy.lock(3, room, &[9, 10, 11]).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_release_survives_faults() {
    for_each_fault(&LIVE, async |_, broken, healthy, what| {
        let room = healthy.meeting_room().await;
        let lock = healthy.lock(1, room, &[9, 10]).await.unwrap();
        let released = broken.release_lock(lock.id).await;
        let shown = healthy.slots(room).await;
        assert!(
            shown == FREE || (shown == [Locked, Locked, Available] && released.is_err()),
            "{what}: {shown:?}, {released:?}"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_confirm_survives_faults() {
    for_each_fault(&[&LIVE[..], &RECORD[..]].concat(), async |cluster, broken, healthy, what| {
        let room = healthy.meeting_room().await;
        let lock = healthy.lock(1, room, &[9, 10]).await.unwrap();
        let confirmed = broken.confirm_lock(lock.id).await;
        assert!(healthy.lock(2, room, &[10, 11]).await.is_err(), "{what}: no other user gets them");
        assert!(healthy.maintain(room, &[9]).await.is_err(), "{what}: nor can an admin block them");
        healthy.recover_in_doubt().await;
        match confirmed {
            Ok(reservation) => {
                let again = rejected(healthy.confirm_lock(lock.id).await);
                let reservation = Some(reservation.id.get());
                assert_eq!(again, Rejection::Calendar(CalendarRejection::SlotNotLocked { reservation }), "{what}");
            }
            // The retry gets the outcome, or completes it.
            Err(Refused::StoreUnavailable(_) | Refused::OutcomeUnknown) => match healthy.confirm_lock(lock.id).await {
                Ok(_)
                | Err(Refused::Rejected(Rejection::Calendar(CalendarRejection::SlotNotLocked {
                    reservation: Some(_),
                }))) => {}
                other => panic!("{what}: {other:?}"),
            },
            Err(other) => panic!("{what}: {other}"),
        }
        cluster.clock.advance(LOCK_LIFE + Span::from_secs(1));
        assert_eq!(healthy.slots(room).await, [Reserved, Reserved, Available], "{what}");
        assert_eq!(healthy.room_reservations(room).await.len(), 1, "{what}: reserved once");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn room_cancel_survives_faults() {
    for_each_fault(&RECORD, async |_, broken, healthy, what| {
        let room = healthy.meeting_room().await;
        let lock = healthy.lock(1, room, &[9, 10]).await.unwrap();
        let reservation = healthy.confirm_lock(lock.id).await.unwrap();
        let cancelled = broken.cancel_room(reservation.id).await;
        let shown = healthy.slots(room).await;
        if shown == FREE {
            let again = rejected(healthy.cancel_room(reservation.id).await);
            assert_eq!(again, Rejection::Calendar(CalendarRejection::RoomReservationAlreadyCancelled), "{what}");
        } else {
            assert_eq!(shown, [Reserved, Reserved, Available], "{what}: all or nothing");
            assert!(cancelled.is_err(), "{what}: answered, so it is committed");
            healthy.cancel_room(reservation.id).await.unwrap();
        }
        healthy.lock(2, room, &[9, 10, 11]).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slot_block_survives_faults() {
    for_each_fault(&[&LIVE[..], &RECORD[..]].concat(), async |_, broken, healthy, what| {
        let room = healthy.meeting_room().await;
        let blocked = broken.maintain(room, &[9, 10]).await;
        // Another user locks before the failure is detected.
        let locked = healthy.lock(2, room, &[10, 11]).await;
        healthy.recover_in_doubt().await;
        match (blocked, locked, &*healthy.slots(room).await) {
            (Err(_), Ok(lock), [Available, Locked, Locked]) => healthy.release_lock(lock.id).await.unwrap(),
            (_, Err(_), [Maintenance, Maintenance, Available])
            | (Err(_), Err(_), [Available, Available, Available]) => {}
            (blocked, locked, shown) => panic!("{what}: {blocked:?}, {locked:?}, {shown:?}"),
        }
        healthy
            .maintain(room, &[9, 10])
            .await
            .unwrap_or_else(|error| panic!("{what}: the call may be repeated: {error}"));
        assert_eq!(healthy.slots(room).await, [Maintenance, Maintenance, Available], "{what}");
        healthy.unblock(room, &[9, 10]).await.unwrap();
        assert_eq!(healthy.slots(room).await, FREE, "{what}: nothing is left of it");
        healthy.lock(3, room, &[9, 10, 11]).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slot_generation_survives_faults() {
    for_each_fault(&RECORD, async |_, broken, healthy, what| {
        let room = healthy.unmade_room().await;
        let made = broken.make_slots(room).await;
        match healthy.slots_made(room).await {
            (6, 6) => {}
            (0, 0) => assert!(made.is_err(), "{what}: answered, so they exist"),
            other => panic!("{what}: all or nothing, {other:?}"),
        }
        healthy.make_slots(room).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(healthy.slots_made(room).await, (6, 6), "{what}: created once, and logged once");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_recovery_survives_faults() {
    let points = [Point::AbandonedListed, Point::AbandonedDecided, Point::LiveDecided];
    for_each_fault(&points, async |_, broken, healthy, what| {
        let room = healthy.meeting_room().await;
        let lock = healthy.lock(1, room, &[9]).await.unwrap();
        // A server that dies right after it has prepared the slots, or right after the outcome was recorded.
        for point in [Point::LiveCommitted, Point::RecordCommitted] {
            dying(healthy, point).confirm_lock(lock.id).await.unwrap_err();
            dying(healthy, point).maintain(room, &[10, 11]).await.unwrap_err();
            if let Ok(resolved) = broken.store.recover_in_doubt().await {
                for one in &resolved {
                    broken.recover(one).await.ok();
                }
            }
            healthy.recover_in_doubt().await;
        }
        assert_eq!(healthy.slots(room).await, [Reserved, Maintenance, Maintenance], "{what}");
        assert_eq!(healthy.room_reservations(room).await.len(), 1, "{what}: recorded once");
        healthy.unblock(room, &[10, 11]).await.unwrap();
        healthy.lock(2, room, &[10, 11]).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    })
    .await;
}
