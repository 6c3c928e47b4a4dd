//! Checkpoints of the write-ahead log, on a thread and connection of their own: neither the engine nor readers wait for
//! them.
//!
//! While batches keep coming, a passive checkpoint never completes, and the log would grow. When it is long, the writer
//! completes the checkpoint; then the log restarts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use holdfast_engine::panics;
use rusqlite::Connection;

use crate::open::{self, OpenError, OpenOptions};

/// Delay before a checkpoint, so that more commits share it.
const COLLECT: Duration = Duration::from_millis(50);
/// Length of the log, in pages, at which the writer completes the checkpoint.
const LOG_PAGES_MAX: i64 = 8_000;

/// Runs until dropped.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    rest_wanted: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Does nothing for a store without durability: there the log is checkpointed as part of a commit, so that runs are
    /// deterministic.
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

    /// Called by the writer after a commit.
    pub(crate) fn after_commit(&self, writer: &Connection) {
        if let Some(wake) = &self.wake {
            // A full channel means that the thread is awake.
            wake.try_send(()).ok();
        }
        if self.rest_wanted.swap(false, Ordering::AcqRel)
            && let Err(error) = checkpoint(writer)
        {
            tracing::warn!(%error, "checkpoint by the writer failed; it will be retried");
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
            Err(error) => tracing::warn!(%error, "checkpoint failed; it will be retried"),
        }
    }
}

/// Runs a passive checkpoint, which waits for no other connection. Returns the length of the log in pages.
fn checkpoint(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1))
}
