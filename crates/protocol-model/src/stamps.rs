//! A second, small model: what servers keep of a room's slots, and how they know that it is still so (`store-redis`, `stamps.rs`).
//!
//! There is one room. What is recorded of it is a number, the count of commits that changed it. Writers announce a change in the
//! live tier, commit it, and withdraw; they may die or lose the answer at any step. Readers keep what they have read under a
//! stamp. The live tier may fall back to what it was, but for names: one that is lost together with the server whose name it is
//! leaves others with what they kept until the stamp is over.

use std::collections::BTreeSet;

use stateright::{Model, Property};

/// One rule. The comment says what happens instead when it is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StampRule {
    /// Off: a change is committed first; the stamp goes when it is withdrawn.
    AnnouncedBeforeCommit,
    /// Off: a stamp is given although somebody's name stands there.
    NoStampBesideNames,
    /// Off: all stamps look the same.
    StampsNeverReused,
    /// Off: a name may be over while its commit can still come.
    NamesOutlastCommits,
    /// Off: the name goes although nobody knows whether the commit may still come.
    UnknownKeepsItsName,
    /// Off: what is kept counts also after the connection to the live tier was lost.
    ConnectionCompared,
    /// Off: a request for a stamp that got lost may arrive a second time, later.
    StampIsAskedOnce,
}

#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    pub off: Option<StampRule>,
}

