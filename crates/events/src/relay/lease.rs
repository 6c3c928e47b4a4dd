//! The leases of this server: which partitions of the outbox it may publish, and until when.
//!
//! A lease is short, so that another server soon takes over the partitions of a dead one. One command renews all leases
//! of a server, about once a second. A server relies on a lease for 0.9 of the remaining time that the store reported,
//! counted from when the command was sent. Positions move by compare-and-set on the owner. A server that was paused
//! therefore publishes nothing for a partition that it has lost, and moves no position.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use holdfast_core::relay::{LeaseRelays, Leased, Partition, Relay, ReleaseRelays};
use holdfast_engine::{Answer, Refused};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::Context;

/// Interval at which leases are checked. A check renews only what ends soon, and otherwise costs one read.
const CHECK_EVERY: Duration = Duration::from_millis(500);
/// Shortest wait between two checks.
const CHECK_EVERY_MIN: Duration = Duration::from_millis(20);
/// Time without the bus after which a server yields its partitions to servers that reach it.
const YIELD_AFTER: Duration = Duration::from_millis(300);

/// The leases of a server process.
#[derive(Debug)]
pub struct Leases {
    server: u64,
    state: Mutex<State>,
    /// One check or release at a time; true once the server gives its leases back.
    round: tokio::sync::Mutex<bool>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    wanted: BTreeSet<Partition>,
    held: BTreeMap<Partition, Lease>,
    /// End of all leases; `None` if they do not end, in a store that only this server uses.
    until: Option<Instant>,
    /// Leases taken so far.
    taken: u64,
}

/// Reachability of the bus, for a check of the leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bus {
    Reached,
    /// Unreachable since the last check: the server gives back its partitions.
    Lost,
    /// The server has given back its partitions; it takes those that no other server takes.
    Absent,
}

/// Lease on one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// State of the partition at the last check of the lease.
    pub relay: Relay,
    /// Changes each time the partition is taken over from another server.
    pub term: u64,
}

impl Leases {
    /// Creates the leases of a server process. `server` must be unique among server processes.
    pub fn new(server: u64) -> Self {
        let (state, round) = (Mutex::default(), tokio::sync::Mutex::new(false));
        Self { server, state, round, changed: watch::Sender::new(()) }
    }

    /// Returns the fencing token of these leases.
    pub fn server(&self) -> u64 {
        self.server
    }

