//! Users who are texts: each family of the API takes them in every place, and shows them in the form given.

use holdfast_client::{NewCoupon, NewEvent, NewRoomType, Payment, SeatReservationStatus, UserId};
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::auth::{LATER, caller, token, with_auth};
use crate::shop_support::option;
use crate::stream::Listening;
use crate::support::{Services, code, day, fresh_key, new_hold, refused, services, with_app, with_services};
use crate::tee_times::{slot, until};
use crate::tickets::seat;

/// The separators of keys, a subject of an identity provider, and digits beyond 2^53 − 1.
const TEXTS: [&str; 3] = ["a:{b}%c", "auth0|5f7c8ec7", "115839284729384726153"];
/// Texts that are no users.
const INVALID: [&str; 9] = ["0", "-1", "+1", "1.5", "007", "a b", "사용자", "", TOO_LONG];
const TOO_LONG: &str = concat!(
    "123456789abcdef-123456789abcdef-123456789abcdef-123456789abcdef-",
    "123456789abcdef-123456789abcdef-123456789abcdef-123456789abcdef-x"
);

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

fn by(user: &str) -> [(&'static str, String); 1] {
    [("userId", user.to_owned())]
}

/// Returns the user of the next event of this type.
async fn told(stream: &mut Listening, event_type: &str) -> Value {
    loop {
        let (_, event) = stream.next().await;
        if event["type"] == event_type {
            return event["data"]["userId"].clone();
        }
    }
}

profiles!(stay_of_user_who_is_text);
async fn stay_of_user_who_is_text(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(9).await;
        for (user, days) in TEXTS.into_iter().zip(1..) {
            let (guest, other) = (app.guest(user), app.guest(7));
            let mut stream = Listening::open(&app.admin(), &format!("?userId={}", encoded(user)), None).await;
            let wanted = new_hold(&room_type, day(days), day(days + 1));
            let first = guest.place_hold(&wanted).await.unwrap();
            assert_eq!(first.user_id, user.into());
            let hold = guest.place_hold(&wanted).await.unwrap();
            assert_eq!(code(guest.confirm_hold(first.hold_id).await), refused(400, "RESERVATION_HOLD_EXPIRED"));
            assert_eq!(code(other.hold(hold.hold_id).await), refused(403, "FORBIDDEN"));
            assert_eq!(guest.hold(hold.hold_id).await.unwrap().user_id, user.into());
            let reservation = guest.confirm_hold(hold.hold_id).await.unwrap();
            assert_eq!(reservation.user_id, user.into());
            assert_eq!(told(&mut stream, "stay.hold.placed").await, json!(user));
            assert_eq!(told(&mut stream, "stay.reservation.confirmed").await, json!(user));
            let listed = app.admin().reservations(&by(user)).await.unwrap().items;
            assert_eq!(listed, std::slice::from_ref(&reservation));
            assert_eq!(guest.reservations(&[]).await.unwrap().items, listed);
            assert_eq!(code(other.cancel_reservation(reservation.reservation_id).await), refused(403, "FORBIDDEN"));
            let cancelled = guest.cancel_reservation(reservation.reservation_id).await.unwrap();
            assert_eq!(cancelled.user_id, user.into());
            assert_eq!(told(&mut stream, "stay.reservation.cancelled").await, json!(user));
        }
        let lines: Vec<_> = TEXTS
            .iter()
            .map(|user| {
                json!({"roomTypeId": room_type.id, "checkIn": day(8), "checkOut": day(9), "userId": user,
                "clientHoldKey": fresh_key()})
            })
            .collect();
        let batch = app.send("POST", "/v1/holds:batch", &[], &json!({"holds": lines}).to_string()).await;
        let users: Vec<_> =
            batch.json["results"].as_array().unwrap().iter().map(|line| line["userId"].clone()).collect();
        assert_eq!(users, TEXTS);
    })
    .await;
}

