//! Candidates and workloads of the measurements, and their evaluation: rates, ratios, targets.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{locking, script};
use crate::bench::load::Measured;
use crate::bench::report::Report;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Candidate {
    Locking,
    Script,
    Postgres,
    PostgresRedis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Workload {
    Spread,
    Hot,
    Confirm,
}

impl Candidate {
    /// Workload that the candidate is measured with. Baselines cannot confirm.
    pub(crate) fn workloads(self) -> &'static [Workload] {
        match self {
            Self::Locking | Self::Script => &[Workload::Spread, Workload::Hot],
            Self::Postgres | Self::PostgresRedis => &[Workload::Spread, Workload::Hot, Workload::Confirm],
        }
    }

    fn is_ours(self) -> bool {
        matches!(self, Self::Postgres | Self::PostgresRedis)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Locking => "locking transaction",
            Self::Script => "Lua script",
            Self::Postgres => "ours, PostgreSQL",
            Self::PostgresRedis => "ours, PostgreSQL + Redis",
        }
    }
}

pub(crate) fn name(candidate: Candidate, workload: Workload) -> String {
    let workload = match workload {
        Workload::Spread => "spread",
        Workload::Hot => "hot",
        Workload::Confirm => "hold, then confirm",
    };
    format!("{}: {workload}", candidate.name())
}

/// Returns the baseline of a candidate, and the target of the ratio.
fn baseline(candidate: Candidate, workload: Workload) -> Option<(Candidate, f64)> {
    match (candidate, workload) {
        (Candidate::Postgres, Workload::Spread) => Some((Candidate::Locking, 8.0)),
        (Candidate::Postgres, Workload::Hot) => Some((Candidate::Locking, 40.0)),
        (Candidate::PostgresRedis, Workload::Spread | Workload::Hot) => Some((Candidate::Script, 0.6)),
        _ => None,
    }
}

/// Target of the rate with many old reservations, relative to the empty store.
const HISTORY_RATIO_MIN: f64 = 0.9;

/// All measurements on equally full stores: per candidate the first, and its repetitions.
#[derive(Default)]
pub(crate) struct Phase(BTreeMap<(Candidate, Workload), Vec<Measured>>);

impl Phase {
    pub(crate) fn add(&mut self, candidate: Candidate, workload: Workload, measured: Measured) {
        self.0.entry((candidate, workload)).or_default().push(measured);
    }

    /// Returns the mean of all repetitions.
    fn rate(&self, candidate: Candidate, workload: Workload) -> f64 {
        let measured = self.0.get(&(candidate, workload)).map(Vec::as_slice).unwrap_or_default();
        measured.iter().map(|measured| measured.per_second).sum::<f64>() / measured.len() as f64
    }

    /// Reports every measurement, and the product's ratios: to the empty store, if given, and to the baseline.
    fn report(&self, start: Option<&Self>) -> Report {
        let mut report = Report::default();
        for ((candidate, workload), repetitions) in &self.0 {
            let (name, unit) =
                (name(*candidate, *workload), if *workload == Workload::Confirm { "stays" } else { "holds" });
            for (index, measured) in repetitions.iter().enumerate() {
                let name = if index == 0 { name.clone() } else { format!("{name}, again") };
                let against = start.map(|start| ("the start", start.rate(*candidate, *workload)));
                let line = report.add(&name, unit, measured.per_second, &measured.latency, against);
                line.target = (start.is_some() && candidate.is_ours()).then_some(HISTORY_RATIO_MIN);
            }
            if let Some((baseline, target)) = baseline(*candidate, *workload) {
                let against = (self::name(baseline, *workload), self.rate(baseline, *workload));
                for measured in repetitions {
                    let (rate, latency) = (measured.per_second, &measured.latency);
                    let line = report.add("  the same", unit, rate, latency, Some((&against.0, against.1)));
                    line.target = start.is_none().then_some(target);
                }
            }
        }
        report
    }
}

#[derive(Serialize)]
pub(crate) struct Results {
    settings: Vec<String>,
    reservations: u32,
    at_start: Report,
    after: Report,
}

impl Results {
    pub(crate) fn new(settings: Vec<String>, reservations: u32, start: &Phase, after: &Phase) -> Self {
        Self { settings, reservations, at_start: start.report(None), after: after.report(Some(start)) }
    }

    pub(crate) fn print(&self) {
        println!(
            "locking transaction: count, SELECT … FOR UPDATE, SUM, insert, commit; {} connections",
            locking::CONNECTIONS
        );
        println!("Lua script: one call per hold, one at a time on each of {} connections", script::CONNECTIONS);
        println!("spread: over 1,000 items or room types; hot: all on one\n\nwith nothing stored");
        self.at_start.print();
        println!("\nwith {} old reservations", self.reservations);
        self.after.print();
    }
}
