//! Locks on slots: locking, confirming, releasing, cancelling.

use holdfast_client::SlotStatus::{Available, Locked, Reserved};
use holdfast_client::{LockStatus, RoomReservationStatus};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::support::{code, day, fresh_key, problem, refused, with_app};

profiles!(lock_is_confirmed_and_cancel_frees_slots);
async fn lock_is_confirmed_and_cancel_frees_slots(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let body = json!({"userId": 7, "date": day(1), "times": ["10:00", "09:00"]});
        let made = app.json("POST", &format!("/v1/rooms/{room}/locks"), &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let line = |time: &str| json!({"date": day(1), "time": time, "minutes": 60, "price": 10_000});
        assert_eq!(made.json["slots"], json!([line("09:00"), line("10:00")]));
        assert_eq!((&made.json["totalPrice"], &made.json["userId"]), (&json!(20_000), &json!(7)));
        assert_eq!(made.json["expiresAt"], json!("2027-03-01T03:05:00.000Z"));
        let guest = app.guest(7);
        let id = made.json["lockId"].as_str().unwrap().parse().unwrap();
        assert_eq!(guest.lock(id).await.unwrap().status, LockStatus::Locked);
        assert_eq!(app.statuses_on(room, day(1)).await, [Locked, Locked, Available]);

        let reservation = guest.confirm_lock(id).await.unwrap();
        assert_eq!((reservation.status, reservation.total_price), (RoomReservationStatus::Reserved, 20_000));
        assert_eq!((reservation.room_id, reservation.user_id.clone(), reservation.slots.len()), (room, 7.into(), 2));
        assert_eq!(app.statuses_on(room, day(1)).await, [Reserved, Reserved, Available]);
        let lock = guest.lock(id).await.unwrap();
        assert_eq!((lock.status, lock.reservation_id), (LockStatus::Confirmed, Some(reservation.reservation_id)));
        assert_eq!(guest.room_reservation(reservation.reservation_id).await.unwrap(), reservation);
        let again = problem(guest.confirm_lock(id).await);
        assert_eq!((again.status, again.code.as_str()), (409, "SLOT_NOT_LOCKED"));
        assert_eq!(again.extra["reservationId"], json!(reservation.reservation_id));

        let cancelled = guest.cancel_room_reservation(reservation.reservation_id).await.unwrap();
        assert_eq!(cancelled.status, RoomReservationStatus::Cancelled);
        assert!(cancelled.cancelled_at.is_some());
        assert_eq!(app.statuses_on(room, day(1)).await, [Available; 3]);
        let again = code(guest.cancel_room_reservation(reservation.reservation_id).await);
        assert_eq!(again, refused(409, "RESERVATION_ALREADY_CANCELLED"));
        app.reserved(8, room, day(1), &["09:00"]).await;
    })
    .await;
}

profiles!(ended_locks_cannot_be_confirmed);
async fn ended_locks_cannot_be_confirmed(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let guest = app.guest(1);
        let not_locked = refused(409, "SLOT_NOT_LOCKED");
        let unknown = fresh_key();
        assert_eq!(code(guest.confirm_lock(unknown).await), not_locked);
        assert_eq!(code(guest.release_lock(unknown).await), not_locked);
        assert_eq!(code(guest.lock(unknown).await), refused(404, "LOCK_NOT_FOUND"));
        let released = app.locked(1, room, day(1), &["09:00"]).await;
        guest.release_lock(released.lock_id).await.unwrap();
        assert_eq!(app.statuses_on(room, day(1)).await, [Available; 3]);
        assert_eq!(code(guest.confirm_lock(released.lock_id).await), not_locked);
        let expired = app.locked(1, room, day(1), &["09:00"]).await;
        app.pass(Span::from_secs(300));
        assert_eq!(code(guest.confirm_lock(expired.lock_id).await), not_locked);
        assert_eq!(guest.lock(expired.lock_id).await.unwrap().status, LockStatus::Expired);
        assert_eq!(app.statuses_on(room, day(1)).await, [Available; 3], "free at once, without any job");
        let others = app.locked(2, room, day(1), &["09:00"]).await;
        assert_eq!(code(guest.confirm_lock(others.lock_id).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(guest.release_lock(others.lock_id).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(guest.lock(others.lock_id).await), refused(403, "FORBIDDEN"));
    })
    .await;
}

profiles!(unavailable_slot_rejects_whole_lock);
async fn unavailable_slot_rejects_whole_lock(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        app.locked(1, room, day(1), &["10:00"]).await;
        let lost = problem(app.guest(2).lock_slots(room, day(1), &["09:00", "10:00", "11:00"]).await);
        assert_eq!((lost.status, lost.code.as_str()), (409, "SLOT_NOT_AVAILABLE"));
        assert_eq!((&lost.extra["date"], &lost.extra["time"]), (&json!(day(1)), &json!("10:00")));
        assert_eq!(app.statuses_on(room, day(1)).await, [Available, Locked, Available]);
        let not_available = refused(409, "SLOT_NOT_AVAILABLE");
        assert_eq!(
            code(app.guest(2).lock_slots(room, day(0), &["09:00"]).await),
            not_available,
            "the slot has started"
        );
        assert_eq!(
            code(app.guest(2).lock_slots(room, day(1), &["09:30"]).await),
            not_available,
            "there is no such slot"
        );
        assert_eq!(code(app.guest(2).lock_slots(room + 1, day(1), &["09:00"]).await), refused(404, "ROOM_NOT_FOUND"));
    })
    .await;
}

profiles!(relocking_replaces_own_lock);
async fn relocking_replaces_own_lock(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let old = app.locked(1, room, day(1), &["09:00", "10:00"]).await;
        let new = app.locked(1, room, day(1), &["10:00", "11:00"]).await;
        assert_eq!(app.statuses_on(room, day(1)).await, [Available, Locked, Locked]);
        assert_eq!(app.guest(1).lock(old.lock_id).await.unwrap().status, LockStatus::Replaced);
        assert_eq!(code(app.guest(1).confirm_lock(old.lock_id).await), refused(409, "SLOT_NOT_LOCKED"));
        app.guest(1).confirm_lock(new.lock_id).await.unwrap();
    })
    .await;
}

profiles!(lock_ttl_may_be_shortened_only);
async fn lock_ttl_may_be_shortened_only(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let lock = async |time: &str, ttl: serde_json::Value| {
            let body = json!({"userId": 1, "date": day(1), "times": [time], "ttlSeconds": ttl});
            app.json("POST", &format!("/v1/rooms/{room}/locks"), &body).await
        };
        assert_eq!(lock("09:00", json!(30)).await.json["expiresAt"], json!("2027-03-01T03:00:30.000Z"));
        assert_eq!(lock("10:00", json!(i64::MAX)).await.json["expiresAt"], json!("2027-03-01T03:05:00.000Z"));
        for wrong in [json!(0), json!(-5), json!(1.5), json!("9")] {
            let answer = lock("11:00", wrong).await;
            assert_eq!((answer.refusal(), &answer.json["field"]), ((400, "INVALID_INPUT"), &json!("ttlSeconds")));
        }
        app.pass(Span::from_secs(30));
        assert_eq!(app.statuses_on(room, day(1)).await, [Available, Locked, Available]);
    })
    .await;
}
