//! Live metrics: sampled once per second for all subscribers, and not at all without subscribers. A quiet second after a
//! quiet one is not sent, because the page can repeat the last sample.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use holdfast_core::Timestamp;
use http::{HeaderMap, Method, Uri};
use http_body_util::{BodyExt as _, Limited};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::time::MissedTickBehavior;

use super::Console;
use super::broadcast::{Listener, event};
use super::session::Session;
use holdfast_events::activity::Counts;
use holdfast_server::caller::{Caller, Name};
use holdfast_server::problem::Problem;

const EVERY: Duration = Duration::from_secs(1);
/// Number of seconds of history that a new subscriber receives.
const CACHED_EVENTS_MAX: usize = 300;
/// Maximum number of samples that a subscriber may lag behind.
const BACKLOG: usize = 8;
const READY_TIMEOUT: Duration = Duration::from_millis(800);
const READY_BYTES_MAX: usize = 64 << 10;
/// Maximum number of error codes shown by name.
const CODES_MAX: usize = 8;

#[derive(Debug)]
pub struct LiveMetrics {
    tell: broadcast::Sender<Bytes>,
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    is_running: bool,
    recent: VecDeque<Arc<str>>,
}

impl Default for LiveMetrics {
    fn default() -> Self {
        Self { tell: broadcast::Sender::new(BACKLOG), shared: Mutex::default() }
    }
}

/// Sample of one second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sample {
    at: i64,
    /// Live holds by vertical, in the order of `vertical::VERTICALS`. The fields below count this second only.
    live: [u64; 5],
    placed: [u64; 5],
    confirmed: [u64; 5],
    expired: [u64; 5],
    refused: u64,
    refused_by_code: BTreeMap<String, u64>,
    requests: u64,
    /// Milliseconds; `None` without any measurement.
    p50: Option<f64>,
    p99: Option<f64>,
    batches: u64,
    /// Average number of commands per batch.
    batch: Option<f64>,
    commit_p99: Option<f64>,
    /// Fault of each part that has one.
    faults: BTreeMap<String, String>,
    looking: usize,
}

/// `GET /console/figures`: server-sent events. First `recent`, the last minutes if there were subscribers; then one
/// `figures` per second.
pub async fn listen(State(console): State<Console>, headers: HeaderMap) -> Result<Response, Problem> {
    let session = Session::of(&console, &headers)?;
    let (published, recent) = console.live_metrics.join(&console);
    let first = Some(event("recent", &format!("[{}]", recent.join(","))));
    // Missed samples are not sent again.
    let catch_up = |_: &mut broadcast::Receiver<Bytes>| None;
    Ok(Listener { console, first, published, signed_in: session.signed_in, catch_up }.response())
}

impl LiveMetrics {
    fn join(&self, console: &Console) -> (broadcast::Receiver<Bytes>, Vec<Arc<str>>) {
        let mut shared = self.shared();
        let published = self.tell.subscribe();
        if !shared.is_running {
            shared.is_running = true;
            console.app.spawn(compute(console.clone()));
        }
        (published, shared.recent.iter().cloned().collect())
    }

    fn tell(&self, sample: Arc<str>) {
        let mut shared = self.shared();
        if shared.recent.len() == CACHED_EVENTS_MAX {
            shared.recent.pop_front();
        }
        self.tell.send(event("figures", &sample)).ok();
        shared.recent.push_back(sample);
    }

    /// Whether there are no subscribers left. Then the sampling ends and its history is discarded.
    fn is_over(&self) -> bool {
        let mut shared = self.shared();
        let is_over = self.tell.receiver_count() == 0;
        if is_over {
            *shared = Shared::default();
        }
        is_over
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock()
    }
}

async fn compute(console: Console) {
    let mut due = tokio::time::interval(EVERY);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before: Option<Reading> = None;
    let mut published: Option<Sample> = None;
    loop {
        tokio::select! {
            () = console.app.stopped() => return,
            _ = due.tick() => {}
        }
        if console.live_metrics.is_over() {
            return;
        }
        let now = Reading::take(&console, before.as_ref()).await;
        if let Some(before) = &before {
            let sample = now.since(before, console.live_metrics.tell.receiver_count());
            if published.as_ref().is_none_or(|published| !sample.repeats(published)) {
                let json = serde_json::to_string(&sample).expect("samples serialize to JSON");
                console.live_metrics.tell(json.into());
                published = Some(sample);
            }
        }
        before = Some(now);
    }
}

