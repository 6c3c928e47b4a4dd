//! Progress of publishing durable events from the outbox: positions, leases and failed events.
//!
//! Events are partitioned by the key of their subject, so that events of one subject stay in order. Each partition is
//! leased to one server at a time; several servers share the work by leasing different partitions. Only the position is
//! recorded: every event up to it was sent, unless it has a row as failed.

use crate::command::{Command, Context, Decision, writes};
use crate::rejection::Rejection;
use crate::table::Row;
use crate::time::{Span, Timestamp};
use crate::working_set::WorkingSet;

/// Number of partitions, and so the maximum number of servers that share the work.
pub const PARTITIONS: u32 = 8;
/// Duration of a lease. A server that is gone delays its partitions by at most this long.
pub const LEASE: Span = Span::from_secs(2);
/// Remaining time below which [`LeaseRelays`] renews the leases of its server.
const RENEW_BELOW: Span = Span::from_millis(1_200);
/// Delay before the first retry of an event, which doubles with each retry, and its maximum.
const RETRY_AFTER: Span = Span::from_secs(1);
const RETRY_AFTER_MAX: Span = Span::from_secs(60);
/// Maximum number of events that one command may report.
pub const REPORTED_MAX: usize = 1_000;

/// Settings of the relay.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Number of retries before an event becomes a dead letter.
    pub retries_max: u32,
}

/// A partition of the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(u32);

impl Partition {
    /// Pseudo-partition of all events, for their fan-out to webhooks.
    pub const WEBHOOKS: Self = Self(1_000);

    pub fn new(number: u32) -> Option<Self> {
        (number < PARTITIONS || number == Self::WEBHOOKS.0).then_some(Self(number))
    }

    /// Returns the partition of the events about `key`.
    pub fn of(key: u64) -> Self {
        Self((key % u64::from(PARTITIONS)) as u32)
    }

    pub fn all() -> impl Iterator<Item = Self> {
        (0..PARTITIONS).map(Self)
    }

    pub fn get(self) -> u32 {
        self.0
    }
}

/// Position of a partition, and its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Relay {
    /// Every event of the partition up to this number was sent, or has a row as failed.
    pub sent_up_to: u64,
    /// Number of the server process that has it, which is the fencing token; 0 if none has.
    pub leased_by: u64,
    pub leased_until: Timestamp,
}

impl Row for Relay {}

/// Key of an event that could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FailedPublicationId {
    pub event: u64,
}

/// State of an event that could not be sent, or that waits for an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedPublication {
    pub partition: Partition,
    /// Number of retries so far.
    pub retries: u32,
    pub next_try_at: Timestamp,
    /// The event is a dead letter. An operator may have it retried.
    pub failed: bool,
}

impl Row for FailedPublication {}

/// Takes partitions that are free, and renews the leases of its server: all of them in one commit, and only when one is due.
#[derive(Clone, Debug)]
pub struct LeaseRelays {
    /// Number of the server process, drawn at its start. It is the fencing token of its leases.
    pub server: u64,
    /// Partitions that the server can publish.
    pub wanted: Vec<Partition>,
    /// The server has the store to itself, so earlier leases belong to servers that have ended.
    pub is_alone: bool,
    /// The server cannot reach the bus: it renews nothing, and takes a partition only after no other server took it for the
    /// duration of a lease.
    pub yields: bool,
    /// Ends the leases of the server first. With `yields`, another server can take its partitions at once.
    pub ends_own: bool,
}

/// Outcome of [`LeaseRelays`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    /// Partitions that the server has now.
    pub held: Vec<(Partition, Relay)>,
    /// Partitions of `held` that the server did not have before.
    pub taken: Vec<Partition>,
    /// Time of the decision, by the store's clock.
    pub now: Timestamp,
    /// End of the first lease of another server.
    pub next_free_at: Option<Timestamp>,
}