profiles!(order_of_user_who_is_text);
async fn order_of_user_who_is_text(profile: Profile) {
    with_app(profile, async |app| {
        let (admin, option) = (app.admin(), option(app, 1_000, 10).await);
        admin.create_coupon(&NewCoupon::percent("TEN", 10, 9)).await.unwrap();
        for user in TEXTS {
            let account = admin.create_account_of(user, "손님").await.unwrap();
            assert_eq!((&account.id, account.balance), (&user.into(), 0));
            assert_eq!(code(admin.create_account_of(user, "손님").await), refused(409, "USER_ALREADY_EXISTS"));
            assert_eq!(admin.add_balance(user, 5_000).await.unwrap().id, user.into());
            assert_eq!(admin.account(user).await.unwrap().balance, 5_000);

            let guest = app.guest(user);
            let mut stream = Listening::open(&guest, "", None).await;
            assert_eq!(guest.put_cart_item(option, 2).await.unwrap().user_id, user.into());
            let cart = app.send("GET", &format!("/api/cart?userId={}", encoded(user)), &[], "").await;
            assert_eq!(cart.json["data"]["userId"], json!(user));
            assert_eq!(guest.take_coupon("TEN").await.unwrap().user_id, Some(user.into()));
            assert_eq!(code(guest.take_coupon("TEN").await), refused(409, "COUPON_ALREADY_ISSUED"));
            guest.reserve_order().await.unwrap();
            let payment = Payment { coupon_code: Some("TEN".into()), ..Payment::default() };
            let order = guest.pay_order(&payment).await.unwrap();
            assert_eq!((&order.user_id, order.paid_amount, order.balance_after), (&user.into(), 1_800, Some(3_200)));
            assert_eq!(told(&mut stream, "order.reserved").await, json!(user));
            assert_eq!(told(&mut stream, "order.paid").await, json!(user));
            let listed = admin.orders(&by(user)).await.unwrap().items;
            assert_eq!(listed.iter().map(|order| order.order_id).collect::<Vec<_>>(), [order.order_id]);
            assert_eq!(code(app.guest(7).order(order.order_id).await), refused(403, "FORBIDDEN"));
            assert_eq!(guest.cancel_order(order.order_id).await.unwrap().user_id, user.into());
            assert_eq!(admin.account(user).await.unwrap().balance, 5_000);
        }
    })
    .await;
}

