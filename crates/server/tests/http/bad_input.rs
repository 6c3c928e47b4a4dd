//! Invalid input of every kind is answered with 400 `INVALID_INPUT` that names the field, and changes nothing.

use holdfast_testkit::{Profile, profiles};

use crate::support::{TestApp, day, fresh_key, with_app};

/// Builds a JSON object, with `member` replaced by `value`, or removed if `value` is empty.
pub(crate) fn with_member(members: &[(&str, String)], member: &str, value: &str) -> String {
    let mut members: Vec<_> = members.iter().filter(|(name, _)| *name != member).cloned().collect();
    if !value.is_empty() {
        members.push((member, value.to_owned()));
    }
    let members: Vec<_> = members.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// `field` is the one that must be named; an empty one matches any.
pub(crate) async fn check(app: &TestApp, method: &str, path: &str, body: &str, field: &str) {
    let answer = app.send(method, path, &[("content-type", "application/json")], body).await;
    assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{method} {path} {body}");
    let named = answer.json["field"].as_str().unwrap();
    assert!(field.is_empty() || named == field, "{method} {path} {body}: {named} is named, not {field}");
}

profiles!(invalid_hold_members_are_named);
async fn invalid_hold_members_are_named(profile: Profile) {
    let cases: [(&str, &[&str]); 5] = [
        ("roomTypeId", &["", "null", "\"1\"", "1.5", "0", "-1", "9007199254740992", "[1]", "true"]),
        (
            "checkIn",
            &["", "null", "5", r#""""#, r#""2027-3-2""#, r#""2027-02-30""#, r#""2027-13-01""#, r#""20270302""#],
        ),
        ("checkOut", &["", r#""2027-03-02 ""#, r#""0000-00-00""#, r#""2027-03-02T00:00""#, r#""+002027-03-02""#, "{}"]),
        ("userId", &["0", "-5", "\"1\"", "9007199254740992", "1.0", "{}"]),
        ("clientHoldKey", &["", "null", "7", r#""""#, r#""not-a-key""#]),
    ];
    with_app(profile, async |app| {
        let room_type = app.room_type(5).await;
        let quoted = |text: String| format!("{text:?}");
        let members = [
            ("roomTypeId", room_type.id.to_string()),
            ("checkIn", quoted(day(1).to_string())),
            ("checkOut", quoted(day(2).to_string())),
            ("userId", "1".to_owned()),
            ("clientHoldKey", quoted(fresh_key().to_string())),
        ];
        for (field, value) in cases.iter().flat_map(|(field, values)| values.iter().map(move |value| (field, value))) {
            check(app, "POST", "/v1/holds", &with_member(&members, field, value), field).await;
        }
        let shown = app.admin().availability(room_type.id, day(1), day(2)).await.unwrap();
        assert_eq!(shown.available, 5, "nothing is held");
    })
    .await;
}

profiles!(invalid_room_type_members_are_named);
async fn invalid_room_type_members_are_named(profile: Profile) {
    let long = format!("{:?}", "x".repeat(201));
    let cases: [(&str, &[&str]); 6] = [
        ("name", &["", r#""""#, r#""  ""#, &long, r#""a\u0000b""#, "5", "null"]),
        ("totalQuantity", &["", "-1", "1000001", "1.5", "null", "\"5\""]),
        ("basePrice", &["", "-1", "1000000000001", "\"5\"", "1e3"]),
        ("currency", &[r#""krw""#, r#""KRWX""#, r#""원""#, "5"]),
        ("timeZone", &[r#""Seoul""#, r#""""#, r#""../../etc/passwd""#, r#""+09:00""#]),
        ("description", &["5", "[]"]),
    ];
    with_app(profile, async |app| {
        let members = [("name", "\"x\"".to_owned()), ("totalQuantity", "1".to_owned()), ("basePrice", "1".to_owned())];
        for (field, value) in cases.iter().flat_map(|(field, values)| values.iter().map(move |value| (field, value))) {
            check(app, "POST", "/v1/room-types", &with_member(&members, field, value), field).await;
        }
        assert_eq!(app.admin().room_types(None).await.unwrap().items, [], "nothing was created");
        let room_type = app.room_type(1).await;
        let path = format!("/v1/room-types/{}", room_type.id);
        for (field, value) in [("totalQuantity", "-1"), ("name", "\"\""), ("basePrice", "true"), ("timeZone", "\"?\"")]
        {
            check(app, "PATCH", &path, &with_member(&[], field, value), field).await;
        }
        for (field, value) in [("from", "\"2027-03-00\""), ("to", ""), ("to", "\"2027-03-05\"")] {
            let members = [("from", "\"2027-03-05\"".to_owned()), ("to", "\"2027-03-06\"".to_owned())];
            check(app, "POST", &format!("{path}/close-nights"), &with_member(&members, field, value), field).await;
        }
        assert_eq!(app.admin().room_type(room_type.id).await.unwrap(), room_type, "nothing was changed");
    })
    .await;
}

profiles!(invalid_bodies_are_rejected);
async fn invalid_bodies_are_rejected(profile: Profile) {
    with_app(profile, async |app| {
        for body in [
            "",
            "{",
            "[]",
            "5",
            "null",
            "{\"a\":1}x",
            "\u{feff}{}",
            r#"{"name":"\ud800"}"#,
            r#"{"name":"x","totalQuantity":1e400,"basePrice":1}"#,
            &"[".repeat(100_000),
        ] {
            check(app, "POST", "/v1/room-types", body, "").await;
            check(app, "POST", "/v1/holds", body, "").await;
            check(app, "POST", "/v1/holds:batch", body, "").await;
        }
        assert_eq!(app.admin().room_types(None).await.unwrap().items, []);
    })
    .await;
}

profiles!(list_instead_of_object_is_rejected);
/// Serde would accept a list as the members of an object, in order.
async fn list_instead_of_object_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await.id;
        let hold = format!(r#"[{room_type}, "2027-06-01", "2027-06-02", 1, "018f2a8c-0000-7000-8000-000000000001"]"#);
        for (method, path, body, field) in [
            ("POST", "/v1/room-types".to_owned(), r#"["x", 1, 1, null, null, null]"#, "body"),
            ("PATCH", format!("/v1/room-types/{room_type}"), r#"["x", null, null, null, null, null]"#, "body"),
            ("POST", "/v1/holds".to_owned(), &hold, "body"),
            ("POST", "/v1/holds:batch".to_owned(), "[[]]", "body"),
            ("POST", "/api/users/1/balance".to_owned(), "[500]", "body"),
            ("POST", "/api/products".to_owned(), r#"{"name": "x", "options": [["A", 1, 1, true]]}"#, "options[0]"),
            ("POST", "/v1/rooms".to_owned(), r#"["x", null, null, null, 60, 1, null, null, null]"#, "body"),
            ("POST", "/v1/events".to_owned(), r#"{"name": "x", "seats": [["A1", null, 100]]}"#, "seats[0]"),
            ("POST", "/v1/courses".to_owned(), r#"["x", "Asia/Seoul"]"#, "body"),
            ("POST", "/bookings".to_owned(), r#"["k", 9, 5, 1]"#, "body"),
            ("POST", "/v1/webhooks".to_owned(), r#"["http://127.0.0.1:9/", [], null]"#, "body"),
        ] {
            check(app, method, &path, body, field).await;
        }
        assert_eq!(app.admin().room_types(None).await.unwrap().items.len(), 1);
    })
    .await;
}

profiles!(invalid_paths_and_queries_are_rejected);
async fn invalid_paths_and_queries_are_rejected(profile: Profile) {
    let cases = [
        ("GET", "/v1/room-types/0", "id"),
        ("GET", "/v1/room-types/-1", "id"),
        ("GET", "/v1/room-types/abc", "id"),
        ("GET", "/v1/room-types/9007199254740992", "id"),
        ("GET", "/v1/room-types/99999999999999999999", "id"),
        ("GET", "/v1/room-types?limit=0", "limit"),
        ("GET", "/v1/room-types?limit=-1", "limit"),
        ("GET", "/v1/room-types?limit=x", "limit"),
        ("GET", "/v1/room-types?cursor=%21", "cursor"),
        ("GET", "/v1/room-types?cursor=AAAA", "cursor"),
        ("GET", "/v1/room-types/1/availability", "checkIn"),
        ("GET", "/v1/room-types/1/availability?checkIn=2027-03-01", "checkOut"),
        ("GET", "/v1/room-types/1/availability?checkIn=2027-03-02&checkOut=2027-03-02", "checkOut"),
        ("GET", "/v1/room-types/1/availability?checkIn=%ff&checkOut=2027-03-02", "query"),
        ("GET", "/v1/reservations?status=LOST", "status"),
        ("GET", "/v1/reservations?userId=0", "userId"),
        ("GET", "/v1/reservations?roomTypeId=x", "roomTypeId"),
        ("GET", "/v1/holds/xyz?userId=1", "holdId"),
        ("DELETE", "/v1/holds/xyz?userId=1", "holdId"),
        ("POST", "/v1/holds/xyz/confirm?userId=1", "holdId"),
        ("POST", "/v1/reservations/0/cancel?userId=1", "id"),
        ("GET", "/v1/holds/%ff?userId=1", "path"),
        ("GET", "/v1/stream?userId=-1", "userId"),
    ];
    with_app(profile, async |app| {
        for (method, path, field) in cases {
            check(app, method, path, "", field).await;
        }
    })
    .await;
}
