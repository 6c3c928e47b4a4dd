//! `holdfast-tools bench stays`: holds and availability of stays on the embedded store, beside an empty handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::ensure;
use indicatif::{ProgressBar, ProgressStyle};

use super::StaysArgs;
use super::holds::{Night, PlaceHold, create_room_types, hold_json, hot_night, spread_night};
use super::http::{Connection, Scenario, measure};
use super::load::{Measured, alternate};
use super::report::Report;
use super::server_process::Server;

const BATCH_HOLDS: usize = 4_096;
const BATCH_CONNECTIONS: usize = 2;

const BASELINE: &str = "empty handler, POST";
const BASELINE_PER_CORE: &str = "empty handler, a thread per core";
const BASELINE_GET: &str = "empty handler, GET";
const SPREAD: &str = "hold, spread over 1,000 room types";
const HOT: &str = "hold, all on one hot night";
const CONFIRM: &str = "hold, then confirm";
const BATCHES: &str = "holds in batches of 4,096";
const AVAILABILITY: &str = "availability of two nights";
/// Lines of the table in order.
const LINES: [&str; 8] = [BASELINE, BASELINE_PER_CORE, SPREAD, HOT, CONFIRM, BATCHES, BASELINE_GET, AVAILABILITY];

pub(crate) async fn run(args: &StaysArgs) -> anyhow::Result<()> {
    if let Some(words) = &args.only {
        ensure!(
            LINES.iter().any(|line| line.contains(words)),
            "no line contains {words:?}; there are: {}",
            LINES.join("; ")
        );
    }
    println!("stays on the embedded store, {} connections, {:?} each\n", args.connections, args.time);
    let mut bench = Bench { args, users: Arc::default(), report: Report::default() };
    bench.run().await?;
    if args.live_holds > 0 {
        bench.with_many_live_holds().await?;
    }
    println!();
    bench.report.print();
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&bench.report)?)?;
    }
    Ok(())
}

struct Bench<'a> {
    args: &'a StaysArgs,
    /// Last user number; no two requests come from the same user.
    users: Arc<AtomicU64>,
    report: Report,
}

impl Bench<'_> {
    /// Measures each line with a store of its own, so that lines do not affect each other; all in alternation.
    async fn run(&mut self) -> anyhow::Result<()> {
        let (baseline, per_core) = (Server::baseline()?, Server::baseline_per_core()?);
        let [spread, hot, confirm, batches] =
            [Store::new().await?, Store::new().await?, Store::new().await?, Store::new().await?];
        let is_selected =
            |name: &str| name.starts_with("empty") || self.args.only.as_ref().is_none_or(|words| name.contains(words));
        let measured = alternate(self.args.time, async |line, time| match LINES[line] {
            name if !is_selected(name) => Ok(Measured::nothing()),
            BASELINE => self.measure(BASELINE, &baseline, time, self.place(spread_night)).await,
            BASELINE_PER_CORE => self.measure(BASELINE_PER_CORE, &per_core, time, self.place(spread_night)).await,
            SPREAD => self.measure(SPREAD, &spread.server, time, self.place(spread_night)).await,
            HOT => self.measure(HOT, &hot.server, time, self.place(hot_night)).await,
            CONFIRM => self.measure(CONFIRM, &confirm.server, time, self.place_and_confirm()).await,
            BATCHES => self.measure_batches(&batches.server, time).await,
            BASELINE_GET => self.measure(BASELINE_GET, &baseline, time, |_| Availability::new()).await,
            _ => self.measure(AVAILABILITY, &spread.server, time, |_| Availability::new()).await,
        });
        let measured: [Measured; LINES.len()] = measured.await?;
        let [empty, _, spread, _, _, _, empty_get, _] = &measured;
        let (empty, spread, empty_get) = (empty.per_second, spread.per_second, empty_get.per_second);
        for (name, measured) in LINES.into_iter().zip(&measured) {
            if !is_selected(name) {
                continue;
            }
            let (unit, against) = match name {
                BASELINE | BASELINE_GET => ("req", None),
                BASELINE_PER_CORE => ("req", Some((BASELINE, empty))),
                AVAILABILITY => ("req", Some((BASELINE_GET, empty_get))),
                CONFIRM => ("stays", Some((BASELINE, empty))),
                _ => ("holds", Some((BASELINE, empty))),
            };
            self.line(name, unit, measured, against);
            if name == HOT && is_selected(SPREAD) {
                self.line("  the same", "holds", measured, Some(("spread", spread)));
            }
        }
        Ok(())
    }

    fn line(&mut self, name: &str, unit: &'static str, measured: &Measured, against: Option<(&str, f64)>) {
        self.report.add(name, unit, measured.per_second, &measured.latency, against);
    }

    async fn measure<S: Scenario>(
        &self,
        name: &str,
        server: &Server,
        time: Duration,
        scenario: impl Fn(usize) -> S,
    ) -> anyhow::Result<Measured> {
        measure(name, server.address, self.args.connections, time, scenario).await
    }

    async fn measure_batches(&self, server: &Server, time: Duration) -> anyhow::Result<Measured> {
        let batches = |_| Batches { users: self.users.clone(), body: Vec::new() };
        let measured = measure(BATCHES, server.address, BATCH_CONNECTIONS, time, batches).await?;
        Ok(Measured { per_second: measured.per_second * BATCH_HOLDS as f64, ..measured })
    }

    fn place(&self, night: fn(u64) -> Night) -> impl Fn(usize) -> PlaceHold + use<> {
        let users = self.users.clone();
        move |_| PlaceHold { users: users.clone(), night, confirm: false }
    }

    fn place_and_confirm(&self) -> impl Fn(usize) -> PlaceHold + use<> {
        let users = self.users.clone();
        move |_| PlaceHold { users: users.clone(), night: spread_night, confirm: true }
    }

    /// Measures the costs of a large store: memory, restart, and placing holds.
    async fn with_many_live_holds(&mut self) -> anyhow::Result<()> {
        let empty = Store::new().await?;
        let from_empty =
            self.measure("hold, empty store", &empty.server, self.args.time, self.place(spread_night)).await?;
        drop(empty);
        let Store { server, data } = Store::new().await?;
        fill(server.address, &self.users, self.args.live_holds).await?;
        let resident = server.resident_bytes()?;
        drop(server);
        let server = Server::holdfast(data.path())?;
        println!(
            "{} live holds: {} MiB resident; started again after a kill -9 in {:.2} s, {} MiB",
            self.args.live_holds,
            resident >> 20,
            server.ready_after.as_secs_f64(),
            server.resident_bytes()? >> 20
        );
        let from_full = self.measure("hold, full store", &server, self.args.time, self.place(spread_night)).await?;
        self.line("hold, empty store", "holds", &from_empty, None);
        let name = format!("hold, {} live holds in store", self.args.live_holds);
        self.line(&name, "holds", &from_full, Some(("empty", from_empty.per_second)));
        Ok(())
    }
}

