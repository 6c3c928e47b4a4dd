//! Catalog, lines and requests for tests of claims.

use std::fmt::Display;

use holdfast_client::{Event, RoomType, SlotStatus, UserId};
use serde_json::{Value, json};

use crate::auth::{LATER, token};
use crate::shop_support::{counts, option};
use crate::support::{RawResponse, TestApp, day};
use crate::tickets::{map, open_event, seat};

/// Pieces of the option in a [`Catalog`].
const STOCK: u32 = 10;
/// Quantities that [`Catalog::lines`] claims of the first night, the option, the seats and the slots.
pub(crate) const CLAIMED: [u32; 4] = [1, 2, 2, 2];
/// Quantities while no claim exists.
pub(crate) const NONE: [u32; 4] = [0; 4];
/// Price of each of [`Catalog::lines`].
pub(crate) const PRICES: [i64; 4] = [200_000, 2_000, 200_000, 20_000];
/// Sum of [`PRICES`].
pub(crate) const TOTAL: i64 = 422_000;

/// One resource of each vertical.
pub(crate) struct Catalog {
    /// Three rooms at 100,000 a night.
    pub(crate) room_type: RoomType,
    /// Ten pieces at 1,000.
    pub(crate) option: u64,
    /// Four seats at 100,000, without a waiting room.
    pub(crate) event: Event,
    /// Hourly slots at 10,000 from nine to noon.
    pub(crate) room: u64,
}

impl Catalog {
    pub(crate) async fn create(app: &TestApp) -> Self {
        Self {
            room_type: app.room_type(3).await,
            option: option(app, 1_000, STOCK).await,
            event: open_event(app, 4).await,
            room: app.room().await,
        }
    }

    /// Returns one line of each type, for tomorrow: two nights, two pieces, two seats, two slots.
    pub(crate) fn lines(&self) -> Value {
        json!([
            stay_line(self.room_type.id, 1, 3),
            stock_line(self.option, 2),
            seats_line(&self.event, &[1, 2]),
            slots_line(self.room, 1, &["09:00", "10:00"]),
        ])
    }

    /// Returns the quantities held and those confirmed, of tomorrow's night, the option, the seats and tomorrow's
    /// slots.
    pub(crate) async fn quantities(&self, app: &TestApp) -> ([u32; 4], [u32; 4]) {
        let nights = app.admin().availability(self.room_type.id, day(1), day(2)).await.unwrap().nights;
        let (stock, reserved, _) = counts(app, self.option).await;
        let seats = map(app, &self.event).await;
        let slots = app.statuses_on(self.room, day(1)).await;
        let count_seats = |letter: char| seats.chars().filter(|shown| *shown == letter).count() as u32;
        let count_slots = |status: SlotStatus| slots.iter().filter(|shown| **shown == status).count() as u32;
        let held = [nights[0].hold_count, reserved, count_seats('h'), count_slots(SlotStatus::Locked)];
        let confirmed = [nights[0].reserved_count, STOCK - stock, count_seats('R'), count_slots(SlotStatus::Reserved)];
        (held, confirmed)
    }
}

/// Returns a line of one room; days count from today.
pub(crate) fn stay_line(room_type: u64, check_in: i32, check_out: i32) -> Value {
    json!({"roomTypeId": room_type, "checkIn": day(check_in), "checkOut": day(check_out)})
}

/// Returns a line of several rooms of a type.
pub(crate) fn rooms_line(room_type: u64, check_in: i32, check_out: i32, quantity: u32) -> Value {
    let mut line = stay_line(room_type, check_in, check_out);
    line["quantity"] = json!(quantity);
    line
}

pub(crate) fn stock_line(option: u64, quantity: u32) -> Value {
    json!({"productOptionId": option, "quantity": quantity})
}

/// Returns a line of seats by their positions, from 1.
pub(crate) fn seats_line(event: &Event, positions: &[u64]) -> Value {
    let ids: Vec<u64> = positions.iter().map(|position| seat(event, *position)).collect();
    json!({"eventId": event.id, "seatIds": ids})
}

pub(crate) fn best_line(event: &Event, count: u32) -> Value {
    json!({"eventId": event.id, "best": count})
}

/// Returns a line of slots of one day, counted from today.
pub(crate) fn slots_line(room: u64, days: i32, times: &[&str]) -> Value {
    json!({"roomId": room, "date": day(days), "times": times})
}

/// Returns a request that places these lines for a number of seconds.
pub(crate) fn with_ttl(lines: &Value, seconds: u32) -> Value {
    json!({"lines": lines, "ttlSeconds": seconds})
}

/// Sends a request of a user. A body of `null` is sent as an empty one.
pub(crate) async fn call(app: &TestApp, user: impl Display, method: &str, path: &str, body: &Value) -> RawResponse {
    app.send(method, path, &[("x-user-id", &user.to_string())], &text_of(body)).await
}

