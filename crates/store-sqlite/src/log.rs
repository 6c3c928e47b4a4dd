//! How far the write-ahead log is safe on disk.
//!
//! Batches are committed without waiting for the disk; one sync makes all of them safe, while the next is decided.
//! Nobody may be told of a commit before that, neither as an answer nor by a read.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdfast_engine::StoreError;
use tokio::sync::watch;

use crate::open::{OpenError, OpenOptions};

/// How long a read waits for the disk to take what it has seen.
const SYNC_WITHIN: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Log {
    /// `None` if the store need not be durable.
    file: Mutex<Option<File>>,
    /// The number of the last commit that is safe.
    safe: watch::Sender<u64>,
    /// The disk refused a sync. What it has then is anybody's guess, and a second sync would only say that all is well.
    failed: AtomicBool,
}

impl Log {
    /// Everything up to `commits` was there when the store was opened.
    pub(crate) fn open(options: &OpenOptions, commits: u64) -> Result<Self, OpenError> {
        let log = Self { file: Mutex::default(), safe: watch::Sender::new(commits), failed: AtomicBool::new(false) };
        log.reopen(options, commits)?;
        Ok(log)
    }

    /// After the writer was opened anew: its log may be another file. Begins by making safe what is there: all up to
    /// `commits`.
    pub(crate) fn reopen(&self, options: &OpenOptions, commits: u64) -> Result<(), OpenError> {
        let mut path = options.file().into_os_string();
        path.push("-wal");
        let failed = |source| OpenError::Directory { path: options.directory.clone(), source };
        let file = if options.durable { Some(File::open(path).map_err(failed)?) } else { None };
        if let Some(file) = &file {
            file.sync_data().map_err(failed)?;
        }
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = file;
        self.safe.send_replace(commits);
        Ok(())
    }

    /// Blocks until `commit` is safe. `committed` tells the number of the last commit: a sync serves all up to that.
    pub(crate) fn make_safe(&self, commit: u64, committed: impl FnOnce() -> u64) -> Result<(), StoreError> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if *self.safe.borrow() >= commit {
            return Ok(());
        }
        self.check().map_err(|error| StoreError::OutcomeUnknown(error.to_string()))?;
        let upto = committed();
        if let Some(file) = &*file
            && let Err(error) = file.sync_data()
        {
            self.failed.store(true, Ordering::Release);
            self.safe.send_modify(|_| {});
            tracing::error!(%error, "the disk did not take what was written");
            return Err(StoreError::OutcomeUnknown(error.to_string()));
        }
        self.safe.send_replace(upto);
        Ok(())
    }

    /// Waits until `commit` is safe, for those who have seen it and want to tell.
    pub(crate) async fn safe_up_to(&self, commit: u64) -> Result<(), StoreError> {
        if *self.safe.borrow() >= commit {
            return Ok(());
        }
        let mut safe = self.safe.subscribe();
        let waiting = safe.wait_for(|safe| *safe >= commit || self.failed.load(Ordering::Acquire));
        if tokio::time::timeout(SYNC_WITHIN, waiting).await.is_err() {
            return Err(StoreError::Unavailable("the disk takes too long".into()));
        }
        self.check()
    }

    /// An error once a sync has failed, until the store is opened anew.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.failed.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable("the disk failed; mend it, then start the server again".into()));
        }
        Ok(())
    }
}
