//! Complete sale: all users join, poll as often as they are told to, enter when it is their turn and buy a seat, until
//! all are sold.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tokio::task::JoinSet;

use super::super::http::Connection;
use super::super::server_process::Server;
use super::{Args, create_event};

/// Timeout; a longer sale is a fault.
const SALE_TIMEOUT: Duration = Duration::from_mins(30);

/// Result of a sale.
#[derive(Serialize)]
pub(crate) struct Sold {
    profile: &'static str,
    people: u64,
    seats: u64,
    join_seconds: f64,
    sale_seconds: f64,
    joins_per_second: f64,
    people_per_second: f64,
    seats_per_second: f64,
    /// Maximum number of places by which a user entered before users who were not ready yet.
    fairness_error: u64,
    peak_inside: u64,
    max_concurrent: u64,
    calls: Vec<Call>,
}

#[derive(Serialize)]
struct Call {
    name: &'static str,
    count: u64,
    p50_ms: f64,
    p99_ms: f64,
}

#[derive(Default)]
struct Times {
    join: Vec<u64>,
    poll: Vec<u64>,
    enter: Vec<u64>,
    reserve: Vec<u64>,
}

/// Time of the next poll of a user, earliest first.
type Due = Reverse<(Instant, u64)>;

struct Sale {
    event: u64,
    seats: u64,
    /// User by place in the queue.
    line: Mutex<Vec<u64>>,
    due: Mutex<BinaryHeap<Due>>,
    next_seat: AtomicU64,
    sold: AtomicU64,
    /// End of each entry, which gives the order of entering, and the place of its user.
    admitted: Mutex<Vec<(String, u64)>>,
    peak_inside: AtomicU64,
    over: AtomicBool,
}

pub(crate) async fn run(profile: &'static str, server: &Server, args: &Args) -> anyhow::Result<Sold> {
    println!("a sale, {profile}: {} people, {} seats, {} inside at once", args.people, args.seats, args.inside);
    let event = create_event(server, args.seats, args.inside).await?;
    let sale = Arc::new(Sale {
        event,
        seats: args.seats,
        line: Mutex::new(vec![0; args.people as usize]),
        due: Mutex::default(),
        next_seat: AtomicU64::new(1),
        sold: AtomicU64::new(0),
        admitted: Mutex::default(),
        peak_inside: AtomicU64::new(0),
        over: AtomicBool::new(false),
    });
    let mut times = Times::default();
    let began = Instant::now();
    join_all(&sale, server, args, &mut times).await?;
    let join_seconds = began.elapsed().as_secs_f64();
    let began = Instant::now();
    sell_all(&sale, server, args, &mut times).await?;
    let sale_seconds = began.elapsed().as_secs_f64();
    let admitted = sale.admitted.lock().clone();
    Ok(Sold {
        profile,
        people: args.people,
        seats: args.seats,
        join_seconds,
        sale_seconds,
        joins_per_second: args.people as f64 / join_seconds,
        people_per_second: admitted.len() as f64 / sale_seconds,
        seats_per_second: args.seats as f64 / sale_seconds,
        fairness_error: fairness_error(admitted, args.inside),
        peak_inside: sale.peak_inside.load(Ordering::Relaxed),
        max_concurrent: args.inside,
        calls: times.calls()?,
    })
}

