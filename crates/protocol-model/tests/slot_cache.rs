//! The slot cache is never stale, in any order of steps, and each rule is necessary for that.

use holdfast_protocol_model::slot_cache::{CacheProtocol, CacheRule};
use stateright::{Checker, Model};

#[test]
fn cache_is_never_stale() {
    let checked = CacheProtocol { off: None }.checker().spawn_bfs().join();
    println!("{} states, depth {}", checked.unique_state_count(), checked.max_depth());
    checked.assert_properties();
}

#[test]
fn each_rule_is_necessary() {
    for off in [
        CacheRule::IntentBeforeCommit,
        CacheRule::NoVersionWithIntents,
        CacheRule::VersionsNeverReused,
        CacheRule::IntentsOutlastCommits,
        CacheRule::UnknownOutcomeKeepsIntent,
        CacheRule::ConnectionCompared,
        CacheRule::VersionIsRequestedOnce,
    ] {
        let checked = CacheProtocol { off: Some(off) }.checker().spawn_bfs().join();
        let stale = checked.discovery("no query returns rows older than an acknowledged commit");
        let trace = stale.unwrap_or_else(|| panic!("{off:?} is not necessary"));
        println!("without {off:?}: {:?}", trace.into_actions());
    }
}