profiles!(account_numbers_skip_chosen_ids);
async fn account_numbers_skip_chosen_ids(profile: Profile) {
    with_app(profile, async |app| {
        let admin = app.admin();
        let first = admin.create_account("손님").await.unwrap().id;
        let UserId::Number(first) = first else { panic!("a number") };
        for number in first + 1..first + 20 {
            assert_eq!(admin.create_account_of(number, "손님").await.unwrap().id, number.into());
        }
        let mut ids = std::collections::BTreeSet::new();
        for _ in 0..10 {
            let id = admin.create_account("손님").await.unwrap().id;
            assert!(matches!(id, UserId::Number(number) if number >= first + 20), "{id}");
            assert!(ids.insert(id));
        }
        let null = app.send("POST", "/api/users", &[], r#"{"id": null, "name": "손님"}"#).await;
        assert!(null.json["data"]["id"].is_u64(), "{}", null.text);
        for bad in [json!(0), json!("7"), json!("-1"), json!(1.5), json!(1_u64 << 53), json!("a b"), json!([1])] {
            let answer = app.send("POST", "/api/users", &[], &json!({"id": bad, "name": "손님"}).to_string()).await;
            assert_eq!((answer.refusal(), &answer.json["field"]), ((400, "INVALID_INPUT"), &json!("id")), "{bad}");
        }
    })
    .await;
}

profiles!(seats_and_queue_of_user_who_is_text);
async fn seats_and_queue_of_user_who_is_text(profile: Profile) {
    with_app(profile, async |app| {
        let event = app.admin().create_event(&NewEvent::with_row("콘서트", 20, 100_000)).await.unwrap();
        for (user, position) in TEXTS.into_iter().zip([1, 4, 7]) {
            let guest = app.guest(user);
            let mut stream = Listening::open(&guest, "", None).await;
            let path = format!("/v1/events/{}/queue", event.id);
            let body = json!({"userId": user}).to_string();
            assert_eq!(code(guest.hold_seats(event.id, &[seat(&event, position)]).await).1, "QUEUE_TOKEN_REQUIRED");
            assert_eq!(app.send("POST", &path, &[], &body).await.status, 201);
            assert_eq!(app.send("POST", &path, &[], &body).await.status, 200);
            let place = app.send("GET", &format!("{path}?userId={}", encoded(user)), &[], "").await;
            assert_eq!((place.status, &place.json["status"]), (200, &json!("ready")));
            let entry = guest.enter_queue(event.id).await.unwrap();
            assert_eq!(guest.enter_queue(event.id).await.unwrap(), entry);
            assert_eq!(told(&mut stream, "queue.admitted").await, json!(user));

            let hold = guest.hold_seats(event.id, &[seat(&event, position), seat(&event, position + 1)]).await.unwrap();
            assert_eq!(hold.user_id, user.into());
            if user != TEXTS[0] {
                let taken = code(app.guest(TEXTS[0]).seat_hold(hold.hold_id).await);
                assert_eq!(taken, refused(403, "FORBIDDEN"));
            }
            let reservation = guest.confirm_seat_hold(hold.hold_id).await.unwrap();
            assert_eq!(reservation.user_id, user.into());
            assert_eq!(told(&mut stream, "seat.reserved").await, json!(user));
            guest.join_queue(event.id).await.unwrap();
            guest.enter_queue(event.id).await.unwrap();
            let reserved = guest.reserve_seats(event.id, &[seat(&event, position + 2)]).await.unwrap();
            assert_eq!(reserved.user_id, user.into());
            let listed = app.admin().seat_reservations(&by(user)).await.unwrap().items;
            assert_eq!(listed, [reservation.clone(), reserved]);
            let cancelled = guest.cancel_seat_reservation(reservation.reservation_id).await.unwrap();
            assert_eq!((cancelled.status, cancelled.user_id), (SeatReservationStatus::Cancelled, user.into()));
            guest.join_queue(event.id).await.unwrap();
            let left = app.send("DELETE", &format!("{path}?userId={}", encoded(user)), &[], "").await;
            assert_eq!(left.status, 204);
            assert_eq!(code(guest.poll_queue(event.id).await), refused(404, "NOT_IN_QUEUE"));
        }
    })
    .await;
}

profiles!(room_of_user_who_is_text);
async fn room_of_user_who_is_text(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        for (user, days) in TEXTS.into_iter().zip(1..) {
            let guest = app.guest(user);
            let mut stream = Listening::open(&guest, "", None).await;
            let lock = guest.lock_slots(room, day(days), &["09:00", "10:00"]).await.unwrap();
            assert_eq!(lock.user_id, user.into());
            assert_eq!(code(app.guest(7).lock(lock.lock_id).await), refused(403, "FORBIDDEN"));
            let ask = json!({"userId": user, "date": day(days), "times": ["09:00"]});
            let asked = app.json("POST", &format!("/v1/rooms/{room}/availability"), &ask).await;
            assert_eq!((asked.status, &asked.json["result"]), (200, &json!("AVAILABLE")), "{}", asked.text);
            let reservation = guest.confirm_lock(lock.lock_id).await.unwrap();
            assert_eq!(reservation.user_id, user.into());
            assert_eq!(told(&mut stream, "room.slot.locked").await, json!(user));
            assert_eq!(told(&mut stream, "room.slot.reserved").await, json!(user));
            let listed = app.admin().room_reservations(&by(user)).await.unwrap().items;
            assert_eq!(listed, std::slice::from_ref(&reservation));
            let cancelled = guest.cancel_room_reservation(reservation.reservation_id).await.unwrap();
            assert_eq!(cancelled.user_id, user.into());
        }
    })
    .await;
}

