//! `holdfast-sim`: runs histories and says what went wrong, and how to see it again.

use std::process::ExitCode;

use clap::Parser;
use holdfast_sim::report::Summary;
use holdfast_sim::runner::History;
use holdfast_testkit::Profile;

/// Runs random histories of holds, crashes and passing time against a store, and checks everything after every step.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Which store: embedded, postgres or cluster.
    #[arg(long, default_value = "embedded", value_parser = profile)]
    profile: Profile,
    /// The seed of the first history; each further one has the next.
    #[arg(long)]
    seed: u64,
    /// How many steps a history has: batches, passing time, restarts.
    #[arg(long, default_value_t = 40)]
    steps: u32,
    /// Histories of the shop instead of stays.
    #[arg(long)]
    shop: bool,
    /// Histories of a room by the hour instead of stays.
    #[arg(long, conflicts_with = "shop")]
    calendar: bool,
    /// How many histories to run. A single one is told step by step.
    #[arg(long, default_value_t = 1)]
    histories: u64,
}

fn main() -> ExitCode {
    let Args { profile, seed, steps, shop, calendar, histories } = Args::parse();
    println!("{histories} histories of {steps} steps, from seed {seed} on");
    let mut all = Summary::default();
    for seed in (seed..).take(usize::try_from(histories).unwrap_or(usize::MAX)) {
        let mut watch = |line: &str| {
            if histories == 1 {
                println!("{line}");
            }
        };
        let ended = if shop {
            let history = holdfast_sim::shop::runner::History { profile, seed, steps };
            history.run(&mut |line| watch(&line)).map_err(|finding| format!("{profile:?}, seed {seed}: {finding}"))
        } else if calendar {
            let history = holdfast_sim::calendar::runner::History { profile, seed, steps };
            history.run(&mut |line| watch(&line)).map_err(|finding| format!("{profile:?}, seed {seed}: {finding}"))
        } else {
            History { profile, seed, steps }.run(&mut watch).map_err(|failure| failure.to_string())
        };
        match ended {
            Ok(summary) => all.add(&summary),
            Err(failure) => {
                println!("{failure}");
                return ExitCode::FAILURE;
            }
        }
    }
    print!("{all}");
    println!("all was as it must be");
    ExitCode::SUCCESS
}

fn profile(name: &str) -> Result<Profile, String> {
    let is_named = |profile: &Profile| format!("{profile:?}").eq_ignore_ascii_case(name);
    Profile::ALL.into_iter().find(is_named).ok_or_else(|| "must be embedded, postgres or cluster".into())
}
