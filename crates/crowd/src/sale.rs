//! The course of a sale: look, close the doors, let the crowd gather, open, sell, send everybody home, check.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use holdfast_client::{Client, SeatStatus};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::board::{Bell, Board, Count, Phase};
use crate::check::{self, ConcertSold, RoomSold};
use crate::fairness::Fairness;
use crate::notes::{Admission, CallTimes, LatencyPoint};
use crate::person::{self, Dice, Person};
use crate::stage::{self, Concert};
use crate::{Error, Plan, concert, hotel};

/// Calls of the whole crowd that are under way at once.
const LINES: usize = 128;
const WATCH_EVERY: Duration = Duration::from_millis(200);
/// Once everybody is asked to go home, they have so long.
const HOME_WITHIN: Duration = Duration::from_secs(15);
/// The crowd does not gather in one instant, but in so many times the time people take to think.
const ARRIVING: u32 = 4;

/// How a sale went.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub people: u64,
    pub seconds: f64,
    /// When the doors were opened.
    pub doors_opened_at_seconds: Option<f64>,
    /// Whether it was ended before its time.
    pub stopped: bool,
    pub concert: ConcertSold,
    pub room: RoomSold,
    pub fairness: Fairness,
    /// The most people seen inside at once.
    pub inside_max: u64,
    pub gave_up: u64,
    pub let_go: u64,
    pub lost_races: u64,
    pub requests: u64,
    /// People who were not answered, or in a way that nobody expects.
    pub failures: u64,
    pub calls: Vec<CallTimes>,
    pub latency: Vec<LatencyPoint>,
    pub admissions: Vec<Admission>,
    /// When so many seats had been sold.
    pub seats_sold: Vec<(f64, u64)>,
}

impl Outcome {
    pub fn oversold(&self) -> u64 {
        self.concert.oversold + self.room.oversold
    }

    /// Nothing was sold twice or lost, and nobody was let in out of order.
    pub fn is_right(&self) -> bool {
        self.oversold() == 0 && self.concert.lost + self.room.lost == 0 && self.fairness.error == 0
    }
}

/// Holds a sale. It ends by itself, at the latest a little after the plan's time limit, or after [`Board::stop`].
pub async fn run(plan: Plan, board: Arc<Board>) -> Result<Outcome, Error> {
    let outcome = hold_sale(&plan, &board).await;
    board.set_phase(if outcome.is_ok() { Phase::Done } else { Phase::Failed });
    outcome
}

async fn hold_sale(plan: &Plan, board: &Arc<Board>) -> Result<Outcome, Error> {
    plan.check()?;
    let server = person::client(&plan.url);
    stage::must_be_demo(&server, &plan.url).await?;
    let concert = stage::concert(&server).await?;
    let room = Arc::new(stage::hot_room(&server, plan.now).await?);
    board.set_stage(u64::from(plan.people), concert.event.id, concert.unsold, room.unsold);
    board.set_phase(Phase::Gathering);
    stage::close_doors(&server, concert.event.id, plan.now).await?;
    let mut crowd = gather(plan, board, &server, concert.event.id, &room);
    let sold = sell(plan, board, &server, &concert, &mut crowd).await;
    // Whatever happened, the doors do not stay closed.
    stage::open_doors(&server, concert.event.id).await?;
    let stopped = sold?;
    board.set_phase(Phase::Checking);
    outcome(board, &server, &concert, &room, stopped).await
}

