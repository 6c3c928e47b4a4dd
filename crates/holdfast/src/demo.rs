//! `holdfast demo sale`: a simulated sale of a concert and of the scarcest room type, with live progress and a report.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use holdfast_console::sale::{self, Counts, Outcome, PEOPLE_MAX, Phase, Plan, Progress, report};
use holdfast_engine::{Clock as _, SystemClock};
use holdfast_server::Config;
use holdfast_server::problem::Language;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::arguments::duration;
use crate::serve;

const SHOW_EVERY: Duration = Duration::from_millis(120);

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Simulate a sale of a concert and of the scarcest room type, and write a report.
    Sale(SaleArgs),
}

#[derive(clap::Args)]
struct SaleArgs {
    #[arg(
        long,
        value_name = "URL",
        help = "A server that was started with --demo; without this, one is started for the sale and gone after it"
    )]
    url: Option<String>,
    /// Number of simulated customers.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=i64::from(PEOPLE_MAX)))]
    people: u32,
    /// Average time a customer takes to choose, and again to pay.
    #[arg(long, default_value = "500ms", value_parser = duration)]
    think: Duration,
    /// Time after which the sale is stopped.
    #[arg(long, default_value = "5m", value_parser = duration)]
    time_limit: Duration,
    /// File to write the report to.
    #[arg(long, value_name = "FILE", default_value = "holdfast-sale.html")]
    report: PathBuf,
    /// Language of the report; by default that of the terminal.
    #[arg(long, value_parser = ["ko", "en"])]
    lang: Option<String>,
    /// Also write the results as JSON to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let What::Sale(args) = &args.what;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        // Registered before anything is printed, since the user may press Ctrl-C as soon as it is.
        let interrupts = Interrupts::new()?;
        match &args.url {
            Some(url) => hold_sale(args, url.clone(), interrupts).await,
            None => run_on_temporary_server(args, interrupts).await,
        }
    });
    runtime.shutdown_timeout(Duration::from_millis(500));
    code
}

/// Runs the sale on a temporary server, in a temporary directory and on a free port.
async fn run_on_temporary_server(args: &SaleArgs, interrupts: Interrupts) -> anyhow::Result<ExitCode> {
    let directory = tempfile::tempdir()?;
    let data = directory.path().to_str().context("the temp directory's name is not text")?.to_owned();
    let config =
        Config::load(None, std::iter::empty(), &[("server.data", data), ("server.listen", "127.0.0.1:0".into())])?;
    let (stop, stopped) = oneshot::channel::<()>();
    let (ready, is_ready) = oneshot::channel();
    let server = tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        serve::run_server(
            &config,
            true,
            || Ok(stopped),
            |address| {
                // The receiver is gone if the sale was stopped.
                ready.send(address).ok();
            },
            None,
        )
        .await
    });
    let Ok(address) = is_ready.await else { return server.await?.map(|()| ExitCode::FAILURE) };
    println!("A server for this sale: http://{address}/demo (until the sale is over; --url names one that stays)\n");
    let code = hold_sale(args, format!("http://{address}"), interrupts).await;
    drop(stop);
    server.await??;
    code
}

