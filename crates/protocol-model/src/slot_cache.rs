//! A second, small model: the near-term slot cache of servers, and its validation (`store-redis`, `near_term_slots.rs`).
//!
//! There is one room, whose recorded state is the number of commits that changed it. A writer registers an invalidation
//! intent in the live tier, commits, and withdraws the intent; it may crash or lose the reply at any step. Readers
//! cache what they read under a cache version. The live tier may fall back to an earlier state, but not lose an intent:
//! an intent lost together with its server would leave other servers with stale caches until the version expires.

use std::collections::BTreeSet;

use stateright::{Model, Property};

/// A rule. Its comment describes the behaviour without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CacheRule {
    /// Off: a change is committed first; the version is removed on withdrawal.
    IntentBeforeCommit,
    /// Off: a version is issued although an intent is registered.
    NoVersionWithIntents,
    /// Off: all versions are equal.
    VersionsNeverReused,
    /// Off: an intent may expire before its commit is impossible.
    IntentsOutlastCommits,
    /// Off: the intent is removed although the commit may still take effect.
    UnknownOutcomeKeepsIntent,
    /// Off: cached rows stay valid after a lost connection to the live tier.
    ConnectionCompared,
    /// Off: a lost request for a version may arrive a second time, later.
    VersionIsRequestedOnce,
}

#[derive(Clone, Copy, Debug)]
pub struct CacheProtocol {
    pub off: Option<CacheRule>,
}

