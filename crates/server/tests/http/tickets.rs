//! Events, seats and reservations.

use holdfast_client::{Event, EventChange, HoldStatus, NewEvent, NewSeat, SeatReservationStatus, SeatStatus};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::support::{TestApp, code, fresh_key, problem, refused, with_app, with_settings};

/// Creates an event of one row of seats, without a waiting room.
pub(crate) async fn open_event(app: &TestApp, seats: u32) -> Event {
    app.admin().create_event(&NewEvent::with_row("콘서트", seats, 100_000).without_queue()).await.unwrap()
}

/// Returns the id of a seat by its position, from 1.
pub(crate) fn seat(event: &Event, position: u64) -> u64 {
    event.id * 1_000_000 + position
}

/// Returns one letter per seat: `.` available, `h` held, `R` reserved.
pub(crate) async fn map(app: &TestApp, event: &Event) -> String {
    let delivery_request = |status| match status {
        SeatStatus::Available => '.',
        SeatStatus::Held => 'h',
        SeatStatus::Reserved => 'R',
    };
    app.admin().seats(event.id).await.unwrap().iter().map(|seat| delivery_request(seat.status)).collect()
}

profiles!(event_has_defaults_and_remaining_seats);
async fn event_has_defaults_and_remaining_seats(profile: Profile) {
    with_app(profile, async |app| {
        let body = json!({"name": "첫 공연", "seats": [{"label": "A1", "price": 5_000}]});
        let made = app.send("POST", "/v1/events", &[], &body.to_string()).await;
        assert_eq!(made.status, 201);
        let expected = json!({
            "id": made.json["id"], "name": "첫 공연", "startsAt": null, "salesOpenAt": null, "currency": "KRW",
            "maxConcurrent": 800, "queueEnabled": true, "maxSeatsPerUser": 10, "seatCount": 1, "remainingSeats": 1,
            "paused": false,
        });
        assert_eq!(made.json, expected);
        let path = format!("/v1/events/{}", made.json["id"]);
        assert_eq!(app.send("GET", &path, &[], "").await.json, expected);
        assert_eq!(app.send("GET", "/v1/events", &[], "").await.json["items"], json!([expected]));
    })
    .await;
}

profiles!(seats_are_listed_in_order_with_status);
async fn seats_are_listed_in_order_with_status(profile: Profile) {
    with_app(profile, async |app| {
        let mut new = NewEvent::with_row("콘서트", 3, 100_000).without_queue();
        new.seats.push(NewSeat { label: "1".into(), section: Some("VIP".into()), price: 0 });
        let event = app.admin().create_event(&new).await.unwrap();
        app.guest(1).hold_seats(event.id, &[seat(&event, 1)]).await.unwrap();
        app.guest(1).reserve_seats(event.id, &[seat(&event, 4)]).await.unwrap();
        let shown = app.send("GET", &format!("/v1/events/{}/seats", event.id), &[], "").await;
        let expected = json!([
            {"id": seat(&event, 1), "label": "A1", "section": null, "price": 100_000, "status": "HELD"},
            {"id": seat(&event, 2), "label": "A2", "section": null, "price": 100_000, "status": "AVAILABLE"},
            {"id": seat(&event, 3), "label": "A3", "section": null, "price": 100_000, "status": "AVAILABLE"},
            {"id": seat(&event, 4), "label": "1", "section": "VIP", "price": 0, "status": "RESERVED"},
        ]);
        assert_eq!(shown.json, expected);
        assert_eq!(app.admin().event(event.id).await.unwrap().remaining_seats, 2, "neither held nor reserved");
    })
    .await;
}

