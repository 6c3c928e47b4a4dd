//! The live tier: versioned rows and one generic compare-and-set. It knows no rule of business; what it may never do is
//! write some rows of a change and not others, or give a row a version that the row has had before.

use crate::safeguard::{Safeguard, Safeguards};

/// Seconds of the live tier's clock, the only clock.
pub type Time = u8;

/// Which hold. Ids are never used twice.
pub type HoldId = usize;

/// No scenario has more holds than this.
pub const HOLDS: usize = 3;

/// A row keeps its version when its value is gone, as a tombstone would.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Row<T> {
    pub version: u8,
    pub value: T,
}

/// What is held of the unit: one line per hold (the second in which it ends), and what does not end by time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tally {
    lines: Vec<Time>,
    pub pinned: u8,
}

impl Tally {
    /// What counts at `now`.
    pub fn held(&self, now: Time) -> u8 {
        self.lines.iter().filter(|&&end| now < end).count() as u8 + self.pinned
    }

    /// Whoever writes a tally leaves out what has ended.
    #[must_use]
    pub fn at(&self, now: Time) -> Self {
        Self { lines: self.lines.iter().copied().filter(|&end| now < end).collect(), pinned: self.pinned }
    }

    #[must_use]
    pub fn with_line(mut self, end: Time) -> Self {
        self.lines.push(end);
        self.lines.sort_unstable();
        self
    }

    /// Without one line of this end. If it has ended meanwhile, there is nothing to take away.
    #[must_use]
    pub fn without_line(mut self, end: Time) -> Self {
        if let Some(at) = self.lines.iter().position(|&line| line == end) {
            self.lines.remove(at);
        }
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoldState {
    Held,
    Confirming,
    Confirmed,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    pub state: HoldState,
    pub expires_at: Time,
    /// How often it was pinned. Decisions are made per attempt, so that an aborted confirm may be tried again.
    pub attempt: u8,
}

impl Hold {
    pub fn is_live(&self, now: Time) -> bool {
        self.state == HoldState::Held && now < self.expires_at
    }
}

/// A lowered capacity that is being introduced.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    pub capacity: u8,
    /// The server that lowers.
    pub by: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Live {
    pub incarnation: u8,
    pub tally: Row<Tally>,
    pub limit: Row<Option<Limit>>,
    pub holds: [Row<Option<Hold>>; HOLDS],
}

/// A row that was read, and what to write to it, if anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change<T> {
    pub read: u8,
    pub write: Option<T>,
}

impl<T> Row<T> {
    pub fn unchanged(&self) -> Change<T> {
        Change { read: self.version, write: None }
    }

    pub fn becomes(&self, value: T) -> Change<T> {
        Change { read: self.version, write: Some(value) }
    }

    fn allows(&self, change: Option<&Change<T>>, rules: Safeguards) -> bool {
        let Some(change) = change else { return true };
        let only_read = change.write.is_none();
        change.read == self.version || (only_read && !rules.keep(Safeguard::ReadRowsCompared))
    }

    fn apply(&mut self, change: Option<Change<T>>) {
        if let Some(value) = change.and_then(|change| change.write) {
            self.version += 1;
            self.value = value;
        }
    }
}

/// One compare-and-set: the rows that were read (`None`: was not read) and what is to become of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Write {
    pub incarnation: u8,
    pub tally: Option<Change<Tally>>,
    pub limit: Option<Change<Option<Limit>>>,
    pub hold: Option<(HoldId, Change<Option<Hold>>)>,
    /// Refused from this second on, by the clock of the live tier.
    pub not_from: Option<Time>,
}

impl Live {
    /// All rows or nothing; tells whether it was all.
    pub fn compare_and_set(&mut self, write: Write, now: Time, rules: Safeguards) -> bool {
        let same_incarnation = write.incarnation == self.incarnation || !rules.keep(Safeguard::IncarnationCompared);
        let allowed = same_incarnation
            && write.not_from.is_none_or(|end| now < end)
            && self.tally.allows(write.tally.as_ref(), rules)
            && self.limit.allows(write.limit.as_ref(), rules)
            && write.hold.as_ref().is_none_or(|(id, change)| self.holds[*id].allows(Some(change), rules));
        if allowed {
            self.tally.apply(write.tally);
            self.limit.apply(write.limit);
            if let Some((id, change)) = write.hold {
                self.holds[id].apply(Some(change));
            }
        }
        allowed
    }

    /// What a store does that keeps no tombstones. Hold rows need none: their ids are not used again.
    pub fn forget_gone(&mut self, now: Time) {
        if self.tally.value.held(now) == 0 {
            self.tally = Row::default();
        }
        if self.limit.value.is_none() {
            self.limit = Row::default();
        }
    }

    /// A failover to a server that knows nothing, not even which versions were used.
    pub fn lose_everything(&mut self) {
        *self = Self { incarnation: self.incarnation + 1, ..Self::default() };
    }

    pub fn confirming(&self) -> impl Iterator<Item = (HoldId, &Hold)> {
        self.known_holds().filter(|(_, hold)| hold.state == HoldState::Confirming)
    }

    pub fn known_holds(&self) -> impl Iterator<Item = (HoldId, &Hold)> {
        self.holds.iter().enumerate().filter_map(|(id, row)| row.value.as_ref().map(|hold| (id, hold)))
    }
}
