//! A temporary folder that is removed however this process ends: a small watcher outlives it just long enough.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::process::User;

/// Waits until its input ends, which it does when we drop it and when we die. A server that is still dying may write
/// while its folder is removed, so removing is tried again, for at most five seconds.
const WATCHER: &str = r#"read -r _
tries=0
until rm -rf -- "$0" 2>/dev/null || [ "$tries" -ge 50 ]; do tries=$((tries + 1)); sleep 0.1; done"#;

/// Files that need not outlive anything need not wait for a disk.
const MEMORY: &str = "/dev/shm";
/// What has to be free there: databases of tests come and go, and a container may have next to nothing.
const MEMORY_FREE_MIN: u64 = 4 << 30;

/// Where files lie that need not be safe: in memory, if there is enough of it.
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

    /// `owner` is who must be able to write there, if not we.
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
