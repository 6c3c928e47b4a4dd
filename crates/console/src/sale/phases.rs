//! Phases of a sale: select, close sales, gather, open, sell, stop, verify.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_client::{Client, SeatStatus};
use jiff::SignedDuration;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::customer::Customer;
use super::fixture::{self, ContendedRoom};
use super::progress::{Counts, Measurements, Phase, PhaseSignal, Progress};
use super::verification::{self, ConcertSold, Fairness, RoomSold};
use super::{Error, Plan, concert, hotel};

/// Maximum number of concurrent calls of all customers.
const CONCURRENT_CALLS_MAX: usize = 128;
/// Timeout of a call. The server responds within 5 s; a missing response must not keep a sale from ending.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
const WATCH_INTERVAL: Duration = Duration::from_millis(200);
/// Time for customers to leave after the stop signal.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(15);
/// Sales open after this time even if the simulator is killed before.
const OPEN_AFTER_MAX: SignedDuration = SignedDuration::from_mins(2);
/// Arrivals spread over this many average thinking times.
const ARRIVAL_THINK_TIMES: u32 = 4;

/// Result of a sale.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    #[serde(flatten)]
    pub measured: Measurements,
    /// Whether the sale was stopped early.
    pub stopped: bool,
    pub concert: ConcertSold,
    pub room: RoomSold,
    pub fairness: Fairness,
}

impl Outcome {
    pub fn oversold(&self) -> u64 {
        self.concert.oversold + self.room.oversold
    }

    pub fn lost(&self) -> u64 {
        self.concert.lost + self.room.lost
    }

    /// Whether no unit was sold twice or lost, and admission was fair.
    pub fn is_correct(&self) -> bool {
        self.oversold() == 0 && self.lost() == 0 && self.fairness.error == 0
    }
}

type Customers = JoinSet<Result<(), holdfast_client::Error>>;

/// Runs a sale. It ends at most [`LEAVE_TIMEOUT`] after the time limit of the plan, or after [`Progress::stop`].
pub async fn run(plan: Plan, progress: Arc<Progress>) -> Result<Outcome, Error> {
    let outcome = run_phases(&plan, &progress).await;
    progress.with(|measured| measured.counts.phase = if outcome.is_ok() { Phase::Done } else { Phase::Failed });
    outcome
}

async fn run_phases(plan: &Plan, progress: &Arc<Progress>) -> Result<Outcome, Error> {
    plan.validate()?;
    let server = Client::new(&plan.url).with_timeout(CALL_TIMEOUT);
    fixture::verify_demo(&server, &plan.url).await?;
    let concert = fixture::concert(&server).await?;
    let room = Arc::new(fixture::contended_room(&server, plan.now).await?);
    let event = concert.id;
    progress.with(|measured| {
        let counts = &mut measured.counts;
        (counts.phase, counts.people, counts.event_id) = (Phase::Gathering, u64::from(plan.people), Some(event));
        (counts.seats, counts.nights) = (u64::from(concert.remaining_seats), room.unsold);
    });
    fixture::set_opening(&server, event, plan.now.checked_add(OPEN_AFTER_MAX).ok()).await?;
    let mut customers = gather(plan, progress, &server, event, &room);
    let sold = sell(plan, progress, &server, event, &mut customers).await;
    // Sales open in any case, also after an error.
    fixture::set_opening(&server, event, None).await?;
    let stopped = sold?;
    progress.with(|measured| measured.counts.phase = Phase::Checking);
    let counts = Counts { phase: Phase::Done, ..progress.counts() };
    let measured = Measurements { counts, ..progress.with(|measured| measured.clone()) };
    let concert = verification::concert(&server, &concert, &measured.seat_reservations).await?;
    let room = verification::room(&server, &room, &measured.stays).await?;
    let fairness = Fairness::of(&measured.queue, concert.max_concurrent);
    Ok(Outcome { measured, stopped, concert, room, fairness })
}

/// Starts all customers.
fn gather(plan: &Plan, progress: &Arc<Progress>, server: &Client, event: u64, room: &Arc<ContendedRoom>) -> Customers {
    let permits = Arc::new(Semaphore::new(CONCURRENT_CALLS_MAX));
    // Ids that no other user has: users of the demo's shop are counted from 1.
    let first = plan.now.as_second().unsigned_abs() * 100_000;
    let mut customers = JoinSet::new();
    for number in 0..plan.people {
        let mut customer = Customer {
            client: server.as_user(first + u64::from(number) + 1),
            progress: progress.clone(),
            permits: permits.clone(),
            think: plan.think,
            random: StdRng::seed_from_u64(plan.seed ^ (u64::from(number) << 32)),
        };
        if number >= plan.concert_people() {
            customers.spawn(hotel::attend(customer, room.clone()));
            continue;
        }
        customers.spawn(async move {
            let window = (customer.think * ARRIVAL_THINK_TIMES).as_millis() as u64;
            let arrives_after = Duration::from_millis(customer.random_below(window));
            customer.progress.wait(arrives_after, PhaseSignal::Stop).await;
            if customer.progress.signal() == PhaseSignal::Stop {
                Ok(())
            } else {
                concert::attend(customer, event).await
            }
        });
    }
    customers
}

/// Runs until all customers have left. Returns whether the sale was stopped early.
async fn sell(
    plan: &Plan,
    progress: &Progress,
    server: &Client,
    event: u64,
    customers: &mut Customers,
) -> Result<bool, Error> {
    let (mut watch, mut stopped_at) = (tokio::time::interval(WATCH_INTERVAL), None::<Instant>);
    watch.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            ended = customers.join_next() => match ended {
                None => return Ok(progress.signal() == PhaseSignal::Stop),
                Some(ended) => progress.with(|measured| measured.counts.failures += u64::from(!matches!(ended, Ok(Ok(()))))),
            },
            _ = watch.tick() => {
                if progress.elapsed_seconds() > plan.time_limit.as_secs_f64() {
                    progress.stop();
                }
                if progress.signal() != PhaseSignal::Stop {
                    supervise(plan, progress, server, event).await?;
                } else if stopped_at.get_or_insert_with(Instant::now).elapsed() > LEAVE_TIMEOUT {
                    customers.shutdown().await;
                    return Ok(true);
                }
            }
        }
    }
}

/// Opens sales once every customer has a place, and signals when all is sold.
async fn supervise(plan: &Plan, progress: &Progress, server: &Client, event: u64) -> Result<(), Error> {
    if progress.signal() == PhaseSignal::Closed {
        let counts = progress.counts();
        if counts.joined + counts.failures >= u64::from(plan.concert_people()) {
            fixture::set_opening(server, event, None).await?;
            progress.with(|measured| {
                measured.opened_at_seconds = Some(progress.elapsed_seconds());
                measured.counts.phase = Phase::Selling;
            });
            progress.send_signal(PhaseSignal::Open);
        }
        return Ok(());
    }
    let entered = server.queue_stats(event).await?.entered;
    progress.with(|measured| measured.inside_max = measured.inside_max.max(entered));
    if server.seats(event).await?.iter().all(|seat| seat.status == SeatStatus::Reserved) {
        progress.send_signal(PhaseSignal::SoldOut);
    }
    Ok(())
}