impl Sample {
    /// Whether this second was quiet and equals the last sample sent, which was quiet too.
    fn repeats(&self, published: &Self) -> bool {
        let is_quiet = self.requests == 0 && self.batches == 0 && self.placed == [0; 5] && self.confirmed == [0; 5];
        is_quiet && Self { at: published.at, ..self.clone() } == *published
    }
}

/// All counters at one moment.
struct Reading {
    at: i64,
    counts: Counts,
    metrics: Metrics,
    faults: BTreeMap<String, String>,
}

impl Reading {
    async fn take(console: &Console, before: Option<&Self>) -> Self {
        let app = &console.app;
        let mut faults = faults(console).await;
        let now = match tokio::time::timeout(READY_TIMEOUT, app.query(|_, at| Ok(at.now))).await {
            Ok(Ok(now)) => now,
            // The store's clock is unavailable; the time of the plot advances by one interval.
            _ => {
                faults.entry("store".into()).or_insert_with(|| "no answer".into());
                Timestamp::from_millis(before.map_or(0, |before| before.at + EVERY.as_millis() as i64))
            }
        };
        let counts = app.stream().activity().counts(now);
        Self { at: now.as_millis(), counts, metrics: Metrics::parse(&app.metrics().render()), faults }
    }

    fn since(&self, before: &Self, looking: usize) -> Sample {
        let less = |now: [u64; 5], then: [u64; 5]| std::array::from_fn(|i: usize| now[i].saturating_sub(then[i]));
        let (now, then) = (&self.metrics, &before.metrics);
        let requests =
            now.histogram("holdfast_http_request_seconds").less(&then.histogram("holdfast_http_request_seconds"));
        let batches = now.histogram("holdfast_batch_commands").less(&then.histogram("holdfast_batch_commands"));
        let commits =
            now.histogram("holdfast_batch_flush_seconds").less(&then.histogram("holdfast_batch_flush_seconds"));
        let mut codes: Vec<(String, u64)> = now
            .problems
            .iter()
            .map(|(code, count)| (code.clone(), count.saturating_sub(then.problems.get(code).copied().unwrap_or(0))))
            .filter(|(_, count)| *count > 0)
            .collect();
        let refused = codes.iter().map(|(_, count)| count).sum();
        codes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        codes.truncate(CODES_MAX);
        let millis = |seconds: Option<f64>| seconds.map(|seconds| seconds * 1_000.0);
        Sample {
            at: self.at,
            live: self.counts.live,
            placed: less(self.counts.placed, before.counts.placed),
            confirmed: less(self.counts.confirmed, before.counts.confirmed),
            expired: less(self.counts.expired, before.counts.expired),
            refused,
            refused_by_code: codes.into_iter().collect(),
            requests: requests.count,
            p50: millis(requests.quantile(0.5)),
            p99: millis(requests.quantile(0.99)),
            batches: batches.count,
            batch: (batches.count > 0).then(|| batches.sum / batches.count as f64),
            commit_p99: millis(commits.quantile(0.99)),
            faults: self.faults.clone(),
            looking,
        }
    }
}

/// Returns the faults that `/readyz` reports, by part.
async fn faults(console: &Console) -> BTreeMap<String, String> {
    let asking = async {
        let uri = Uri::from_static("/readyz");
        let answer =
            console.call(Caller::Admin(Name::Anonymous), Method::GET, uri, &HeaderMap::new(), Body::empty()).await;
        let body = Limited::new(answer.into_body(), READY_BYTES_MAX).collect().await.ok()?.to_bytes();
        serde_json::from_slice::<BTreeMap<String, Value>>(&body).ok()
    };
    let said = tokio::time::timeout(READY_TIMEOUT, asking).await.ok().flatten();
    let Some(said) = said else { return BTreeMap::from([("store".into(), "no answer".into())]) };
    let parts = said.into_iter().filter(|(part, _)| part != "status");
    parts.filter_map(|(part, what)| what.as_str().map(|what| (part, what.to_owned()))).collect()
}

/// Metrics of `/metrics` that are shown.
#[derive(Debug, Default)]
struct Metrics {
    histograms: BTreeMap<String, Histogram>,
    problems: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Histogram {
    /// Upper bounds with cumulative counts.
    buckets: Vec<(f64, u64)>,
    sum: f64,
    count: u64,
}

impl Metrics {
    fn parse(text: &str) -> Self {
        let mut metrics = Self::default();
        for line in text.lines().filter(|line| line.starts_with("holdfast_")) {
            let Some((name, value)) = line.rsplit_once(' ') else { continue };
            let Ok(value) = value.parse::<f64>() else { continue };
            let (name, label) =
                name.split_once('{').map_or((name, ""), |(name, labels)| (name, labels.trim_end_matches('}')));
            let label = label.split_once("=\"").map_or("", |(_, label)| label.trim_end_matches('"'));
            if name == "holdfast_http_errors_total" {
                metrics.problems.insert(label.to_owned(), value as u64);
            } else if let Some(name) = name.strip_suffix("_bucket") {
                let end = label.parse().unwrap_or(f64::INFINITY);
                metrics.histograms.entry(name.to_owned()).or_default().buckets.push((end, value as u64));
            } else if let Some(name) = name.strip_suffix("_sum") {
                metrics.histograms.entry(name.to_owned()).or_default().sum = value;
            } else if let Some(name) = name.strip_suffix("_count") {
                metrics.histograms.entry(name.to_owned()).or_default().count = value as u64;
            }
        }
        metrics
    }

