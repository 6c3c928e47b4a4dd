//! The live tier: versioned rows and one generic compare-and-set. It contains no business rule. It must write all rows
//! of a change or none, and never reuse a version of a row.

use crate::safeguard::{Safeguard, Safeguards};

/// Seconds of the live tier's clock, the only clock.
pub type Time = u8;

/// Index of a hold. Never reused.
pub type HoldId = usize;

/// Maximum number of holds in a scenario.
pub const HOLDS: usize = 3;

/// A row keeps its version when its value is deleted, like a tombstone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Row<T> {
    pub version: u8,
    pub value: T,
}

/// Held quantity of the unit: one line per hold with the second of its end, and prepared holds, which do not end by
/// time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tally {
    lines: Vec<Time>,
    pub prepared: u8,
}

impl Tally {
    /// Returns the quantity that counts at `now`.
    pub fn held(&self, now: Time) -> u8 {
        self.lines.iter().filter(|&&end| now < end).count() as u8 + self.prepared
    }

    /// Returns the tally without ended lines, as it is written.
    #[must_use]
    pub fn at(&self, now: Time) -> Self {
        Self { lines: self.lines.iter().copied().filter(|&end| now < end).collect(), prepared: self.prepared }
    }

    #[must_use]
    pub fn with_line(mut self, end: Time) -> Self {
        self.lines.push(end);
        self.lines.sort_unstable();
        self
    }

    /// Removes one line with this end. A line that has ended may be purged already.
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
    /// Number of prepares. Outcomes are recorded per attempt, so that an aborted confirm can be retried.
    pub attempt: u8,
}

impl Hold {
    pub fn is_live(&self, now: Time) -> bool {
        self.state == HoldState::Held && now < self.expires_at
    }
}

/// A capacity fence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fence {
    pub capacity: u8,
    /// Server that lowers the capacity.
    pub by: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Live {
    pub epoch: u8,
    pub tally: Row<Tally>,
    pub fence: Row<Option<Fence>>,
    pub holds: [Row<Option<Hold>>; HOLDS],
}

/// Version of a row that was read, and its new value if it is written.
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

/// One compare-and-set: the rows that were read (`None`: not read) and their new values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Write {
    pub epoch: u8,
    pub tally: Option<Change<Tally>>,
    pub fence: Option<Change<Option<Fence>>>,
    pub hold: Option<(HoldId, Change<Option<Hold>>)>,
    /// Rejected from this second on, by the clock of the live tier.
    pub rejected_from: Option<Time>,
}

impl Live {
    /// Writes all rows or none; returns whether it did.
    pub fn compare_and_set(&mut self, write: Write, now: Time, rules: Safeguards) -> bool {
        let same_epoch = write.epoch == self.epoch || !rules.keep(Safeguard::EpochCompared);
        let allowed = same_epoch
            && write.rejected_from.is_none_or(|end| now < end)
            && self.tally.allows(write.tally.as_ref(), rules)
            && self.fence.allows(write.fence.as_ref(), rules)
            && write.hold.as_ref().is_none_or(|(id, change)| self.holds[*id].allows(Some(change), rules));
        if allowed {
            self.tally.apply(write.tally);
            self.fence.apply(write.fence);
            if let Some((id, change)) = write.hold {
                self.holds[id].apply(Some(change));
            }
        }
        allowed
    }

    /// Resets versions of absent rows, like a store without tombstones. Hold rows need none, because their ids are not
    /// reused.
    pub fn drop_tombstones(&mut self, now: Time) {
        if self.tally.value.held(now) == 0 {
            self.tally = Row::default();
        }
        if self.fence.value.is_none() {
            self.fence = Row::default();
        }
    }

    /// Fails over to an empty server, which does not know used versions either.
    pub fn lose_state(&mut self) {
        *self = Self { epoch: self.epoch + 1, ..Self::default() };
    }

    pub fn confirming(&self) -> impl Iterator<Item = (HoldId, &Hold)> {
        self.known_holds().filter(|(_, hold)| hold.state == HoldState::Confirming)
    }

    pub fn known_holds(&self) -> impl Iterator<Item = (HoldId, &Hold)> {
        self.holds.iter().enumerate().filter_map(|(id, row)| row.value.as_ref().map(|hold| (id, hold)))
    }
}
