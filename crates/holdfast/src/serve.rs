//! `holdfast serve`: the server.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use holdfast_core::time::Zone;
use holdfast_engine::IdMaker;
use holdfast_engine::{Clock, SystemClock};
use holdfast_server::caller::Auth;
use holdfast_server::roles::Roles;
use holdfast_server::router::router_with_pages;
use holdfast_server::{App, Config, Parts, demo, serve};
use tokio::net::TcpSocket;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{limits, log, reload, store};

/// Backlog of connections to accept.
const CONNECTIONS_WAITING_MAX: u32 = 1_024;
/// Maximum time for the engine to end after the last response.
const ENGINE_STOP_TIMEOUT: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  holdfast serve --demo
      Try it: the embedded store in ./holdfast-data, with demo data.
  HOLDFAST_AUTH_JWT_SECRET=\"$SECRET\" holdfast serve --listen 0.0.0.0:8080 --database-url postgres://holdfast@db/holdfast
      Serve other machines from PostgreSQL, with authentication.

Each setting is also a variable: HOLDFAST_STAY_HOLD_TTL=10m is hold_ttl in section [stay] of the settings file.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Settings file; holdfast.toml in the repository has all settings [default: none].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address to listen on (server.listen) [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Directory of the embedded store (server.data) [default: ./holdfast-data].
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    #[arg(
        long,
        value_name = "URL",
        help = "A PostgreSQL database instead of the embedded store (server.database_url) [default: none]"
    )]
    database_url: Option<String>,
    #[arg(
        long,
        value_name = "URL",
        help = "Redis for live holds, so that several servers share the database (server.redis_url) [default: none]"
    )]
    redis_url: Option<String>,
    #[arg(long, value_name = "URL", help = "NATS as the bus between services (server.nats_url) [default: none]")]
    nats_url: Option<String>,
    /// Parts that this process runs: api, booking, course, notify, or all (server.roles) [default: all].
    #[arg(long, value_name = "ROLES")]
    roles: Option<String>,
    /// Log format: text or json (log.format) [default: text].
    #[arg(long, value_name = "FORMAT")]
    log: Option<String>,
    /// Fill an empty store with demo data.
    #[arg(long)]
    demo: bool,
}

impl Args {
    fn config(&self) -> anyhow::Result<Config> {
        let flags: Vec<(&str, String)> = [
            ("server.listen", &self.listen),
            ("server.data", &self.data),
            ("server.database_url", &self.database_url),
            ("server.redis_url", &self.redis_url),
            ("server.nats_url", &self.nats_url),
            ("server.roles", &self.roles),
            ("log.format", &self.log),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.clone()?)))
        .collect();
        Ok(Config::load(self.config.as_deref(), std::env::vars_os(), &flags)?)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut config = args.config()?;
    let log = log::start(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    config.server.connections_max = limits::raise_open_files(&config);
    let served = runtime.block_on(async {
        // From here on SIGHUP does not end the process, also while the store is being opened.
        let hangups = signal(SignalKind::hangup())?;
        run_server(&config, args.demo, stop_signal, |address| greet(address, args.demo), Some(hangups)).await
    });
    runtime.shutdown_timeout(Duration::from_millis(500));
    log.flush();
    served.map(|()| ExitCode::SUCCESS)
}

/// Serves until the future returned by `stop` resolves; `stop` is called once the store is open. `ready` gets the listen
/// address. Each signal of `hangups` reloads keys and certificates.
pub(crate) async fn run_server<S: Future<Output = ()>>(
    config: &Config,
    fill_demo: bool,
    stop: impl FnOnce() -> anyhow::Result<S>,
    ready: impl FnOnce(SocketAddr),
    hangups: Option<Signal>,
) -> anyhow::Result<()> {
    let groups = config.groups();
    if fill_demo && (groups.len() > 1 || config.roles() != Roles::ALL) {
        bail!("--demo: all parts must be in this process and on one database");
    }
    // Before the store is opened, which creates the data directory.
    Auth::check(&config.auth).map_err(anyhow::Error::msg)?;
    // Bound first, so that a busy port leaves no data directory behind; no connection is accepted before the store is open.
    let cannot_listen = || format!("cannot listen on {} (server.listen)", config.server.listen);
    let socket = bind(config.server.listen).with_context(cannot_listen)?;
    let mut parts = Vec::new();
    for group in groups {
        parts.push(open(&group).await?);
    }
    let listener = socket.listen(CONNECTIONS_WAITING_MAX).with_context(cannot_listen)?;
    let address = listener.local_addr()?;
    if fill_demo {
        demo::fill(parts[0].1.store.clone(), config.engine_settings()).await?;
    }
    let stop = stop()?;
    let mut running = Vec::new();
    for (group, parts) in parts {
        let (app, engine) = App::start(&group, parts).await?;
        let (roles, store) = (group.roles(), store::describe(&group));
        tracing::info!(%address, %roles, store, auth = !group.auth_is_off(), "server is ready");
        running.push((app, engine));
    }
    if fill_demo {
        demo::until_known(&running[0].0).await?;
    }
    if let Some(hangups) = hangups {
        let auths = running.iter().map(|(app, _)| app.auth().clone()).collect();
        tokio::spawn(reload::on_hangup(hangups, config.server.clone(), auths));
    }
    ready(address);
    let app = running[0].0.clone();
    let (router, _) =
        router_with_pages(app.clone(), |app, api| holdfast_console::routes(app, api, fill_demo.then_some(address)));
    let served = serve::serve(app, router, listener, config.server.connections_max, stop).await;
    let (apps, engines): (Vec<_>, Vec<_>) = running.into_iter().unzip();
    apps.iter().for_each(App::stop);
    drop(apps);
    let join = move || engines.into_iter().for_each(|engine| engine.join().unwrap_or_default());
    let ended = tokio::time::timeout(ENGINE_STOP_TIMEOUT, tokio::task::spawn_blocking(join)).await;
    if ended.is_err() {
        tracing::warn!("engine did not stop in time; the outcome of unanswered commands is unknown");
    }
    tracing::info!("server stopped");
    Ok(served?)
}

fn bind(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted server must not wait for connections of its predecessor in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

fn greet(address: SocketAddr, filled_demo: bool) {
    let url = format!("http://{address}");
    let demo = if filled_demo {
        let today = Zone::parse("Asia/Seoul").expect("zones are compiled in").today(SystemClock.now());
        format!("Demo pages:        {url}/demo\nFirst hold:        {}\n", demo::first_hold(&url, today))
    } else {
        String::new()
    };
    let banner = format!(
        "Holdfast is ready: {url}   (console)\nReference:         {url}/docs\n{demo}Stop:              Ctrl-C\n"
    );
    // A closed standard output must not stop the server.
    std::io::stdout().write_all(banner.as_bytes()).ok();
}

/// Opens the resources of parts that share a database.
async fn open(group: &Config) -> anyhow::Result<(Config, Parts)> {
    let ids = IdMaker::new();
    let store = store::open(group, &ids).await?;
    let room = store::open_room(group).await?;
    let bus = match group.bus() {
        Some(options) => Some(holdfast_events::nats::Connection::open(options).await.context("server.nats_url")?),
        None => None,
    };
    Ok((group.clone(), Parts { store, room, ids, bus }))
}

/// Resolves on SIGTERM or SIGINT.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("shutting down: draining requests in flight");
    })
}