    /// Returns a signal that fires whenever a partition is taken or lost.
    pub fn changed(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns the partitions that this server may publish now.
    pub fn held(&self) -> BTreeMap<Partition, Lease> {
        let state = self.state();
        if state.is_over() { BTreeMap::new() } else { state.held.clone() }
    }

    /// Returns the lease of a partition, if this server has it now.
    pub fn lease(&self, partition: Partition) -> Option<Lease> {
        let state = self.state();
        state.held.get(&partition).copied().filter(|_| !state.is_over())
    }

    /// Requests partitions from now on. Returns those of them that this server has.
    pub async fn want(&self, context: &Context, partitions: &[Partition]) -> Result<Vec<Lease>, Refused> {
        let is_new = {
            let mut state = self.state();
            let before = state.wanted.len();
            state.wanted.extend(partitions);
            state.wanted.len() > before
        };
        if is_new && let Err(error) = self.check(context, Bus::Reached).await {
            // The next call requests them again.
            self.state().wanted.retain(|partition| !partitions.contains(partition));
            return Err(error);
        }
        Ok(partitions.iter().filter_map(|partition| self.lease(*partition)).collect())
    }

    /// Drops a lease, because the store reported another owner of the partition.
    pub fn lost(&self, partition: Partition) {
        tracing::debug!(partition = partition.get(), "[Outbox] a lease was lost to another server");
        self.state().held.remove(&partition);
        self.changed.send_replace(());
    }

    /// Releases partitions, each with its position, so that another server takes them at once. No lease is taken
    /// afterwards.
    pub async fn release(&self, context: &Context, partitions: Vec<(Partition, u64)>) -> Result<(), Refused> {
        let mut is_closed = self.round.lock().await;
        *is_closed = true;
        self.state().held.retain(|partition, _| !partitions.iter().any(|(released, _)| released == partition));
        if !partitions.is_empty() {
            context.engine().run(ReleaseRelays { server: self.server, partitions }, None).await?;
        }
        Ok(())
    }

    /// Keeps and takes leases until the server stops.
    pub async fn keep(&self, context: &Context) {
        let is_shared = context.store().is_split();
        let (mut bus_seen, mut failed_checks, mut has_yielded) = (Instant::now(), 0, false);
        loop {
            if context.bus().is_none_or(|bus| bus.check().is_ok()) {
                (bus_seen, failed_checks, has_yielded) = (Instant::now(), 0, false);
            } else {
                failed_checks += 1;
            }
            // One failed check may be a short reconnect.
            let is_lost = failed_checks > 1 && bus_seen.elapsed() > YIELD_AFTER;
            let bus = match (is_lost, has_yielded) {
                (false, _) => Bus::Reached,
                (true, false) => Bus::Lost,
                (true, true) => Bus::Absent,
            };
            let pause = match self.check(context, bus).await {
                Ok(pause) => {
                    has_yielded |= bus == Bus::Lost;
                    pause
                }
                Err(error) => {
                    tracing::debug!(%error, "[Outbox] leases could not be checked; the check is repeated");
                    CHECK_EVERY
                }
            };
            let is_complete = || {
                let state = self.state();
                state.wanted.iter().all(|partition| state.held.contains_key(partition))
            };
            let mut changed = self.changed();
            tokio::select! {
                () = context.stopped() => return,
                _ = changed.changed(), if !is_shared => {}
                () = tokio::time::sleep(pause), if is_shared || !is_complete() => {}
            }
        }
    }

    /// Renews leases that end soon and takes partitions that are free. Returns the wait until the next check.
    async fn check(&self, context: &Context, bus: Bus) -> Result<Duration, Refused> {
        let is_closed = self.round.lock().await;
        let wanted: Vec<_> = self.state().wanted.iter().copied().collect();
        if *is_closed || wanted.is_empty() {
            return Ok(CHECK_EVERY);
        }
        let (is_alone, asked_at) = (!context.store().is_split(), Instant::now());
        let (yields, ends_own) = (bus != Bus::Reached, bus == Bus::Lost && !is_alone);
        if ends_own {
            // Before the store knows, so that a lost reply leaves no lease in use here that another server has taken.
            self.state().held.clear();
            self.changed.send_replace(());
        }
        let command = LeaseRelays { server: self.server, wanted, is_alone, yields, ends_own };
        let leased = match context.engine().run(command, None).await? {
            Answer::Fresh(leased) => leased,
            Answer::Recorded(_) | Answer::Replayed(_) => unreachable!("nothing is kept without a key"),
        };
        let next_free = leased.next_free_at.map(|at| span(at.as_millis() - leased.now.as_millis()));
        if self.state().update(leased, (!is_alone).then_some(asked_at)) {
            self.changed.send_replace(());
        }
        Ok(next_free.map_or(CHECK_EVERY, |free| free.clamp(CHECK_EVERY_MIN, CHECK_EVERY)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Applies the leases that the store reported. Returns whether this server may publish other
    /// partitions than before.
    fn update(&mut self, Leased { held, taken, now, .. }: Leased, asked_at: Option<Instant>) -> bool {
        let (before, was_over) = (std::mem::take(&mut self.held), self.is_over());
        self.until = asked_at.map(|asked_at| {
            let ends = held.iter().map(|(_, relay)| relay.leased_until.as_millis() - now.as_millis());
            asked_at + span(ends.min().unwrap_or_default()) * 9 / 10
        });
        for (partition, relay) in held {
            let known = before.get(&partition).filter(|_| !taken.contains(&partition));
            let term = known.map_or_else(
                || {
                    self.taken += 1;
                    self.taken
                },
                |lease| lease.term,
            );
            self.held.insert(partition, Lease { relay, term });
        }
        let terms = |leases: &BTreeMap<Partition, Lease>| leases.values().map(|lease| lease.term).collect::<Vec<_>>();
        was_over || terms(&before) != terms(&self.held)
    }
}

fn span(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}