impl Command for LeaseRelays {
    type Outcome = Leased;
    const NAME: &'static str = "relay.lease";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Leased> {
        for partition in &self.wanted {
            rows.relay.relays.request(partition);
        }
        let grace = if self.yields { LEASE } else { Span::from_millis(0) };
        let mut leased = Leased { held: Vec::new(), taken: Vec::new(), now: at.now, next_free_at: None };
        let mut is_write_due = false;
        for partition in &self.wanted {
            let mut relay = rows.relay.relays.get(partition)?.copied().unwrap_or_default();
            let is_own = relay.leased_by == self.server;
            if is_own && self.ends_own && relay.leased_until > at.now {
                relay.leased_until = at.now;
                rows.relay.relays.put(*partition, relay);
            }
            if is_own && relay.leased_until > at.now {
                is_write_due |= !self.yields && relay.leased_until < at.now + RENEW_BELOW;
                leased.held.push((*partition, relay));
            } else if self.is_alone || relay.leased_until + grace <= at.now {
                is_write_due = true;
                leased.held.push((*partition, relay));
                leased.taken.push(*partition);
            } else if !is_own {
                leased.next_free_at = leased.next_free_at.into_iter().chain([relay.leased_until]).min();
            }
        }
        if is_write_due {
            for (partition, relay) in &mut leased.held {
                *relay = Relay { leased_by: self.server, leased_until: at.now + LEASE, ..*relay };
                rows.relay.relays.put(*partition, *relay);
            }
        }
        Ok(leased)
    }
}

/// Gives back partitions of a server that stops, so that another takes them at once.
#[derive(Clone, Debug)]
pub struct ReleaseRelays {
    pub server: u64,
    /// Each with its position.
    pub partitions: Vec<(Partition, u64)>,
}

impl Command for ReleaseRelays {
    type Outcome = ();
    const NAME: &'static str = "relay.release";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        for (partition, _) in &self.partitions {
            rows.relay.relays.request(partition);
        }
        for (partition, sent_up_to) in &self.partitions {
            let relay = rows.relay.relays.get(partition)?.copied().unwrap_or_default();
            if relay.leased_by == self.server {
                let sent_up_to = relay.sent_up_to.max(*sent_up_to);
                rows.relay.relays.put(*partition, Relay { sent_up_to, leased_by: 0, leased_until: at.now });
            }
        }
        Ok(())
    }
}

/// Outcome of publishing an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishOutcome {
    /// Sent, after it had failed before or waited.
    Sent,
    /// Not sent. `jitter` is an additional delay in milliseconds, so that retries do not coincide.
    Failed { jitter: u32 },
    /// Not tried, because an earlier event of the same subject has failed.
    Behind,
}

/// Records the position of a partition. Rejected if another server has the lease by now: events may then be sent again,
/// and consumers deduplicate them by id.
#[derive(Clone, Debug)]
pub struct AdvanceRelay {
    pub server: u64,
    pub partition: Partition,
    pub sent_up_to: u64,
    /// Failed and waiting events, and events that had failed or waited before. All other events up to `sent_up_to` were sent.
    pub outcomes: Vec<(u64, PublishOutcome)>,
}

impl Command for AdvanceRelay {
    /// Events that have become dead letters.
    type Outcome = Vec<u64>;
    const NAME: &'static str = "relay.advance";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Vec<u64>> {
        assert!(self.outcomes.len() <= REPORTED_MAX, "the number of reported events is bounded");
        rows.relay.relays.request(&self.partition);
        for (event, _) in &self.outcomes {
            rows.relay.failed_publications.request(&FailedPublicationId { event: *event });
        }
        let relay = rows.relay.relays.get(&self.partition)?.copied().unwrap_or_default();
        if relay.leased_by != self.server {
            return Err(Rejection::LeaseLost.into());
        }
        let mut dead_letters = Vec::new();
        for (event, outcomes) in &self.outcomes {
            let id = FailedPublicationId { event: *event };
            let before = rows.relay.failed_publications.get(&id)?.copied();
            match outcomes {
                PublishOutcome::Sent if before.is_some() => rows.relay.failed_publications.delete(id),
                PublishOutcome::Sent => {}
                PublishOutcome::Failed { jitter } => {
                    let retries = before.map_or(0, |trouble| trouble.retries + 1);
                    let failed = retries >= at.limits.relay.retries_max;
                    dead_letters.extend(failed.then_some(*event));
                    let next_try_at = at.now + backoff(retries, *jitter);
                    rows.relay
                        .failed_publications
                        .put(id, FailedPublication { partition: self.partition, retries, next_try_at, failed });
                }
                PublishOutcome::Behind => {
                    let (partition, retries) = (self.partition, before.map_or(0, |trouble| trouble.retries));
                    let next_try_at = at.now + RETRY_AFTER;
                    rows.relay
                        .failed_publications
                        .put(id, FailedPublication { partition, retries, next_try_at, failed: false });
                }
            }
        }
        let sent_up_to = self.sent_up_to.max(relay.sent_up_to);
        // A lease that was ended meanwhile stays ended, so that another server can take it.
        let leased_until = if relay.leased_until > at.now { at.now + LEASE } else { relay.leased_until };
        rows.relay.relays.put(self.partition, Relay { sent_up_to, leased_until, ..relay });
        Ok(dead_letters)
    }

    fn weight(&self) -> usize {
        1 + self.outcomes.len() / 8
    }
}

