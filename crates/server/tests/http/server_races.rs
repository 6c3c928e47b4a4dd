//! Three servers on one Redis and one PostgreSQL get commands on the same object at the same moment: every command of
//! every vertical against itself and against each other one, with and without an idempotency key.
//!
//! `HOLDFAST_TEST_RACE_ROUNDS` sets the number of rounds; a round is one race in each vertical.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::body::Body;
use futures_util::future::join_all;
use holdfast_core::audit::Audit;
use holdfast_engine::IdMaker;
use holdfast_engine::{Clock as _, ManualClock, Store};
use holdfast_server::app::REPLAYED;
use holdfast_server::{App, Config, Parts, edge, router};
use holdfast_testkit::{Place, Profile};
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::calendar_support::{every_day, mornings};
use crate::support::{clock, day, fresh_key, take_panics, until_ended};

const ROUNDS: usize = 200;
const SERVERS: usize = 3;
/// Days on which a room has slots; each race takes a day of its own.
const DAYS: usize = 60;
/// Seats of an event; each race takes a seat of its own.
const SEATS: usize = 100;

/// A request to any of the servers.
#[derive(Clone, Debug)]
struct Call {
    method: &'static str,
    path: String,
    /// The caller; `None` is an operator.
    user: Option<u64>,
    body: Value,
    /// Ends the state that the race begins in: of several such calls one succeeds.
    is_exclusive: bool,
    /// Begins that state again, so that a further exclusive call may succeed.
    is_restart: bool,
    /// A command of the engine: under one key there is one answer. See the limits of other calls in `docs/limits.md`.
    is_command: bool,
}

impl Call {
    fn new(method: &'static str, path: impl Into<String>, body: Value) -> Self {
        Self { method, path: path.into(), user: None, body, is_exclusive: false, is_restart: false, is_command: true }
    }

    fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new("POST", path, body)
    }

    fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path, Value::Null).without_command()
    }

    fn by(self, user: u64) -> Self {
        Self { user: Some(user), ..self }
    }

    fn exclusive(self) -> Self {
        Self { is_exclusive: true, ..self }
    }

    fn without_command(self) -> Self {
        Self { is_command: false, ..self }
    }
}

#[derive(Debug, PartialEq)]
struct ApiResponse {
    status: u16,
    body: Value,
    is_replayed: bool,
}

impl ApiResponse {
    fn is_success(&self) -> bool {
        self.status < 300
    }

    fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    fn id(&self, name: &str) -> u64 {
        self.body[name].as_u64().unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    fn text(&self, name: &str) -> String {
        self.body[name].as_str().unwrap_or_else(|| panic!("no {name} in {self:?}")).to_owned()
    }
}

/// One of the servers, asked without a connection.
struct Server {
    app: App,
    router: axum::Router,
    engine: JoinHandle<()>,
    store: Arc<dyn Store>,
}

impl Server {
    async fn start(place: &Place, clock: &Arc<ManualClock>, seed: u64) -> Self {
        let mut config = Config::defaults();
        // Bookings are confirmed soon.
        config.tee.outbox_poll = Duration::from_millis(20);
        let store = place.open(clock.clone()).await;
        let room = place.open_room(config.queue.timings(), clock.clone()).await;
        let parts = Parts { store: store.clone(), room, ids: IdMaker::seeded(seed), bus: None };
        let (app, engine) = App::start(&config, parts).await.unwrap();
        let (router, _) = router::router(app.clone());
        Self { app, router, engine, store }
    }

