//! Background jobs of a server: recovery of in-doubt holds, and garbage collection.

use std::time::Duration;

use holdfast_core::hold::RecoverHold;
use holdfast_engine::store::RecoveredAttempt;

use super::App;

/// Interval of garbage collection in the store while there is little to delete.
const PURGE_EVERY: Duration = Duration::from_mins(1);
/// Interval at which in-doubt holds are recovered: those whose confirmation was prepared and not finished.
const RECOVER_EVERY: Duration = Duration::from_secs(1);
/// Interval at which the waiting room ends expired entries that no request touches.
const PURGE_ROOMS_EVERY: Duration = Duration::from_secs(1);
const METRICS_UPKEEP_EVERY: Duration = Duration::from_secs(5);

impl App {
    /// Recovers in-doubt holds: those that a server prepared and did not commit or abort before it ended.
    pub(super) async fn recover_periodically(self) {
        let mut due = tokio::time::interval(RECOVER_EVERY);
        loop {
            tokio::select! {
                () = self.stopped() => return,
                _ = due.tick() => {}
            }
            let resolved = match self.store().recover_in_doubt().await {
                Ok(resolved) => resolved,
                Err(error) => {
                    tracing::warn!(%error, "cannot read in-doubt holds; retrying");
                    continue;
                }
            };
            // Concurrently, so that the engine can put them into one batch.
            futures_util::future::join_all(resolved.into_iter().map(|one| self.recover(one))).await;
        }
    }

    async fn recover(&self, RecoveredAttempt { of, is_committed }: RecoveredAttempt) {
        tracing::warn!(hold = %of.hold, is_committed, "recovering an in-doubt hold of a server that ended");
        metrics::counter!("holdfast_confirm_attempts_recovered_total").increment(1);
        let settled = self.engine().run(RecoverHold { of, is_committed }, None).await;
        if let Err(error) = settled {
            tracing::warn!(hold = %of.hold, %error, "cannot recover an in-doubt hold; retrying");
        }
    }

    /// Ends expired entries and places of the waiting room, so that subscribers receive the change.
    pub(super) async fn tidy_rooms(self) {
        let mut due = tokio::time::interval(PURGE_ROOMS_EVERY);
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.stopped() => return,
                _ = due.tick() => {}
            }
            if let Err(error) = self.room().tidy().await {
                tracing::warn!(%error, "cannot end expired entries of the waiting room; retrying");
            }
        }
    }

    /// Deletes expired rows of the store, and keeps the metrics up.
    pub(super) async fn purge_periodically(self) {
        let mut tidy = tokio::time::interval(PURGE_EVERY);
        let mut upkeep = tokio::time::interval(METRICS_UPKEEP_EVERY);
        loop {
            tokio::select! {
                () = self.stopped() => return,
                _ = upkeep.tick() => self.metrics().run_upkeep(),
                _ = tidy.tick() => loop {
                    match self.store().purge(self.shared.keep).await {
                        // A pause between two slices, in which other work can use the store.
                        Ok(true) if !self.is_stopping() => tokio::time::sleep(Duration::from_millis(20)).await,
                        Ok(_) => break,
                        Err(error) => {
                            tracing::warn!(%error, "cannot delete expired rows; retrying at the next interval");
                            break;
                        }
                    }
                },
            }
        }
    }
}
