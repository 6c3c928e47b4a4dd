//! What is made of the measurements: rates, ratios, and what the ratios should be.

use std::collections::BTreeMap;

use serde::Serialize;

use super::goods::Work;
use crate::bench::load::Measured;
use crate::bench::report::Report;
use crate::bench::stores::locking;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Contender {
    Ceiling,
    Embedded,
    Seed,
    Postgres,
    PostgresRedis,
}

pub(crate) fn name(contender: Contender, work: Work) -> String {
    let contender = match contender {
        Contender::Ceiling => return "empty handler, POST".to_owned(),
        Contender::Embedded => "embedded",
        Contender::Seed => "by hand",
        Contender::Postgres => "PostgreSQL",
        Contender::PostgresRedis => "PostgreSQL + Redis",
    };
    let work = match work {
        Work::ReserveSpread => "reserve, spread",
        Work::ReserveHot => "reserve, hot",
        Work::OrderSpread => "reserve, pay, spread",
        Work::OrderHot => "reserve, pay, hot",
    };
    format!("{contender}: {work}")
}

/// With what ours is compared, and what the ratio should be.
fn baseline(contender: Contender, work: Work) -> Option<((Contender, Work), f64)> {
    match contender {
        Contender::Ceiling | Contender::Seed => None,
        Contender::Embedded => Some(((Contender::Ceiling, Work::ReserveSpread), 0.2)),
        Contender::Postgres | Contender::PostgresRedis => Some(((Contender::Seed, work), 10.0)),
    }
}

/// Ours should be this much of what it was at the start, however much is stored.
const STAYS_AT: f64 = 0.9;

/// All measurements on stores that are equally full, the first of each contender and its repetitions.
#[derive(Default)]
pub(crate) struct Phase(BTreeMap<(Contender, Work), Vec<Measured>>);

impl Phase {
    pub(crate) fn add(&mut self, contender: Contender, work: Work, measured: Measured) {
        self.0.entry((contender, work)).or_default().push(measured);
    }

    /// The mean of all repetitions, if there are any.
    fn rate(&self, of: (Contender, Work)) -> Option<f64> {
        let measured = self.0.get(&of)?;
        Some(measured.iter().map(|measured| measured.per_second).sum::<f64>() / measured.len() as f64)
    }

    /// Every measurement, and ours compared: with its start, if there is one, and with its baseline.
    fn report(&self, start: Option<&Self>) -> Report {
        let mut report = Report::default();
        for ((contender, work), repetitions) in &self.0 {
            let unit = if *contender == Contender::Ceiling || work.only_reserves() { "req" } else { "orders" };
            for (index, measured) in repetitions.iter().enumerate() {
                let mut name = name(*contender, *work);
                if index > 0 {
                    name.push_str(", again");
                }
                let (rate, latency) = (measured.per_second, &measured.latency);
                let at_start = start.and_then(|start| start.rate((*contender, *work)));
                let line = report.add(&name, unit, rate, latency, at_start.map(|rate| ("the start", rate)));
                line.target = (start.is_some() && *contender != Contender::Seed).then_some(STAYS_AT);
            }
            let Some((baseline, target)) = baseline(*contender, *work) else { continue };
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
            "by hand: on PostgreSQL, one transaction to reserve (count, SELECT … FOR UPDATE, SUM, insert), one to pay; {} connections",
            locking::CONNECTIONS
        );
        println!("spread: over 1,000 options; hot: all on one; an order is two requests\n\nwith nothing stored");
        self.at_start.print();
        println!("\nwith {} old reservations", self.reservations);
        self.after.print();
    }
}
