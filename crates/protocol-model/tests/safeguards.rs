//! What each safeguard is for: without it, a promise is broken in some order of some scenario.

use std::collections::BTreeSet;

use holdfast_protocol_model::Safeguard::{
    self, AbortIsWritten, AttemptCompared, ClockNeverBack, CountIsGuarded, DecisionUnique, DoubtIsResolved,
    GuardRowsChecked, IncarnationCompared, LimitRow, LiveReadBeforeDurable, LoweringCountsHeld,
    NoCancelWhileConfirming, OldLoweringRefused, OneClock, PinBeforeEnd, PinWhileConfirming, ReadRowsCompared,
    RecordBeforeFinish, ReservationUnique, SomebodyResolves, VersionsNeverReused,
};
use holdfast_protocol_model::properties::{
    CANCELLED_IS_KEPT, CONFIRMED_IS_KEPT, ENDED_IS_ENDED, HONOURED, NEVER_GUARDED, NOT_OVERSOLD, NOTHING_LEAKS,
    ONE_RESERVATION, RESERVED_IS_EXACT, TALLY_IS_EXACT,
};
use holdfast_protocol_model::{PROPERTIES, Protocol, Safeguards, Scenario};
use stateright::{Checker, HasDiscoveries, Model};

/// What is switched off, where it shows, what it breaks.
const NEEDED: &[(&[Safeguard], &str, &str)] = &[
    (&[LiveReadBeforeDurable], "two buyers, one unit", HONOURED),
    (&[LiveReadBeforeDurable], "lowering and placing", HONOURED),
    (&[VersionsNeverReused], "two buyers, one unit", HONOURED),
    (&[VersionsNeverReused], "lowering and placing", HONOURED),
    (&[OneClock], "two buyers, one unit", HONOURED),
    (&[ClockNeverBack], "two buyers, one unit", HONOURED),
    (&[ClockNeverBack], "two buyers, one unit", NEVER_GUARDED),
    (&[PinWhileConfirming], "two buyers, one unit", HONOURED),
    (&[PinWhileConfirming], "lowering and confirming", NEVER_GUARDED),
    (&[PinBeforeEnd], "two buyers, one unit", ENDED_IS_ENDED),
    (&[PinBeforeEnd], "lowering and confirming", HONOURED),
    (&[PinBeforeEnd], "lowering and confirming", NEVER_GUARDED),
    (&[NoCancelWhileConfirming], "confirm, cancel and the end of a hold", CANCELLED_IS_KEPT),
    (&[NoCancelWhileConfirming], "confirm, cancel and the end of a hold", NEVER_GUARDED),
    (&[RecordBeforeFinish], "two buyers, one unit", NEVER_GUARDED),
    (&[RecordBeforeFinish], "one hold confirmed by two, and again", CONFIRMED_IS_KEPT),
    (&[AbortIsWritten], "two buyers, one unit", HONOURED),
    (&[AbortIsWritten], "confirm, cancel and the end of a hold", CANCELLED_IS_KEPT),
    (&[SomebodyResolves], "two buyers, one unit", NOTHING_LEAKS),
    (&[AttemptCompared], "one hold confirmed by two, and again", HONOURED),
    (&[CountIsGuarded], "failover between the tiers", NOT_OVERSOLD),
    (&[GuardRowsChecked], "failover between the tiers", RESERVED_IS_EXACT),
    (&[DecisionUnique], "two buyers, one unit", HONOURED),
    (&[DecisionUnique, ReservationUnique], "one hold, more than one unit", ONE_RESERVATION),
    (&[DoubtIsResolved], "a confirm is sent twice", HONOURED),
    (&[LoweringCountsHeld], "lowering and confirming", NEVER_GUARDED),
    (&[LimitRow], "lowering and placing", HONOURED),
    (&[OldLoweringRefused], "lowering and placing", HONOURED),
    (&[ReadRowsCompared], "lowering and placing", HONOURED),
    (&[IncarnationCompared], "failover among holds", TALLY_IS_EXACT),
    (&[IncarnationCompared], "failover among holds", HONOURED),
];

/// A property that nothing can break shows nothing.
#[test]
fn every_property_is_broken_by_something() {
    for (name, _) in PROPERTIES {
        assert!(NEEDED.iter().any(|(_, _, broken)| broken == name), "nothing shows that {name:?} can be broken");
    }
}

#[test]
fn without_a_safeguard_its_promise_is_broken() {
    for &(off, scenario, property) in NEEDED {
        let protocol = without(off, scenario);
        let wanted = HasDiscoveries::AnyOf(BTreeSet::from([property]));
        let checked = protocol.checker().finish_when(wanted).spawn_bfs().join();
        let Some(path) = checked.discovery(property) else {
            panic!("without {off:?}, {property:?} still holds in {scenario:?}")
        };
        println!("without {off:?}, in {scenario:?} it is no longer true that {property}:");
        let (states, actions): (Vec<_>, Vec<_>) = path.into_vec().into_iter().unzip();
        for (state, action) in states.iter().skip(1).zip(actions.into_iter().flatten()) {
            println!("    {:<14} {state}", format!("{action:?}"));
        }
    }
}

/// A decision per attempt is enough, because a new attempt begins only when the one before is known to have failed. The
/// constraint stays as the last line.
#[test]
fn one_reservation_per_hold_follows_from_one_decision_per_attempt() {
    for scenario in ["one hold, more than one unit", "a confirm is sent twice", "failover between the tiers"] {
        without(&[ReservationUnique], scenario).checker().spawn_bfs().join().assert_properties();
    }
}

fn without(off: &[Safeguard], scenario: &str) -> Protocol {
    let rules = off.iter().fold(Safeguards::ALL, |rules, &safeguard| rules.without(safeguard));
    Protocol { scenario: Scenario::named(scenario), rules }
}