    async fn stop(self) -> Arc<dyn Store> {
        let Self { app, router, engine, store } = self;
        app.stop();
        drop((app, router));
        until_ended(engine).await;
        store
    }
}

struct Cluster {
    servers: Vec<Server>,
}

impl Cluster {
    async fn call(&self, server: usize, call: &Call, key: Option<&str>) -> ApiResponse {
        let mut request = Request::builder().method(call.method).uri(&call.path);
        if let Some(user) = call.user {
            request = request.header("x-user-id", user);
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = if call.body.is_null() { Body::empty() } else { Body::from(call.body.to_string()) };
        let request = request.header("content-type", "application/json").body(body).unwrap();
        let Server { app, router, .. } = &self.servers[server];
        let (app, router) = (app.clone(), router.clone());
        let answering = tokio::spawn(async move {
            let (head, body) = edge::handle_internal(&app, router, request).await.into_parts();
            (head, body.collect().await.unwrap().to_bytes())
        });
        let (head, body) = answering.await.unwrap();
        let mut body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if body["data"].is_object() {
            body = body["data"].take();
        }
        ApiResponse { status: head.status.as_u16(), body, is_replayed: head.headers.contains_key(REPLAYED) }
    }

    /// Prepares a race: the call must succeed.
    async fn set_up(&self, call: Call) -> ApiResponse {
        let began = Instant::now();
        loop {
            let answer = self.call(0, &call, None).await;
            if answer.is_success() {
                return answer;
            }
            // A busy machine; the call changed no row.
            let is_late = answer.code() == "LOCK_TIMEOUT" && began.elapsed() < Duration::from_secs(30);
            assert!(is_late, "{call:?}: {answer:?}");
        }
    }

    async fn until(&self, path: String, holds: impl Fn(&ApiResponse) -> bool) {
        let began = Instant::now();
        let call = Call::get(path);
        loop {
            let answer = self.call(0, &call, None).await;
            if holds(&answer) {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{answer:?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// A vertical: the states of an object, and the calls that race in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Vertical {
    Stays,
    Shop,
    Seats,
    Rooms,
    Tee,
    /// Best seats of an event of their own.
    Best,
    Queue,
    Webhooks,
}

/// Objects that rounds share.
#[derive(Default)]
struct Shared {
    event: u64,
    room: u64,
    course: u64,
}

impl Vertical {
    const ALL: [Self; 8] =
        [Self::Stays, Self::Shop, Self::Seats, Self::Rooms, Self::Tee, Self::Best, Self::Queue, Self::Webhooks];

    fn states(self) -> usize {
        match self {
            Self::Best | Self::Webhooks => 1,
            Self::Stays | Self::Queue => 2,
            Self::Seats | Self::Rooms | Self::Tee => 3,
            Self::Shop => 4,
        }
    }

    /// Makes an object in one of its states. Returns the calls that race on it.
    async fn set_up(self, cluster: &Cluster, shared: &mut Shared, round: usize) -> Vec<Call> {
        let state = round % self.states();
        match self {
            Self::Stays => stays(cluster, state, round).await,
            Self::Shop => shop(cluster, state, round).await,
            Self::Seats => seats(cluster, shared, state, round).await,
            Self::Rooms => rooms(cluster, shared, state, round).await,
            Self::Tee => tee(cluster, shared, state, round).await,
            Self::Best => best(cluster, round).await,
            Self::Queue => queue(cluster, state, round).await,
            Self::Webhooks => webhooks(cluster, round).await,
        }
    }
}

/// Two users of a round: each has a limited number of holds.
fn users(round: usize) -> [u64; 2] {
    [2 * round as u64 + 1, 2 * round as u64 + 2]
}

async fn stays(cluster: &Cluster, state: usize, round: usize) -> Vec<Call> {
    let users = users(round);
    let new = json!({"name": "객실", "totalQuantity": 2, "basePrice": 100});
    let room_type = cluster.set_up(Call::post("/v1/room-types", new)).await.id("id");
    let place = |user| {
        let key = fresh_key().to_string();
        let body = json!({"roomTypeId": room_type, "checkIn": day(1), "checkOut": day(3), "clientHoldKey": key});
        Call::post("/v1/holds", body).by(user)
    };
    let hold = cluster.set_up(place(users[0])).await.text("holdId");
    let confirm = Call::post(format!("/v1/holds/{hold}/confirm"), Value::Null).by(users[0]).exclusive();
    let nights = json!({"from": day(1), "to": day(3)});
    let of_type = |what: &str| format!("/v1/room-types/{room_type}{what}");
    // Several commands; a batch of which all lines are refused is not kept.
    let line = json!({"roomTypeId": room_type, "checkIn": day(1), "checkOut": day(3), "clientHoldKey": fresh_key().to_string()});
    let batch = Call::post("/v1/holds:batch", json!({ "holds": [line] })).by(users[1]).without_command();
    let mut calls = vec![
        place(users[0]),
        place(users[1]),
        batch,
        Call::post(of_type("/close-nights"), nights.clone()),
        Call::post(of_type("/open-nights"), nights),
        Call::new("PATCH", of_type(""), json!({"totalQuantity": 1})),
        Call::new("PATCH", of_type(""), json!({"totalQuantity": 3})),
        Call::get(of_type(&format!("/availability?checkIn={}&checkOut={}", day(1), day(3)))),
    ];
    if state == 0 {
        calls.extend([confirm, Call::new("DELETE", format!("/v1/holds/{hold}"), Value::Null).by(users[0]).exclusive()]);
    } else {
        let reservation = cluster.set_up(confirm).await.id("reservationId");
        calls.push(Call::post(format!("/v1/reservations/{reservation}/cancel"), Value::Null).by(users[0]).exclusive());
    }
    calls
}

async fn shop(cluster: &Cluster, state: usize, round: usize) -> Vec<Call> {
    let new = json!({"name": "원두", "options": [{"optionCode": "ETH-200", "price": 100, "stockQuantity": 10}]});
    let product = cluster.set_up(Call::post("/api/products", new)).await;
    let option = product.body["options"][0]["id"].as_u64().unwrap();
    let user = cluster.set_up(Call::post("/api/users", json!({"name": "손님"}))).await.id("id");
    if state == 3 {
        let code = format!("C-{round}");
        let new = json!({"code": code, "discountType": "PERCENT", "value": 10, "maxUses": 1});
        cluster.set_up(Call::post("/api/coupons", new)).await;
        let other = cluster.set_up(Call::post("/api/users", json!({"name": "손님"}))).await.id("id");
        let issue = |user| Call::post(format!("/api/coupons/{code}/issue"), Value::Null).by(user).exclusive();
        return vec![issue(user), issue(other)];
    }
    cluster.set_up(Call::post(format!("/api/users/{user}/balance"), json!({"amount": 1_000}))).await;
    let code = format!("C-{round}");
    let new = json!({"code": code, "discountType": "PERCENT", "value": 10, "maxUses": 1});
    cluster.set_up(Call::post("/api/coupons", new)).await;
    cluster.set_up(Call::post(format!("/api/coupons/{code}/issue"), Value::Null).by(user)).await;
    let put = |quantity| {
        Call::new("PUT", "/api/cart/items", json!({"productOptionId": option, "quantity": quantity})).by(user)
    };
    cluster.set_up(put(2)).await;
    let reserve = Call::post("/api/order/reserve", Value::Null).by(user);
    let pay = Call::post("/api/order", json!({})).by(user).exclusive();
    let pay_with_coupon = Call { body: json!({ "couponCode": code }), ..pay.clone() };
    let stock =
        |quantity| Call::new("PATCH", format!("/api/product-options/{option}"), json!({"stockQuantity": quantity}));
    let mut calls = vec![put(3), stock(2), stock(20), Call::get(format!("/api/product-options/{option}"))];
    if state == 0 {
        calls.push(reserve.exclusive());
        return calls;
    }
    cluster.set_up(reserve.clone()).await;
    if state == 1 {
        calls.extend([
            Call { path: "/api/order/reserve?replace=true".into(), is_restart: true, ..reserve },
            Call::new("DELETE", "/api/order/reserve", Value::Null).by(user).exclusive(),
            pay,
            pay_with_coupon,
        ]);
    } else {
        let order = cluster.set_up(pay_with_coupon).await.id("orderId");
        calls.push(Call::post(format!("/api/orders/{order}/cancel"), Value::Null).by(user).exclusive());
    }
    calls
}

async fn seats(cluster: &Cluster, shared: &mut Shared, state: usize, round: usize) -> Vec<Call> {
    if round.is_multiple_of(SEATS) {
        let seats: Vec<_> = (0..SEATS).map(|seat| json!({"label": format!("A{seat}"), "price": 100})).collect();
        let new = json!({"name": "콘서트", "queueEnabled": false, "seats": seats});
        shared.event = cluster.set_up(Call::post("/v1/events", new)).await.id("id");
    }
    let event = shared.event;
    let seat = event * 1_000_000 + (round % SEATS) as u64 + 1;
    let users = users(round);
    let of_seat =
        |what: &str, user| Call::post(format!("/v1/events/{event}/seats/{what}"), json!({"seatIds": [seat]})).by(user);
    let (hold, reserve) = (|user| of_seat("hold", user), |user| of_seat("reserve", user));
    let mut calls = vec![hold(users[1]), reserve(users[1]), Call::get(format!("/v1/events/{event}/seats"))];
    match state {
        0 => {
            calls.extend([hold(users[0]), reserve(users[0])]);
            return calls;
        }
        1 => {
            let hold = cluster.set_up(hold(users[0])).await.text("holdId");
            calls.extend([
                Call::post(format!("/v1/seat-holds/{hold}/confirm"), Value::Null).by(users[0]).exclusive(),
                Call::new("DELETE", format!("/v1/seat-holds/{hold}"), Value::Null).by(users[0]).exclusive(),
                reserve(users[0]),
            ]);
        }
        _ => {
            let reservation = cluster.set_up(reserve(users[0])).await.id("reservationId");
            calls.push(
                Call::post(format!("/v1/seat-reservations/{reservation}/cancel"), Value::Null).by(users[0]).exclusive(),
            );
        }
    }
    calls
}

async fn rooms(cluster: &Cluster, shared: &mut Shared, state: usize, round: usize) -> Vec<Call> {
    if round.is_multiple_of(DAYS) {
        let new = json!({"name": "회의실", "slotMinutes": 60, "basePrice": 10_000});
        shared.room = cluster.set_up(Call::post("/v1/rooms", new)).await.id("id");
        let hours = format!("/v1/rooms/{}/operating-hours", shared.room);
        cluster.set_up(Call::new("PUT", hours, mornings())).await;
        cluster.set_up(Call::post("/v1/calendar/generate", json!({"roomId": shared.room}))).await;
    }
    let (room, users) = (shared.room, users(round));
    let date = day(1 + i32::try_from(round % DAYS).unwrap());
    let slots = json!({"date": date, "times": ["09:00", "10:00"]});
    let of_room = |what: &str, body: Value| Call::post(format!("/v1/rooms/{room}/{what}"), body);
    let lock = |user| of_room("locks", slots.clone()).by(user);
    let hours = |to| Call::new("PUT", format!("/v1/rooms/{room}/operating-hours"), every_day("09:00", to));
    let mut calls = vec![
        lock(users[1]),
        of_room("block", json!({"date": date, "times": ["10:00"], "status": "BLOCKED"})).without_command(),
        of_room("unblock", json!({"date": date, "times": ["10:00"]})),
        Call::new("PATCH", format!("/v1/rooms/{room}"), json!({"basePrice": 12_000})),
        of_room("reprice", json!({"from": date, "to": date})).without_command(),
        hours("12:00").without_command(),
        hours("11:00").without_command(),
        Call::get(format!("/v1/rooms/{room}/slots?from={date}&to={date}")),
    ];
    if state == 0 {
        calls.push(lock(users[0]));
        return calls;
    }
    let lock = cluster.set_up(lock(users[0])).await.text("lockId");
    let confirm = Call::post(format!("/v1/locks/{lock}/confirm"), Value::Null).by(users[0]).exclusive();
    if state == 1 {
        calls.extend([confirm, Call::new("DELETE", format!("/v1/locks/{lock}"), Value::Null).by(users[0]).exclusive()]);
    } else {
        let reservation = cluster.set_up(confirm).await.id("reservationId");
        calls.push(
            Call::post(format!("/v1/room-reservations/{reservation}/cancel"), Value::Null).by(users[0]).exclusive(),
        );
    }
    calls
}

async fn tee(cluster: &Cluster, shared: &mut Shared, state: usize, round: usize) -> Vec<Call> {
    if shared.course == 0 {
        shared.course = cluster.set_up(Call::post("/v1/courses", json!({"name": "파크골프장"}))).await.id("id");
    }
    let (date, minute) = (day(5 + i32::try_from(round / 600).unwrap()), round % 600);
    let time = format!("{:02}:{:02}", 8 + minute / 60, minute % 60);
    let new = json!({"slots": [{"date": date, "startTime": time, "maxPlayers": 4, "price": 20_000}]});
    let made = cluster.set_up(Call::post(format!("/v1/courses/{}/slots", shared.course), new)).await;
    let slot = made.body[0]["id"].as_u64().unwrap();
    let book = |user: u64| {
        let key = format!("b-{round}-{user}");
        let body = json!({"idempotencyKey": key, "userId": user, "gameTimeSlotId": slot, "playerCount": 2});
        Call::post("/bookings", body)
    };
    let of_slot = |what: &str, body: Value| Call::post(format!("/v1/slots/{slot}/{what}"), body);
    let later = json!({"slots": [{"date": day(40), "startTime": time, "maxPlayers": 4, "price": 20_000}]});
    let mut calls = vec![
        book(2),
        Call::post(format!("/v1/courses/{}/slots", shared.course), later),
        of_slot("close", json!({})),
        of_slot("close", json!({"cancelBookings": true})),
        of_slot("reopen", Value::Null),
        Call::get(format!("/v1/slots/{slot}")),
    ];
    if state == 0 {
        calls.push(book(1));
        return calls;
    }
    let booking = cluster.set_up(book(1)).await.id("id");
    if state == 1 {
        // It is pending, or has just been confirmed.
        calls.extend([
            Call::post(format!("/bookings/{booking}/cancel"), Value::Null),
            Call::get(format!("/bookings/{booking}")),
        ]);
        let outbox = cluster.set_up(Call::get("/v1/admin/outbox")).await;
        let event = outbox.body["items"][0]["id"].as_u64().expect("an event of a booking");
        calls.push(Call::post(format!("/v1/admin/outbox/{event}/retry"), Value::Null).without_command());
        return calls;
    }
    cluster.until(format!("/bookings/{booking}"), |answer| answer.body["status"] == "CONFIRMED").await;
    let of_booking = |what: &str| Call::post(format!("/bookings/{booking}/{what}"), Value::Null).exclusive();
    calls.extend([of_booking("cancel"), of_booking("complete"), of_booking("no-show")]);
    calls
}

async fn best(cluster: &Cluster, round: usize) -> Vec<Call> {
    let seats: Vec<_> = (0..4).map(|seat| json!({"label": format!("A{seat}"), "price": 100})).collect();
    let new = json!({"name": "콘서트", "queueEnabled": false, "seats": seats});
    let event = cluster.set_up(Call::post("/v1/events", new)).await.id("id");
    let users = users(round);
    let best =
        |user: u64, count| Call::post(format!("/v1/events/{event}/seats/best"), json!({ "count": count })).by(user);
    let seat = json!({"seatIds": [event * 1_000_000 + 2]});
    vec![
        best(users[0], 2),
        best(users[1], 3),
        Call::post(format!("/v1/events/{event}/seats/hold"), seat.clone()).by(users[0]),
        Call::post(format!("/v1/events/{event}/seats/reserve"), seat).by(users[1]),
        Call::new("PATCH", format!("/v1/events/{event}"), json!({"name": "공연"})),
        Call::get(format!("/v1/events/{event}")),
    ]
}

/// Calls of a queue in front of an event; the first user is in the queue, in state 1 admitted.
async fn queue(cluster: &Cluster, state: usize, round: usize) -> Vec<Call> {
    let seats = json!([{"label": "A1", "price": 100}]);
    let new = json!({"name": "콘서트", "queueEnabled": true, "maxConcurrent": 1, "seats": seats});
    let event = cluster.set_up(Call::post("/v1/events", new)).await.id("id");
    let users = users(round);
    let path = format!("/v1/events/{event}/queue");
    let of_user = |what: &str, user: u64| {
        Call::post(format!("{path}{what}"), json!({ "userId": user })).by(user).without_command()
    };
    cluster.set_up(of_user("", users[0])).await;
    if state == 1 {
        cluster.set_up(of_user("/enter", users[0])).await;
    }
    vec![
        of_user("", users[0]),
        of_user("", users[1]),
        of_user("/enter", users[0]),
        of_user("/enter", users[1]),
        Call::new("DELETE", path.clone(), Value::Null).by(users[0]).without_command(),
        Call::post(format!("{path}/pause"), Value::Null),
        Call::post(format!("{path}/resume"), Value::Null),
        Call::new("PATCH", format!("/v1/events/{event}"), json!({"maxConcurrent": 2})),
    ]
}

async fn webhooks(cluster: &Cluster, round: usize) -> Vec<Call> {
    // Their number is bounded.
    let before = cluster.set_up(Call::get("/v1/webhooks")).await;
    for webhook in before.body["items"].as_array().unwrap() {
        cluster.set_up(Call::new("DELETE", format!("/v1/webhooks/{}", webhook["id"]), Value::Null)).await;
    }
    // No server listens there.
    let new = json!({"url": format!("http://127.0.0.1:1/{round}"), "types": ["order.cancelled"]});
    let create = Call::post("/v1/webhooks", new);
    let id = cluster.set_up(create.clone()).await.id("id");
    let of_webhook = |method, what: &str, body| Call::new(method, format!("/v1/webhooks/{id}{what}"), body);
    vec![
        // Replayed without the secret.
        create.without_command(),
        of_webhook("POST", "/rotate-secret", json!({})).without_command(),
        of_webhook("DELETE", "", Value::Null),
        of_webhook("GET", "", Value::Null).without_command(),
    ]
}

/// The calls that race, one per server, and whether each has an idempotency key: calls against themselves and against
/// each other alternate.
fn contenders(calls: &[Call], turn: usize) -> ([usize; SERVERS], bool) {
    let (is_self, turn) = (turn.is_multiple_of(2), turn / 2);
    let pairs: Vec<_> = if is_self {
        (0..calls.len()).map(|call| [call; SERVERS]).collect()
    } else {
        (0..calls.len())
            .flat_map(|a| (a + 1..calls.len()).map(move |b| [a, b, if (a + b) % 2 == 0 { a } else { b }]))
            .collect()
    };
    let with_key = (turn % pairs.len() + turn / pairs.len()) % 2 == 1;
    (pairs[turn % pairs.len()], with_key)
}

/// Failures by kind: their number, and the full text of the first.
type Failures = BTreeMap<String, (usize, String)>;

/// Races one object of a vertical.
async fn race(cluster: &Cluster, vertical: Vertical, shared: &mut Shared, round: usize) -> Vec<(String, String)> {
    let calls = vertical.set_up(cluster, shared, round).await;
    let (chosen, with_key) = contenders(&calls, round / vertical.states());
    let key = |call: usize| with_key.then(|| format!("{vertical:?}-{round}-{call}"));
    let keys = chosen.map(key);
    // The servers take turns at being first.
    let racing = (0..SERVERS).map(|place| {
        let server = (place + round) % SERVERS;
        cluster.call(server, &calls[chosen[place]], keys[place].as_deref())
    });
    let answers = join_all(racing).await;

    let mut failures = Vec::new();
    let raced: Vec<_> = chosen.iter().map(|call| (&calls[*call].method, &calls[*call].path)).collect();
    let context = format!("{vertical:?} round {round}, with key: {with_key}, {raced:?}: {answers:?}");
    let mut fail = |kind: String| failures.push((kind, context.clone()));
    // INVALID_INPUT is a mistake of the test.
    for answer in answers.iter().filter(|answer| answer.status >= 500 || answer.code() == "INVALID_INPUT") {
        fail(format!("{vertical:?}: status {} {}", answer.status, answer.code()));
    }
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        let is_same = with_key && chosen[a] == chosen[b] && calls[chosen[a]].is_command;
        // Refusals are not kept: a command that was refused may succeed after another one.
        let is_alone = chosen.iter().all(|call| *call == chosen[0]);
        let successes = [a, b].into_iter().filter(|place| answers[*place].is_success()).count();
        // A call that waited too long on a busy machine had no effect.
        let is_late = [a, b].into_iter().any(|place| answers[place].code() == "LOCK_TIMEOUT");
        let must_agree = !is_late && (successes == 2 || (is_alone && successes == 1));
        let differ = (answers[a].status, &answers[a].body) != (answers[b].status, &answers[b].body);
        if is_same && must_agree && differ {
            fail(format!("{vertical:?}: two answers under one key"));
        }
    }
    let exclusive = |place: &usize| calls[chosen[*place]].is_exclusive;
    let won = (0..SERVERS).filter(exclusive).filter(|place| {
        let answer = &answers[*place];
        answer.is_success() && !answer.is_replayed
    });
    let (won, are_all) = (won.count(), (0..SERVERS).all(|place| exclusive(&place)));
    let is_restarted = chosen.iter().any(|call| calls[*call].is_restart);
    let is_late = answers.iter().any(|answer| answer.code() == "LOCK_TIMEOUT");
    if (won > 1 && !is_restarted) || (are_all && won == 0 && !is_late) {
        fail(format!("{vertical:?}: {won} exclusive commands succeeded"));
    }
    failures
}

async fn run(rounds: usize) -> (Failures, usize) {
    let (place, clock) = (Place::new(Profile::Cluster), clock());
    let servers = (11..).take(SERVERS).map(|seed| Server::start(&place, &clock, seed));
    let cluster = Cluster { servers: join_all(servers).await };
    let mut failures = Failures::new();
    let mut requests = 0;
    let mut shared: Vec<_> = Vertical::ALL.iter().map(|vertical| (*vertical, Shared::default())).collect();
    for round in 0..rounds {
        let races = shared.iter_mut().map(|(vertical, shared)| race(&cluster, *vertical, shared, round));
        requests += SERVERS * Vertical::ALL.len();
        for (kind, context) in join_all(races).await.into_iter().flatten() {
            failures.entry(kind).or_insert((0, context)).0 += 1;
        }
    }
    let mut stores = Vec::new();
    for server in cluster.servers {
        stores.push(server.stop().await);
    }
    let mut audit = Audit::new(clock.now());
    stores[0].audit(&mut audit).await.unwrap();
    for found in audit.finish() {
        failures.entry("audit".into()).or_insert((0, found)).0 += 1;
    }
    (failures, requests)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_servers_race_on_every_object() {
    let rounds = std::env::var("HOLDFAST_TEST_RACE_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let began = Instant::now();
    let (failures, requests) = run(rounds).await;
    println!("{rounds} rounds, {requests} requests that raced, {:?}: {failures:#?}", began.elapsed());
    assert!(failures.is_empty());
    assert_eq!(take_panics(), [""; 0], "a server panicked");
}
