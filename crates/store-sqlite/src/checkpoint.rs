//! Moves what is in the log into the database file, beside everything else: neither the engine nor readers wait for it.
//!
//! While batches keep coming, the log is never quite done, and would grow. So the writer is asked to do the small rest now
//! and then; after that the log begins anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use holdfast_engine::panics;
use rusqlite::Connection;

use crate::open::{self, OpenError, OpenOptions};

/// How long it waits for more to come before it begins.
const COLLECT: Duration = Duration::from_millis(50);
/// A log of so many pages shall begin anew.
const LOG_PAGES_MAX: i64 = 8_000;

/// Runs as long as it lives.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    rest_wanted: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Does nothing for a store that need not be durable: there the log is emptied as part of a commit, so that every run is
    /// like the other.
    pub(crate) fn start(options: &OpenOptions) -> Result<Self, OpenError> {
        let rest_wanted = Arc::new(AtomicBool::new(false));
        if !options.durable {
            return Ok(Self { wake: None, rest_wanted, thread: None });
        }
        let connection = open::open_checkpointer(options)?;
        let (wake, woken) = sync_channel(1);
        let run = {
            let rest_wanted = rest_wanted.clone();
            move || run(&connection, &woken, &rest_wanted)
        };
        let failed = |source| OpenError::Directory { path: options.directory.clone(), source };
        let thread =
            std::thread::Builder::new().name("checkpoints".into()).spawn(panics::inherit(run)).map_err(failed)?;
        Ok(Self { wake: Some(wake), rest_wanted, thread: Some(thread) })
    }

    /// After a commit, by the writer.
    pub(crate) fn after_commit(&self, writer: &Connection) {
        if let Some(wake) = &self.wake {
            // An error says that it is awake already.
            wake.try_send(()).ok();
        }
        if self.rest_wanted.swap(false, Ordering::AcqRel)
            && let Err(error) = checkpoint(writer)
        {
            tracing::warn!(%error, "could not empty the log; trying again");
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn run(connection: &Connection, woken: &Receiver<()>, rest_wanted: &AtomicBool) {
    while woken.recv().is_ok() {
        std::thread::sleep(COLLECT);
        match checkpoint(connection) {
            Ok(pages) => rest_wanted.store(pages > LOG_PAGES_MAX, Ordering::Release),
            Err(error) => tracing::warn!(%error, "could not empty the log; trying again"),
        }
    }
}

/// Moves as much as it can without waiting for anybody; says how many pages the log has.
fn checkpoint(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1))
}
