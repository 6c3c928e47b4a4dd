//! The complete protocol: every order of every scenario.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use holdfast_protocol_model::{Protocol, SCENARIOS, Safeguards};
use stateright::{Checker, Model};

#[test]
fn all_properties_hold_in_every_order() {
    println!("{:<42} {:>9} {:>6} {:>8}", "scenario", "states", "depth", "seconds");
    for &scenario in SCENARIOS {
        let started = Instant::now();
        let checked = Protocol { scenario, rules: Safeguards::ALL }.checker().spawn_bfs().join();
        let (states, depth, seconds) =
            (checked.unique_state_count(), checked.max_depth(), started.elapsed().as_secs_f32());
        println!("{:<42} {states:>9} {depth:>6} {seconds:>8.2}", scenario.name);
        checked.assert_properties();
    }
}

/// Properties at rest are meaningful only if rest is always reached, so no server may retry or recover forever.
#[test]
fn every_order_comes_to_rest() {
    for &scenario in SCENARIOS {
        let protocol = Protocol { scenario, rules: Safeguards::ALL };
        assert!(!has_cycle(&protocol), "some order of {:?} has a cycle", scenario.name);
    }
}

/// Depth-first search. A state is open while a path through it is explored; reaching an open one again is a cycle.
fn has_cycle(protocol: &Protocol) -> bool {
    let mut is_open = HashMap::new();
    let mut path = Vec::new();
    for start in protocol.init_states() {
        is_open.insert(fingerprint(&start), true);
        path.push((fingerprint(&start), protocol.next_states(&start)));
    }
    while let Some((current, successors)) = path.last_mut() {
        let Some(next) = successors.pop() else {
            is_open.insert(*current, false);
            path.pop();
            continue;
        };
        let reached = fingerprint(&next);
        match is_open.get(&reached) {
            Some(true) => return true,
            Some(false) => {}
            None => {
                is_open.insert(reached, true);
                path.push((reached, protocol.next_states(&next)));
            }
        }
    }
    false
}

fn fingerprint(state: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}