services!(booking_of_user_who_is_text);
async fn booking_of_user_who_is_text(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 10, 12).await;
        for user in TEXTS {
            let body = json!({"idempotencyKey": "k", "userId": user, "gameTimeSlotId": slot, "playerCount": 2});
            let made = app.json("POST", "/bookings", &body).await;
            assert_eq!((made.status, &made.json["userId"]), (202, &json!(user)), "{}", made.text);
            let again = app.json("POST", "/bookings", &body).await;
            assert_eq!((again.status, &again.json["id"]), (200, &made.json["id"]), "keys are per user");
            let query = format!("?userId={}", encoded(user));
            let path = format!("/bookings/{}{query}", made.json["id"]);
            let booked = until(app, &path, |booking| booking["status"] == "CONFIRMED").await;
            assert_eq!((&booked["userId"], &booked["history"][0]["by"]), (&json!(user), &json!(user)));
            let told = until(app, &format!("/v1/notifications{query}"), |list| list["items"][0].is_object()).await;
            assert_eq!(told["items"][0]["userId"], json!(user));
            let listed = app.send("GET", &format!("/bookings{query}"), &[], "").await;
            assert_eq!(listed.json["items"].as_array().map(Vec::len), Some(1));
            let cancel = format!("/bookings/{}/cancel", made.json["id"]);
            assert_eq!(app.json("POST", &cancel, &json!({"userId": 7})).await.refusal(), (403, "FORBIDDEN"));
            let cancelled = app.json("POST", &cancel, &json!({"userId": user})).await;
            assert_eq!((cancelled.status, &cancelled.json["userId"]), (200, &json!(user)), "{}", cancelled.text);
        }
    })
    .await;
}

profiles!(idempotency_keys_are_per_user);
async fn idempotency_keys_are_per_user(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(50).await;
        let place = async |user: &str, key: &str| {
            let body = json!({"roomTypeId": room_type.id, "checkIn": day(1), "checkOut": day(2),
                "clientHoldKey": "00000000-0000-4000-8000-000000000001", "userId": null});
            let headers = [("x-user-id", user), ("idempotency-key", key)];
            app.send("POST", "/v1/holds", &headers, &body.to_string()).await
        };
        // Only the first may place it: the others conflict, or they would replay the answer of another user.
        let first = place("42", "k").await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (201, None), "{}", first.text);
        assert_eq!(place("42", "k").await.header("idempotent-replayed"), Some("true"));
        for (user, key) in [("user:42", "k"), ("42:k", "k"), ("u42", "k"), ("9007199254740992", "k"), ("4", "2:k")] {
            assert_eq!(place(user, key).await.refusal(), (409, "RESERVATION_HOLD_KEY_CONFLICT"), "{user} {key}");
        }
        let owner = app.guest(42).with_idempotency_key("c");
        owner.cancel_hold(first.json["holdId"].as_str().unwrap().parse().unwrap()).await.unwrap();
        assert_eq!(place("a:b", "c").await.status, 201);
        assert_eq!(place("a", "b:c").await.refusal(), (409, "RESERVATION_HOLD_KEY_CONFLICT"));
        assert_eq!(place("a:b", "c").await.header("idempotent-replayed"), Some("true"));
    })
    .await;
}

