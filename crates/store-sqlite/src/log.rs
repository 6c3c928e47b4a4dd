//! Durability of the write-ahead log.
//!
//! Batches are committed without a sync; one sync makes all of them durable, while the next is decided (group commit).
//! No commit may be revealed before, neither by an answer nor by a read.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdfast_engine::StoreError;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::open::{OpenError, OpenOptions};

/// Maximum time a read waits until the commit it has seen is durable.
const SYNC_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Log {
    /// `None` if the store need not be durable.
    file: Mutex<Option<File>>,
    /// Number of the last durable commit.
    durable: watch::Sender<u64>,
    /// A sync has failed. The state of the file is unknown then, and a second sync would report success wrongly.
    failed: AtomicBool,
}

impl Log {
    /// All commits up to `commits` were durable when the store was opened.
    pub(crate) fn open(options: &OpenOptions, commits: u64) -> Result<Self, OpenError> {
        let log = Self { file: Mutex::default(), durable: watch::Sender::new(commits), failed: AtomicBool::new(false) };
        log.reopen(options, commits)?;
        Ok(log)
    }

    /// Opens the log of a reopened writer, which may be another file, and syncs all commits up to `commits`.
    pub(crate) fn reopen(&self, options: &OpenOptions, commits: u64) -> Result<(), OpenError> {
        let mut path = options.file().into_os_string();
        path.push("-wal");
        let failed = |source| OpenError::Directory { path: options.directory.clone(), source };
        let file = if options.durable { Some(File::open(path).map_err(failed)?) } else { None };
        if let Some(file) = &file {
            file.sync_data().map_err(failed)?;
        }
        *self.file.lock() = file;
        self.durable.send_replace(commits);
        Ok(())
    }

    /// Blocks until `commit` is durable. `committed` returns the number of the last commit: a sync serves all up to it.
    pub(crate) fn flush_up_to(&self, commit: u64, committed: impl FnOnce() -> u64) -> Result<(), StoreError> {
        let file = self.file.lock();
        if *self.durable.borrow() >= commit {
            return Ok(());
        }
        self.check().map_err(|error| StoreError::OutcomeUnknown(error.to_string()))?;
        let upto = committed();
        if let Some(file) = &*file
            && let Err(error) = file.sync_data()
        {
            self.failed.store(true, Ordering::Release);
            self.durable.send_modify(|_| {});
            tracing::error!(%error, "sync of the write-ahead log failed; repair the disk, then restart the server");
            return Err(StoreError::OutcomeUnknown(error.to_string()));
        }
        self.durable.send_replace(upto);
        Ok(())
    }

    /// Waits until `commit` is durable, for reads that have seen it.
    pub(crate) async fn wait_until_durable(&self, commit: u64) -> Result<(), StoreError> {
        if *self.durable.borrow() >= commit {
            return Ok(());
        }
        let mut durable = self.durable.subscribe();
        let waiting = durable.wait_for(|durable| *durable >= commit || self.failed.load(Ordering::Acquire));
        if tokio::time::timeout(SYNC_TIMEOUT, waiting).await.is_err() {
            return Err(StoreError::Unavailable("the disk did not sync in time".into()));
        }
        self.check()
    }

    /// Returns an error after a failed sync, until the store is reopened.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.failed.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable("the disk failed; repair it, then restart the server".into()));
        }
        Ok(())
    }
}