    fn histogram(&self, name: &str) -> Histogram {
        self.histograms.get(name).cloned().unwrap_or_default()
    }
}

impl Histogram {
    /// Returns the measurements added since `before`.
    fn less(&self, before: &Self) -> Self {
        let then = |at: usize| before.buckets.get(at).map_or(0, |(_, count)| *count);
        let buckets = self.buckets.iter().enumerate().map(|(at, (end, count))| (*end, count.saturating_sub(then(at))));
        Self {
            buckets: buckets.collect(),
            sum: (self.sum - before.sum).max(0.0),
            count: self.count.saturating_sub(before.count),
        }
    }

    /// Interpolates linearly within a bucket. The last bucket is unbounded, so it counts as its lower bound.
    fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = (self.count as f64 * share).max(1.0);
        let (mut from, mut below) = (0.0, 0_u64);
        for (end, count) in &self.buckets {
            if *count as f64 >= wanted && *count > below {
                let part = (wanted - below as f64) / (*count - below) as f64;
                return Some(if end.is_finite() { from + (end - from) * part } else { from });
            }
            (from, below) = (if end.is_finite() { *end } else { from }, *count);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "# HELP x\nholdfast_http_request_seconds_bucket{le=\"0.001\"} 10\n\
        holdfast_http_request_seconds_bucket{le=\"0.01\"} 10\nholdfast_http_request_seconds_bucket{le=\"+Inf\"} 10\n\
        holdfast_http_request_seconds_sum 0.5\nholdfast_http_request_seconds_count 10\n\
        holdfast_http_errors_total{code=\"SOLD_OUT\"} 3\nother_total 5\n";
    const AFTER: &str = "holdfast_http_request_seconds_bucket{le=\"0.001\"} 60\n\
        holdfast_http_request_seconds_bucket{le=\"0.01\"} 109\nholdfast_http_request_seconds_bucket{le=\"+Inf\"} 110\n\
        holdfast_http_request_seconds_sum 1.5\nholdfast_http_request_seconds_count 110\n\
        holdfast_http_errors_total{code=\"SOLD_OUT\"} 7\nholdfast_http_errors_total{code=\"ROOM_NOT_AVAILABLE\"} 1\n";

    #[test]
    fn sample_is_the_difference_of_two_readings() {
        let (before, after) = (Metrics::parse(BEFORE), Metrics::parse(AFTER));
        let name = "holdfast_http_request_seconds";
        let second = after.histogram(name).less(&before.histogram(name));
        assert_eq!((second.count, second.sum), (100, 1.0));
        assert_eq!(second.quantile(0.5), Some(0.001));
        let p99 = second.quantile(0.99).unwrap();
        assert!((p99 - 0.01).abs() < 1e-9, "{p99}");
        assert_eq!(second.quantile(1.0), Some(0.01), "the last bucket has no upper bound");
        assert_eq!(after.problems["SOLD_OUT"] - before.problems["SOLD_OUT"], 4);
    }

    #[test]
    fn repeated_quiet_second_is_not_sent() {
        let reading =
            |at| Reading { at, counts: Counts::default(), metrics: Metrics::parse(AFTER), faults: BTreeMap::new() };
        let quiet = reading(2_000).since(&reading(1_000), 1);
        let next = reading(3_000).since(&reading(2_000), 1);
        assert!(next.repeats(&quiet));
        assert!(!reading(3_000).since(&reading(2_000), 2).repeats(&quiet), "the number of subscribers changed");
        let mut busy = next.clone();
        busy.requests = 1;
        assert!(!busy.repeats(&busy.clone()) && !next.repeats(&busy));
    }

    #[test]
    fn empty_histogram_has_no_quantile() {
        assert_eq!(Histogram::default().quantile(0.5), None);
        let idle = Metrics::parse(AFTER).histogram("holdfast_http_request_seconds");
        assert_eq!(idle.less(&idle).quantile(0.99), None);
    }
}
