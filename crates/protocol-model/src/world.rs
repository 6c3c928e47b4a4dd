//! The whole state: both tiers, the servers and their memory, transactions in flight, and observations.

use std::fmt::{self, Display, Formatter};

use crate::durable::{Decision, Durable, Outcome};
use crate::live::{HOLDS, Hold, HoldId, HoldState, Live, Time, Write};
use crate::safeguard::{Safeguard, Safeguards};
use crate::scenario::Scenario;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub clock: Time,
    pub live: Live,
    pub durable: Durable,
    /// One per script of the scenario, and the recovery server last.
    pub servers: Vec<Server>,
    /// Sent, without a receiver of the reply.
    pub in_flight: Vec<Transaction>,
    pub faults: Faults,
    pub observed: Observed,
}

/// A server as seen by one client: its position in the script, and its memory within an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Server {
    pub at: usize,
    pub step: Step,
    pub crashed: bool,
    /// Rejected operations of its script, as bits.
    pub rejected: u8,
    /// The fence of its lowering has ended, so long ago that its transaction is too old to commit.
    pub fence_expired: bool,
}

/// Next step of a server, with the rows that it read, which may be outdated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Step {
    #[default]
    Ready,
    /// Placing: live rows are read; `write` is for the case that units are available.
    PlaceReadLive { held: u8, fence: Option<u8>, write: Write },
    /// Placing in the wrong order.
    PlaceReadDurable { total: u8, reserved: u8 },
    /// Lowering: live rows are read.
    LowerReadLive { held: u8, write: Write },
    /// Before a compare-and-set.
    Apply { write: Write, then: Then },
    /// Before the transaction of a confirm.
    Record { attempt: u8, sent_before: bool },
    /// Before aborting this attempt in the durable tier, unless it is decided.
    Recover { hold: HoldId, attempt: u8 },
    /// Before reading the live rows, to apply an outcome.
    Finish(Finishing),
    /// Before the transaction of a lowering.
    LowerRecord { finish: Write },
    /// Before removing its own fence.
    LowerFinish { finish: Write },
}

/// Continuation of a successful compare-and-set. A failed one starts over from its read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    Placed,
    Prepared { attempt: u8, expires_at: Time },
    Cancelled,
    Finished(Finishing),
    FenceWritten { finish: Write },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finishing {
    pub hold: HoldId,
    pub attempt: u8,
    pub decision: Decision,
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Finishes its own attempt.
    Finisher,
    /// Finishes its own attempt before recording it: the wrong order.
    EarlyFinisher,
    /// Finishes any attempt.
    Recovery,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Transaction {
    Confirm { hold: HoldId, attempt: u8 },
    Lower { total: u8, by: usize },
}

/// Remaining numbers of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Faults {
    pub crashes: u8,
    pub unknowns: u8,
    /// Number of transactions that servers may send again.
    pub retries: u8,
    /// Transactions that are rolled back for external reasons, such as a deadlock, with a reply.
    pub rollbacks: u8,
    pub failovers: u8,
    /// Impossible unless the safeguard is off.
    pub clock_set_back: u8,
}

/// Facts that are not visible in the tiers: acknowledged results, and violations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Observed {
    pub confirmed: [bool; HOLDS],
    pub cancelled: [bool; HOLDS],
    /// The durable tier had no room for a prepared hold.
    pub guarded: bool,
    /// A hold was prepared after its end.
    pub reactivated: bool,
    /// The live tier was lost during an operation across both tiers. From then on live holds are first come, first
    /// served; durable counts must still be exact.
    pub lost_in_operation: bool,
}

impl World {
    pub fn new(scenario: &Scenario) -> Self {
        let mut live = Live::default();
        for (id, &expires_at) in scenario.placed.iter().enumerate() {
            live.holds[id].version = 1;
            live.holds[id].value = Some(Hold { state: HoldState::Held, expires_at, attempt: 0 });
            live.tally.version += 1;
            live.tally.value = live.tally.value.with_line(expires_at);
        }
        Self {
            clock: 0,
            live,
            durable: Durable::new(scenario.total),
            servers: vec![Server::default(); scenario.scripts.len() + 1],
            in_flight: Vec::new(),
            faults: scenario.faults,
            observed: Observed::default(),
        }
    }

    /// Returns the number of holds that may still become reservations or be held again. A recorded, unfinished hold
    /// already counts as reserved.
    pub fn claims(&self) -> u8 {
        let claims = |(id, hold): &(HoldId, &Hold)| match hold.state {
            HoldState::Held => hold.is_live(self.clock),
            HoldState::Confirming => self.durable.decision(*id, hold.attempt) != Some(Decision::Confirmed),
            HoldState::Confirmed | HoldState::Cancelled => false,
        };
        self.live.known_holds().filter(claims).count() as u8
    }

    /// Whether an operation has begun in one tier and not ended in the other.
    pub fn between_tiers(&self) -> bool {
        self.live.confirming().next().is_some() || self.live.fence.value.is_some() || !self.in_flight.is_empty()
    }

    /// Executes the transaction of a confirm, at its commit.
    pub fn confirm(&mut self, hold: HoldId, attempt: u8, rules: Safeguards) -> Outcome {
        let outcome = self.durable.confirm(hold, attempt, rules);
        self.observed.guarded |= outcome == Outcome::Guarded;
        outcome
    }

    /// Executes the transaction of a lowering, at its commit.
    pub fn lower(&mut self, total: u8, by: usize, rules: Safeguards) -> Outcome {
        if self.servers[by].fence_expired && rules.keep(Safeguard::OldLoweringRejected) {
            return Outcome::TooOld;
        }
        let outcome = self.durable.lower(total);
        self.observed.guarded |= outcome == Outcome::Guarded;
        outcome
    }
}

/// Formats the state as one line, for traces.
impl Display for World {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let tally = &self.live.tally.value;
        write!(
            f,
            "second {}: held {}, prepared {}",
            self.clock,
            tally.held(self.clock) - tally.prepared,
            tally.prepared
        )?;
        if let Some(fence) = &self.live.fence.value {
            write!(f, ", fence {}", fence.capacity)?;
        }
        for (id, hold) in self.live.known_holds() {
            let ended = hold.state == HoldState::Held && !hold.is_live(self.clock);
            write!(f, ", hold {id} {:?}{}", hold.state, if ended { " (ended)" } else { "" })?;
        }
        write!(f, "; reserved {} of {}", self.durable.reserved, self.durable.total)?;
        if !self.in_flight.is_empty() {
            write!(f, ", in flight {:?}", self.in_flight)?;
        }
        Ok(())
    }
}
