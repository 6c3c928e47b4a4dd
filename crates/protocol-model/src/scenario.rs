//! Requests of clients and possible faults, small enough to explore every order.

use crate::live::{HoldId, Time};
use crate::properties::Milestone;
use crate::world::Faults;

/// Request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Place(HoldId),
    Confirm(HoldId),
    Cancel(HoldId),
    CancelReservation(HoldId),
    Lower(u8),
}

#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub total: u8,
    /// Ends of the initial holds.
    pub placed: &'static [Time],
    /// One client per script, each with its own server.
    pub scripts: &'static [&'static [Op]],
    /// Time at which the clock stops; later ends are never reached.
    pub clock_max: Time,
    pub ttl: Time,
    /// Offsets of the servers' own clocks; without effect unless the safeguard is off.
    pub seconds_ahead: &'static [Time],
    pub faults: Faults,
    /// Milestones that must be reachable; otherwise the scenario does not show what its name says.
    pub milestones: &'static [Milestone],
}

const CRASH_AND_UNKNOWN: Faults =
    Faults { crashes: 1, unknowns: 1, retries: 0, rollbacks: 0, failovers: 0, clock_set_back: 1 };
const UNKNOWN: Faults = Faults { crashes: 0, ..CRASH_AND_UNKNOWN };
const SENT_TWICE: Faults = Faults { retries: 1, rollbacks: 1, ..CRASH_AND_UNKNOWN };
const FAILOVER: Faults = Faults { failovers: 1, ..UNKNOWN };

const BASE: Scenario = Scenario {
    name: "",
    total: 1,
    placed: &[],
    scripts: &[],
    clock_max: 3,
    ttl: 2,
    seconds_ahead: &[0, 2],
    faults: CRASH_AND_UNKNOWN,
    milestones: &[],
};

