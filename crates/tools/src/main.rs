//! Developer tools: benchmarks, each beside a baseline measured in the same run. The product does not depend on this
//! crate.

mod bench;

use clap::{Parser, Subcommand};

// The product's allocator, so that a baseline served by this process differs from the product only in its work.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Developer tools of Holdfast.
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
    // Huge pages make the kernel zero 2 MiB for small allocations of a batch.
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
