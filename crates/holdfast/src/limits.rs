//! The limit of open files.

use holdfast_server::Config;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that a server needs besides its connections and webhook deliveries: the store, its connections, the log.
const FILES_BESIDE: usize = 256;

/// Raises the soft limit to the hard one, and warns if that is too low for the connections that the settings allow.
pub(crate) fn raise_open_files(config: &Config) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::warn!(%error, "could not raise the limit of open files");
    }
    let needed = (config.server.connections_max + config.webhook.concurrency_max + FILES_BESIDE) as u64;
    if let Some(allowed) = getrlimit(Resource::Nofile).current.filter(|allowed| *allowed < needed) {
        tracing::warn!(
            allowed,
            needed,
            "the limit of open files is too low for server.connections_max; raise it (LimitNOFILE, ulimit -Hn) or lower the setting"
        );
    }
}
