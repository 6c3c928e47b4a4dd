//! Process information from the kernel.

use std::path::{Path, PathBuf};

/// Whether the process runs. A process that has ended and was not waited for does not.
pub(crate) fn is_running(pid: u32) -> bool {
    stat(pid).is_some()
}

pub(crate) fn children_of(parent: u32, names: &[&str]) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(name, of)| of == parent && names.contains(&name.as_str()))).collect()
}

/// Returns a process's name and parent.
fn stat(pid: u32) -> Option<(String, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = text.split_once('(')?.1.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let ended = fields.next() == Some("Z");
    if ended { None } else { Some((name.to_owned(), fields.next()?.parse().ok()?)) }
}

/// Returns the temporary folder above a server's working directory.
pub(crate) fn folder_of(pid: u32) -> PathBuf {
    let within = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
    let temporary = |path: &&Path| path.file_name().unwrap_or_default().to_string_lossy().starts_with("holdfast-test-");
    within.ancestors().find(temporary).unwrap().to_owned()
}
