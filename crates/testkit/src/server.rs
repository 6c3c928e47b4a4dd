//! Common parts of all servers: program, folder, port, log, readiness check and shutdown.

use std::ffi::OsString;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::process::Signal;

use crate::port::Port;
use crate::process::{self, User};
use crate::temporary_directory::Folder;

pub(crate) const START_TIMEOUT: Duration = Duration::from_mins(1);
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// Length of the log's end that errors show.
const LOG_TAIL_BYTES: u64 = 4_096;

/// Failure to start a server. `Debug` prints the full message, for the sake of `unwrap` in tests.
#[derive(thiserror::Error)]
pub enum Error {
    #[error("{name}: not found on PATH nor in {places}; ./test installs it, or: apt-get install {package}")]
    NotInstalled { name: &'static str, places: &'static str, package: &'static str },
    #[error("{name}: {source}")]
    Io { name: &'static str, source: io::Error },
    #[error("{name} ended with {status} instead of starting; its log ends with:\n{log}")]
    Ended { name: &'static str, status: ExitStatus, log: String },
    #[error("{name} did not start within {START_TIMEOUT:?}; its log ends with:\n{log}")]
    NotReady { name: &'static str, log: String },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Server program, and its readiness check.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) user: Option<User>,
    /// Signal on the death of this process, as `setpriv` spells it.
    pub(crate) death_signal: &'static str,
    pub(crate) is_ready: fn(&Running<'_>) -> bool,
}

/// Started process that may or may not be ready.
#[derive(Debug)]
pub(crate) struct Running<'a> {
    pub(crate) pid: u32,
    pub(crate) port: u16,
    pub(crate) folder: &'a Path,
}

#[derive(Debug)]
pub(crate) struct Server {
    program: Program,
    child: Mutex<Option<Child>>,
    port: Port,
    // Last, so that it is removed when the process is gone.
    folder: Folder,
}

impl Server {
    pub(crate) fn start(program: Program, folder: Folder, port: Port) -> Result<Self, Error> {
        let server = Self { program, child: Mutex::default(), port, folder };
        server.restart(Signal::KILL)?;
        Ok(server)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.number
    }

    /// Process id while the server runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child().as_ref().map(Child::id)
    }

    pub(crate) fn stop(&self, signal: Signal) {
        if let Some(mut child) = self.child().take() {
            process::send(&child, signal);
            process::wait_or_kill(&mut child, STOP_TIMEOUT).ok();
        }
    }

    /// Restarts on the same port and folder; a running process is stopped with `signal` first.
    pub(crate) fn restart(&self, signal: Signal) -> Result<(), Error> {
        self.stop(signal);
        let name = self.program.name;
        let failed = |source| Error::Io { name, source };
        let log_path = self.folder.path().join("log");
        let log = OpenOptions::new().create(true).append(true).open(&log_path).map_err(failed)?;
        let mut command = process::command_with_death_signal(
            self.program.path.as_os_str(),
            self.program.death_signal,
            self.program.user.as_ref(),
        );
        command.args(&self.program.args).current_dir(self.folder.path()).stdin(Stdio::null());
        command.stdout(log.try_clone().map_err(failed)?).stderr(log);
        // Stored at once, so that every error path below stops it with the server.
        let pid = self.child().insert(process::spawn(command).map_err(failed)?).id();

        let running = Running { pid, port: self.port.number, folder: self.folder.path() };
        let began = Instant::now();
        while began.elapsed() < START_TIMEOUT {
            if let Some(status) = self.ended() {
                return Err(Error::Ended { name, status, log: tail(&log_path) });
            }
            if (self.program.is_ready)(&running) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(Error::NotReady { name, log: tail(&log_path) })
    }

    fn ended(&self) -> Option<ExitStatus> {
        self.child().as_mut().and_then(|child| child.try_wait().ok().flatten())
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop(Signal::KILL);
    }
}

/// Finds a program on PATH or in the packages' directories.
pub(crate) fn find(name: &str, places: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = places.iter().cloned().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Returns the last bytes of a log.
pub(crate) fn tail(log: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_else(|error| format!("(cannot be read: {error})"))
}
