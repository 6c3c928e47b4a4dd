//! Reloading keys and certificates on SIGHUP.

use holdfast_server::caller::Auth;
use holdfast_server::config::ServerConfig;
use tokio::signal::unix::Signal;

/// Reloads on each signal, until the process ends. A file that cannot be used leaves in use what was read from it before.
pub(crate) async fn on_hangup(mut hangups: Signal, server: ServerConfig, auths: Vec<Auth>) {
    while hangups.recv().await.is_some() {
        let authorities = server.reload_authorities().into_iter().map(|error| error.to_string());
        let keys = auths.iter().filter_map(|auth| auth.reload().err());
        let failed: Vec<String> = authorities.chain(keys).collect();
        for error in &failed {
            tracing::error!(error, "reload failed; the previous keys and certificates stay in use");
        }
        if failed.is_empty() {
            tracing::info!("reloaded keys and certificates");
        }
    }
}
