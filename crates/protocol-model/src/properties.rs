//! Invariants of every state, and milestones that must be reachable for a scenario to be meaningful.

use stateright::Model;

use crate::durable::Decision;
use crate::live::{HoldState, Tally, Time};
use crate::protocol::Protocol;
use crate::scenario::Op;
use crate::world::{Finishing, Role, Step, World};

type Condition = fn(&Protocol, &World) -> bool;

pub const NOT_OVERSOLD: &str = "reserved is at most the total";
pub const RESERVED_IS_EXACT: &str = "the reserved count equals the number of reservations";
pub const ONE_RESERVATION: &str = "a hold becomes at most one reservation";
pub const CONFIRMABLE: &str = "all live holds can be confirmed together";
pub const NO_GUARD_VIOLATION: &str = "the database never rejects a prepared hold";
pub const TALLY_IS_EXACT: &str = "the tally counts every live hold once";
pub const CONFIRMED_IS_DURABLE: &str = "an acknowledged confirm is never lost";
pub const CANCELLED_IS_FINAL: &str = "a cancelled hold never becomes a reservation";
pub const EXPIRY_IS_FINAL: &str = "an ended hold never becomes live again";
pub const NO_LEAK: &str = "at rest no hold is prepared and no fence is set";

/// Durable counts and acknowledged results hold always. Live holds are confirmable unless the live tier was lost during
/// an operation across both tiers.
pub const PROPERTIES: &[(&str, Condition)] = &[
    (NOT_OVERSOLD, |_, world| world.durable.reserved <= world.durable.total),
    (RESERVED_IS_EXACT, |_, world| world.durable.reserved == world.durable.reservations()),
    (ONE_RESERVATION, |_, world| world.durable.created.iter().all(|&created| created <= 1)),
    (CONFIRMABLE, |_, world| {
        world.observed.lost_in_operation || world.durable.reserved + world.claims() <= world.durable.total
    }),
    (NO_GUARD_VIOLATION, |_, world| world.observed.lost_in_operation || !world.observed.guarded),
    (TALLY_IS_EXACT, |_, world| tally_is_exact(world)),
    (CONFIRMED_IS_DURABLE, |_, world| {
        world.observed.confirmed.iter().zip(world.durable.created).all(|(&observed, created)| !observed || created > 0)
    }),
    (CANCELLED_IS_FINAL, |_, world| {
        world.observed.cancelled.iter().zip(world.durable.created).all(|(&observed, created)| !observed || created == 0)
    }),
    (EXPIRY_IS_FINAL, |_, world| !world.observed.reactivated),
    (NO_LEAK, |protocol, world| !is_at_rest(protocol, world) || is_clean(world)),
];

/// Whether the tally equals the one computed from the holds.
fn tally_is_exact(world: &World) -> bool {
    let held = world.live.known_holds().filter(|(_, hold)| hold.is_live(world.clock));
    let mut derived = held.fold(Tally::default(), |tally, (_, hold)| tally.with_line(hold.expires_at));
    derived.prepared = world.live.confirming().count() as u8;
    world.live.tally.value.at(world.clock) == derived
}

/// Whether no action is possible: clients are done or crashed, no message is in flight, no attempt is left to recover.
fn is_at_rest(protocol: &Protocol, world: &World) -> bool {
    if world.clock < protocol.scenario.clock_max || !world.in_flight.is_empty() {
        return false;
    }
    let mut actions = Vec::new();
    protocol.actions(world, &mut actions);
    actions.is_empty()
}

fn is_clean(world: &World) -> bool {
    let counted_at_the_end_of_time = world.live.tally.value.held(Time::MAX);
    counted_at_the_end_of_time == 0 && world.live.confirming().next().is_none() && world.live.fence.value.is_none()
}

/// A milestone that a scenario must reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    Confirmed,
    /// Recovery aborts an attempt.
    Aborted,
    /// An aborted confirm is prepared again.
    SecondAttempt,
    /// Recovery finds an attempt recorded.
    FoundConfirmed,
    CommitUnknown,
    PlaceRejected,
    ConfirmRejected,
    CancelRejected,
    LowerRejected,
    Ended,
    ReservationCancelled,
    SoldAgain,
    Lowered,
    FenceExpired,
    LostInOperation,
    Guarded,
    AtRest,
}

impl Milestone {
    pub fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "a confirm succeeds",
            Self::Aborted => "recovery aborts a confirm",
            Self::SecondAttempt => "an aborted confirm is prepared again",
            Self::FoundConfirmed => "recovery finds a confirm recorded",
            Self::CommitUnknown => "the outcome of a commit is unknown",
            Self::PlaceRejected => "a place is rejected",
            Self::ConfirmRejected => "a confirm is rejected",
            Self::CancelRejected => "a cancel is rejected",
            Self::LowerRejected => "a lowering is rejected",
            Self::Ended => "a hold ends by time",
            Self::ReservationCancelled => "a reservation is cancelled",
            Self::SoldAgain => "a cancelled unit is sold again",
            Self::Lowered => "the capacity is lowered",
            Self::FenceExpired => "a capacity fence ends by time",
            Self::LostInOperation => "the live tier is lost during an operation",
            Self::Guarded => "a guarded update matches no row",
            Self::AtRest => "the system is at rest",
        }
    }

    pub(crate) fn condition(self) -> Condition {
        match self {
            Self::Confirmed => |_, world| world.durable.created.iter().any(|&created| created > 0),
            Self::Aborted => |_, world| world.durable.decisions.values().any(|&created| created == Decision::Aborted),
            Self::SecondAttempt => |_, world| world.live.confirming().any(|(_, hold)| hold.attempt == 2),
            Self::FoundConfirmed => |_, world| world.servers.iter().any(|server| found_confirmed(&server.step)),
            Self::CommitUnknown => |_, world| !world.in_flight.is_empty(),
            Self::PlaceRejected => |protocol, world| rejected(protocol, world, |op| matches!(op, Op::Place(_))),
            Self::ConfirmRejected => |protocol, world| rejected(protocol, world, |op| matches!(op, Op::Confirm(_))),
            Self::CancelRejected => |protocol, world| rejected(protocol, world, |op| matches!(op, Op::Cancel(_))),
            Self::LowerRejected => |protocol, world| rejected(protocol, world, |op| matches!(op, Op::Lower(_))),
            Self::Ended => |_, world| {
                world.live.known_holds().any(|(_, hold)| hold.state == HoldState::Held && !hold.is_live(world.clock))
            },
            Self::ReservationCancelled => |_, world| world.durable.cancelled.iter().any(|&cancelled| cancelled > 0),
            Self::SoldAgain => |_, world| world.durable.created.iter().sum::<u8>() > world.durable.total,
            Self::Lowered => |protocol, world| world.durable.total < protocol.scenario.total,
            Self::FenceExpired => |_, world| world.servers.iter().any(|server| server.fence_expired),
            Self::LostInOperation => |_, world| world.observed.lost_in_operation,
            Self::Guarded => |_, world| world.observed.guarded,
            Self::AtRest => is_at_rest,
        }
    }
}

fn found_confirmed(step: &Step) -> bool {
    matches!(step, Step::Finish(Finishing { decision: Decision::Confirmed, role: Role::Recovery, .. }))
}

fn rejected(protocol: &Protocol, world: &World, matches: fn(&Op) -> bool) -> bool {
    let scripts = protocol.scenario.scripts.iter();
    scripts.zip(&world.servers).any(|(script, server)| {
        script.iter().enumerate().any(|(at, op)| matches(op) && server.rejected & (1 << at) != 0)
    })
}