/// Sends a request of a user that is valid for one version of a claim only.
pub(crate) async fn call_at(
    app: &TestApp,
    user: u64,
    version: &Value,
    method: &str,
    path: &str,
    body: &Value,
) -> RawResponse {
    let (user, version) = (user.to_string(), format!("\"{version}\""));
    app.send(method, path, &[("x-user-id", &user), ("if-match", &version)], &text_of(body)).await
}

/// Sends a request of a user under an idempotency key.
pub(crate) async fn call_with_key(app: &TestApp, user: u64, key: &str, path: &str, body: &Value) -> RawResponse {
    let user = user.to_string();
    app.send("POST", path, &[("x-user-id", &user), ("idempotency-key", key)], &text_of(body)).await
}

/// Sends a request with a token.
pub(crate) async fn call_as(
    app: &TestApp,
    sub: &str,
    role: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> RawResponse {
    let bearer = format!("Bearer {}", token(&json!({"sub": sub, "role": role, "exp": LATER})));
    app.send(method, path, &[("authorization", &bearer)], &text_of(body)).await
}

fn text_of(body: &Value) -> String {
    if body.is_null() { String::new() } else { body.to_string() }
}

pub(crate) async fn place(app: &TestApp, user: u64, lines: &Value) -> RawResponse {
    call(app, user, "POST", "/v1/claims", &json!({"lines": lines})).await
}

/// Places a claim, which must succeed.
pub(crate) async fn placed_claim(app: &TestApp, user: u64, lines: &Value) -> Value {
    placed_from(app, user, &json!({"lines": lines})).await
}

/// Places a claim by a whole request, which must succeed.
pub(crate) async fn placed_from(app: &TestApp, user: u64, request: &Value) -> Value {
    let placed = call(app, user, "POST", "/v1/claims", request).await;
    assert_eq!(placed.status, 201, "{}", placed.text);
    placed.json
}

/// Places and confirms a claim, which must succeed.
pub(crate) async fn confirmed_claim(app: &TestApp, user: u64, lines: &Value) -> Value {
    let claim = placed_claim(app, user, lines).await;
    let confirmed = act(app, user, &claim, "confirm", &Value::Null).await;
    assert_eq!(confirmed.status, 201, "{}", confirmed.text);
    confirmed.json
}

/// Returns a user's claim by its path.
pub(crate) async fn shown(app: &TestApp, user: impl Display, path: &str) -> Value {
    let shown = call(app, user, "GET", path, &Value::Null).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    shown.json
}

/// Returns the claim of a user's live cart reservation.
pub(crate) async fn cart_claim(app: &TestApp, user: &UserId) -> Value {
    let listed = shown(app, user, &format!("/v1/claims?userId={user}")).await;
    let mut claims = listed["items"].as_array().unwrap().iter();
    claims.find(|claim| claim["origin"] == "cart").expect("a cart's reservation is a claim").clone()
}

/// Sends `POST /v1/claims/{id}/{action}`.
pub(crate) async fn act(app: &TestApp, user: impl Display, claim: &Value, action: &str, body: &Value) -> RawResponse {
    call(app, user, "POST", &format!("{}/{action}", path_of(claim)), body).await
}

pub(crate) async fn change(app: &TestApp, user: impl Display, claim: &Value, body: &Value) -> RawResponse {
    call(app, user, "PATCH", &path_of(claim), body).await
}

pub(crate) async fn delete(app: &TestApp, user: impl Display, claim: &Value) -> RawResponse {
    call(app, user, "DELETE", &path_of(claim), &Value::Null).await
}

pub(crate) fn path_of(claim: &Value) -> String {
    claim_path(claim["claimId"].as_str().unwrap())
}

/// Returns the path of a claim by the id that its endpoint gave it.
pub(crate) fn claim_path(id: impl Display) -> String {
    format!("/v1/claims/{id}")
}

/// Returns index and code of each refused line.
pub(crate) fn refused_lines(lines: &Value) -> Vec<(u64, &str)> {
    let lines = lines.as_array().expect("refused lines are listed").iter();
    lines.map(|line| (line["index"].as_u64().unwrap(), line["code"].as_str().unwrap())).collect()
}

pub(crate) fn line_statuses(claim: &Value) -> Vec<&str> {
    claim["lines"].as_array().unwrap().iter().map(|line| line["status"].as_str().unwrap()).collect()
}

/// Returns the number of the record of a line.
pub(crate) fn record(claim: &Value, index: usize) -> u64 {
    claim["lines"][index]["record"]["id"].as_u64().expect("a confirmed line has a record")
}

pub(crate) fn time(value: &Value) -> jiff::Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

/// Returns the time so many seconds from now.
pub(crate) fn after(app: &TestApp, seconds: i64) -> jiff::Timestamp {
    app.now() + jiff::SignedDuration::from_secs(seconds)
}