async fn hold_sale(args: &SaleArgs, url: String, mut interrupts: Interrupts) -> anyhow::Result<ExitCode> {
    let now = SystemClock.now();
    let plan = Plan {
        url,
        people: args.people,
        think: args.think,
        time_limit: args.time_limit,
        now: now.to_jiff(),
        seed: now.as_millis().unsigned_abs(),
    };
    let progress = Arc::new(Progress::default());
    let sale = tokio::spawn(sale::run(plan, progress.clone()));
    tokio::select! {
        () = show(&progress) => {}
        stopped = end_early(&progress, &mut interrupts) => stopped?,
    }
    let outcome = sale.await??;
    print(&outcome);
    let page = report::html(&outcome, language(args.lang.as_deref()));
    std::fs::write(&args.report, page).with_context(|| format!("cannot write {}", args.report.display()))?;
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&outcome)?)?;
    }
    println!("\nThe report: {}", args.report.display());
    Ok(if outcome.is_correct() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The first Ctrl-C stops the sale and the report is still written; the second ends the process.
async fn end_early(progress: &Progress, interrupts: &mut Interrupts) -> anyhow::Result<()> {
    interrupts.next().await;
    progress.stop();
    eprintln!("\nStopping the sale. Press Ctrl-C again to end at once.");
    tokio::select! {
        () = show(progress) => Ok(()),
        () = interrupts.next() => bail!("ended before all customers had left; their holds expire"),
    }
}

/// Stream of SIGINT and SIGTERM, from its creation on.
struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    fn new() -> anyhow::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Shows the progress until the sale is over.
async fn show(progress: &Progress) {
    let style = |template| ProgressStyle::with_template(template).expect("the template is valid");
    let bars = MultiProgress::new();
    let head = bars.add(ProgressBar::new_spinner().with_style(style("{msg}")));
    let bar = |name: &'static str| {
        let bar = bars.add(ProgressBar::new(1).with_prefix(name));
        bar.with_style(style("  {prefix:28} {bar:32} {pos:>5} of {len}"))
    };
    let (joined, seats, nights) = (bar("in line"), bar("seats sold"), bar("nights of the hot room sold"));
    let foot = bars.add(ProgressBar::new_spinner().with_style(style("{msg}")));
    loop {
        let now = progress.counts();
        head.set_message(headline(&now));
        for (bar, position, length) in [
            (&joined, now.joined, now.people - now.people / 5),
            (&seats, now.seats_sold, now.seats),
            (&nights, now.nights_sold, now.nights),
        ] {
            bar.set_length(length.max(1));
            bar.set_position(position);
        }
        foot.set_message(counters(&now));
        if matches!(now.phase, Phase::Done | Phase::Failed) {
            bars.clear().ok();
            return;
        }
        tokio::time::sleep(SHOW_EVERY).await;
    }
}

fn headline(now: &Counts) -> String {
    let doing = match now.phase {
        Phase::Preparing => "looking at what is for sale",
        Phase::Gathering => "sales are closed, customers are queuing",
        Phase::Selling => "sales are open",
        Phase::Checking => "asking the server what it sold",
        Phase::Done | Phase::Failed => "over",
    };
    format!("{:>6.1} s  {doing}", now.elapsed_seconds)
}

fn counters(now: &Counts) -> String {
    format!(
        "  {} waiting, {} inside, {} gave up, {} let go, {} times another was quicker\n  {} requests, p50 {:.1} ms, p99 {:.1} ms",
        now.waiting, now.inside, now.gave_up, now.let_go, now.lost_races, now.requests, now.p50_ms, now.p99_ms
    )
}

fn print(outcome: &Outcome) {
    let (counts, concert, room) = (&outcome.measured.counts, &outcome.concert, &outcome.room);
    println!("{} people in {:.1} s, {} requests", counts.people, counts.elapsed_seconds, counts.requests);
    println!("  {}: {} of {} seats sold", concert.name, concert.sold, concert.capacity);
    println!("  {}, {} to {}: {} of {} nights sold", room.name, room.from, room.to, room.sold, room.capacity);
    println!("  sold twice: {}; bought and lost: {}", outcome.oversold(), outcome.lost());
    println!(
        "  let in out of order: {}; {} inside at most, of {} that may be",
        outcome.fairness.error, outcome.measured.inside_max, concert.max_concurrent
    );
    if outcome.stopped {
        println!("  ended before its time");
    }
    if counts.failures > 0 {
        println!("  {} people were not answered", counts.failures);
    }
}

/// Returns the requested language, or that of the terminal.
fn language(asked: Option<&str>) -> Language {
    let of_terminal = || {
        let set = ["LC_ALL", "LC_MESSAGES", "LANG"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|it| !it.is_empty()));
        set.unwrap_or_default()
    };
    let name = asked.map_or_else(of_terminal, str::to_owned);
    if name.starts_with("ko") { Language::Korean } else { Language::English }
}
