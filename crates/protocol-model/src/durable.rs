//! The durable tier: capacity, reservations and decisions. A method is one transaction, and happens at one moment: that
//! of its commit. That an insert waits for another of the same key and then finds it is the same as coming later.

use std::collections::BTreeMap;

use crate::live::{HOLDS, HoldId};
use crate::safeguard::{Safeguard, Safeguards};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    Confirmed,
    Aborted,
}

/// How a transaction that was waited for has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// There is a decision, by somebody else or by an earlier copy of this transaction.
    AlreadyDecided,
    /// A guarded count matched no row.
    Guarded,
    /// It was sent too long ago to be committed.
    TooOld,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Durable {
    pub total: u8,
    pub reserved: u8,
    /// Per hold: how many reservations were ever made of it.
    pub made: [u8; HOLDS],
    /// Per hold: how many of them were cancelled.
    pub cancelled: [u8; HOLDS],
    pub decisions: BTreeMap<(HoldId, u8), Decision>,
}

impl Durable {
    pub fn new(total: u8) -> Self {
        Self { total, reserved: 0, made: [0; HOLDS], cancelled: [0; HOLDS], decisions: BTreeMap::new() }
    }

    pub fn decision(&self, hold: HoldId, attempt: u8) -> Option<Decision> {
        self.decisions.get(&(hold, attempt)).copied()
    }

    pub fn reservations(&self) -> u8 {
        self.made.iter().sum::<u8>() - self.cancelled.iter().sum::<u8>()
    }

    /// The decision, the guarded count and the reservation of one confirm.
    pub fn confirm(&mut self, hold: HoldId, attempt: u8, rules: Safeguards) -> Outcome {
        if rules.keep(Safeguard::DecisionUnique) && self.decision(hold, attempt).is_some() {
            return Outcome::AlreadyDecided;
        }
        if rules.keep(Safeguard::ReservationUnique) && self.made[hold] > 0 {
            return Outcome::AlreadyDecided;
        }
        if self.reserved < self.total || !rules.keep(Safeguard::CountIsGuarded) {
            self.reserved += 1;
        } else if rules.keep(Safeguard::GuardRowsChecked) {
            return Outcome::Guarded;
        }
        self.decisions.entry((hold, attempt)).or_insert(Decision::Confirmed);
        self.made[hold] += 1;
        Outcome::Committed
    }

    /// What the resolver does: from here on the attempt is decided, one way or the other.
    pub fn abort_unless_decided(&mut self, hold: HoldId, attempt: u8, rules: Safeguards) -> Decision {
        if rules.keep(Safeguard::AbortIsWritten) {
            *self.decisions.entry((hold, attempt)).or_insert(Decision::Aborted)
        } else {
            self.decision(hold, attempt).unwrap_or(Decision::Aborted)
        }
    }

    pub fn cancel_reservation(&mut self, hold: HoldId) -> bool {
        let there = self.made[hold] > self.cancelled[hold];
        if there {
            self.cancelled[hold] += 1;
            self.reserved -= 1;
        }
        there
    }

    /// The CHECK on the row is the last line: it refuses what is reserved already.
    pub fn lower(&mut self, total: u8) -> Outcome {
        if self.reserved > total {
            return Outcome::Guarded;
        }
        self.total = total;
        Outcome::Committed
    }
}
