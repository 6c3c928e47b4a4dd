//! Access to the directory of the embedded store: its owner only.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::umask;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Permission bits of group and world.
const OTHERS: u32 = 0o077;
/// Beginnings of the names of the files that a server keeps there.
const OWN_FILES: [&str; 2] = ["holdfast.", "queue."];

/// Makes every file that this process creates readable by its owner only. To be called before there are threads.
pub(crate) fn make_files_private() {
    umask(Mode::from_raw_mode(OTHERS));
}

/// Creates a missing directory, and removes the permissions of group and world: from the files of a server, and from the
/// directory unless it has other files. A directory with other files is only warned of.
pub(crate) fn protect(directory: &Path) -> io::Result<()> {
    if !directory.exists() {
        return DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory);
    }
    let mut has_other_files = false;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_own = OWN_FILES.iter().any(|beginning| name.as_encoded_bytes().starts_with(beginning.as_bytes()));
        if is_own && entry.file_type()?.is_file() {
            tighten(&entry.path(), FILE_MODE);
        } else {
            has_other_files = true;
        }
    }
    if !has_other_files {
        tighten(directory, DIRECTORY_MODE);
    } else if std::fs::metadata(directory)?.permissions().mode() & OTHERS != 0 {
        tracing::warn!(directory = %directory.display(), "data directory has files of other programs and is accessible to other users; use a directory of its own");
    }
    Ok(())
}

fn tighten(path: &Path, mode: u32) {
    let is_open = std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & OTHERS != 0);
    if !is_open {
        return;
    }
    match std::fs::set_permissions(path, Permissions::from_mode(mode)) {
        Ok(()) => tracing::info!(path = %path.display(), "removed the permissions of group and world"),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "cannot remove the permissions of group and world");
        }
    }
}