/// Retries a dead letter, with all its retries. An event without a row as failed is left unchanged.
#[derive(Clone, Copy, Debug)]
pub struct RetryEvent {
    pub event: u64,
}

impl Command for RetryEvent {
    /// State of the event, if it has a row as failed.
    type Outcome = Option<FailedPublication>;
    const NAME: &'static str = "relay.retry";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Option<FailedPublication>> {
        let id = FailedPublicationId { event: self.event };
        let Some(trouble) = rows.relay.failed_publications.get(&id)?.copied() else { return Ok(None) };
        let trouble = FailedPublication { retries: 0, next_try_at: at.now, failed: false, ..trouble };
        rows.relay.failed_publications.put(id, trouble);
        Ok(Some(trouble))
    }
}

/// Returns the delay before a retry: doubled each time, up to `RETRY_AFTER_MAX`, plus jitter.
fn backoff(retries: u32, jitter: u32) -> Span {
    let doubled = RETRY_AFTER.as_millis().saturating_mul(1 << retries.min(16));
    Span::from_millis(doubled.min(RETRY_AFTER_MAX.as_millis()) + i64::from(jitter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    const FIRST: Partition = Partition(0);

    fn ask(server: u64) -> LeaseRelays {
        LeaseRelays { server, wanted: vec![FIRST], is_alone: false, yields: false, ends_own: false }
    }

    fn lease(world: &mut World, server: u64) -> Vec<(Partition, Relay)> {
        world.run(&ask(server)).unwrap().held
    }

    fn advance(
        world: &mut World,
        server: u64,
        sent_up_to: u64,
        outcomes: &[(u64, PublishOutcome)],
    ) -> Result<Vec<u64>, Rejection> {
        world.run(&AdvanceRelay { server, partition: FIRST, sent_up_to, outcomes: outcomes.to_vec() })
    }

    fn trouble(world: &World, event: u64) -> Option<FailedPublication> {
        world.ask(|rows, _| Ok(rows.relay.failed_publications.get(&FailedPublicationId { event })?.copied())).unwrap()
    }

    #[test]
    fn partition_is_leased_to_one_server_at_a_time() {
        let mut world = World::new();
        assert_eq!(lease(&mut world, 1).len(), 1);
        assert_eq!(lease(&mut world, 2).len(), 0, "it is leased");
        world.wait(Span::from_millis(1_900));
        assert_eq!(lease(&mut world, 1).len(), 1, "renewed");
        world.wait(Span::from_millis(1_900));
        assert_eq!(lease(&mut world, 2).len(), 0);
        world.wait(Span::from_millis(100));
        assert_eq!(lease(&mut world, 2).len(), 1, "the lease has ended");
        assert_eq!(advance(&mut world, 1, 5, &[]), Err(Rejection::LeaseLost));
        assert_eq!(advance(&mut world, 2, 5, &[]), Ok(Vec::new()));
        assert_eq!(lease(&mut world, 2)[0].1.sent_up_to, 5);
    }

    #[test]
    fn leases_are_renewed_together_when_one_is_due() {
        let mut world = World::new();
        let wanted: Vec<_> = Partition::all().collect();
        let renew = LeaseRelays { wanted: wanted.clone(), ..ask(1) };
        let taken = world.run(&renew).unwrap();
        assert_eq!((taken.held.len(), taken.taken), (wanted.len(), wanted));
        let began = world.now;
        world.wait(Span::from_millis(500));
        let ends = |leased: &Leased| leased.held.iter().map(|(_, relay)| relay.leased_until).collect::<Vec<_>>();
        let early = world.run(&renew).unwrap();
        assert!(ends(&early).iter().all(|end| *end == began + LEASE), "not due yet, so nothing is written");
        world.wait(Span::from_millis(500));
        let due = world.run(&renew).unwrap();
        assert!(ends(&due).iter().all(|end| *end == world.now + LEASE) && due.taken.is_empty());
        let other = world.run(&ask(2)).unwrap();
        assert_eq!((other.held.len(), other.next_free_at), (0, Some(world.now + LEASE)));
    }

    #[test]
    fn released_partition_is_free_at_once() {
        let mut world = World::new();
        lease(&mut world, 1);
        advance(&mut world, 1, 5, &[]).unwrap();
        world.run(&ReleaseRelays { server: 2, partitions: vec![(FIRST, 99)] }).unwrap();
        assert_eq!(lease(&mut world, 2).len(), 0, "only its owner releases it");
        world.run(&ReleaseRelays { server: 1, partitions: vec![(FIRST, 7)] }).unwrap();
        assert_eq!(advance(&mut world, 1, 8, &[]), Err(Rejection::LeaseLost));
        assert_eq!(lease(&mut world, 2)[0].1.sent_up_to, 7);
    }

    #[test]
    fn server_without_bus_yields_to_others() {
        let mut world = World::new();
        let without_bus = LeaseRelays { yields: true, ..ask(1) };
        lease(&mut world, 1);
        world.wait(Span::from_millis(1_500));
        assert_eq!(world.run(&without_bus).unwrap().held.len(), 1, "it keeps the lease until its end");
        world.wait(Span::from_millis(500));
        assert_eq!(world.run(&without_bus).unwrap().held.len(), 0);
        world.wait(Span::from_millis(1_900));
        assert_eq!(world.run(&without_bus).unwrap().held.len(), 0, "another server may take it");
        world.wait(Span::from_millis(100));
        assert_eq!(world.run(&without_bus).unwrap().taken, [FIRST], "no other server did");
    }

    #[test]
    fn yielding_server_ends_its_leases_at_once() {
        let mut world = World::new();
        lease(&mut world, 1);
        advance(&mut world, 1, 5, &[]).unwrap();
        let ends = LeaseRelays { yields: true, ends_own: true, ..ask(1) };
        assert_eq!(world.run(&ends).unwrap().held, []);
        assert_eq!(lease(&mut world, 2)[0].1.sent_up_to, 5);
        assert_eq!(advance(&mut world, 1, 8, &[]), Err(Rejection::LeaseLost));
        assert_eq!(world.run(&ends).unwrap().held, [], "the lease of another server stands");
        assert_eq!(lease(&mut world, 2).len(), 1);
    }

    #[test]
    fn position_never_decreases() {
        let mut world = World::new();
        lease(&mut world, 1);
        advance(&mut world, 1, 9, &[]).unwrap();
        advance(&mut world, 1, 4, &[]).unwrap();
        assert_eq!(lease(&mut world, 1)[0].1.sent_up_to, 9);
    }

    #[test]
    fn event_is_retried_with_backoff_then_dead() {
        let mut world = World::new();
        world.limits.relay.retries_max = 3;
        lease(&mut world, 1);
        let mut waits = Vec::new();
        loop {
            let dead_letters = advance(&mut world, 1, 7, &[(7, PublishOutcome::Failed { jitter: 0 })]).unwrap();
            let trouble = trouble(&world, 7).unwrap();
            assert_eq!(dead_letters.contains(&7), trouble.failed, "it is reported once");
            waits.push((trouble.next_try_at.as_millis() - world.now.as_millis()) / 1_000);
            if trouble.failed {
                break;
            }
        }
        assert_eq!(waits, [1, 2, 4, 8], "backoff of each of the four attempts");
        let retried = world.run(&RetryEvent { event: 7 }).unwrap().unwrap();
        assert_eq!((retried.retries, retried.failed, retried.next_try_at), (0, false, world.now));
        advance(&mut world, 1, 7, &[(7, PublishOutcome::Sent)]).unwrap();
        assert_eq!(trouble(&world, 7), None);
        assert_eq!(world.run(&RetryEvent { event: 7 }), Ok(None), "it was sent");
    }

    #[test]
    fn waiting_event_uses_up_no_retry() {
        let mut world = World::new();
        lease(&mut world, 1);
        let outcomes =
            [(7, PublishOutcome::Failed { jitter: 0 }), (8, PublishOutcome::Behind), (8, PublishOutcome::Behind)];
        advance(&mut world, 1, 8, &outcomes).unwrap();
        assert_eq!(trouble(&world, 8).map(|trouble| (trouble.retries, trouble.failed)), Some((0, false)));
    }

    #[test]
    fn partition_depends_on_key_and_all_are_used() {
        assert_eq!(Partition::of(15), Partition::of(15));
        let used: std::collections::BTreeSet<_> = (0..100).map(Partition::of).collect();
        assert_eq!(used.len(), PARTITIONS as usize);
        assert_eq!(Partition::new(PARTITIONS), None);
    }
}
