//! `holdfast-sim`: runs histories, and reports failures with the command that replays them.

use std::process::ExitCode;

use clap::Parser;
use holdfast_sim::report::Summary;
use holdfast_sim::stay::runner::History;
use holdfast_testkit::Profile;

/// Runs random histories of holds, crashes and passing time against a store, and checks everything after every step.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Profile of the store: embedded, postgres or cluster.
    #[arg(long, default_value = "embedded", value_parser = profile)]
    profile: Profile,
    /// Seed of the first history; each further one has the next.
    #[arg(long)]
    seed: u64,
    /// Number of steps per history: batches, clock advances, restarts.
    #[arg(long, default_value_t = 40)]
    steps: u32,
    /// Histories of the shop instead of stays.
    #[arg(long)]
    shop: bool,
    /// Histories of a room by the hour instead of stays.
    #[arg(long, conflicts_with = "shop")]
    calendar: bool,
    /// Number of histories to run. The trace of a single one is printed.
    #[arg(long, default_value_t = 1)]
    histories: u64,
}

fn main() -> ExitCode {
    let Args { profile, seed, steps, shop, calendar, histories } = Args::parse();
    println!("{histories} histories of {steps} steps, from seed {seed} on");
    let mut total = Summary::default();
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
            Ok(summary) => total.add(&summary),
            Err(failure) => {
                println!("{failure}");
                return ExitCode::FAILURE;
            }
        }
    }
    print!("{total}");
    println!("all histories passed");
    ExitCode::SUCCESS
}

fn profile(name: &str) -> Result<Profile, String> {
    let has_name = |profile: &Profile| format!("{profile:?}").eq_ignore_ascii_case(name);
    Profile::ALL.into_iter().find(has_name).ok_or_else(|| "must be embedded, postgres or cluster".into())
}
