//! Starting processes that die with this one. The kernel sends them their death signal however this process ends, so
//! no clean-up code has to run for it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Between fork and `setpriv` this process may end unseen; then the new process has another parent, and gives up.
const UNLESS_ORPHANED: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;

/// Prepares a program that gets `death_signal` when this process ends. It runs as `user`, if one is given, and in a
/// process group of its own: the terminal's Ctrl-C is for the runner, which then stops its servers in order.
pub(crate) fn dying_with_us(program: &OsStr, death_signal: &str, user: Option<&User>) -> Command {
    let mut command = Command::new("setpriv");
    // `setpriv` changes the user first and asks for the signal last: a change of user would forget it.
    command.args(["--pdeathsig", death_signal]);
    if let Some(user) = user {
        let (uid, gid) = (user.uid.to_string(), user.gid.to_string());
        command.args(["--reuid", &uid, "--regid", &gid, "--clear-groups"]);
    }
    command.args(["--", "sh", "-c", UNLESS_ORPHANED, &std::process::id().to_string()]).arg(program);
    command.process_group(0);
    command
}

/// Starts a process from a thread that never ends. The death signal is sent when the *thread* that started a process
/// ends, and a test's thread ends long before the others have finished with what it started.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    type Request = (Command, mpsc::Sender<io::Result<Child>>);
    static KEEPER: OnceLock<mpsc::Sender<Request>> = OnceLock::new();
    let keeper = KEEPER.get_or_init(|| {
        let (sender, requests) = mpsc::channel::<Request>();
        std::thread::spawn(move || {
            for (mut command, reply) in requests {
                reply.send(command.spawn()).ok();
            }
        });
        sender
    });
    let (reply, spawned) = mpsc::channel();
    keeper.send((command, reply)).expect("the keeper never ends");
    spawned.recv().expect("the keeper answers")
}

/// Sends a signal to a child that has not been waited for.
pub(crate) fn send(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may be gone already, which is what most signals are for.
        kill_process(pid, signal).ok();
    }
}

/// Waits for a child to end, and ends it if it does not.
pub(crate) fn wait_or_kill(child: &mut Child, patience: Duration) {
    let began = Instant::now();
    while began.elapsed() < patience {
        if child.try_wait().is_ok_and(|status| status.is_some()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().ok();
    child.wait().ok();
}

/// Whom a server runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl User {
    /// For a program that refuses to run as root: somebody else if we are root, else ourselves.
    pub(crate) fn unprivileged() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let found = ["postgres", "nobody"].iter().find_map(|name| Self::named(name, &accounts));
        Some(found.unwrap_or(Self { uid: 65_534, gid: 65_534 }))
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
    fn an_account_is_found_by_its_whole_name() {
        let accounts =
            "root:x:0:0:root:/root:/bin/sh\npostgresql:x:7:8::/:/bin/sh\npostgres:x:101:104:,,,:/var:/bin/sh\n";
        assert_eq!(User::named("postgres", accounts), Some(User { uid: 101, gid: 104 }));
        assert_eq!(User::named("nobody", accounts), None);
    }
}
