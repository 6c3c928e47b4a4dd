//! Self-signed certificate for `localhost`, for tests only.

use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, chown};
use std::path::Path;

use crate::process::User;

pub const CERTIFICATE: &[u8] = include_bytes!("../certificate/localhost.pem");
pub const KEY: &[u8] = include_bytes!("../certificate/localhost.key");

pub(crate) const CERTIFICATE_FILE: &str = "localhost.pem";
pub(crate) const KEY_FILE: &str = "localhost.key";

/// Writes certificate and key for a server that runs as `owner`, if not as this process.
pub(crate) fn write_into(folder: &Path, owner: Option<&User>) -> io::Result<()> {
    for (name, content) in [(CERTIFICATE_FILE, CERTIFICATE), (KEY_FILE, KEY)] {
        let path = folder.join(name);
        // PostgreSQL rejects a key that other users can read.
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?.write_all(content)?;
        if let Some(owner) = owner {
            chown(&path, Some(owner.uid), Some(owner.gid))?;
        }
    }
    Ok(())
}
