//! Everything that makes up one state: both tiers, the servers with what they remember, transactions on their way, and
//! what clients were told.

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
    /// One per script of the scenario, and last the one that resolves what others left behind.
    pub servers: Vec<Server>,
    /// Sent, and nobody waits for the answer any more.
    pub in_flight: Vec<Transaction>,
    pub faults: Faults,
    pub told: Told,
}

/// A server as far as it works for one client: its place in the script and what it knows in the middle of an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Server {
    pub at: usize,
    pub step: Step,
    pub dead: bool,
    /// Which operations of its script it refused, as bits.
    pub refused: u8,
    /// The limit row of its lowering has ended, so long ago that its transaction is too old to commit.
    pub too_late: bool,
}

/// What a server does next. What it read is in here, and may be old by then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Step {
    #[default]
    Ready,
    /// Placing: live rows are read; `write` is what to do if there is room.
    PlaceKnowsLive { held: u8, limit: Option<u8>, write: Write },
    /// Placing in the wrong order.
    PlaceKnowsDurable { total: u8, reserved: u8 },
    /// Lowering: live rows are read.
    LowerKnowsLive { held: u8, write: Write },
    /// About to compare and set.
    Apply { write: Write, then: Then },
    /// About to send the transaction of a confirm.
    Record { attempt: u8, sent_before: bool },
    /// About to ask the durable tier to abort this attempt, unless it is decided.
    Resolve { hold: HoldId, attempt: u8 },
    /// About to read the live rows, to tell them a decision.
    Settle(Settling),
    /// About to send the transaction of a lowering.
    LowerRecord { finish: Write },
    /// About to take away the limit row that it wrote.
    LowerFinish { finish: Write },
}

/// What follows a compare-and-set that went through. One that did not begins again where it read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    Placed,
    Pinned { attempt: u8, expires_at: Time },
    Cancelled,
    Settled(Settling),
    LimitWritten { finish: Write },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settling {
    pub hold: HoldId,
    pub attempt: u8,
    pub decision: Decision,
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Ends its own confirm.
    Finisher,
    /// Ends its own confirm before it is recorded: the wrong order.
    Hasty,
    /// Ends somebody's confirm.
    Resolver,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Transaction {
    Confirm { hold: HoldId, attempt: u8 },
    Lower { total: u8, by: usize },
}

/// How many faults may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Faults {
    pub crashes: u8,
    pub unknowns: u8,
    /// How often a server may send a transaction again.
    pub retries: u8,
    /// Transactions that are rolled back for no reason of ours, say a deadlock, and the server is told.
    pub rollbacks: u8,
    pub failovers: u8,
    /// Cannot happen unless the safeguard is off.
    pub clock_set_back: u8,
}

/// What cannot be seen in the tiers but was promised, or must never have happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Told {
    pub confirmed: [bool; HOLDS],
    pub cancelled: [bool; HOLDS],
    /// The durable tier had no room for what was promised.
    pub guarded: bool,
    /// A hold was pinned after its time.
    pub revived: bool,
    /// The live tier was lost while something was between the tiers. From then on live holds are first come, first
    /// served; confirmed stock must still be exact.
    pub in_doubt: bool,
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
            told: Told::default(),
        }
    }

    /// Holds that may still become reservations, or go back to being held. One that is recorded already and not yet
    /// finished is counted as reserved, and so not here.
    pub fn claims(&self) -> u8 {
        let claims = |(id, hold): &(HoldId, &Hold)| match hold.state {
            HoldState::Held => hold.is_live(self.clock),
            HoldState::Confirming => self.durable.decision(*id, hold.attempt) != Some(Decision::Confirmed),
            HoldState::Confirmed | HoldState::Cancelled => false,
        };
        self.live.known_holds().filter(claims).count() as u8
    }

    /// Something has begun in one tier and not ended in the other.
    pub fn between_tiers(&self) -> bool {
        self.live.confirming().next().is_some() || self.live.limit.value.is_some() || !self.in_flight.is_empty()
    }

    /// The transaction of a confirm, at the moment of its commit.
    pub fn confirm(&mut self, hold: HoldId, attempt: u8, rules: Safeguards) -> Outcome {
        let outcome = self.durable.confirm(hold, attempt, rules);
        self.told.guarded |= outcome == Outcome::Guarded;
        outcome
    }

    /// The transaction of a lowering, at the moment of its commit.
    pub fn lower(&mut self, total: u8, by: usize, rules: Safeguards) -> Outcome {
        if self.servers[by].too_late && rules.keep(Safeguard::OldLoweringRefused) {
            return Outcome::TooOld;
        }
        let outcome = self.durable.lower(total);
        self.told.guarded |= outcome == Outcome::Guarded;
        outcome
    }
}

/// A state in one line, for traces.
impl Display for World {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let tally = &self.live.tally.value;
        write!(f, "second {}: held {}, pinned {}", self.clock, tally.held(self.clock) - tally.pinned, tally.pinned)?;
        if let Some(limit) = &self.live.limit.value {
            write!(f, ", limit {}", limit.capacity)?;
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
