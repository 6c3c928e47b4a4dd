//! Closed-loop load generator: each client starts its next round when the last one is done, for a given time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinSet;

/// Result of a measurement.
pub(crate) struct Measured {
    /// Rounds per second, of all clients together.
    pub per_second: f64,
    /// Latency of single requests, in microseconds.
    pub latency: Histogram<u64>,
}

/// Number of alternations between measurements that are compared.
const TURNS: u32 = 4;

/// Alternates between measurements, so that a change of the machine's speed affects all of them. `measure` gets the
/// index, from 0, and the duration; each is measured for `time` in all.
pub(crate) async fn alternate<const COUNT: usize>(
    time: Duration,
    mut measure: impl AsyncFnMut(usize, Duration) -> anyhow::Result<Measured>,
) -> anyhow::Result<[Measured; COUNT]> {
    let mut all = std::array::from_fn(|_| Measured::nothing());
    for _ in 0..TURNS {
        for (which, all) in all.iter_mut().enumerate() {
            let some = measure(which, time / TURNS).await?;
            all.per_second += some.per_second / f64::from(TURNS);
            all.latency.add(some.latency)?;
        }
    }
    Ok(all)
}

impl Measured {
    pub(crate) fn nothing() -> Self {
        Self { per_second: 0.0, latency: Histogram::new(3).expect("three significant digits are valid") }
    }

    fn line(&self, name: &str) -> String {
        let ms = |quantile| self.latency.value_at_quantile(quantile) as f64 / 1_000.0;
        format!("  {name:44} {:>10.0}/s   p50 {:>8.2} ms   p99 {:>8.2} ms", self.per_second, ms(0.5), ms(0.99))
    }
}

/// Client with a connection.
pub(crate) trait Client: Send + 'static {
    /// Sends the requests of one round, and waits for the responses.
    fn round(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;

    /// Histogram of request latencies.
    fn latency(&mut self) -> &mut Histogram<u64>;
}

/// Runs all clients concurrently, after a warm-up of a fifth of `time`, and prints the result at once: an interrupted
/// benchmark has shown all that it measured.
pub(crate) async fn measure<C: Client>(name: &str, time: Duration, clients: Vec<C>) -> anyhow::Result<Measured> {
    let (measuring, stop, rounds) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    // Dropping the set stops the clients if the measurement is cancelled.
    let mut tasks = JoinSet::new();
    for mut client in clients {
        let (measuring, stop, rounds) = (measuring.clone(), stop.clone(), rounds.clone());
        tasks.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                client.round().await?;
                if measuring.load(Ordering::Relaxed) {
                    rounds.fetch_add(1, Ordering::Relaxed);
                } else {
                    client.latency().reset();
                }
            }
            anyhow::Ok(client.latency().clone())
        });
    }
    tokio::time::sleep(time / 5).await;
    measuring.store(true, Ordering::Relaxed);
    let began = Instant::now();
    show_progress(name, time, &rounds).await;
    let (done, elapsed) = (rounds.load(Ordering::Relaxed), began.elapsed());
    stop.store(true, Ordering::Relaxed);
    let mut latency = Histogram::new(3)?;
    while let Some(ended) = tasks.join_next().await {
        latency.add(ended??)?;
    }
    let measured = Measured { per_second: done as f64 / elapsed.as_secs_f64(), latency };
    println!("{}", measured.line(name));
    Ok(measured)
}

async fn show_progress(name: &str, time: Duration, rounds: &AtomicU64) {
    let bar = ProgressBar::new(time.as_millis() as u64).with_message(name.to_owned());
    bar.set_style(ProgressStyle::with_template("  {msg:44} {bar:24} {prefix}").expect("the template is valid"));
    let began = Instant::now();
    while began.elapsed() < time {
        tokio::time::sleep(Duration::from_millis(200).min(time.saturating_sub(began.elapsed()))).await;
        let rate = rounds.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
        bar.set_prefix(format!("{rate:.0}/s"));
        bar.set_position(began.elapsed().as_millis() as u64);
    }
    bar.finish_and_clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_shows_rate_and_quantiles() {
        let mut measured = Measured { per_second: 1_234.6, ..Measured::nothing() };
        measured.latency.record(1_500).unwrap();
        let line = measured.line("hold");
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(words, ["hold", "1235/s", "p50", "1.50", "ms", "p99", "1.50", "ms"]);
    }
}
