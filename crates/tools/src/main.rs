//! Tools for developers: benchmarks, each beside a baseline measured in the same run. Nothing of the product depends on this crate.

mod bench;

use clap::{Parser, Subcommand};

// The product's allocator: a baseline served by this process differs from the product in nothing but the work done.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Tools for developers of Holdfast.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure throughput and latency beside a baseline in the same run.
    Bench(bench::Args),
}

fn main() -> std::process::ExitCode {
    // mimalloc would use huge pages, and the kernel would zero 2 MiB for each small allocation of a batch.
    rustix::thread::disable_transparent_huge_pages(true).ok();
    let result = match Cli::parse().command {
        Command::Bench(args) => bench::run(args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("holdfast-tools: {error:#}");
            std::process::ExitCode::from(2)
        }
    }
}
