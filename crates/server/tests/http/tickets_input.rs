//! Tickets: invalid input, permissions, lists, events.

use holdfast_client::{EventChange, NewEvent};
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::auth::{caller, with_auth};
use crate::bad_input::check;
use crate::stream::Listening;
use crate::support::{code, refused, with_app};
use crate::tickets::{open_event, seat};

profiles!(invalid_event_names_field);
async fn invalid_event_names_field(profile: Profile) {
    with_app(profile, async |app| {
        let seats = r#"[{"label":"A1","price":1}]"#;
        let with = |members: &str| format!(r#"{{"name":"x","seats":{seats},{members}}}"#);
        for (body, field) in [
            (String::new(), "body"),
            ("[]".into(), "body"),
            (r#"{"name":"x"}"#.into(), "seats"),
            (format!(r#"{{"seats":{seats}}}"#), "name"),
            (format!(r#"{{"name":" ","seats":{seats}}}"#), "name"),
            (r#"{"name":"x","seats":[]}"#.into(), "seats"),
            (r#"{"name":"x","seats":[{"label":"A1"}]}"#.into(), "seats[0].price"),
            (r#"{"name":"x","seats":[{"label":"","price":1}]}"#.into(), "seats.label"),
            (r#"{"name":"x","seats":[{"label":"A1","section":" ","price":1}]}"#.into(), "seats.section"),
            (r#"{"name":"x","seats":[{"label":"A1","price":-1}]}"#.into(), "seats.price"),
            (r#"{"name":"x","seats":[{"label":"A1","price":1},{"label":"A1","price":2}]}"#.into(), "seats"),
            (with(r#""maxConcurrent":0"#), "maxConcurrent"),
            (with(r#""maxConcurrent":1000001"#), "maxConcurrent"),
            (with(r#""maxConcurrent":-1"#), "maxConcurrent"),
            (with(r#""maxSeatsPerUser":0"#), "maxSeatsPerUser"),
            (with(r#""queueEnabled":"yes""#), "queueEnabled"),
            (with(r#""startsAt":"tomorrow""#), "startsAt"),
            (with(r#""salesOpenAt":"2027-02-30T00:00:00Z""#), "salesOpenAt"),
            (with(r#""currency":"won""#), "currency"),
        ] {
            check(app, "POST", "/v1/events", &body, field).await;
        }
        let event = open_event(app, 2).await;
        check(app, "PATCH", &format!("/v1/events/{}", event.id), r#"{"maxConcurrent":0}"#, "maxConcurrent").await;
        check(app, "PATCH", &format!("/v1/events/{}", event.id), r#"{"startsAt":5}"#, "startsAt").await;
        for path in ["/v1/events/0", "/v1/events/x", "/v1/events/9007199254740992"] {
            check(app, "GET", path, "", "id").await;
        }
    })
    .await;
}

profiles!(invalid_seats_name_field);
async fn invalid_seats_name_field(profile: Profile) {
    with_app(profile, async |app| {
        let event = open_event(app, 2).await;
        let many: Vec<u64> = (1..=1_001).map(|position| seat(&event, position)).collect();
        let (one, many) = (seat(&event, 1), json!(many));
        for call in ["hold", "reserve"] {
            let path = format!("/v1/events/{}/seats/{call}?userId=1", event.id);
            for ids in ["[]".into(), format!("[{one},{one}]"), "[0]".into(), "[9007199254740992]".into()] {
                check(app, "POST", &path, &format!(r#"{{"seatIds":{ids}}}"#), "seatIds").await;
            }
            for body in [r#"{"seatIds":"1"}"#, r#"{"seatIds":[-1]}"#, "{}"] {
                check(app, "POST", &path, body, "").await;
            }
            let unknown = app.send("POST", &path, &[], &format!(r#"{{"seatIds":[{}]}}"#, seat(&event, 3))).await;
            assert_eq!(unknown.refusal(), (404, "SEAT_NOT_FOUND"));
            let limited = app.send("POST", &path, &[], &format!(r#"{{"seatIds":{many}}}"#)).await;
            assert_eq!(limited.refusal(), (409, "SEAT_LIMIT_REACHED"));
            let unauthenticated = format!("/v1/events/{}/seats/{call}", event.id);
            check(app, "POST", &unauthenticated, &format!(r#"{{"seatIds":[{one}]}}"#), "userId").await;
        }
        let best = format!("/v1/events/{}/seats/best?userId=1", event.id);
        check(app, "POST", &best, r#"{"count":0}"#, "count").await;
        assert_eq!(app.send("POST", &best, &[], r#"{"count":1001}"#).await.refusal(), (409, "SEAT_LIMIT_REACHED"));
        check(app, "POST", &best, r#"{"count":1,"section":"nowhere"}"#, "section").await;
        check(app, "GET", "/v1/seat-holds/5?userId=1", "", "holdId").await;
        let too_many = code(app.guest(1).hold_best(event.id, 3, None).await);
        assert_eq!(too_many, refused(409, "NOT_ENOUGH_SEATS"));
    })
    .await;
}

profiles!(sales_start_at_opening);
async fn sales_start_at_opening(profile: Profile) {
    with_app(profile, async |app| {
        let opens_at = app.now() + jiff::SignedDuration::from_secs(60);
        let new = NewEvent { sales_open_at: Some(opens_at), ..NewEvent::with_row("콘서트", 2, 1) };
        let event = app.admin().create_event(&new.without_queue()).await.unwrap();
        let not_open = code(app.guest(1).reserve_seats(event.id, &[seat(&event, 1)]).await);
        assert_eq!(not_open, refused(409, "SALES_NOT_OPEN"));
        let change = EventChange { sales_open_at: Some(None), ..EventChange::default() };
        assert_eq!(app.admin().change_event(event.id, &change).await.unwrap().sales_open_at, None);
        app.guest(1).reserve_seats(event.id, &[seat(&event, 1)]).await.unwrap();
    })
    .await;
}

profiles!(ticket_calls_check_role_and_owner);
async fn ticket_calls_check_role_and_owner(profile: Profile) {
    with_auth(profile, async |app| {
        let (admin, service) = (caller(app, "900", "admin"), caller(app, "901", "service"));
        let (one, two) = (caller(app, "1", "user"), caller(app, "2", "user"));
        let new = NewEvent::with_row("콘서트", 5, 1);
        assert_eq!(code(one.create_event(&new).await), refused(403, "FORBIDDEN"));
        let event = admin.create_event(&new).await.unwrap();
        let forbidden = refused(403, "FORBIDDEN");
        assert_eq!(code(one.change_event(event.id, &EventChange::default()).await), forbidden);
        assert_eq!(code(one.pause_queue(event.id).await), forbidden);
        assert_eq!(code(one.resume_queue(event.id).await), forbidden);
        assert_eq!(code(one.queue_stats(event.id).await), forbidden);
        service.pause_queue(event.id).await.unwrap();
        admin.resume_queue(event.id).await.unwrap();
        one.join_queue(event.id).await.unwrap();
        one.enter_queue(event.id).await.unwrap();
        let other = format!("/v1/events/{}/queue?userId=1", event.id);
        let polled = two.request(reqwest::Method::GET, &other).send().await.unwrap();
        assert_eq!(polled.status().as_u16(), 403, "another's place");
        let hold = one.hold_seats(event.id, &[seat(&event, 1)]).await.unwrap();
        assert_eq!(code(two.seat_hold(hold.hold_id).await), forbidden);
        assert_eq!(code(two.confirm_seat_hold(hold.hold_id).await), forbidden);
        assert_eq!(code(two.cancel_seat_hold(hold.hold_id).await), forbidden);
        let reservation = service.confirm_seat_hold(hold.hold_id).await.unwrap();
        assert_eq!(reservation.user_id, 1.into(), "the user of the hold");
        assert_eq!(service.queue_stats(event.id).await.unwrap().entered, 0, "the user's entry is given back");
        assert!(two.seat_reservations(&[]).await.unwrap().items.is_empty());
        assert_eq!(one.seat_reservations(&[]).await.unwrap().items, [reservation]);
        assert_eq!(code(two.seat_reservations(&[("userId", "1".into())]).await), forbidden);
        let unauthenticated = app.admin().events(&[]).await;
        assert_eq!(code(unauthenticated), refused(401, "UNAUTHENTICATED"));
    })
    .await;
}

profiles!(ticket_lists_are_paged);
async fn ticket_lists_are_paged(profile: Profile) {
    with_app(profile, async |app| {
        let event = open_event(app, 5).await;
        open_event(app, 1).await;
        open_event(app, 1).await;
        for position in 1..=5 {
            app.guest(position % 2 + 1).reserve_seats(event.id, &[seat(&event, position)]).await.unwrap();
        }
        let limit = ("limit", "2".to_owned());
        let first = app.admin().events(std::slice::from_ref(&limit)).await.unwrap();
        assert_eq!(first.items.len(), 2);
        let rest = app.admin().events(&[("cursor", first.next_cursor.unwrap())]).await.unwrap();
        assert_eq!((rest.items.len(), rest.next_cursor), (1, None));
        let mut query = vec![("userId", "2".to_owned()), limit];
        let first = app.admin().seat_reservations(&query).await.unwrap();
        query.push(("cursor", first.next_cursor.unwrap()));
        let rest = app.admin().seat_reservations(&query).await.unwrap();
        assert_eq!((first.items.len(), rest.items.len(), rest.next_cursor), (2, 1, None));
    })
    .await;
}

profiles!(ticket_events_are_published);
async fn ticket_events_are_published(profile: Profile) {
    with_app(profile, async |app| {
        let event = app.admin().create_event(&NewEvent::with_row("콘서트", 5, 1_000)).await.unwrap();
        let mut all = Listening::open(&app.admin(), "?types=seat.,queue.", None).await;
        let mut others = Listening::open(&app.guest(2), "", None).await;
        let guest = app.guest(1);
        guest.join_queue(event.id).await.unwrap();
        guest.enter_queue(event.id).await.unwrap();
        guest.enter_queue(event.id).await.unwrap();
        let (_, admitted) = all.next().await;
        assert_eq!(admitted["type"], "queue.admitted");
        assert_eq!((&admitted["data"]["eventId"], &admitted["data"]["userId"]), (&json!(event.id), &json!(1)));
        let hold = guest.hold_seats(event.id, &[seat(&event, 1)]).await.unwrap();
        let (_, published) = all.next().await;
        assert_eq!(
            (&published["type"], &published["data"]["holdId"]),
            (&json!("seat.held"), &json!(hold.hold_id)),
            "published once"
        );
        guest.cancel_seat_hold(hold.hold_id).await.unwrap();
        assert_eq!(all.next_types(1).await, ["seat.released"]);
        let reservation = guest.reserve_seats(event.id, &[seat(&event, 2)]).await.unwrap();
        let (_, reserved) = all.next().await;
        assert_eq!(reserved["type"], "seat.reserved");
        assert_eq!(reserved["data"]["reservationId"], json!(reservation.reservation_id));
        guest.cancel_seat_reservation(reservation.reservation_id).await.unwrap();
        assert_eq!(all.next_types(1).await, ["seat.cancelled"]);
        app.guest(2).join_queue(event.id).await.unwrap();
        app.guest(2).enter_queue(event.id).await.unwrap();
        assert_eq!(others.next_types(1).await, ["queue.admitted"], "the user's own events");
        assert_eq!(Listening::open(&app.admin(), "?types=queue.", Some("0")).await.next_types(2).await.len(), 2);
    })
    .await;
}

profiles!(best_seats_retry_replays_response);
async fn best_seats_retry_replays_response(profile: Profile) {
    with_app(profile, async |app| {
        let event = open_event(app, 6).await;
        let guest = app.guest(1).with_idempotency_key("best");
        let hold = guest.hold_best(event.id, 2, None).await.unwrap();
        assert_eq!(hold.seats.iter().map(|seat| &*seat.label).collect::<Vec<_>>(), ["A1", "A2"], "side by side");
        assert_eq!(guest.hold_best(event.id, 2, None).await.unwrap(), hold);
        let key = app.guest(1).with_idempotency_key("confirm");
        let reservation = key.confirm_seat_hold(hold.hold_id).await.unwrap();
        assert_eq!(key.confirm_seat_hold(hold.hold_id).await.unwrap(), reservation);
        let other = app.guest(2).hold_best(event.id, 3, None).await.unwrap();
        assert_eq!(other.seats.len(), 3);
        assert_eq!(app.guest(3).hold_best(event.id, 1, None).await.unwrap().seats.len(), 1);
        assert_eq!(code(app.guest(4).hold_best(event.id, 1, None).await), refused(409, "NOT_ENOUGH_SEATS"));
    })
    .await;
}
