//! Log output: lines on stderr, written by a thread of their own, so that a slow or missing reader blocks no caller.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use holdfast_server::Config;
use holdfast_server::config::LogFormat;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// Maximum number of queued lines. Further lines are dropped, and counted.
const WAITING_MAX: usize = 8_192;
/// Timeout of the final flush, and its polling interval.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(5);

/// Installs the logger.
pub(crate) fn start(config: &Config) -> anyhow::Result<Log> {
    let level = &config.log.level;
    // The filter takes any other word for a module name, which silences all others.
    let is_level =
        |word: &str| !word.contains(char::is_whitespace) && (word.contains('=') || word.parse::<LevelFilter>().is_ok());
    ensure!(
        level.split(',').all(is_level),
        "log.level: \"{level}\": use off, error, warn, info, debug or trace, or module=level, without spaces"
    );
    let filter = EnvFilter::try_new(level).context("log.level")?;
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let log = Log::to(std::io::stderr(), config.log.format)?;
    let lines = log.clone();
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || lines.clone()).with_ansi(colours);
    match config.log.format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    Ok(log)
}

/// Queue of log lines. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Log {
    entries: SyncSender<Entry>,
    lost: Arc<AtomicU64>,
}

enum Entry {
    Line(Vec<u8>),
    /// Marks a position up to which lines have been written or dropped.
    Flush(SyncSender<()>),
}

impl Log {
    fn to(out: impl Write + Send + 'static, format: LogFormat) -> std::io::Result<Self> {
        let (entries, waiting) = sync_channel(WAITING_MAX);
        let log = Self { entries, lost: Arc::default() };
        let lost = log.lost.clone();
        std::thread::Builder::new().name("log".into()).spawn(move || write_all(out, format, &waiting, &lost))?;
        Ok(log)
    }

    /// Waits until the queued lines are written, up to the timeout.
    pub(crate) fn flush(&self) {
        let (written, all) = sync_channel(1);
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        while Instant::now() < deadline {
            if self.entries.try_send(Entry::Flush(written.clone())).is_ok() {
                all.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
                return;
            }
            std::thread::sleep(LOOK_AGAIN_AFTER);
        }
    }
}

/// Each call writes one line.
impl Write for Log {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        if self.entries.try_send(Entry::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Errors are ignored: the reader may be gone only for a time.
fn write_all(mut out: impl Write, format: LogFormat, waiting: &Receiver<Entry>, lost: &AtomicU64) {
    for entry in waiting {
        match entry {
            Entry::Line(line) => {
                out.write_all(&line).ok();
            }
            Entry::Flush(written) => {
                written.try_send(()).ok();
            }
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let notice = format!("{lost} lines of this log were lost: they came faster than they were read");
            let written = match format {
                LogFormat::Text => writeln!(out, "{notice}"),
                LogFormat::Json => writeln!(out, "{}", serde_json::json!({"level": "WARN", "message": notice})),
            };
            written.ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Writer that blocks until it is allowed to write.
    struct Slow {
        allowed: Receiver<()>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.allowed.recv().ok();
            self.written.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn slow_reader_blocks_no_caller() {
        let (allow, allowed) = std::sync::mpsc::channel();
        let written = Arc::<Mutex<Vec<u8>>>::default();
        let mut log = Log::to(Slow { allowed, written: written.clone() }, LogFormat::Text).unwrap();
        for _ in 0..WAITING_MAX + 100 {
            log.write_all(b"line\n").unwrap();
        }
        drop(allow);
        log.flush();
        let written = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        let lines = written.lines().filter(|line| *line == "line").count();
        let lost: usize =
            written.lines().find_map(|line| line.split_once(" lines of this log")?.0.parse().ok()).unwrap();
        assert_eq!(lines + lost, WAITING_MAX + 100);
    }

    #[test]
    fn closed_pipe_blocks_no_caller() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut log = Log::to(writer, LogFormat::Json).unwrap();
        log.write_all(b"line\n").unwrap();
        log.flush();
    }
}