profiles!(texts_that_are_no_users_are_rejected);
async fn texts_that_are_no_users_are_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(9).await;
        let body = |user: Value| {
            json!({"roomTypeId": room_type.id, "checkIn": day(1), "checkOut": day(2), "clientHoldKey": fresh_key(),
                "userId": user})
            .to_string()
        };
        for text in INVALID {
            let in_query = app.send("GET", &format!("/v1/reservations?userId={}", encoded(text)), &[], "").await;
            assert_eq!(
                (in_query.refusal(), &in_query.json["field"]),
                ((400, "INVALID_INPUT"), &json!("userId")),
                "{text}"
            );
            let in_path = app.send("GET", &format!("/api/users/{}", encoded(text)), &[], "").await;
            if !text.is_empty() {
                assert_eq!(
                    (in_path.refusal(), &in_path.json["field"]),
                    ((400, "INVALID_INPUT"), &json!("id")),
                    "{text}"
                );
            }
        }
        for text in INVALID {
            let in_header = app.send("POST", "/v1/holds", &[("x-user-id", text)], &body(json!(null))).await;
            assert_eq!(
                (in_header.refusal(), &in_header.json["field"]),
                ((400, "INVALID_INPUT"), &json!("X-User-Id")),
                "{text}"
            );
        }
        let numbers = ["7", "9007199254740991"].map(|digits| json!(digits));
        let others = [json!(0), json!(-1), json!(1.5), json!(1_u64 << 53), json!(true), json!([7]), json!({})];
        for user in INVALID.map(|text| json!(text)).into_iter().chain(numbers).chain(others) {
            let in_body = app.send("POST", "/v1/holds", &[], &body(user.clone())).await;
            assert_eq!(
                (in_body.refusal(), &in_body.json["field"]),
                ((400, "INVALID_INPUT"), &json!("userId")),
                "{user}"
            );
            let unknown = json!({"userId": user}).to_string();
            let in_unknown = app.send("POST", "/api/order/reserve", &[], &unknown).await;
            assert_eq!(
                (in_unknown.refusal(), &in_unknown.json["field"]),
                ((400, "INVALID_INPUT"), &json!("userId")),
                "{user}"
            );
        }
        let digits = app.send("POST", "/v1/holds", &[("x-user-id", "7")], &body(json!(7))).await;
        assert_eq!((digits.status, &digits.json["userId"]), (201, &json!(7)), "digits in a header mean the integer");
    })
    .await;
}

profiles!(token_subject_is_the_user);
async fn token_subject_is_the_user(profile: Profile) {
    with_auth(profile, async |app| {
        let new = NewRoomType::new("객실", 9, 100_000);
        let room_type = caller(app, "ops", "admin").create_room_type(&new).await.unwrap();
        let place = async |sub: Value| {
            let claims = json!({"sub": sub, "role": "user", "exp": LATER});
            let wanted = serde_json::to_string(&new_hold(&room_type, day(1), day(2))).unwrap();
            let bearer = format!("Bearer {}", token(&claims));
            app.send("POST", "/v1/holds", &[("authorization", &bearer)], &wanted).await
        };
        for (sub, user) in [
            (json!("42"), json!(42)),
            (json!(43), json!(43)),
            (json!("auth0|5f7c8ec7"), json!("auth0|5f7c8ec7")),
            (json!("a:{b}%c"), json!("a:{b}%c")),
            (json!("115839284729384726153"), json!("115839284729384726153")),
        ] {
            let placed = place(sub).await;
            assert_eq!((placed.status, &placed.json["userId"]), (201, &user), "{}", placed.text);
        }
        for sub in
            INVALID.map(|text| json!(text)).into_iter().chain([json!(0), json!(-1), json!(1.5), json!(1_u64 << 53)])
        {
            assert_eq!(place(sub.clone()).await.refusal(), (401, "UNAUTHENTICATED"), "{sub}");
        }
        let (user, other) = (caller(app, "auth0|5f7c8ec7", "user"), caller(app, "auth0|5f7c8ec8", "user"));
        let hold = user.place_hold(&new_hold(&room_type, day(3), day(4))).await.unwrap();
        assert_eq!(code(other.hold(hold.hold_id).await), refused(403, "FORBIDDEN"));
        assert_eq!(caller(app, "svc", "service").confirm_hold(hold.hold_id).await.unwrap().user_id, hold.user_id);
    })
    .await;
}