/// Lets all users join. No user has entered yet, so their rank is their place in the queue.
async fn join_all(sale: &Arc<Sale>, server: &Server, args: &Args, times: &mut Times) -> anyhow::Result<()> {
    let (next, people) = (Arc::new(AtomicU64::new(1)), args.people);
    let mut tasks = JoinSet::new();
    for _ in 0..args.connections {
        let (sale, next) = (sale.clone(), next.clone());
        let mut connection = Connection::open(server.address).await?;
        tasks.spawn(async move {
            let path = format!("/v1/events/{}/queue", sale.event);
            let mut latencies = Vec::new();
            loop {
                let user = next.fetch_add(1, Ordering::Relaxed);
                if user > people {
                    return anyhow::Ok(latencies);
                }
                let began = Instant::now();
                let status = connection.post(&path, Some(user), b"{}").await?;
                latencies.push(began.elapsed().as_micros() as u64);
                ensure!(status == 201, "a join was answered with {status}");
                let place: Value = serde_json::from_slice(connection.body())?;
                let rank = place["rank"].as_u64().context("a place without a rank")?;
                let after = place["pollAfterMs"].as_u64().context("no pollAfterMs")?;
                sale.line.lock()[user as usize - 1] = rank;
                sale.schedule_poll(user, after);
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        times.join.extend(done??);
    }
    Ok(())
}

async fn sell_all(sale: &Arc<Sale>, server: &Server, args: &Args, times: &mut Times) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for _ in 0..args.connections {
        let (sale, connection) = (sale.clone(), Connection::open(server.address).await?);
        tasks.spawn(async move { buy(&sale, connection).await });
    }
    let watching = tokio::spawn(watch(sale.clone(), Connection::open(server.address).await?));
    while let Some(done) = tasks.join_next().await {
        let latencies = done??;
        times.poll.extend(latencies.poll);
        times.enter.extend(latencies.enter);
        times.reserve.extend(latencies.reserve);
    }
    watching.abort();
    Ok(())
}

/// Acts for each user that is due, until all seats are sold.
async fn buy(sale: &Sale, mut connection: Connection) -> anyhow::Result<Times> {
    let base = format!("/v1/events/{}/queue", sale.event);
    let mut latencies = Times::default();
    let began = Instant::now();
    while !sale.over.load(Ordering::Relaxed) {
        ensure!(began.elapsed() < SALE_TIMEOUT, "the sale does not end");
        let Some(user) = sale.next_due() else {
            tokio::time::sleep(Duration::from_millis(2)).await;
            continue;
        };
        let asked_at = Instant::now();
        let status = connection.get(&format!("{base}?userId={user}")).await?;
        latencies.poll.push(asked_at.elapsed().as_micros() as u64);
        if status == 404 {
            // The user polled too late and lost the place.
            continue;
        }
        ensure!(status == 200, "a poll was answered with {status}");
        let place: Value = serde_json::from_slice(connection.body())?;
        if place["status"] != "ready" {
            sale.schedule_poll(user, place["pollAfterMs"].as_u64().unwrap_or(1_000));
            continue;
        }
        let asked_at = Instant::now();
        let status = connection.post(&format!("{base}/enter"), Some(user), b"{}").await?;
        latencies.enter.push(asked_at.elapsed().as_micros() as u64);
        ensure!(status == 200, "entering when ready was answered with {status}");
        let entry: Value = serde_json::from_slice(connection.body())?;
        sale.note_admitted(user, entry["expiresAt"].as_str().unwrap_or_default());
        let seat = sale.next_seat.fetch_add(1, Ordering::Relaxed);
        if seat > sale.seats {
            return Ok(latencies);
        }
        let body = format!(r#"{{"seatIds":[{}]}}"#, sale.event * 1_000_000 + seat);
        let asked_at = Instant::now();
        let path = format!("/v1/events/{}/seats/reserve", sale.event);
        let status = connection.post(&path, Some(user), body.as_bytes()).await?;
        latencies.reserve.push(asked_at.elapsed().as_micros() as u64);
        if status != 201 {
            bail!("a reservation was answered with {status}: {}", String::from_utf8_lossy(connection.body()));
        }
        if sale.sold.fetch_add(1, Ordering::Relaxed) + 1 == sale.seats {
            sale.over.store(true, Ordering::Relaxed);
        }
    }
    Ok(latencies)
}

/// Tracks the maximum number of users inside.
async fn watch(sale: Arc<Sale>, mut connection: Connection) -> anyhow::Result<()> {
    loop {
        connection.get(&format!("/v1/events/{}/queue/stats", sale.event)).await?;
        let stats: Value = serde_json::from_slice(connection.body())?;
        sale.peak_inside.fetch_max(stats["entered"].as_u64().unwrap_or_default(), Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

impl Sale {
    fn schedule_poll(&self, user: u64, after_ms: u64) {
        let at = Instant::now() + Duration::from_millis(after_ms);
        self.due.lock().push(Reverse((at, user)));
    }

    fn next_due(&self) -> Option<u64> {
        let mut due = self.due.lock();
        let is_due = due.peek().is_some_and(|Reverse((at, _))| *at <= Instant::now());
        is_due.then(|| due.pop()).flatten().map(|Reverse((_, user))| user)
    }

    fn note_admitted(&self, user: u64, expires_at: &str) {
        let place = self.line.lock()[user as usize - 1];
        self.admitted.lock().push((expires_at.to_owned(), place));
    }
}

/// Users who are ready at the same time may enter in any order, at most `inside` of them. So the n-th user to enter had
/// at most place n + `inside` - 1.
fn fairness_error(mut admitted: Vec<(String, u64)>, inside: u64) -> u64 {
    admitted.sort();
    let errors = (0_u64..).zip(&admitted).map(|(order, (_, place))| place.saturating_sub(order + inside - 1));
    errors.max().unwrap_or_default()
}

impl Times {
    fn calls(self) -> anyhow::Result<Vec<Call>> {
        let all = [("join", self.join), ("poll", self.poll), ("enter", self.enter), ("reserve", self.reserve)];
        let call = |(name, latencies): (&'static str, Vec<u64>)| {
            let mut histogram = Histogram::<u64>::new(3)?;
            for micros in &latencies {
                histogram.record(*micros)?;
            }
            let ms = |quantile| histogram.value_at_quantile(quantile) as f64 / 1_000.0;
            Ok(Call { name, count: latencies.len() as u64, p50_ms: ms(0.5), p99_ms: ms(0.99) })
        };
        all.into_iter().map(call).collect()
    }
}

impl Sold {
    pub(crate) fn print(&self) {
        println!(
            "{}: {} people joined in {:.1} s ({:.0}/s); {} seats sold in {:.1} s: {:.0} people/s came in, {:.0} seats/s",
            self.profile,
            self.people,
            self.join_seconds,
            self.joins_per_second,
            self.seats,
            self.sale_seconds,
            self.people_per_second,
            self.seats_per_second
        );
        println!(
            "  fairness error {}; {} inside at most, of {} that may be",
            self.fairness_error, self.peak_inside, self.max_concurrent
        );
        for Call { name, count, p50_ms, p99_ms } in &self.calls {
            println!("  {name:10} {count:>10} calls   p50 {p50_ms:>8.2} ms   p99 {p99_ms:>8.2} ms");
        }
        println!();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overtaking_unready_user_is_detected() {
        let at = |places: &[u64]| places.iter().enumerate().map(|(at, place)| (format!("{at:04}"), *place)).collect();
        assert_eq!(fairness_error(at(&[0, 1, 2, 3]), 2), 0);
        assert_eq!(fairness_error(at(&[1, 0, 3, 2]), 2), 0, "both were ready");
        assert_eq!(fairness_error(at(&[2, 0, 1, 3]), 2), 1);
    }
}
