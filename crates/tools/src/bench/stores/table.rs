//! What is measured, and what is made of it: rates, ratios, and what the ratios should be.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{locking, script};
use crate::bench::load::Measured;
use crate::bench::report::Report;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Contender {
    Locking,
    Script,
    Postgres,
    PostgresRedis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    Spread,
    Hot,
    Confirm,
}

impl Contender {
    /// What it is measured at. A baseline ends with the hold.
    pub(crate) fn works(self) -> &'static [Work] {
        match self {
            Self::Locking | Self::Script => &[Work::Spread, Work::Hot],
            Self::Postgres | Self::PostgresRedis => &[Work::Spread, Work::Hot, Work::Confirm],
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

pub(crate) fn name(contender: Contender, work: Work) -> String {
    let work = match work {
        Work::Spread => "spread",
        Work::Hot => "hot",
        Work::Confirm => "hold, then confirm",
    };
    format!("{}: {work}", contender.name())
}

/// With which baseline ours is compared, and what the ratio should be.
fn baseline(contender: Contender, work: Work) -> Option<(Contender, f64)> {
    match (contender, work) {
        (Contender::Postgres, Work::Spread) => Some((Contender::Locking, 8.0)),
        (Contender::Postgres, Work::Hot) => Some((Contender::Locking, 40.0)),
        (Contender::PostgresRedis, Work::Spread | Work::Hot) => Some((Contender::Script, 0.6)),
        _ => None,
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

    /// The mean of all repetitions.
    fn rate(&self, contender: Contender, work: Work) -> f64 {
        let measured = self.0.get(&(contender, work)).map(Vec::as_slice).unwrap_or_default();
        measured.iter().map(|measured| measured.per_second).sum::<f64>() / measured.len() as f64
    }

    /// Every measurement, and ours compared: with its start, if there is one, and with its baseline.
    fn report(&self, start: Option<&Self>) -> Report {
        let mut report = Report::default();
        for ((contender, work), repetitions) in &self.0 {
            let (name, unit) = (name(*contender, *work), if *work == Work::Confirm { "stays" } else { "holds" });
            for (index, measured) in repetitions.iter().enumerate() {
                let name = if index == 0 { name.clone() } else { format!("{name}, again") };
                let against = start.map(|start| ("the start", start.rate(*contender, *work)));
                let line = report.add(&name, unit, measured.per_second, &measured.latency, against);
                line.target = (start.is_some() && contender.is_ours()).then_some(STAYS_AT);
            }
            if let Some((baseline, target)) = baseline(*contender, *work) {
                let against = (self::name(baseline, *work), self.rate(baseline, *work));
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
