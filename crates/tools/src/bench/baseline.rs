//! Baseline: an axum server that parses and writes the same JSON as the product, without any work in between.

use std::net::SocketAddr;

use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::serve::Listener;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use uuid::Uuid;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    listen: SocketAddr,
    /// Serve with one thread per core that has connections of its own, as the product does, instead of axum's way.
    #[arg(long)]
    thread_per_core: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewHold {
    room_type_id: u64,
    check_in: String,
    check_out: String,
    user_id: u64,
    client_hold_key: String,
}

/// Fields of the product's response.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    hold_id: Uuid,
    room_type_id: u64,
    check_in: String,
    check_out: String,
    user_id: u64,
    client_hold_key: String,
    status: &'static str,
    created_at: &'static str,
    expired_at: &'static str,
    price: i64,
    currency: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Night {
    date: &'static str,
    total_quantity: u32,
    reserved_count: u32,
    hold_count: u32,
    available: u32,
    closed: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Availability {
    room_type_id: u64,
    check_in: &'static str,
    check_out: &'static str,
    available: u32,
    nights: Vec<Night>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedUser {
    user_id: u64,
}

#[derive(Serialize)]
struct Data {
    data: Reservations,
}

#[derive(Serialize)]
struct Reservations {
    reservations: Vec<Line>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    reservation_id: u64,
    product_option_id: u64,
    product_name: &'static str,
    option_code: &'static str,
    quantity: u32,
    status: &'static str,
    available_stock: u32,
    reserved_at: &'static str,
    expires_at: &'static str,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let router = Router::new()
        .route("/v1/holds", post(hold))
        .route("/v1/room-types/{id}/availability", get(availability))
        .route("/api/order/reserve", post(reserve))
        .route("/v1/rooms/{id}/availability", post(slot_availability))
        .route("/v1/rooms/{id}/slots", get(day_of_slots))
        .route("/v1/events/{id}/queue", get(poll_response));
    let listener = TcpListener::bind(args.listen).await?;
    println!("ready");
    if args.thread_per_core {
        return serve_per_core(listener, &router).await;
    }
    Ok(axum::serve(listener, router).await?)
}

async fn serve_per_core(listener: TcpListener, router: &Router) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism()?.get();
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..cores).map(|_| mpsc::unbounded_channel()).unzip();
    for sockets in receivers {
        let (router, address) = (router.clone(), listener.local_addr()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            runtime.block_on(axum::serve(HandedOver { sockets, address }, router).into_future())
        });
    }
    for sender in senders.iter().cycle() {
        sender.send(listener.accept().await?.0.into_std()?)?;
    }
    Ok(())
}

/// Listener for connections accepted by another thread.
struct HandedOver {
    sockets: mpsc::UnboundedReceiver<std::net::TcpStream>,
    address: SocketAddr,
}

impl Listener for HandedOver {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        let socket = self.sockets.recv().await.expect("the acceptor lives as long as the process");
        (TcpStream::from_std(socket).expect("an accepted socket can be registered"), self.address)
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        Ok(self.address)
    }
}

async fn hold(Json(body): Json<NewHold>) -> (StatusCode, Json<Answer>) {
    let answer = Answer {
        hold_id: Uuid::nil(),
        room_type_id: body.room_type_id,
        check_in: body.check_in,
        check_out: body.check_out,
        user_id: body.user_id,
        client_hold_key: body.client_hold_key,
        status: "HELD",
        created_at: "2026-01-01T00:00:00.000Z",
        expired_at: "2026-01-01T00:10:00.000Z",
        price: 90_000,
        currency: "KRW",
    };
    (StatusCode::CREATED, Json(answer))
}

async fn reserve(Json(body): Json<NamedUser>) -> Json<Data> {
    let reservation = Line {
        reservation_id: body.user_id,
        product_option_id: 1,
        product_name: "beans",
        option_code: "ETH-HD-200",
        quantity: 1,
        status: "RESERVED",
        available_stock: 999_999,
        reserved_at: "2026-01-01T00:00:00.000Z",
        expires_at: "2026-01-01T00:30:00.000Z",
    };
    Json(Data { data: Reservations { reservations: vec![reservation] } })
}

/// Fields of the product's response to a poll.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PollResponse {
    status: &'static str,
    rank: u64,
    ahead_count: u64,
    estimated_wait_seconds: u64,
    poll_after_ms: u64,
    remaining_seats: u32,
}

async fn poll_response() -> Json<PollResponse> {
    Json(PollResponse {
        status: "waiting",
        rank: 123_456,
        ahead_count: 123_456,
        estimated_wait_seconds: 600,
        poll_after_ms: 30_000,
        remaining_seats: 10_000,
    })
}

async fn availability() -> Json<Availability> {
    let night = |date| Night {
        date,
        total_quantity: 1_000_000,
        reserved_count: 1_234,
        hold_count: 567,
        available: 998_199,
        closed: false,
    };
    Json(Availability {
        room_type_id: 1,
        check_in: "2026-01-01",
        check_out: "2026-01-03",
        available: 998_199,
        nights: vec![night("2026-01-01"), night("2026-01-02")],
    })
}

#[derive(Deserialize)]
struct SlotQuery {
    date: String,
    times: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SlotAvailability {
    room_id: u64,
    result: &'static str,
    total_price: i64,
    currency: &'static str,
    slots: Vec<QueriedSlot>,
}

#[derive(Serialize)]
struct QueriedSlot {
    date: String,
    time: String,
    status: &'static str,
    price: i64,
}

async fn slot_availability(Json(body): Json<SlotQuery>) -> Json<SlotAvailability> {
    let slot = |time| QueriedSlot { date: body.date.clone(), time, status: "AVAILABLE", price: 20_000 };
    let slots = body.times.into_iter().map(slot).collect();
    Json(SlotAvailability { room_id: 1, result: "AVAILABLE", total_price: 40_000, currency: "KRW", slots })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Slot {
    date: &'static str,
    time: &'static str,
    minutes: u16,
    status: &'static str,
    base_price: i64,
    final_price: i64,
    currency: &'static str,
    is_peak_time: bool,
    is_holiday: bool,
}

async fn day_of_slots() -> Json<Vec<Slot>> {
    let slot = |_| Slot {
        date: "2026-01-01",
        time: "09:00",
        minutes: 60,
        status: "AVAILABLE",
        base_price: 20_000,
        final_price: 20_000,
        currency: "KRW",
        is_peak_time: false,
        is_holiday: false,
    };
    Json((0..20).map(slot).collect())
}
