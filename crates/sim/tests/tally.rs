//! A tally compared with a naive list of all its quantities.

use std::collections::BTreeMap;

use holdfast_core::time::Span;
use holdfast_core::{Tally, Timestamp};
use proptest::prelude::*;
use proptest::sample::Index;

const START_MILLIS: i64 = 1_780_357_800_250;

#[derive(Clone, Debug)]
enum Action {
    Add { ttl_millis: i64, quantity: u32 },
    Remove(Index),
    AdvanceClock(i64),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        3 => (1..8_000_i64, 1..5_u32).prop_map(|(ttl_millis, quantity)| Action::Add { ttl_millis, quantity }),
        2 => any::<Index>().prop_map(Action::Remove),
        2 => (1..3_000_i64).prop_map(Action::AdvanceClock),
    ];
    proptest::collection::vec(action, 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tally_equals_a_naive_list(actions in actions()) {
        let (mut tally, mut list, mut now) = (Tally::default(), Vec::new(), Timestamp::from_millis(START_MILLIS));
        for action in actions {
            match action {
                Action::Add { ttl_millis, quantity } => {
                    let ends_at = (now + Span::from_millis(ttl_millis)).rounded_up_to_second();
                    tally.add(ends_at, quantity, now);
                    list.push((ends_at, quantity));
                }
                Action::Remove(index) => {
                    // Quantities that have ended are never removed.
                    let live: Vec<usize> = (0..list.len()).filter(|index| list[*index].0 > now).collect();
                    if !live.is_empty() {
                        let (ends_at, quantity) = list.remove(live[index.index(live.len())]);
                        tally.remove(ends_at, quantity, now);
                    }
                }
                Action::AdvanceClock(millis) => now = now + Span::from_millis(millis),
            }
            let mut by_second = BTreeMap::new();
            for (ends_at, quantity) in &list {
                *by_second.entry(ends_at.as_secs()).or_insert(0) += quantity;
            }
            by_second.retain(|second, _| now.as_millis() < second * 1_000);
            prop_assert_eq!(tally.live(now), by_second.values().sum::<u32>());
            let live_lines = tally.lines().filter(|(second, _)| now.as_millis() < second * 1_000);
            prop_assert_eq!(live_lines.collect::<BTreeMap<_, _>>(), by_second);
        }
    }
}
