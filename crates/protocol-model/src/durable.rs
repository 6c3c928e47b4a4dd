//! The durable tier: capacity, reservations and outcomes of confirm attempts. A method is one transaction, and takes
//! effect at its commit. An insert that waits for another of the same key and then finds it is equivalent to a later
//! one.

use std::collections::BTreeMap;

use crate::live::{HOLDS, HoldId};
use crate::safeguard::{Safeguard, Safeguards};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    Confirmed,
    Aborted,
}

/// Result of a transaction whose reply arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// The attempt is decided, by recovery or by an earlier copy of this transaction.
    AlreadyDecided,
    /// A guarded update of a count matched no row.
    Guarded,
    /// Sent too long ago to be committed.
    TooOld,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Durable {
    pub total: u8,
    pub reserved: u8,
    /// Number of reservations ever created, per hold.
    pub created: [u8; HOLDS],
    /// Number of cancelled reservations, per hold.
    pub cancelled: [u8; HOLDS],
    pub decisions: BTreeMap<(HoldId, u8), Decision>,
}

impl Durable {
    pub fn new(total: u8) -> Self {
        Self { total, reserved: 0, created: [0; HOLDS], cancelled: [0; HOLDS], decisions: BTreeMap::new() }
    }

    pub fn decision(&self, hold: HoldId, attempt: u8) -> Option<Decision> {
        self.decisions.get(&(hold, attempt)).copied()
    }

    pub fn reservations(&self) -> u8 {
        self.created.iter().sum::<u8>() - self.cancelled.iter().sum::<u8>()
    }

    /// Records the outcome, the guarded count and the reservation of one confirm attempt.
    pub fn confirm(&mut self, hold: HoldId, attempt: u8, rules: Safeguards) -> Outcome {
        if rules.keep(Safeguard::DecisionUnique) && self.decision(hold, attempt).is_some() {
            return Outcome::AlreadyDecided;
        }
        if rules.keep(Safeguard::ReservationUnique) && self.created[hold] > 0 {
            return Outcome::AlreadyDecided;
        }
        if self.reserved < self.total || !rules.keep(Safeguard::CountIsGuarded) {
            self.reserved += 1;
        } else if rules.keep(Safeguard::GuardRowsChecked) {
            return Outcome::Guarded;
        }
        self.decisions.entry((hold, attempt)).or_insert(Decision::Confirmed);
        self.created[hold] += 1;
        Outcome::Committed
    }

    /// Aborts an attempt unless it is decided, and returns its outcome. From then on the attempt is decided.
    pub fn abort_unless_decided(&mut self, hold: HoldId, attempt: u8, rules: Safeguards) -> Decision {
        if rules.keep(Safeguard::AbortIsRecorded) {
            *self.decisions.entry((hold, attempt)).or_insert(Decision::Aborted)
        } else {
            self.decision(hold, attempt).unwrap_or(Decision::Aborted)
        }
    }

    pub fn cancel_reservation(&mut self, hold: HoldId) -> bool {
        let exists = self.created[hold] > self.cancelled[hold];
        if exists {
            self.cancelled[hold] += 1;
            self.reserved -= 1;
        }
        exists
    }

    /// A CHECK constraint bounds the total by what is reserved.
    pub fn lower(&mut self, total: u8) -> Outcome {
        if self.reserved > total {
            return Outcome::Guarded;
        }
        self.total = total;
        Outcome::Committed
    }
}