profiles!(seats_are_held_then_confirmed);
async fn seats_are_held_then_confirmed(profile: Profile) {
    with_app(profile, async |app| {
        let event = open_event(app, 4).await;
        let (guest, seats) = (app.guest(7), [seat(&event, 3), seat(&event, 2)]);
        let hold = guest.hold_seats(event.id, &seats).await.unwrap();
        assert_eq!((hold.event_id, hold.user_id.clone(), hold.total_price), (event.id, 7.into(), 200_000));
        assert_eq!(hold.seats.iter().map(|seat| &*seat.label).collect::<Vec<_>>(), ["A2", "A3"]);
        assert_eq!(hold.expires_at, hold.created_at + jiff::SignedDuration::from_secs(300));
        assert_eq!(guest.seat_hold(hold.hold_id).await.unwrap(), hold);
        assert_eq!(map(app, &event).await, ".hh.");
        let reservation = guest.confirm_seat_hold(hold.hold_id).await.unwrap();
        assert_eq!(reservation.status, SeatReservationStatus::Reserved);
        assert_eq!((reservation.seats.len(), reservation.total_price), (2, 200_000));
        assert_eq!(map(app, &event).await, ".RR.");
        let shown = guest.seat_hold(hold.hold_id).await.unwrap();
        assert_eq!((shown.status, shown.reservation_id), (HoldStatus::Confirmed, Some(reservation.reservation_id)));
        let again = problem(guest.confirm_seat_hold(hold.hold_id).await);
        assert_eq!((again.status, &*again.code), (409, "SEAT_HOLD_ALREADY_PROCESSED"));
        assert_eq!(again.extra["reservationId"], reservation.reservation_id);
        assert_eq!(code(guest.cancel_seat_hold(hold.hold_id).await), refused(409, "SEAT_HOLD_ALREADY_PROCESSED"));
        let unknown = fresh_key();
        assert_eq!(code(guest.seat_hold(unknown).await), refused(404, "SEAT_HOLD_NOT_FOUND"));
        assert_eq!(code(guest.confirm_seat_hold(unknown).await), refused(404, "SEAT_HOLD_NOT_FOUND"));
    })
    .await;
}

profiles!(seat_hold_expires_by_time);
async fn seat_hold_expires_by_time(profile: Profile) {
    with_settings(
        profile,
        |config| config.ticket.hold_ttl = std::time::Duration::from_secs(30),
        async |app| {
            let event = open_event(app, 2).await;
            let hold = app.guest(1).hold_seats(event.id, &[seat(&event, 1)]).await.unwrap();
            app.pass(Span::from_millis(29_999));
            let refusal = refused(409, "SEAT_HELD_BY_ANOTHER");
            assert_eq!(code(app.guest(2).hold_seats(event.id, &[seat(&event, 1)]).await), refusal);
            app.pass(Span::from_millis(1_001));
            assert_eq!(map(app, &event).await, "..");
            assert_eq!(code(app.guest(1).confirm_seat_hold(hold.hold_id).await), refused(409, "SEAT_HOLD_EXPIRED"));
            assert_eq!(code(app.guest(1).cancel_seat_hold(hold.hold_id).await), refused(409, "SEAT_HOLD_EXPIRED"));
            assert_eq!(app.guest(1).seat_hold(hold.hold_id).await.unwrap().status, HoldStatus::Expired);
            app.guest(2).hold_seats(event.id, &[seat(&event, 1)]).await.unwrap();
        },
    )
    .await;
}

profiles!(one_step_reserve_includes_own_held_seats);
async fn one_step_reserve_includes_own_held_seats(profile: Profile) {
    with_app(profile, async |app| {
        let event = open_event(app, 6).await;
        let seats: Vec<u64> = (0..7).map(|position| seat(&event, position)).collect();
        let hold = app.guest(1).hold_seats(event.id, &[seats[1], seats[2]]).await.unwrap();
        let path = format!("/v1/events/{}/seats/reserve", event.id);
        let body = json!({"userId": 1, "seatIds": [seats[3], seats[2]]}).to_string();
        let reserved = app.send("POST", &path, &[], &body).await;
        assert_eq!(reserved.status, 201, "{}", reserved.text);
        let taken = |position: usize| {
            json!({"id": seats[position], "label": format!("A{position}"), "section": null, "price": 100_000})
        };
        for (name, expected) in [
            ("eventId", json!(event.id)),
            ("userId", json!(1)),
            ("seats", json!([taken(2), taken(3)])),
            ("totalPrice", json!(200_000)),
            ("currency", json!("KRW")),
            ("status", json!("RESERVED")),
        ] {
            assert_eq!(reserved.json[name], expected, "{name}");
        }
        assert_eq!(map(app, &event).await, ".RR...", "the old hold is replaced whole");
        assert_eq!(app.guest(1).seat_hold(hold.hold_id).await.unwrap().status, HoldStatus::Replaced);
        let taken = refused(409, "SEAT_ALREADY_RESERVED");
        assert_eq!(code(app.guest(2).reserve_seats(event.id, &[seats[4], seats[3]]).await), taken);
        app.guest(3).hold_seats(event.id, &[seats[5]]).await.unwrap();
        let refusal = refused(409, "SEAT_HELD_BY_ANOTHER");
        assert_eq!(code(app.guest(2).reserve_seats(event.id, &[seats[4], seats[5]]).await), refusal);
        assert_eq!(map(app, &event).await, ".RR.h.", "none of the seats");
    })
    .await;
}