const WRITERS: usize = 2;
const READERS: usize = 2;
/// What bounds the model: stamps given, and queries that each reader makes.
const STAMPS_MAX: u8 = 3;
const QUERIES_MAX: u8 = 3;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Room {
    live: Live,
    /// What the live tier may fall back to, once.
    before: Option<Live>,
    has_fallen_back: bool,
    stamps_given: u8,
    /// A request for this stamp that may arrive again.
    on_its_way: Option<u8>,
    commits: u8,
    /// The last commit that somebody was told of.
    told: u8,
    writers: [Writer; WRITERS],
    readers: [Reader; READERS],
    was_stale: bool,
    was_answered_from_memory: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Live {
    stamp: Option<u8>,
    names: BTreeSet<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Writer {
    Waits,
    Announced,
    /// The commit is sent, and nobody waits for its answer any more.
    InDoubt,
    /// As this commit; nobody was told yet.
    Committed(u8),
    /// The same, by one who has died since, or was in doubt. Repeating the request tells.
    Unheard(u8),
    Gone,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Reader {
    queries: u8,
    /// Has asked for a stamp and got this one; has read nothing yet.
    reading: Option<u8>,
    /// Stamp, what was read, and whether the connection is still the same.
    kept: Option<(u8, u8, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Announce(usize),
    Commit(usize),
    LoseAnswer(usize),
    CommitInDoubt(usize),
    Withdraw(usize),
    Die(usize),
    Tell(usize),
    NameIsOver(usize),
    Ask(usize),
    Read(usize),
    StampArrivesAgain,
    Remember,
    FallBack,
}

impl Stamps {
    fn keeps(self, rule: StampRule) -> bool {
        self.off != Some(rule)
    }

    fn commit(room: &mut Room) -> u8 {
        room.commits += 1;
        room.commits
    }

    fn ask(self, room: &mut Room, reader: usize) {
        let is_named = !room.live.names.is_empty();
        let kept = room.readers[reader].kept.filter(|(stamp, _, is_connected)| {
            room.live.stamp == Some(*stamp) && (*is_connected || !self.keeps(StampRule::ConnectionCompared))
        });
        room.readers[reader].queries += 1;
        if let Some((_, kept, _)) = kept {
            room.was_answered_from_memory = true;
            room.was_stale |= kept < room.told;
        } else if !is_named || !self.keeps(StampRule::NoStampBesideNames) {
            if room.live.stamp.is_none() {
                room.stamps_given += 1;
                let stamp = if self.keeps(StampRule::StampsNeverReused) { room.stamps_given } else { 0 };
                room.live.stamp = Some(stamp);
                room.on_its_way = Some(stamp);
            }
            room.readers[reader].reading = room.live.stamp;
        }
        // Else it is read from the durable tier, and not kept: that is never stale.
    }

    fn writer_steps(self, room: &Room, who: usize, steps: &mut Vec<Step>) {
        match room.writers[who] {
            Writer::Waits if self.keeps(StampRule::AnnouncedBeforeCommit) => steps.push(Step::Announce(who)),
            Writer::Waits => steps.push(Step::Commit(who)),
            Writer::Announced => steps.extend([Step::Commit(who), Step::LoseAnswer(who), Step::Die(who)]),
            Writer::InDoubt => steps.push(Step::CommitInDoubt(who)),
            Writer::Committed(_) => steps.extend([Step::Withdraw(who), Step::Die(who)]),
            Writer::Unheard(_) => steps.push(Step::Tell(who)),
            Writer::Gone => {}
        }
        let can_commit = matches!(room.writers[who], Writer::Announced | Writer::InDoubt);
        if room.live.names.contains(&who) && (!can_commit || !self.keeps(StampRule::NamesOutlastCommits)) {
            steps.push(Step::NameIsOver(who));
        }
    }
}

impl Model for Stamps {
    type State = Room;
    type Action = Step;

    fn init_states(&self) -> Vec<Room> {
        vec![Room {
            live: Live::default(),
            before: None,
            has_fallen_back: false,
            stamps_given: 0,
            on_its_way: None,
            commits: 0,
            told: 0,
            writers: [Writer::Waits; WRITERS],
            readers: [Reader::default(); READERS],
            was_stale: false,
            was_answered_from_memory: false,
        }]
    }

    fn actions(&self, room: &Room, steps: &mut Vec<Step>) {
        for who in 0..WRITERS {
            self.writer_steps(room, who, steps);
        }
        for (who, reader) in room.readers.iter().enumerate() {
            if reader.reading.is_some() {
                steps.push(Step::Read(who));
            } else if reader.queries < QUERIES_MAX && room.stamps_given < STAMPS_MAX {
                steps.push(Step::Ask(who));
            }
        }
        if !self.keeps(StampRule::StampIsAskedOnce) && room.on_its_way.is_some() {
            steps.push(Step::StampArrivesAgain);
        }
        match &room.before {
            _ if room.has_fallen_back => {}
            None => steps.push(Step::Remember),
            Some(before) if room.live.names.is_subset(&before.names) => steps.push(Step::FallBack),
            Some(_) => {}
        }
    }

    fn next_state(&self, before: &Room, step: Step) -> Option<Room> {
        let mut room = before.clone();
        match step {
            Step::Announce(who) => {
                room.live.names.insert(who);
                room.live.stamp = None;
                room.writers[who] = Writer::Announced;
            }
            Step::Commit(who) => room.writers[who] = Writer::Committed(Self::commit(&mut room)),
            Step::LoseAnswer(who) => {
                if !self.keeps(StampRule::UnknownKeepsItsName) {
                    room.live.names.remove(&who);
                }
                room.writers[who] = Writer::InDoubt;
            }
            Step::CommitInDoubt(who) => room.writers[who] = Writer::Unheard(Self::commit(&mut room)),
            Step::Withdraw(who) => {
                let Writer::Committed(commit) = room.writers[who] else { return None };
                room.live.names.remove(&who);
                room.live.stamp = None;
                room.told = room.told.max(commit);
                room.writers[who] = Writer::Gone;
            }
            Step::Die(who) => {
                room.writers[who] = match room.writers[who] {
                    Writer::Committed(commit) => Writer::Unheard(commit),
                    _ => Writer::Gone,
                }
            }
            Step::Tell(who) => {
                let Writer::Unheard(commit) = room.writers[who] else { return None };
                room.told = room.told.max(commit);
                room.writers[who] = Writer::Gone;
            }
            Step::NameIsOver(who) => {
                room.live.names.remove(&who);
            }
            Step::Ask(who) => self.ask(&mut room, who),
            Step::Read(who) => {
                let commits = room.commits;
                let reader = &mut room.readers[who];
                reader.kept = reader.reading.take().map(|stamp| (stamp, commits, true));
            }
            Step::StampArrivesAgain => {
                let stamp = room.on_its_way.take();
                if room.live.names.is_empty() && room.live.stamp.is_none() {
                    room.live.stamp = stamp;
                }
            }
            Step::Remember => room.before = Some(room.live.clone()),
            Step::FallBack => {
                room.live = room.before.take()?;
                room.has_fallen_back = true;
                for reader in &mut room.readers {
                    // What is being read now is kept as of before.
                    reader.reading = None;
                    reader.kept = reader.kept.map(|(stamp, kept, _)| (stamp, kept, false));
                }
            }
        }
        Some(room)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nobody is told anything older than what somebody was told of", |_, room: &Room| {
                !room.was_stale
            }),
            Property::sometimes("a query is answered from memory after a change", |_, room: &Room| {
                room.was_answered_from_memory && room.told > 0
            }),
        ]
    }
}
