//! Each safeguard is necessary: without it, a property fails in some order of some scenario.

use std::collections::BTreeSet;

use holdfast_protocol_model::Safeguard::{
    self, AbortIsRecorded, AttemptCompared, AttemptsAreRecovered, CapacityFence, ClockNeverBack, CountIsGuarded,
    DecisionUnique, EpochCompared, GuardRowsChecked, LiveReadBeforeDurable, LoweringCountsHeld, NoCancelWhilePrepared,
    OldLoweringRejected, OneClock, PrepareBeforeEnd, PreparedDoesNotExpire, ReadRowsCompared, RecordBeforeFinish,
    ReservationUnique, UnknownOutcomeIsRecovered, VersionsNeverReused,
};
use holdfast_protocol_model::properties::{
    CANCELLED_IS_FINAL, CONFIRMABLE, CONFIRMED_IS_DURABLE, EXPIRY_IS_FINAL, NO_GUARD_VIOLATION, NO_LEAK, NOT_OVERSOLD,
    ONE_RESERVATION, RESERVED_IS_EXACT, TALLY_IS_EXACT,
};
use holdfast_protocol_model::{PROPERTIES, Protocol, Safeguards, Scenario};
use stateright::{Checker, HasDiscoveries, Model};

/// Safeguards switched off, scenario, and property that fails.
const NECESSARY: &[(&[Safeguard], &str, &str)] = &[
    (&[LiveReadBeforeDurable], "two buyers, one unit", CONFIRMABLE),
    (&[LiveReadBeforeDurable], "lowering and placing", CONFIRMABLE),
    (&[VersionsNeverReused], "two buyers, one unit", CONFIRMABLE),
    (&[VersionsNeverReused], "lowering and placing", CONFIRMABLE),
    (&[OneClock], "two buyers, one unit", CONFIRMABLE),
    (&[ClockNeverBack], "two buyers, one unit", CONFIRMABLE),
    (&[ClockNeverBack], "two buyers, one unit", NO_GUARD_VIOLATION),
    (&[PreparedDoesNotExpire], "two buyers, one unit", CONFIRMABLE),
    (&[PreparedDoesNotExpire], "lowering and confirming", NO_GUARD_VIOLATION),
    (&[PrepareBeforeEnd], "two buyers, one unit", EXPIRY_IS_FINAL),
    (&[PrepareBeforeEnd], "lowering and confirming", CONFIRMABLE),
    (&[PrepareBeforeEnd], "lowering and confirming", NO_GUARD_VIOLATION),
    (&[NoCancelWhilePrepared], "confirm, cancel and the end of a hold", CANCELLED_IS_FINAL),
    (&[NoCancelWhilePrepared], "confirm, cancel and the end of a hold", NO_GUARD_VIOLATION),
    (&[RecordBeforeFinish], "two buyers, one unit", NO_GUARD_VIOLATION),
    (&[RecordBeforeFinish], "one hold confirmed by two, and again", CONFIRMED_IS_DURABLE),
    (&[AbortIsRecorded], "two buyers, one unit", CONFIRMABLE),
    (&[AbortIsRecorded], "confirm, cancel and the end of a hold", CANCELLED_IS_FINAL),
    (&[AttemptsAreRecovered], "two buyers, one unit", NO_LEAK),
    (&[AttemptCompared], "one hold confirmed by two, and again", CONFIRMABLE),
    (&[CountIsGuarded], "failover between the tiers", NOT_OVERSOLD),
    (&[GuardRowsChecked], "failover between the tiers", RESERVED_IS_EXACT),
    (&[DecisionUnique], "two buyers, one unit", CONFIRMABLE),
    (&[DecisionUnique, ReservationUnique], "one hold, more than one unit", ONE_RESERVATION),
    (&[UnknownOutcomeIsRecovered], "a confirm is sent twice", CONFIRMABLE),
    (&[LoweringCountsHeld], "lowering and confirming", NO_GUARD_VIOLATION),
    (&[CapacityFence], "lowering and placing", CONFIRMABLE),
    (&[OldLoweringRejected], "lowering and placing", CONFIRMABLE),
    (&[ReadRowsCompared], "lowering and placing", CONFIRMABLE),
    (&[EpochCompared], "failover among holds", TALLY_IS_EXACT),
    (&[EpochCompared], "failover among holds", CONFIRMABLE),
];

/// A property that never fails proves nothing.
#[test]
fn every_property_can_fail() {
    for (name, _) in PROPERTIES {
        assert!(NECESSARY.iter().any(|(_, _, broken)| broken == name), "no case shows that {name:?} can fail");
    }
}

#[test]
fn each_safeguard_is_necessary() {
    for &(off, scenario, property) in NECESSARY {
        let protocol = without(off, scenario);
        let expected = HasDiscoveries::AnyOf(BTreeSet::from([property]));
        let checked = protocol.checker().finish_when(expected).spawn_bfs().join();
        let Some(path) = checked.discovery(property) else {
            panic!("without {off:?}, {property:?} still holds in {scenario:?}")
        };
        println!("without {off:?}, in {scenario:?} this property fails: {property}");
        let (states, actions): (Vec<_>, Vec<_>) = path.into_vec().into_iter().unzip();
        for (state, action) in states.iter().skip(1).zip(actions.into_iter().flatten()) {
            println!("    {:<14} {state}", format!("{action:?}"));
        }
    }
}

/// One outcome per attempt suffices, because a new attempt begins only after the previous one is known to have failed.
/// The constraint remains as a last defence.
#[test]
fn one_outcome_per_attempt_suffices() {
    for scenario in ["one hold, more than one unit", "a confirm is sent twice", "failover between the tiers"] {
        without(&[ReservationUnique], scenario).checker().spawn_bfs().join().assert_properties();
    }
}

fn without(off: &[Safeguard], scenario: &str) -> Protocol {
    let rules = off.iter().fold(Safeguards::ALL, |rules, &safeguard| rules.without(safeguard));
    Protocol { scenario: Scenario::by_name(scenario), rules }
}