/// Server with room types and no holds.
struct Store {
    // Before the directory, so that it is dropped first.
    server: Server,
    data: tempfile::TempDir,
}

impl Store {
    async fn new() -> anyhow::Result<Self> {
        let data = tempfile::tempdir()?;
        let server = Server::holdfast(data.path())?;
        create_room_types(server.address).await?;
        Ok(Self { server, data })
    }
}

struct Availability {
    turn: u64,
}

impl Availability {
    fn new() -> Self {
        Self { turn: 0 }
    }
}

impl Scenario for Availability {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        self.turn += 1;
        let (room_type, night) = spread_night(self.turn);
        let check_out = night.saturating_add(jiff::Span::new().days(2));
        let path = format!("/v1/room-types/{room_type}/availability?checkIn={night}&checkOut={check_out}");
        let status = connection.get(&path).await?;
        ensure!(status == 200, "availability was answered with {status}");
        Ok(())
    }
}

struct Batches {
    users: Arc<AtomicU64>,
    body: Vec<u8>,
}

impl Scenario for Batches {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        let first = self.users.fetch_add(BATCH_HOLDS as u64, Ordering::Relaxed) + 1;
        post_batch(connection, &mut self.body, first, BATCH_HOLDS).await
    }
}

async fn post_batch(connection: &mut Connection, body: &mut Vec<u8>, first: u64, count: usize) -> anyhow::Result<()> {
    body.clear();
    body.extend_from_slice(b"{\"holds\":[");
    for user in first..first + count as u64 {
        if user > first {
            body.push(b',');
        }
        hold_json(user, spread_night(user), body);
    }
    body.extend_from_slice(b"]}");
    let status = connection.post("/v1/holds:batch", None, body).await?;
    ensure!(status == 200, "a batch was answered with {status}: {}", String::from_utf8_lossy(connection.body()));
    let rejected = connection.body().windows(8).filter(|window| window == b"\"code\":\"").count();
    ensure!(rejected == 0, "{rejected} lines of a batch were rejected");
    Ok(())
}

async fn fill(address: std::net::SocketAddr, users: &AtomicU64, holds: usize) -> anyhow::Result<()> {
    let mut connection = Connection::open(address).await?;
    let bar = ProgressBar::new(holds as u64).with_message("filling the store");
    bar.set_style(ProgressStyle::with_template("  {msg:44} {bar:24} {pos} of {len}")?);
    bar.enable_steady_tick(Duration::from_millis(200));
    let mut body = Vec::new();
    for done in (0..holds).step_by(BATCH_HOLDS) {
        let count = BATCH_HOLDS.min(holds - done);
        let first = users.fetch_add(count as u64, Ordering::Relaxed) + 1;
        post_batch(&mut connection, &mut body, first, count).await?;
        bar.inc(count as u64);
    }
    bar.finish_and_clear();
    Ok(())
}