profiles!(seat_rejections_equal_contract);
async fn seat_rejections_equal_contract(profile: Profile) {
    with_app(profile, async |app| {
        let event = open_event(app, 2).await;
        let (one, two) = (seat(&event, 1), seat(&event, 2));
        app.guest(1).hold_seats(event.id, &[one]).await.unwrap();
        let said = |problem: holdfast_client::Problem| (problem.code.clone(), problem.detail.clone());
        let held = said(problem(app.guest(2).hold_seats(event.id, &[one]).await));
        assert_eq!(held, ("SEAT_HELD_BY_ANOTHER".into(), "다른 사용자가 선택 중".into()));
        app.guest(1).reserve_seats(event.id, &[one]).await.unwrap();
        let reserved = said(problem(app.guest(2).hold_seats(event.id, &[one]).await));
        assert_eq!(reserved, ("SEAT_ALREADY_RESERVED".into(), "이미 예매된 좌석".into()));
        app.guest(1).reserve_seats(event.id, &[two]).await.unwrap();
        for attempt in
            [app.guest(2).hold_seats(event.id, &[two]).await, app.guest(2).hold_best(event.id, 1, None).await]
        {
            assert_eq!(said(problem(attempt)), ("SOLD_OUT".into(), "매진".into()));
        }
    })
    .await;
}

profiles!(seats_per_user_are_limited);
async fn seats_per_user_are_limited(profile: Profile) {
    with_app(profile, async |app| {
        let new = NewEvent::with_row("콘서트", 9, 1).without_queue();
        let event = app.admin().create_event(&NewEvent { max_seats_per_user: Some(3), ..new }).await.unwrap();
        let guest = app.guest(1);
        guest.reserve_seats(event.id, &[seat(&event, 1)]).await.unwrap();
        guest.hold_seats(event.id, &[seat(&event, 2)]).await.unwrap();
        let too_many = guest.hold_seats(event.id, &[seat(&event, 3), seat(&event, 4)]).await;
        assert_eq!(code(too_many), refused(409, "SEAT_LIMIT_REACHED"));
        assert_eq!(code(guest.hold_best(event.id, 2, None).await), refused(409, "SEAT_LIMIT_REACHED"));
        guest.reserve_seats(event.id, &[seat(&event, 3)]).await.unwrap();
        let change = EventChange { max_seats_per_user: Some(4), ..EventChange::default() };
        app.admin().change_event(event.id, &change).await.unwrap();
        guest.reserve_seats(event.id, &[seat(&event, 4)]).await.unwrap();
    })
    .await;
}

profiles!(seat_reservations_are_filtered_by_event);
async fn seat_reservations_are_filtered_by_event(profile: Profile) {
    with_app(profile, async |app| {
        let (first, second) = (open_event(app, 3).await, open_event(app, 3).await);
        for (user, event) in [(1, &first), (2, &second), (1, &second)] {
            app.guest(user).reserve_seats(event.id, &[seat(event, user)]).await.unwrap();
        }
        let listed = async |query: String| {
            let answer = app.send("GET", &format!("/v1/seat-reservations?{query}"), &[], "").await;
            let items = answer.json["items"].as_array().unwrap().clone();
            items.iter().map(|it| (it["eventId"].as_u64().unwrap(), it["userId"].as_u64().unwrap())).collect::<Vec<_>>()
        };
        let (one, other) = (first.id, second.id);
        assert_eq!(listed(String::new()).await, [(one, 1), (other, 2), (other, 1)]);
        assert_eq!(listed(format!("eventId={other}")).await, [(other, 2), (other, 1)]);
        assert_eq!(listed(format!("eventId={other}&userId=1")).await, [(other, 1)]);
        assert_eq!(app.send("GET", "/v1/seat-reservations?eventId=0", &[], "").await.refusal(), (400, "INVALID_INPUT"));
    })
    .await;
}

