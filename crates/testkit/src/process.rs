//! Child processes that die with this one. The kernel sends them their death signal however this process ends, so no
//! clean-up code has to run for it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// This process may end between fork and `setpriv`; the child then has another parent, and exits.
const UNLESS_ORPHANED: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;

/// Prepares a program that gets `death_signal` when this process ends. It runs as `user`, if one is given, and in a
/// process group of its own: the terminal's Ctrl-C is for the runner, which then stops its servers in order.
pub(crate) fn command_with_death_signal(program: &OsStr, death_signal: &str, user: Option<&User>) -> Command {
    let mut command = Command::new("setpriv");
    // `setpriv` changes the user first and sets the signal last: a change of user would clear it.
    command.args(["--pdeathsig", death_signal]);
    if let Some(user) = user {
        let (uid, gid) = (user.uid.to_string(), user.gid.to_string());
        command.args(["--reuid", &uid, "--regid", &gid, "--clear-groups"]);
    }
    command.args(["--", "sh", "-c", UNLESS_ORPHANED, &std::process::id().to_string()]).arg(program);
    command.process_group(0);
    command
}

/// Spawns from a thread that never ends. The death signal is sent when the *thread* that started a process ends, and a
/// test's thread ends before other tests are done with the process.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    type Request = (Command, mpsc::Sender<io::Result<Child>>);
    static SPAWNER: OnceLock<mpsc::Sender<Request>> = OnceLock::new();
    let requests = SPAWNER.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Request>();
        std::thread::spawn(move || {
            for (mut command, reply) in receiver {
                reply.send(command.spawn()).ok();
            }
        });
        sender
    });
    let (reply, spawned) = mpsc::channel();
    requests.send((command, reply)).expect("the spawner thread never ends");
    spawned.recv().expect("the spawner thread replies")
}

/// Sends a signal to a child that has not been waited for.
pub(crate) fn send(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // The child may have ended already.
        kill_process(pid, signal).ok();
    }
}

/// Waits for a child to end, and kills it after the timeout.
pub(crate) fn wait_or_kill(child: &mut Child, timeout: Duration) -> io::Result<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < timeout {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill()?;
    child.wait()
}

/// User that a server runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl User {
    /// Returns another user if this process is root, for programs that refuse to run as root; else `None`.
    pub(crate) fn unprivileged() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        // Without the package's account, the conventional unprivileged one.
        Some(Self::named("postgres", &accounts).unwrap_or(Self { uid: 65_534, gid: 65_534 }))
    }

    fn named(name: &str, accounts: &str) -> Option<Self> {
        let mut lines = accounts.lines().map(|line| line.split(':'));
        let mut fields = lines.find(|fields| fields.clone().next() == Some(name))?.skip(2);
        Some(Self { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_is_found_by_whole_name() {
        let accounts =
            "root:x:0:0:root:/root:/bin/sh\npostgresql:x:7:8::/:/bin/sh\npostgres:x:101:104:,,,:/var:/bin/sh\n";
        assert_eq!(User::named("postgres", accounts), Some(User { uid: 101, gid: 104 }));
        assert_eq!(User::named("postgre", accounts), None);
    }
}
