//! `holdfast verify`: checks a store that no server is using.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use holdfast_core::audit::Audit;
use holdfast_engine::{Store, SystemClock};
use holdfast_store_sqlite::{OpenError, OpenOptions, SqliteStore};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the embedded store.
    #[arg(long, value_name = "DIR", default_value = "./holdfast-data")]
    data: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let options = OpenOptions { create: false, ..OpenOptions::new(&args.data) };
    let store = match SqliteStore::open(options, Arc::new(SystemClock)) {
        Ok(store) => store,
        Err(error @ OpenError::Damaged { .. }) => return Ok(complain(&[error.to_string()])),
        Err(error) => return Err(error.into()),
    };
    if let Err(error) = store.check_file() {
        return Ok(complain(&[error.to_string()]));
    }
    let mut audit = Audit::new(store.now());
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    if let Err(error) = runtime.block_on(store.audit(&mut audit)) {
        return Ok(complain(&[error.to_string()]));
    }
    let records = audit.records();
    let findings = audit.finish();
    if findings.is_empty() {
        println!("{}: all is well, {records} records checked", args.data.display());
        return Ok(ExitCode::SUCCESS);
    }
    Ok(complain(&findings))
}

fn complain(findings: &[String]) -> ExitCode {
    for finding in findings {
        println!("{finding}");
    }
    println!("wrong: {}", findings.len());
    ExitCode::FAILURE
}
