//! The protocol with all its safeguards: every order of every scenario.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use holdfast_protocol_model::{Protocol, SCENARIOS, Safeguards};
use stateright::{Checker, Model};

#[test]
fn in_no_order_of_any_scenario_is_a_promise_broken() {
    println!("{:<42} {:>9} {:>6} {:>8}", "scenario", "states", "depth", "seconds");
    for &scenario in SCENARIOS {
        let began = Instant::now();
        let checked = Protocol { scenario, rules: Safeguards::ALL }.checker().spawn_bfs().join();
        let (states, depth, seconds) =
            (checked.unique_state_count(), checked.max_depth(), began.elapsed().as_secs_f32());
        println!("{:<42} {states:>9} {depth:>6} {seconds:>8.2}", scenario.name);
        checked.assert_properties();
    }
}

/// What is true at rest is only worth something if rest is always reached: nobody retries or resolves for ever.
#[test]
fn every_order_comes_to_rest() {
    for &scenario in SCENARIOS {
        let protocol = Protocol { scenario, rules: Safeguards::ALL };
        assert!(!has_cycle(&protocol), "some order of {:?} goes round in circles", scenario.name);
    }
}

/// Depth first; a state is open while a path through it is being followed, and meeting an open one again is a cycle.
fn has_cycle(protocol: &Protocol) -> bool {
    let mut is_open = HashMap::new();
    let mut path = Vec::new();
    for start in protocol.init_states() {
        is_open.insert(fingerprint(&start), true);
        path.push((fingerprint(&start), protocol.next_states(&start)));
    }
    while let Some((here, ahead)) = path.last_mut() {
        let Some(next) = ahead.pop() else {
            is_open.insert(*here, false);
            path.pop();
            continue;
        };
        let there = fingerprint(&next);
        match is_open.get(&there) {
            Some(true) => return true,
            Some(false) => {}
            None => {
                is_open.insert(there, true);
                path.push((there, protocol.next_states(&next)));
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