profiles!(seat_reservation_is_cancelled_once);
async fn seat_reservation_is_cancelled_once(profile: Profile) {
    with_app(profile, async |app| {
        let event = open_event(app, 3).await;
        let guest = app.guest(1);
        let reservation = guest.reserve_seats(event.id, &[seat(&event, 1), seat(&event, 2)]).await.unwrap();
        let id = reservation.reservation_id;
        assert_eq!(guest.seat_reservation(id).await.unwrap(), reservation);
        assert_eq!(code(app.guest(2).seat_reservation(id).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(app.guest(2).cancel_seat_reservation(id).await), refused(403, "FORBIDDEN"));
        let cancelled = guest.cancel_seat_reservation(id).await.unwrap();
        assert_eq!(cancelled.status, SeatReservationStatus::Cancelled);
        assert!(cancelled.cancelled_at.is_some());
        assert_eq!(map(app, &event).await, "...");
        let again = refused(409, "RESERVATION_ALREADY_CANCELLED");
        assert_eq!(code(guest.cancel_seat_reservation(id).await), again);
        assert_eq!(code(guest.seat_reservation(77_777).await), refused(404, "RESERVATION_NOT_FOUND"));
        app.guest(2).reserve_seats(event.id, &[seat(&event, 2)]).await.unwrap();
        let own = guest.seat_reservations(&[]).await.unwrap().items;
        assert_eq!(own, [cancelled]);
        assert_eq!(app.admin().seat_reservations(&[]).await.unwrap().items.len(), 2, "an admin sees all");
    })
    .await;
}

profiles!(thousand_seats_are_reserved_in_one_call);
async fn thousand_seats_are_reserved_in_one_call(profile: Profile) {
    with_settings(
        profile,
        |config| config.engine.holds_per_user_max = 1,
        async |app| {
            let mut new = NewEvent::with_row("콘서트", 2_001, 1).without_queue();
            new.max_seats_per_user = Some(2_001);
            let event = app.admin().create_event(&new).await.unwrap();
            let seats = |from: u64, count: u64| (from..from + count).map(|it| seat(&event, it)).collect::<Vec<_>>();
            let held = app.guest(1).hold_seats(event.id, &seats(1, 1_000)).await.unwrap();
            let another = app.guest(1).hold_seats(event.id, &seats(2_001, 1)).await;
            assert_eq!(code(another), refused(429, "TOO_MANY_HOLDS"));
            app.guest(1)
                .reserve_seats(event.id, &seats(1_001, 1_000))
                .await
                .expect("a one-step reservation is no hold");
            app.guest(1).confirm_seat_hold(held.hold_id).await.unwrap();
            assert_eq!(app.admin().event(event.id).await.unwrap().remaining_seats, 1);
        },
    )
    .await;
}

profiles!(timestamp_beyond_range_is_clamped);
async fn timestamp_beyond_range_is_clamped(profile: Profile) {
    with_app(profile, async |app| {
        for starts_at in ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999+09:00"] {
            let body = json!({"name": "끝", "startsAt": starts_at, "seats": [{"label": "A1", "price": 1}]});
            let made = app.send("POST", "/v1/events", &[], &body.to_string()).await;
            assert_eq!(made.status, 201, "{}", made.text);
            assert!(made.json["startsAt"].as_str().unwrap().starts_with("9999-12-3"), "{}", made.text);
        }
        for wrong in ["9999-12-31", "9999-12-32T00:00:00Z", "9999-12-31T23:59:59", "10000-01-01T00:00:00Z"] {
            let body = json!({"name": "끝", "startsAt": wrong, "seats": [{"label": "A1", "price": 1}]});
            assert_eq!(app.send("POST", "/v1/events", &[], &body.to_string()).await.json["field"], json!("startsAt"));
        }
    })
    .await;
}
