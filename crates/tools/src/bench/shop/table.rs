//! Evaluation of the measurements: rates, ratios, targets.

use std::collections::BTreeMap;

use serde::Serialize;

use super::fixture::Workload;
use crate::bench::load::Measured;
use crate::bench::report::Report;
use crate::bench::stores::locking;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Candidate {
    Baseline,
    Embedded,
    Reference,
    Postgres,
    PostgresRedis,
}

pub(crate) fn name(candidate: Candidate, workload: Workload) -> String {
    let candidate = match candidate {
        Candidate::Baseline => return "empty handler, POST".to_owned(),
        Candidate::Embedded => "embedded",
        Candidate::Reference => "reference",
        Candidate::Postgres => "PostgreSQL",
        Candidate::PostgresRedis => "PostgreSQL + Redis",
    };
    let workload = match workload {
        Workload::ReserveSpread => "reserve, spread",
        Workload::ReserveHot => "reserve, hot",
        Workload::OrderSpread => "reserve, pay, spread",
        Workload::OrderHot => "reserve, pay, hot",
    };
    format!("{candidate}: {workload}")
}

/// Returns the baseline of a candidate, and the target of the ratio.
fn baseline(candidate: Candidate, workload: Workload) -> Option<((Candidate, Workload), f64)> {
    match candidate {
        Candidate::Baseline | Candidate::Reference => None,
        Candidate::Embedded => Some(((Candidate::Baseline, Workload::ReserveSpread), 0.2)),
        Candidate::Postgres | Candidate::PostgresRedis => Some(((Candidate::Reference, workload), 10.0)),
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

    /// Returns the mean of all repetitions, if there are any.
    fn rate(&self, of: (Candidate, Workload)) -> Option<f64> {
        let measured = self.0.get(&of)?;
        Some(measured.iter().map(|measured| measured.per_second).sum::<f64>() / measured.len() as f64)
    }

    /// Reports every measurement, and the product's ratios: to the empty store, if given, and to the baseline.
    fn report(&self, start: Option<&Self>) -> Report {
        let mut report = Report::default();
        for ((candidate, workload), repetitions) in &self.0 {
            let unit = if *candidate == Candidate::Baseline || workload.only_reserves() { "req" } else { "orders" };
            for (index, measured) in repetitions.iter().enumerate() {
                let mut name = name(*candidate, *workload);
                if index > 0 {
                    name.push_str(", again");
                }
                let (rate, latency) = (measured.per_second, &measured.latency);
                let at_start = start.and_then(|start| start.rate((*candidate, *workload)));
                let line = report.add(&name, unit, rate, latency, at_start.map(|rate| ("the start", rate)));
                line.target = (start.is_some() && *candidate != Candidate::Reference).then_some(HISTORY_RATIO_MIN);
            }
            let Some((baseline, target)) = baseline(*candidate, *workload) else { continue };
            let Some(against) = self.rate(baseline) else { continue };
            for measured in repetitions {
                let (rate, latency) = (measured.per_second, &measured.latency);
                let against = (name(baseline.0, baseline.1), against);
                let line = report.add("  the same", unit, rate, latency, Some((&against.0, against.1)));
                line.target = Some(target);
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
            "reference: on PostgreSQL, one transaction to reserve (count, SELECT … FOR UPDATE, SUM, insert), one to pay; {} connections",
            locking::CONNECTIONS
        );
        println!("spread: over 1,000 options; hot: all on one; an order is two requests\n\nwith nothing stored");
        self.at_start.print();
        println!("\nwith {} old reservations", self.reservations);
        self.after.print();
    }
}
