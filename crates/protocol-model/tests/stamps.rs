//! What servers keep of a room is never stale, in any order of any steps; and each rule is needed for that.

use holdfast_protocol_model::stamps::{StampRule, Stamps};
use stateright::{Checker, Model};

#[test]
fn in_no_order_is_anybody_told_what_is_not_so_any_more() {
    let checked = Stamps { off: None }.checker().spawn_bfs().join();
    println!("{} states, depth {}", checked.unique_state_count(), checked.max_depth());
    checked.assert_properties();
}

#[test]
fn without_any_of_the_rules_somebody_is() {
    for off in [
        StampRule::AnnouncedBeforeCommit,
        StampRule::NoStampBesideNames,
        StampRule::StampsNeverReused,
        StampRule::NamesOutlastCommits,
        StampRule::UnknownKeepsItsName,
        StampRule::ConnectionCompared,
        StampRule::StampIsAskedOnce,
    ] {
        let checked = Stamps { off: Some(off) }.checker().spawn_bfs().join();
        let stale = checked.discovery("nobody is told anything older than what somebody was told of");
        let trace = stale.unwrap_or_else(|| panic!("{off:?} is not needed"));
        println!("without {off:?}: {:?}", trace.into_actions());
    }
}