/// Everybody sets out.
fn gather(
    plan: &Plan,
    board: &Arc<Board>,
    server: &Client,
    event: u64,
    room: &Arc<stage::HotRoom>,
) -> JoinSet<Result<(), holdfast_client::Error>> {
    let lines = Arc::new(Semaphore::new(LINES));
    let to_hotel = plan.people / 5;
    // Numbers nobody else has: users of the demo's shop are counted from 1.
    let first = plan.now.as_second().unsigned_abs() * 100_000;
    let mut crowd = JoinSet::new();
    for number in 0..plan.people {
        let mut person = Person {
            client: server.as_user(first + u64::from(number) + 1),
            board: board.clone(),
            lines: lines.clone(),
            think: plan.think,
            dice: Dice::new(plan.seed ^ (u64::from(number) << 32)),
        };
        let room = room.clone();
        crowd.spawn(async move {
            if number < to_hotel {
                return hotel::attend(person, room).await;
            }
            let window = (person.think * ARRIVING).as_millis() as u64;
            let arrives_after = Duration::from_millis(person.dice.below(window));
            person.board.wait(arrives_after, &[Bell::Stop]).await;
            if person.is_sent_home() {
                return Ok(());
            }
            concert::attend(person, event).await
        });
    }
    crowd
}

/// Until everybody has gone. Says whether it was ended before its time.
async fn sell(
    plan: &Plan,
    board: &Board,
    server: &Client,
    concert: &Concert,
    crowd: &mut JoinSet<Result<(), holdfast_client::Error>>,
) -> Result<bool, Error> {
    let in_line = u64::from(plan.people - plan.people / 5);
    let (mut watch, mut sent_home_at) = (tokio::time::interval(WATCH_EVERY), None::<Instant>);
    watch.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            gone = crowd.join_next() => match gone {
                None => return Ok(board.bell() == Bell::Stop),
                Some(gone) => if gone?.is_err() {
                    board.add(Count::Failures, 1);
                },
            },
            _ = watch.tick() => {
                if board.elapsed() > plan.time_limit {
                    board.stop();
                }
                if board.bell() == Bell::Stop {
                    let since = sent_home_at.get_or_insert_with(Instant::now);
                    if since.elapsed() > HOME_WITHIN {
                        crowd.shutdown().await;
                        return Ok(true);
                    }
                } else {
                    look_after(board, server, concert, in_line).await?;
                }
            }
        }
    }
}

/// Opens the doors once everybody has a place, and rings when all is sold.
async fn look_after(board: &Board, server: &Client, concert: &Concert, in_line: u64) -> Result<(), Error> {
    let progress = board.progress();
    if board.bell() == Bell::Closed {
        if progress.joined + progress.failures >= in_line {
            stage::open_doors(server, concert.event.id).await?;
            board.notes.lock().unwrap_or_else(PoisonError::into_inner).doors_opened_at =
                Some(board.elapsed().as_secs_f64());
            board.set_phase(Phase::Selling);
            board.ring(Bell::Open);
        }
        return Ok(());
    }
    let stats = server.queue_stats(concert.event.id).await?;
    let plan = server.seats(concert.event.id).await?;
    {
        let mut notes = board.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.inside_max = notes.inside_max.max(stats.entered);
    }
    if plan.iter().all(|seat| seat.status == SeatStatus::Reserved) {
        board.ring(Bell::SoldOut);
    }
    Ok(())
}

async fn outcome(
    board: &Board,
    server: &Client,
    concert: &Concert,
    room: &stage::HotRoom,
    stopped: bool,
) -> Result<Outcome, Error> {
    let seconds = board.elapsed().as_secs_f64();
    let (seat_reservations, stays) = {
        let notes = board.notes.lock().unwrap_or_else(PoisonError::into_inner);
        (notes.seat_reservations.clone(), notes.stays.clone())
    };
    let concert = check::concert(server, concert, &seat_reservations).await?;
    let room = check::room(server, room, &stays).await?;
    let progress = board.progress();
    let notes = board.notes.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Outcome {
        people: progress.people,
        seconds,
        doors_opened_at_seconds: notes.doors_opened_at,
        stopped,
        fairness: Fairness::of(&notes.line, concert.max_concurrent),
        inside_max: notes.inside_max,
        gave_up: progress.gave_up,
        let_go: progress.let_go,
        lost_races: progress.lost_races,
        requests: progress.requests,
        failures: progress.failures,
        calls: notes.calls(),
        latency: notes.latency(),
        admissions: notes.admissions.clone(),
        seats_sold: notes.seats_sold.clone(),
        concert,
        room,
    })
}
