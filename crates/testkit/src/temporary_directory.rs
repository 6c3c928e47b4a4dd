//! Temporary folder that is removed however this process ends, by a small watcher process.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::process::User;

/// Waits until its input ends, on drop or when this process dies. A server that is still exiting may write into the
/// folder, so removal is retried for at most five seconds.
const WATCHER: &str = r#"read -r _
tries=0
until rm -rf -- "$0" 2>/dev/null || [ "$tries" -ge 50 ]; do tries=$((tries + 1)); sleep 0.1; done"#;

/// File system for files that need no durability.
const MEMORY: &str = "/dev/shm";
/// Minimum free space there: test databases grow and shrink, and containers may offer little.
const MEMORY_FREE_MIN: u64 = 4 << 30;

/// Returns the parent of folders that need no durability: in memory, if there is enough.
pub(crate) fn fast_parent() -> PathBuf {
    let free = rustix::fs::statvfs(MEMORY).map_or(0, |found| found.f_bavail * found.f_frsize);
    if free >= MEMORY_FREE_MIN { MEMORY.into() } else { std::env::temp_dir() }
}

#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    watcher: Child,
}

impl Folder {
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        Self::within(&std::env::temp_dir(), name, None)
    }

    /// `owner` is the user that must be able to write there, if not the current one.
    pub(crate) fn within(parent: &Path, name: &str, owner: Option<&User>) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(&format!("holdfast-test-{name}-")).tempdir_in(parent)?;
        if let Some(owner) = owner {
            std::os::unix::fs::chown(folder.path(), Some(owner.uid), Some(owner.gid))?;
        }
        let mut watcher = Command::new("sh");
        watcher.args(["-c", WATCHER]).arg(folder.path()).current_dir("/").process_group(0);
        let watcher = watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { path: folder.keep(), watcher })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.watcher.stdin.take());
        self.watcher.wait().ok();
    }
}
