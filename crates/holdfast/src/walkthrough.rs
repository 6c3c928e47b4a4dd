//! `holdfast try`: one hold from placing to cancelling, narrated in the terminal against a running server.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use holdfast_client::{Client, Error, Hold, NewHold, NewRoomType, Problem, RoomType};
use holdfast_engine::IdMaker;
use holdfast_engine::{Clock as _, SystemClock};
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use uuid::Uuid;

const NIGHTS: i64 = 2;
/// First stay that is considered, in days from today.
const DAYS_AHEAD_MIN: i64 = 7;
/// Last stay that is considered, in days from today.
const DAYS_AHEAD_MAX: i64 = 60;
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
const USERS: [u64; 2] = [42, 43];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Server to call, with auth off.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: String,
}

/// A room type with one room, and a stay for which it is free.
struct LastRoom {
    room_type: RoomType,
    check_in: Date,
    check_out: Date,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(walk_through(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn walk_through(args: &Args) -> anyhow::Result<()> {
    let client = Client::new(&args.url).in_language("en").with_timeout(RESPONSE_TIMEOUT);
    let room = last_room(&client).await.map_err(|error| explain(error, &args.url))?;
    let LastRoom { room_type, check_in, check_out } = &room;
    println!("{} has one room left from {check_in} to {check_out}.\n", room_type.name);

    println!("1. Users {} and {} ask for it at the same moment.", USERS[0], USERS[1]);
    let [first, second] = USERS.map(|user| client.as_user(user));
    let (hold, rival, refusal) = match tokio::join!(hold(&first, &room), hold(&second, &room)) {
        (Ok(hold), Err(Error::Problem(refusal))) => (hold, USERS[1], refusal),
        (Err(Error::Problem(refusal)), Ok(hold)) => (hold, USERS[0], refusal),
        (Ok(_), Ok(_)) => bail!("both users were given the last room"),
        (Err(error), _) | (_, Err(error)) => return Err(explain(error, &args.url)),
    };
    println!("   user {}: POST /v1/holds -> 201 {}", hold.user_id, held(&hold));
    println!("   user {rival}: POST /v1/holds -> {}", said(&refusal));

    println!("\n2. User {} pays, and the hold becomes a reservation.", hold.user_id);
    let owner = client.as_user(hold.user_id.clone());
    let reservation = owner.confirm_hold(hold.hold_id).await?;
    println!("   POST /v1/holds/{{holdId}}/confirm -> 201 reservation {}", reservation.reservation_id);

    println!("\n3. The answer was lost, so the client confirms again. Nothing is sold twice.");
    match owner.confirm_hold(hold.hold_id).await {
        Err(Error::Problem(refusal)) => println!(
            "   POST /v1/holds/{{holdId}}/confirm -> {} (reservationId {})",
            said(&refusal),
            refusal.extra.get("reservationId").context("the refusal names no reservation")?
        ),
        Err(error) => return Err(explain(error, &args.url)),
        Ok(_) => bail!("the hold was confirmed twice"),
    }

    println!("\n4. User {} changes their mind.", hold.user_id);
    owner.cancel_reservation(reservation.reservation_id).await?;
    let available = client.availability(room_type.id, *check_in, *check_out).await?.available;
    println!("   POST /v1/reservations/{}/cancel -> 200, rooms free again: {available}", reservation.reservation_id);

    println!("\nAn unpaid hold ends by itself. Every call is described at {}/docs.", args.url);
    Ok(())
}

/// Finds a room type with one room and a free stay, or creates one.
async fn last_room(client: &Client) -> Result<LastRoom, Error> {
    let today = SystemClock.now().to_jiff().to_zoned(TimeZone::UTC).date();
    let room_types = client.room_types(None).await?.items;
    for room_type in room_types.into_iter().filter(|room_type| room_type.total_quantity == 1) {
        for days in (DAYS_AHEAD_MIN..=DAYS_AHEAD_MAX).step_by(NIGHTS as usize) {
            let (check_in, check_out) = stay(today, days);
            if client.availability(room_type.id, check_in, check_out).await?.available == 1 {
                return Ok(LastRoom { room_type, check_in, check_out });
            }
        }
    }
    let room_type = client.create_room_type(&NewRoomType::new("Single room", 1, 80_000)).await?;
    let (check_in, check_out) = stay(today, DAYS_AHEAD_MIN);
    Ok(LastRoom { room_type, check_in, check_out })
}

fn stay(today: Date, days_ahead: i64) -> (Date, Date) {
    (today.saturating_add(days_ahead.days()), today.saturating_add((days_ahead + NIGHTS).days()))
}

async fn hold(client: &Client, room: &LastRoom) -> Result<Hold, Error> {
    let ids = IdMaker::new();
    let key = Uuid::from_u64_pair(ids.number(), ids.number());
    client.place_hold(&NewHold::new(room.room_type.id, room.check_in, room.check_out, key)).await
}

fn held(hold: &Hold) -> String {
    let seconds = hold.expired_at.duration_since(hold.created_at).as_secs();
    format!("HELD for {seconds} s, {} {}", hold.price, hold.currency)
}

fn said(refusal: &Problem) -> String {
    format!("{} {}: {}", refusal.status, refusal.code, refusal.detail)
}

fn explain(error: Error, url: &str) -> anyhow::Error {
    match error {
        Error::Transport(_) => anyhow::anyhow!("no server answers at {url}; start one with `holdfast serve --demo`"),
        Error::Problem(problem) if matches!(problem.status, 401 | 403) => {
            anyhow::anyhow!("{url} has auth on; `holdfast try` needs a server with auth off")
        }
        error => error.into(),
    }
}
