//! The binary: the server and its operator commands. Each subcommand is a module.

mod arguments;
mod calendar;
mod data_directory;
mod demo;
mod health;
mod limits;
mod log;
mod reload;
mod secret;
mod serve;
mod store;
mod token;
mod verify;
mod walkthrough;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Holds, confirms and releases anything countable, and never sells a unit twice.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start the server.
    Serve(serve::Args),
    /// Place, confirm and cancel a hold on a running server, step by step.
    Try(walkthrough::Args),
    /// Simulate a sale and write a report.
    Demo(demo::Args),
    /// Check a store that no server is using; exit with 1 if anything is wrong.
    Verify(verify::Args),
    /// Ask a running server whether it is ready; exit with 1 if it is not.
    Health(health::Args),
    /// Sign a token for trying a server with auth on.
    Token(token::Args),
    /// Generate the slots of rooms.
    Calendar(calendar::Args),
}

fn main() -> std::process::ExitCode {
    // Huge pages make the kernel zero 2 MiB for small allocations of a batch.
    rustix::thread::disable_transparent_huge_pages(true).ok();
    let command = Cli::parse().command;
    if matches!(command, Command::Serve(_) | Command::Verify(_)) {
        data_directory::make_files_private();
    }
    let result = match command {
        Command::Serve(args) => serve::run(&args),
        Command::Try(args) => walkthrough::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Health(args) => health::run(&args),
        Command::Token(args) => token::run(&args),
        Command::Calendar(args) => calendar::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("holdfast: {error:#}");
            std::process::ExitCode::from(2)
        }
    }
}
