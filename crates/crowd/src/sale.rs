//! Course of a sale: select, close sales, gather, open, sell, stop, check.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_client::{Client, SeatStatus};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::board::{Board, Count, Phase, PhaseSignal};
use crate::check::{self, ConcertSold, RoomSold};
use crate::fairness::Fairness;
use crate::notes::{Admission, CallTimes, LatencyPoint};
use crate::person::{self, Customer, Random};
use crate::stage::{self, Concert};
use crate::{Error, Plan, concert, hotel};

/// Maximum number of concurrent calls of all customers.
const CONCURRENT_CALLS_MAX: usize = 128;
const WATCH_INTERVAL: Duration = Duration::from_millis(200);
/// Time for customers to leave after the stop signal.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(15);
/// Arrivals spread over this many average thinking times.
const ARRIVAL_THINK_TIMES: u32 = 4;

/// Result of a sale.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub people: u64,
    pub seconds: f64,
    /// Time when sales opened.
    pub doors_opened_at_seconds: Option<f64>,
    /// Whether the sale was stopped early.
    pub stopped: bool,
    pub concert: ConcertSold,
    pub room: RoomSold,
    pub fairness: Fairness,
    /// Maximum number of users inside at once.
    pub inside_max: u64,
    pub gave_up: u64,
    pub let_go: u64,
    pub lost_races: u64,
    pub requests: u64,
    /// Customers without an answer, or with an unexpected one.
    pub failures: u64,
    pub calls: Vec<CallTimes>,
    pub latency: Vec<LatencyPoint>,
    pub admissions: Vec<Admission>,
    /// (Seconds, seats sold so far).
    pub seats_sold: Vec<(f64, u64)>,
}

impl Outcome {
    pub fn oversold(&self) -> u64 {
        self.concert.oversold + self.room.oversold
    }

    /// Whether no unit was sold twice or lost, and admission was fair.
    pub fn is_right(&self) -> bool {
        self.oversold() == 0 && self.concert.lost + self.room.lost == 0 && self.fairness.error == 0
    }
}

/// Runs a sale. It ends at the latest a little after the plan's time limit, or after [`Board::stop`].
pub async fn run(plan: Plan, board: Arc<Board>) -> Result<Outcome, Error> {
    let outcome = run_sale(&plan, &board).await;
    board.set_phase(if outcome.is_ok() { Phase::Done } else { Phase::Failed });
    outcome
}

async fn run_sale(plan: &Plan, board: &Arc<Board>) -> Result<Outcome, Error> {
    plan.check()?;
    let server = person::client(&plan.url);
    stage::verify_demo(&server, &plan.url).await?;
    let concert = stage::concert(&server).await?;
    let room = Arc::new(stage::contended_room(&server, plan.now).await?);
    board.set_fixture(u64::from(plan.people), concert.event.id, concert.unsold, room.unsold);
    board.set_phase(Phase::Gathering);
    stage::close_sales(&server, concert.event.id, plan.now).await?;
    let mut customers = gather(plan, board, &server, concert.event.id, &room);
    let sold = sell(plan, board, &server, &concert, &mut customers).await;
    // Sales open in any case, also after an error.
    stage::open_sales(&server, concert.event.id).await?;
    let stopped = sold?;
    board.set_phase(Phase::Checking);
    outcome(board, &server, &concert, &room, stopped).await
}

/// Starts all customers.
fn gather(
    plan: &Plan,
    board: &Arc<Board>,
    server: &Client,
    event: u64,
    room: &Arc<stage::ContendedRoom>,
) -> JoinSet<Result<(), holdfast_client::Error>> {
    let permits = Arc::new(Semaphore::new(CONCURRENT_CALLS_MAX));
    let to_hotel = plan.people / 5;
    // Ids that no other user has: users of the demo's shop are counted from 1.
    let first = plan.now.as_second().unsigned_abs() * 100_000;
    let mut customers = JoinSet::new();
    for number in 0..plan.people {
        let mut customer = Customer {
            client: server.as_user(first + u64::from(number) + 1),
            board: board.clone(),
            permits: permits.clone(),
            think: plan.think,
            random: Random::new(plan.seed ^ (u64::from(number) << 32)),
        };
        let room = room.clone();
        customers.spawn(async move {
            if number < to_hotel {
                return hotel::attend(customer, room).await;
            }
            let window = (customer.think * ARRIVAL_THINK_TIMES).as_millis() as u64;
            let arrives_after = Duration::from_millis(customer.random.below(window));
            customer.board.wait(arrives_after, &[PhaseSignal::Stop]).await;
            if customer.is_stopping() {
                return Ok(());
            }
            concert::attend(customer, event).await
        });
    }
    customers
}

/// Runs until all customers have left. Returns whether the sale was stopped early.
async fn sell(
    plan: &Plan,
    board: &Board,
    server: &Client,
    concert: &Concert,
    customers: &mut JoinSet<Result<(), holdfast_client::Error>>,
) -> Result<bool, Error> {
    let queue_customers = u64::from(plan.people - plan.people / 5);
    let (mut watch, mut stopped_at) = (tokio::time::interval(WATCH_INTERVAL), None::<Instant>);
    watch.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            ended = customers.join_next() => match ended {
                None => return Ok(board.signal() == PhaseSignal::Stop),
                Some(ended) => if ended?.is_err() {
                    board.add(Count::Failures, 1);
                },
            },
            _ = watch.tick() => {
                if board.elapsed() > plan.time_limit {
                    board.stop();
                }
                if board.signal() == PhaseSignal::Stop {
                    let since = stopped_at.get_or_insert_with(Instant::now);
                    if since.elapsed() > LEAVE_TIMEOUT {
                        customers.shutdown().await;
                        return Ok(true);
                    }
                } else {
                    supervise(board, server, concert, queue_customers).await?;
                }
            }
        }
    }
}

/// Opens sales once every customer has a place, and signals when all is sold.
async fn supervise(board: &Board, server: &Client, concert: &Concert, queue_customers: u64) -> Result<(), Error> {
    let progress = board.progress();
    if board.signal() == PhaseSignal::Closed {
        if progress.joined + progress.failures >= queue_customers {
            stage::open_sales(server, concert.event.id).await?;
            board.notes.lock().sales_opened_at = Some(board.elapsed().as_secs_f64());
            board.set_phase(Phase::Selling);
            board.send_signal(PhaseSignal::Open);
        }
        return Ok(());
    }
    let stats = server.queue_stats(concert.event.id).await?;
    let plan = server.seats(concert.event.id).await?;
    {
        let mut notes = board.notes.lock();
        notes.inside_max = notes.inside_max.max(stats.entered);
    }
    if plan.iter().all(|seat| seat.status == SeatStatus::Reserved) {
        board.send_signal(PhaseSignal::SoldOut);
    }
    Ok(())
}

async fn outcome(
    board: &Board,
    server: &Client,
    concert: &Concert,
    room: &stage::ContendedRoom,
    stopped: bool,
) -> Result<Outcome, Error> {
    let seconds = board.elapsed().as_secs_f64();
    let (seat_reservations, stays) = {
        let notes = board.notes.lock();
        (notes.seat_reservations.clone(), notes.stays.clone())
    };
    let concert = check::concert(server, concert, &seat_reservations).await?;
    let room = check::room(server, room, &stays).await?;
    let progress = board.progress();
    let notes = board.notes.lock();
    Ok(Outcome {
        people: progress.people,
        seconds,
        doors_opened_at_seconds: notes.sales_opened_at,
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
