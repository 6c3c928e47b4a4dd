//! `holdfast health`: checks whether a running server is ready, for containers and scripts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use holdfast_client::{Client, Method};
use holdfast_server::Config;

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Server to check; by default the address in server.listen.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Settings file, as for `serve`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check only whether the process is alive, not whether it is ready.
    #[arg(long)]
    live: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let url = match &args.url {
        Some(url) => url.clone(),
        None => {
            let config = Config::load(args.config.as_deref(), std::env::vars_os(), &[])?;
            format!("http://{}", reachable(config.server.listen))
        }
    };
    let path = if args.live { "/healthz" } else { "/readyz" };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (code, text) = runtime.block_on(check(&url, path));
    println!("{text}");
    Ok(code)
}

async fn check(url: &str, path: &str) -> (ExitCode, String) {
    match Client::new(url).with_timeout(RESPONSE_TIMEOUT).request(Method::GET, path).send().await {
        Ok(response) => {
            let status = response.status();
            let body = response.text().await.unwrap_or_default();
            let code = if status.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
            (code, format!("{} {}", status.as_u16(), body.trim()))
        }
        Err(error) if error.is_timeout() => {
            (ExitCode::FAILURE, format!("{url} did not answer within {} s", RESPONSE_TIMEOUT.as_secs()))
        }
        Err(_) => (ExitCode::FAILURE, format!("no server answers at {url}")),
    }
}

/// Address to connect to for a server that listens on all addresses.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
