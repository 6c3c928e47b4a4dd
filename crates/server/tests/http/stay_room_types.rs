//! Room types: capacity, closed nights, availability.

use holdfast_client::{NewRoomType, RoomTypeChange};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::support::{TODAY, TestApp, code, day, new_hold, placed, problem, refused, with_app};

profiles!(room_type_is_created_read_and_changed);
async fn room_type_is_created_read_and_changed(profile: Profile) {
    with_app(profile, async |app| {
        let mut draft = NewRoomType::new("온돌", 3, 120_000);
        draft.description = Some("따뜻한 바닥".into());
        let created = app.admin().create_room_type(&draft).await.unwrap();
        assert_eq!((created.currency.as_str(), created.time_zone.as_str()), ("KRW", "Asia/Seoul"));
        assert_eq!(app.admin().room_type(created.id).await.unwrap(), created);
        assert_eq!(app.admin().room_types(None).await.unwrap().items, std::slice::from_ref(&created));

        let change = RoomTypeChange { base_price: Some(0), ..RoomTypeChange::default() };
        let changed = app.admin().change_room_type(created.id, &change).await.unwrap();
        assert_eq!((changed.base_price, changed.total_quantity, changed.name.as_str()), (0, 3, "온돌"));
        let path = format!("/v1/room-types/{}", created.id);
        let cleared = app.send("PATCH", &path, &[], r#"{"description":null}"#).await;
        assert_eq!((cleared.status, &cleared.json["description"]), (200, &json!(null)));
        assert_eq!(code(app.admin().room_type(99).await), refused(404, "ROOM_TYPE_NOT_FOUND"));
        assert_eq!(code(app.admin().change_room_type(99, &change).await), refused(404, "ROOM_TYPE_NOT_FOUND"));
    })
    .await;
}

profiles!(capacity_below_use_is_rejected);
async fn capacity_below_use_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(3).await;
        let confirmed = placed(app, 1, &room_type, day(5), day(6)).await;
        app.guest(1).confirm_hold(confirmed.hold_id).await.unwrap();
        placed(app, 2, &room_type, day(5), day(6)).await;
        let to = |total_quantity| RoomTypeChange { total_quantity: Some(total_quantity), ..RoomTypeChange::default() };
        let problem = problem(app.admin().change_room_type(room_type.id, &to(1)).await);
        assert_eq!((problem.status, problem.code.as_str()), (409, "CAPACITY_IN_USE"));
        app.admin().change_room_type(room_type.id, &to(2)).await.unwrap();
        app.pass(Span::from_secs(601));
        app.admin().change_room_type(room_type.id, &to(1)).await.unwrap();
        app.pass(Span::from_hours(24 * 6));
        app.admin().change_room_type(room_type.id, &to(0)).await.expect("nights of the past do not count");
    })
    .await;
}

profiles!(capacity_check_covers_all_held_nights);
async fn capacity_check_covers_all_held_nights(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(2).await;
        for days in 0..40 {
            placed(app, 1, &room_type, day(days), day(days + 1)).await;
        }
        let to = |total_quantity| RoomTypeChange { total_quantity: Some(total_quantity), ..RoomTypeChange::default() };
        app.admin().change_room_type(room_type.id, &to(1)).await.unwrap();
        assert_eq!(code(app.admin().change_room_type(room_type.id, &to(0)).await), refused(409, "CAPACITY_IN_USE"));
    })
    .await;
}

profiles!(capacity_check_covers_night_held_again);
async fn capacity_check_covers_night_held_again(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let first = placed(app, 1, &room_type, day(5), day(6)).await;
        app.guest(1).cancel_hold(first.hold_id).await.unwrap();
        let second = placed(app, 1, &room_type, day(5), day(6)).await;
        let none = RoomTypeChange { total_quantity: Some(0), ..RoomTypeChange::default() };
        assert_eq!(code(app.admin().change_room_type(room_type.id, &none).await), refused(409, "CAPACITY_IN_USE"));
        app.guest(1).confirm_hold(second.hold_id).await.unwrap();
    })
    .await;
}

