//! The limit of open files.

use holdfast_server::{Config, serve};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that a server needs besides its connections and webhook deliveries: the store, its connections, the log.
const FILES_BESIDE: usize = 256;

/// Raises the soft limit to the hard one. Returns the maximum number of connections: that of the settings, or fewer if the
/// limit is too low for it, so that accepting one never fails for want of a file descriptor.
pub(crate) fn raise_open_files(config: &Config) -> usize {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::warn!(%error, "could not raise the limit of open files");
    }
    let wanted = config.server.connections_max;
    let Some(allowed) = getrlimit(Resource::Nofile).current else { return wanted };
    let beside = config.webhook.concurrency_max + FILES_BESIDE;
    let connections_max =
        serve::connections_within(usize::try_from(allowed).unwrap_or(usize::MAX).saturating_sub(beside));
    if connections_max < wanted {
        tracing::warn!(
            allowed,
            connections_max,
            "the limit of open files is too low for server.connections_max, and lowers it; raise the limit (LimitNOFILE, ulimit -Hn) or lower the setting"
        );
    }
    wanted.min(connections_max)
}
