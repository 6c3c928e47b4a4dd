//! Disk space set aside, so that a store on a full disk can still be opened and read.
//!
//! Opening needs a little space: `SQLite` writes the index of the write-ahead log to a shared-memory file, 32 KiB per 16 MiB
//! of log. A running server never gives the reserve away; only opening does, and takes back at once what it did not use.
//! Until the reserve is whole again no batch is written: it would use the space that the next start needs.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// The name of the reserve inside the store's directory.
pub const FILE_NAME: &str = "holdfast.reserve";
/// Size of a whole reserve: the index of a log of 8 GiB.
pub const RESERVE_BYTES: u64 = 16 << 20;

/// Smallest and largest part that is taken at once.
const PART_BYTES_MIN: u64 = 64 << 10;
const PART_BYTES_MAX: u64 = 4 << 20;
/// Unit of a file's block count.
const BLOCK_BYTES: u64 = 512;

/// The reserve of one store, guarded by the lock of its directory.
#[derive(Debug)]
pub(crate) struct Reserve {
    path: PathBuf,
    /// `None` for a store that keeps no reserve.
    file: Option<File>,
}

impl Reserve {
    /// A store without a reserve.
    pub(crate) fn none() -> Self {
        Self { path: PathBuf::new(), file: None }
    }

    /// Opens the reserve as it is. One that is not there is made if `create` says so; making it takes no space yet.
    pub(crate) fn open(directory: &Path, create: bool) -> io::Result<Self> {
        let path = directory.join(FILE_NAME);
        let opened = File::options().read(true).write(true).create(create).truncate(false).mode(0o600).open(&path);
        let file = match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            opened => Some(opened?),
        };
        if let Some(file) = &file {
            let metadata = file.metadata()?;
            // A copy of a store may have a hole here instead of space.
            if metadata.blocks() * BLOCK_BYTES < metadata.len() {
                file.set_len(0)?;
            }
        }
        Ok(Self { path, file })
    }

    /// Takes what is missing, as much as there is. An error says that the reserve is not whole, and why.
    pub(crate) fn fill(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut part = PART_BYTES_MAX;
        loop {
            let size = file.metadata()?.len();
            if size >= RESERVE_BYTES {
                return Ok(());
            }
            match take(file, size, part.min(RESERVE_BYTES - size)) {
                Err(error) if is_full(&error) && part > PART_BYTES_MIN => part /= 2,
                taken => taken?,
            }
        }
    }

    /// Gives a part of the reserve back to the disk. Returns false if the reserve is used up.
    pub(crate) fn release(&self) -> io::Result<bool> {
        let Some(file) = &self.file else { return Ok(false) };
        let size = file.metadata()?.len();
        if size == 0 {
            return Ok(false);
        }
        file.set_len(size.saturating_sub(PART_BYTES_MAX))?;
        tracing::warn!(reserve = %self.path.display(), size, "the disk is full: using a part of the reserve");
        Ok(true)
    }
}

/// Allocates `size` bytes at `offset`, the end of the file.
fn take(file: &File, offset: u64, size: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), offset, size) {
        Ok(()) => Ok(()),
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => Err(error.into()),
        // This file system cannot allocate without writing.
        Err(_) => {
            let part = vec![b'-'; PART_BYTES_MIN as usize];
            (offset..offset + size).step_by(part.len()).try_for_each(|at| file.write_all_at(&part, at))
        }
    }
}

/// Whether an error says that no space is left.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(directory: &Path) -> (u64, u64) {
        let metadata = std::fs::metadata(directory.join(FILE_NAME)).unwrap();
        (metadata.len(), metadata.blocks() * BLOCK_BYTES)
    }

    #[test]
    fn reserve_occupies_space_until_it_is_released() {
        let directory = tempfile::tempdir().unwrap();
        let reserve = Reserve::open(directory.path(), true).unwrap();
        reserve.fill().unwrap();
        let (length, occupied) = size(directory.path());
        assert!(length == RESERVE_BYTES && occupied >= RESERVE_BYTES, "{length} {occupied}");

        let mut child_rows = 0;
        while reserve.release().unwrap() {
            child_rows += 1;
        }
        assert_eq!((child_rows, size(directory.path()).0), (RESERVE_BYTES / PART_BYTES_MAX, 0));
        reserve.fill().unwrap();
        assert_eq!(size(directory.path()).0, RESERVE_BYTES);
    }

    #[test]
    fn reserve_with_holes_is_allocated_again() {
        let directory = tempfile::tempdir().unwrap();
        File::create(directory.path().join(FILE_NAME)).unwrap().set_len(RESERVE_BYTES).unwrap();
        Reserve::open(directory.path(), true).unwrap().fill().unwrap();
        assert!(size(directory.path()).1 >= RESERVE_BYTES);
    }

    #[test]
    fn absent_reserve_is_not_made_for_a_reader() {
        let directory = tempfile::tempdir().unwrap();
        let reserve = Reserve::open(directory.path(), false).unwrap();
        assert!(reserve.fill().is_ok() && !reserve.release().unwrap());
        assert!(!directory.path().join(FILE_NAME).exists());
    }
}