use Milestone as M;
use Op::{Cancel, CancelReservation, Confirm, Lower, Place};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "two buyers, one unit",
        scripts: &[&[Place(0), Confirm(0)], &[Place(1), Confirm(1)]],
        milestones: &[
            M::Confirmed,
            M::Aborted,
            M::FoundConfirmed,
            M::PlaceRejected,
            M::CommitUnknown,
            M::Ended,
            M::AtRest,
        ],
        ..BASE
    },
    Scenario {
        name: "two buyers, two units",
        total: 2,
        scripts: &[&[Place(0), Confirm(0)], &[Place(1), Confirm(1)]],
        milestones: &[M::Confirmed, M::Aborted, M::FoundConfirmed, M::CommitUnknown, M::Ended, M::AtRest],
        ..BASE
    },
    Scenario {
        name: "three buyers, one unit",
        scripts: &[&[Place(0), Confirm(0)], &[Place(1), Confirm(1)], &[Place(2), Confirm(2)]],
        clock_max: 2,
        ttl: 1,
        faults: UNKNOWN,
        milestones: &[M::Confirmed, M::Aborted, M::PlaceRejected, M::Ended, M::AtRest],
        ..BASE
    },
    Scenario {
        name: "confirm, cancel and the end of a hold",
        placed: &[2],
        scripts: &[&[Confirm(0)], &[Cancel(0), Place(1), Confirm(1)]],
        milestones: &[
            M::Confirmed,
            M::Aborted,
            M::FoundConfirmed,
            M::CancelRejected,
            M::ConfirmRejected,
            M::PlaceRejected,
            M::CommitUnknown,
            M::Ended,
            M::AtRest,
        ],
        ..BASE
    },
    Scenario {
        name: "one hold confirmed by two, and again",
        placed: &[2],
        scripts: &[&[Confirm(0), Confirm(0)], &[Confirm(0), Place(1)]],
        milestones: &[
            M::Confirmed,
            M::Aborted,
            M::SecondAttempt,
            M::FoundConfirmed,
            M::PlaceRejected,
            M::CommitUnknown,
            M::AtRest,
        ],
        ..BASE
    },
    Scenario {
        name: "one hold, more than one unit",
        total: 2,
        placed: &[2],
        scripts: &[&[Confirm(0), Confirm(0)], &[Confirm(0)]],
        milestones: &[M::Confirmed, M::Aborted, M::SecondAttempt, M::FoundConfirmed, M::CommitUnknown, M::AtRest],
        ..BASE
    },
    Scenario {
        name: "a confirm is sent twice",
        placed: &[2],
        scripts: &[&[Confirm(0), Confirm(0)], &[Place(1), Confirm(1)]],
        faults: SENT_TWICE,
        milestones: &[
            M::Confirmed,
            M::Aborted,
            M::SecondAttempt,
            M::FoundConfirmed,
            M::PlaceRejected,
            M::CommitUnknown,
            M::AtRest,
        ],
        ..BASE
    },
    Scenario {
        name: "a cancelled reservation is sold again",
        placed: &[2],
        scripts: &[&[Confirm(0), CancelReservation(0)], &[Place(1), Confirm(1)]],
        milestones: &[
            M::Confirmed,
            M::ReservationCancelled,
            M::SoldAgain,
            M::PlaceRejected,
            M::CommitUnknown,
            M::AtRest,
        ],
        ..BASE
    },
    Scenario {
        name: "lowering and placing",
        total: 2,
        placed: &[1],
        scripts: &[&[Lower(1)], &[Place(1), Confirm(1)]],
        milestones: &[
            M::Lowered,
            M::LowerRejected,
            M::FenceExpired,
            M::PlaceRejected,
            M::Confirmed,
            M::CommitUnknown,
            M::Ended,
            M::AtRest,
        ],
        ..BASE
    },
    Scenario {
        name: "lowering and confirming",
        total: 2,
        placed: &[1, 2],
        scripts: &[&[Lower(1)], &[Confirm(0), Confirm(1)]],
        milestones: &[M::Lowered, M::LowerRejected, M::Confirmed, M::Aborted, M::CommitUnknown, M::Ended, M::AtRest],
        ..BASE
    },
    Scenario {
        name: "one lowers, one confirms, one buys",
        total: 2,
        placed: &[1, 2],
        scripts: &[&[Lower(1)], &[Confirm(0)], &[Place(2), Confirm(2)]],
        faults: UNKNOWN,
        milestones: &[
            M::Lowered,
            M::LowerRejected,
            M::FenceExpired,
            M::PlaceRejected,
            M::Confirmed,
            M::Aborted,
            M::AtRest,
        ],
        ..BASE
    },
    Scenario {
        name: "two lower, one places",
        total: 3,
        scripts: &[&[Lower(1)], &[Lower(2)], &[Place(0), Place(1), Place(2)]],
        clock_max: 0,
        milestones: &[M::Lowered, M::LowerRejected, M::FenceExpired, M::PlaceRejected, M::CommitUnknown, M::AtRest],
        ..BASE
    },
    Scenario {
        name: "failover between the tiers",
        scripts: &[&[Place(0), Confirm(0)], &[Place(1), Confirm(1)]],
        faults: FAILOVER,
        milestones: &[
            M::Confirmed,
            M::Aborted,
            M::LostInOperation,
            M::Guarded,
            M::ConfirmRejected,
            M::PlaceRejected,
            M::AtRest,
        ],
        ..BASE
    },
    Scenario {
        name: "failover while lowering",
        total: 2,
        placed: &[1],
        scripts: &[&[Lower(1)], &[Confirm(0), Place(1), Confirm(1)]],
        clock_max: 2,
        faults: FAILOVER,
        milestones: &[M::Lowered, M::LowerRejected, M::LostInOperation, M::Guarded, M::Confirmed, M::AtRest],
        ..BASE
    },
    Scenario {
        name: "failover among holds",
        scripts: &[&[Place(0), Place(2)], &[Place(1), Confirm(1)]],
        faults: FAILOVER,
        milestones: &[M::Confirmed, M::PlaceRejected, M::Ended, M::AtRest],
        ..BASE
    },
];

impl Scenario {
    pub fn by_name(name: &str) -> Self {
        let found = SCENARIOS.iter().find(|scenario| scenario.name == name);
        *found.unwrap_or_else(|| panic!("no scenario has the name {name:?}"))
    }
}
