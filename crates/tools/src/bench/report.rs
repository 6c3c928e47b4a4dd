//! Results as a table, and as JSON.

use hdrhistogram::Histogram;
use serde::Serialize;

#[derive(Default, Serialize)]
pub(crate) struct Report {
    pub lines: Vec<Line>,
}

#[derive(Serialize)]
pub(crate) struct Line {
    pub name: String,
    /// Unit of the rate: requests, holds, …
    pub unit: &'static str,
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Name of the baseline, and the ratio to it.
    pub against: Option<String>,
    pub ratio: Option<f64>,
    /// Target of the ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
}

impl Report {
    pub(crate) fn add(
        &mut self,
        name: &str,
        unit: &'static str,
        per_second: f64,
        latency: &Histogram<u64>,
        against: Option<(&str, f64)>,
    ) -> &mut Line {
        self.lines.push(Line {
            name: name.into(),
            unit,
            per_second,
            p50_ms: latency.value_at_quantile(0.5) as f64 / 1_000.0,
            p99_ms: latency.value_at_quantile(0.99) as f64 / 1_000.0,
            against: against.map(|(name, _)| name.into()),
            ratio: against.map(|(_, baseline)| per_second / baseline),
            target: None,
        });
        self.lines.last_mut().expect("a line was just added")
    }

    pub(crate) fn print(&self) {
        println!("{:44} {:>12} {:>9} {:>9}   ratio", "", "per second", "p50 ms", "p99 ms");
        for line in &self.lines {
            let ratio = match (&line.against, line.ratio) {
                (Some(against), Some(ratio)) => format!("{ratio:.2} of {against}"),
                _ => String::new(),
            };
            let target = line.target.map(|target| format!(" (target {target})")).unwrap_or_default();
            let rate = format!("{:.0} {}", line.per_second, line.unit);
            println!("{:44} {rate:>12} {:>9.2} {:>9.2}   {ratio}{target}", line.name, line.p50_ms, line.p99_ms);
        }
    }
}
