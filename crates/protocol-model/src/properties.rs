//! What must be true in every state, and what must be reachable for a scenario to be worth checking.

use stateright::Model;

use crate::durable::Decision;
use crate::live::{HoldState, Tally, Time};
use crate::protocol::Protocol;
use crate::scenario::Op;
use crate::world::{Role, Settling, Step, World};

type Condition = fn(&Protocol, &World) -> bool;

pub const NOT_OVERSOLD: &str = "no more is reserved than there is";
pub const RESERVED_IS_EXACT: &str = "what is reserved is the number of reservations";
pub const ONE_RESERVATION: &str = "a hold becomes at most one reservation";
pub const HONOURED: &str = "all live holds can be confirmed together";
pub const NEVER_GUARDED: &str = "the database never has to refuse what was promised";
pub const TALLY_IS_EXACT: &str = "the tally counts every live hold once";
pub const CONFIRMED_IS_KEPT: &str = "a confirmed answer is never lost";
pub const CANCELLED_IS_KEPT: &str = "a cancelled hold never becomes a reservation";
pub const ENDED_IS_ENDED: &str = "an ended hold never comes back";
pub const NOTHING_LEAKS: &str = "at rest nothing is left pinned, confirming or limited";

/// The first three and the promises to clients are kept whatever happens. Live holds are honoured unless the live tier
/// was lost while something was between the tiers.
pub const PROPERTIES: &[(&str, Condition)] = &[
    (NOT_OVERSOLD, |_, world| world.durable.reserved <= world.durable.total),
    (RESERVED_IS_EXACT, |_, world| world.durable.reserved == world.durable.reservations()),
    (ONE_RESERVATION, |_, world| world.durable.made.iter().all(|&made| made <= 1)),
    (HONOURED, |_, world| world.told.in_doubt || world.durable.reserved + world.claims() <= world.durable.total),
    (NEVER_GUARDED, |_, world| world.told.in_doubt || !world.told.guarded),
    (TALLY_IS_EXACT, |_, world| tally_is_exact(world)),
    (CONFIRMED_IS_KEPT, |_, world| {
        world.told.confirmed.iter().zip(world.durable.made).all(|(&told, made)| !told || made > 0)
    }),
    (CANCELLED_IS_KEPT, |_, world| {
        world.told.cancelled.iter().zip(world.durable.made).all(|(&told, made)| !told || made == 0)
    }),
    (ENDED_IS_ENDED, |_, world| !world.told.revived),
    (NOTHING_LEAKS, |protocol, world| !at_rest(protocol, world) || is_clean(world)),
];

/// The tally is what the holds add up to, derived anew.
fn tally_is_exact(world: &World) -> bool {
    let held = world.live.known_holds().filter(|(_, hold)| hold.is_live(world.clock));
    let mut derived = held.fold(Tally::default(), |tally, (_, hold)| tally.with_line(hold.expires_at));
    derived.pinned = world.live.confirming().count() as u8;
    world.live.tally.value.at(world.clock) == derived
}

/// Nothing can happen any more: clients are done or gone, nothing is in flight, nothing is left to resolve.
fn at_rest(protocol: &Protocol, world: &World) -> bool {
    if world.clock < protocol.scenario.clock_max || !world.in_flight.is_empty() {
        return false;
    }
    let mut actions = Vec::new();
    protocol.actions(world, &mut actions);
    actions.is_empty()
}

fn is_clean(world: &World) -> bool {
    let counted_at_the_end_of_time = world.live.tally.value.held(Time::MAX);
    counted_at_the_end_of_time == 0 && world.live.confirming().next().is_none() && world.live.limit.value.is_none()
}

/// Something interesting that a scenario says it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Confirmed,
    /// A resolver came first.
    Aborted,
    /// An aborted confirm was begun again.
    SecondAttempt,
    /// A resolver came second.
    FoundConfirmed,
    CommitUnknown,
    PlaceRefused,
    ConfirmRefused,
    CancelRefused,
    LowerRefused,
    Ended,
    ReservationCancelled,
    SoldAgain,
    Lowered,
    LowerTooLate,
    InDoubt,
    Guarded,
    AtRest,
}

impl Mark {
    pub fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "a confirm succeeds",
            Self::Aborted => "a resolver aborts a confirm",
            Self::SecondAttempt => "an aborted confirm is begun again",
            Self::FoundConfirmed => "a resolver finds a confirm recorded",
            Self::CommitUnknown => "the outcome of a commit is not known",
            Self::PlaceRefused => "a place is refused",
            Self::ConfirmRefused => "a confirm is refused",
            Self::CancelRefused => "a cancel is refused",
            Self::LowerRefused => "a lowering is refused",
            Self::Ended => "a hold ends by time",
            Self::ReservationCancelled => "a reservation is cancelled",
            Self::SoldAgain => "what was cancelled is sold again",
            Self::Lowered => "the capacity is lowered",
            Self::LowerTooLate => "a limit row ends by time",
            Self::InDoubt => "the live tier is lost at a bad moment",
            Self::Guarded => "the database refuses",
            Self::AtRest => "all is at rest",
        }
    }

    pub(crate) fn condition(self) -> Condition {
        match self {
            Self::Confirmed => |_, world| world.durable.made.iter().any(|&made| made > 0),
            Self::Aborted => |_, world| world.durable.decisions.values().any(|&made| made == Decision::Aborted),
            Self::SecondAttempt => |_, world| world.live.confirming().any(|(_, hold)| hold.attempt == 2),
            Self::FoundConfirmed => |_, world| world.servers.iter().any(|server| found_confirmed(&server.step)),
            Self::CommitUnknown => |_, world| !world.in_flight.is_empty(),
            Self::PlaceRefused => |protocol, world| refused(protocol, world, |op| matches!(op, Op::Place(_))),
            Self::ConfirmRefused => |protocol, world| refused(protocol, world, |op| matches!(op, Op::Confirm(_))),
            Self::CancelRefused => |protocol, world| refused(protocol, world, |op| matches!(op, Op::Cancel(_))),
            Self::LowerRefused => |protocol, world| refused(protocol, world, |op| matches!(op, Op::Lower(_))),
            Self::Ended => |_, world| {
                world.live.known_holds().any(|(_, hold)| hold.state == HoldState::Held && !hold.is_live(world.clock))
            },
            Self::ReservationCancelled => |_, world| world.durable.cancelled.iter().any(|&cancelled| cancelled > 0),
            Self::SoldAgain => |_, world| world.durable.made.iter().sum::<u8>() > world.durable.total,
            Self::Lowered => |protocol, world| world.durable.total < protocol.scenario.total,
            Self::LowerTooLate => |_, world| world.servers.iter().any(|server| server.too_late),
            Self::InDoubt => |_, world| world.told.in_doubt,
            Self::Guarded => |_, world| world.told.guarded,
            Self::AtRest => at_rest,
        }
    }
}

fn found_confirmed(step: &Step) -> bool {
    matches!(step, Step::Settle(Settling { decision: Decision::Confirmed, role: Role::Resolver, .. }))
}

fn refused(protocol: &Protocol, world: &World, of_interest: fn(&Op) -> bool) -> bool {
    let scripts = protocol.scenario.scripts.iter();
    scripts.zip(&world.servers).any(|(script, server)| {
        script.iter().enumerate().any(|(at, op)| of_interest(op) && server.refused & (1 << at) != 0)
    })
}