const WRITERS: usize = 2;
const READERS: usize = 2;
/// Bounds of the model: issued versions, and queries per reader.
const VERSIONS_MAX: u8 = 3;
const QUERIES_MAX: u8 = 3;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Room {
    live: Live,
    /// Snapshot to which the live tier may fall back, once.
    before: Option<Live>,
    has_rolled_back: bool,
    versions_issued: u8,
    /// A request for this version that may arrive again.
    delayed_request: Option<u8>,
    commits: u8,
    /// Last commit that a client knows.
    acknowledged: u8,
    writers: [Writer; WRITERS],
    readers: [Reader; READERS],
    was_stale: bool,
    was_answered_from_cache: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Live {
    version: Option<u8>,
    intents: BTreeSet<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Writer {
    Idle,
    Announced,
    /// The commit was sent, and its reply is lost.
    OutcomeUnknown,
    /// Committed under this number, and not acknowledged yet.
    Committed(u8),
    /// Committed by a server that crashed or lost the reply. A repeated request acknowledges it.
    Unacknowledged(u8),
    Done,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Reader {
    queries: u8,
    /// Version received for a read in progress.
    reading: Option<u8>,
    /// Version, cached commit, and whether the connection is still the same.
    cached: Option<(u8, u8, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Announce(usize),
    Commit(usize),
    LoseReply(usize),
    CommitAfterLostReply(usize),
    Withdraw(usize),
    Crash(usize),
    Acknowledge(usize),
    IntentExpires(usize),
    Query(usize),
    Read(usize),
    DelayedRequestArrives,
    TakeSnapshot,
    RollBack,
}

impl CacheProtocol {
    fn keeps(self, rule: CacheRule) -> bool {
        self.off != Some(rule)
    }

    fn commit(room: &mut Room) -> u8 {
        room.commits += 1;
        room.commits
    }

    fn query(self, room: &mut Room, reader: usize) {
        let has_intents = !room.live.intents.is_empty();
        let cached = room.readers[reader].cached.filter(|(version, _, is_connected)| {
            room.live.version == Some(*version) && (*is_connected || !self.keeps(CacheRule::ConnectionCompared))
        });
        room.readers[reader].queries += 1;
        if let Some((_, cached, _)) = cached {
            room.was_answered_from_cache = true;
            room.was_stale |= cached < room.acknowledged;
        } else if !has_intents || !self.keeps(CacheRule::NoVersionWithIntents) {
            if room.live.version.is_none() {
                room.versions_issued += 1;
                let version = if self.keeps(CacheRule::VersionsNeverReused) { room.versions_issued } else { 0 };
                room.live.version = Some(version);
                room.delayed_request = Some(version);
            }
            room.readers[reader].reading = room.live.version;
        }
        // Otherwise it reads the durable tier without caching, which is never stale.
    }

    fn writer_steps(self, room: &Room, index: usize, steps: &mut Vec<Step>) {
        match room.writers[index] {
            Writer::Idle if self.keeps(CacheRule::IntentBeforeCommit) => steps.push(Step::Announce(index)),
            Writer::Idle => steps.push(Step::Commit(index)),
            Writer::Announced => steps.extend([Step::Commit(index), Step::LoseReply(index), Step::Crash(index)]),
            Writer::OutcomeUnknown => steps.push(Step::CommitAfterLostReply(index)),
            Writer::Committed(_) => steps.extend([Step::Withdraw(index), Step::Crash(index)]),
            Writer::Unacknowledged(_) => steps.push(Step::Acknowledge(index)),
            Writer::Done => {}
        }
        let can_commit = matches!(room.writers[index], Writer::Announced | Writer::OutcomeUnknown);
        if room.live.intents.contains(&index) && (!can_commit || !self.keeps(CacheRule::IntentsOutlastCommits)) {
            steps.push(Step::IntentExpires(index));
        }
    }
}

impl Model for CacheProtocol {
    type State = Room;
    type Action = Step;

    fn init_states(&self) -> Vec<Room> {
        vec![Room {
            live: Live::default(),
            before: None,
            has_rolled_back: false,
            versions_issued: 0,
            delayed_request: None,
            commits: 0,
            acknowledged: 0,
            writers: [Writer::Idle; WRITERS],
            readers: [Reader::default(); READERS],
            was_stale: false,
            was_answered_from_cache: false,
        }]
    }

    fn actions(&self, room: &Room, steps: &mut Vec<Step>) {
        for index in 0..WRITERS {
            self.writer_steps(room, index, steps);
        }
        for (index, reader) in room.readers.iter().enumerate() {
            if reader.reading.is_some() {
                steps.push(Step::Read(index));
            } else if reader.queries < QUERIES_MAX && room.versions_issued < VERSIONS_MAX {
                steps.push(Step::Query(index));
            }
        }
        if !self.keeps(CacheRule::VersionIsRequestedOnce) && room.delayed_request.is_some() {
            steps.push(Step::DelayedRequestArrives);
        }
        match &room.before {
            _ if room.has_rolled_back => {}
            None => steps.push(Step::TakeSnapshot),
            Some(before) if room.live.intents.is_subset(&before.intents) => steps.push(Step::RollBack),
            Some(_) => {}
        }
    }

    fn next_state(&self, before: &Room, step: Step) -> Option<Room> {
        let mut room = before.clone();
        match step {
            Step::Announce(index) => {
                room.live.intents.insert(index);
                room.live.version = None;
                room.writers[index] = Writer::Announced;
            }
            Step::Commit(index) => room.writers[index] = Writer::Committed(Self::commit(&mut room)),
            Step::LoseReply(index) => {
                if !self.keeps(CacheRule::UnknownOutcomeKeepsIntent) {
                    room.live.intents.remove(&index);
                }
                room.writers[index] = Writer::OutcomeUnknown;
            }
            Step::CommitAfterLostReply(index) => room.writers[index] = Writer::Unacknowledged(Self::commit(&mut room)),
            Step::Withdraw(index) => {
                let Writer::Committed(commit) = room.writers[index] else { return None };
                room.live.intents.remove(&index);
                room.live.version = None;
                room.acknowledged = room.acknowledged.max(commit);
                room.writers[index] = Writer::Done;
            }
            Step::Crash(index) => {
                room.writers[index] = match room.writers[index] {
                    Writer::Committed(commit) => Writer::Unacknowledged(commit),
                    _ => Writer::Done,
                }
            }
            Step::Acknowledge(index) => {
                let Writer::Unacknowledged(commit) = room.writers[index] else { return None };
                room.acknowledged = room.acknowledged.max(commit);
                room.writers[index] = Writer::Done;
            }
            Step::IntentExpires(index) => {
                room.live.intents.remove(&index);
            }
            Step::Query(index) => self.query(&mut room, index),
            Step::Read(index) => {
                let commits = room.commits;
                let reader = &mut room.readers[index];
                reader.cached = reader.reading.take().map(|version| (version, commits, true));
            }
            Step::DelayedRequestArrives => {
                let version = room.delayed_request.take();
                if room.live.intents.is_empty() && room.live.version.is_none() {
                    room.live.version = version;
                }
            }
            Step::TakeSnapshot => room.before = Some(room.live.clone()),
            Step::RollBack => {
                room.live = room.before.take()?;
                room.has_rolled_back = true;
                for reader in &mut room.readers {
                    // A read in progress is cached as of before.
                    reader.reading = None;
                    reader.cached = reader.cached.map(|(version, cached, _)| (version, cached, false));
                }
            }
        }
        Some(room)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no query returns rows older than an acknowledged commit", |_, room: &Room| {
                !room.was_stale
            }),
            Property::sometimes("a query is answered from the cache after a change", |_, room: &Room| {
                room.was_answered_from_cache && room.acknowledged > 0
            }),
        ]
    }
}
