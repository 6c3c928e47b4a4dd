//! `holdfast verify`: checks a store that no server is using.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use holdfast_connect::TlsRoots;
use holdfast_core::audit::Audit;
use holdfast_engine::IdMaker;
use holdfast_engine::{Clock as _, Store, StoreError, SystemClock};
use holdfast_store_sqlite::{OpenError, OpenOptions, SqliteStore};

use crate::store::{self, Place};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory of the embedded store.
    #[arg(long, value_name = "DIR", default_value = "./holdfast-data")]
    data: PathBuf,
    /// PostgreSQL database instead of the embedded store.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Redis with the live holds of the database.
    #[arg(long, value_name = "URL")]
    redis_url: Option<String>,
    /// Prefix of all keys in Redis (redis.prefix).
    #[arg(long, value_name = "TEXT", default_value = "")]
    redis_prefix: String,
    /// Certificate authorities of both in PEM form, besides those of this machine (`server.tls_ca_file`).
    #[arg(long, value_name = "FILE")]
    tls_ca_file: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.redis_url.is_some() && args.database_url.is_none() {
        bail!("--redis-url: give --database-url too");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    match &args.database_url {
        None => verify_file(args, &runtime),
        Some(url) => runtime.block_on(async {
            let tls_roots = args.tls_ca_file.as_deref().map(TlsRoots::file).transpose().context("--tls-ca-file")?;
            let tls_roots = tls_roots.unwrap_or_default();
            let place = Place {
                database: url,
                redis: args.redis_url.as_deref(),
                prefix: &args.redis_prefix,
                database_tls_roots: tls_roots.clone(),
                redis_tls_roots: tls_roots,
            };
            let store = store::open_database(&place, &IdMaker::new()).await?;
            Ok(report("the database", audit(&*store).await))
        }),
    }
}

fn verify_file(args: &Args, runtime: &tokio::runtime::Runtime) -> anyhow::Result<ExitCode> {
    let options = OpenOptions { create: false, ..OpenOptions::new(&args.data) };
    let store = match SqliteStore::open(options, Arc::new(SystemClock)) {
        Ok(store) => store,
        Err(error @ OpenError::Damaged { .. }) => return Ok(complain(&[error.to_string()])),
        Err(error) => return Err(error.into()),
    };
    if let Err(error) = store.check_file() {
        return Ok(complain(&[error.to_string()]));
    }
    Ok(report(&args.data.display().to_string(), runtime.block_on(audit(&store))))
}

/// Returns the number of records checked, and the findings.
async fn audit(store: &dyn Store) -> Result<(u64, Vec<String>), StoreError> {
    // Expiry is judged by the store's own time.
    let now = store.read(&mut holdfast_core::WorkingSet::default()).await.unwrap_or_else(|_| SystemClock.now());
    let mut audit = Audit::new(now);
    store.audit(&mut audit).await?;
    Ok((audit.records(), audit.finish()))
}

fn report(what: &str, audited: Result<(u64, Vec<String>), StoreError>) -> ExitCode {
    match audited {
        Ok((records, findings)) if findings.is_empty() => {
            println!("{what}: all is well, {records} records checked");
            ExitCode::SUCCESS
        }
        Ok((_, findings)) => complain(&findings),
        Err(error) => complain(&[error.to_string()]),
    }
}

fn complain(findings: &[String]) -> ExitCode {
    for finding in findings {
        println!("{finding}");
    }
    println!("wrong: {}", findings.len());
    ExitCode::FAILURE
}