profiles!(hold_on_past_night_can_be_confirmed);
async fn hold_on_past_night_can_be_confirmed(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        app.pass(Span::from_secs(12 * 3_600 - 300));
        let hold = placed(app, 1, &room_type, TODAY, day(1)).await;
        app.pass(Span::from_secs(400));
        let none = RoomTypeChange { total_quantity: Some(0), ..RoomTypeChange::default() };
        assert_eq!(code(app.admin().change_room_type(room_type.id, &none).await), refused(409, "CAPACITY_IN_USE"));
        app.guest(1).confirm_hold(hold.hold_id).await.unwrap();
    })
    .await;
}

profiles!(closed_nights_keep_existing_bookings);
async fn closed_nights_keep_existing_bookings(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(2).await;
        let hold = placed(app, 1, &room_type, day(3), day(5)).await;
        app.admin().close_nights(room_type.id, day(4), day(6)).await.unwrap();
        let problem = problem(app.guest(2).place_hold(&new_hold(&room_type, day(3), day(5))).await);
        assert_eq!((problem.code.as_str(), &problem.extra["date"]), ("ROOM_NOT_AVAILABLE", &json!(day(4).to_string())));
        let nights = app.admin().availability(room_type.id, day(3), day(7)).await.unwrap().nights;
        assert_eq!(nights.iter().map(|night| night.closed).collect::<Vec<_>>(), [false, true, true, false]);
        assert_eq!(nights.iter().map(|night| night.available).collect::<Vec<_>>(), [1, 0, 0, 2]);
        app.guest(1).confirm_hold(hold.hold_id).await.expect("a live hold can always be confirmed");
        app.admin().open_nights(room_type.id, day(4), day(6)).await.unwrap();
        placed(app, 2, &room_type, day(3), day(5)).await;
        assert_eq!(code(app.admin().close_nights(99, day(4), day(6)).await), refused(404, "ROOM_TYPE_NOT_FOUND"));
        assert_eq!(code(app.admin().close_nights(room_type.id, day(6), day(6)).await), refused(400, "INVALID_INPUT"));
    })
    .await;
}

profiles!(availability_is_minimum_over_nights);
async fn availability_is_minimum_over_nights(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(3).await;
        let hold = placed(app, 1, &room_type, day(1), day(3)).await;
        app.guest(1).confirm_hold(hold.hold_id).await.unwrap();
        placed(app, 2, &room_type, day(2), day(4)).await;
        let shown = app.admin().availability(room_type.id, day(1), day(5)).await.unwrap();
        let counts: Vec<_> =
            shown.nights.iter().map(|it| (it.date, it.reserved_count, it.hold_count, it.available)).collect();
        assert_eq!(counts, [(day(1), 1, 0, 2), (day(2), 1, 1, 1), (day(3), 0, 1, 2), (day(4), 0, 0, 3)]);
        assert_eq!((shown.available, shown.nights[0].total_quantity, shown.room_type_id), (1, 3, room_type.id));
        app.admin().availability(room_type.id, day(0), day(366)).await.expect("366 nights are accepted");
        let too_long = app.admin().availability(room_type.id, day(0), day(367)).await;
        assert_eq!(code(too_long), refused(400, "INVALID_INPUT"));
        assert_eq!(code(app.admin().availability(99, day(0), day(1)).await), refused(404, "ROOM_TYPE_NOT_FOUND"));
    })
    .await;
}

profiles!(single_server_accepts_concurrent_changes: embedded postgres);
/// In a cluster the check of all nights is expensive, so concurrent changes may be rejected as overloaded.
async fn single_server_accepts_concurrent_changes(profile: Profile) {
    with_app(profile, async |app: &TestApp| {
        let room_type = app.room_type(1).await;
        let changes = (2..60).map(|total_quantity| {
            let change = RoomTypeChange { total_quantity: Some(total_quantity), ..RoomTypeChange::default() };
            let admin = app.admin();
            async move { admin.change_room_type(room_type.id, &change).await }
        });
        for changed in futures_util::future::join_all(changes).await {
            changed.unwrap();
        }
    })
    .await;
}
