//! `holdfast-sim`: runs histories and says what went wrong, and how to see it again.

use std::process::ExitCode;

use clap::Parser;
use holdfast_sim::report::Summary;
use holdfast_sim::runner::History;

/// Runs random histories of holds, crashes and passing time against the embedded store, and checks everything after
/// every step.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// The seed of the first history; each further one has the next.
    #[arg(long)]
    seed: u64,
    /// How many steps a history has: batches, passing time, restarts.
    #[arg(long, default_value_t = 40)]
    steps: u32,
    /// How many histories to run. A single one is told step by step.
    #[arg(long, default_value_t = 1)]
    histories: u64,
}

fn main() -> ExitCode {
    let Args { seed, steps, histories } = Args::parse();
    println!("{histories} histories of {steps} steps, from seed {seed} on");
    let mut all = Summary::default();
    for seed in (seed..).take(usize::try_from(histories).unwrap_or(usize::MAX)) {
        let mut watch = |line: &str| {
            if histories == 1 {
                println!("{line}");
            }
        };
        match (History { seed, steps }).run(&mut watch) {
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
