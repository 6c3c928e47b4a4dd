//! A tally of holds against the naive way: a list of everything that is in it, searched from end to end.

use std::collections::BTreeMap;

use holdfast_core::time::Span;
use holdfast_core::{Tally, Timestamp};
use proptest::prelude::*;
use proptest::sample::Index;

const START_MILLIS: i64 = 1_780_357_800_250;

#[derive(Clone, Debug)]
enum TallyDeed {
    Add { lives: i64, quantity: u32 },
    Remove(Index),
    Pass(i64),
}

fn tally_deeds() -> impl Strategy<Value = Vec<TallyDeed>> {
    let deed = prop_oneof![
        3 => (1..8_000_i64, 1..5_u32).prop_map(|(lives, quantity)| TallyDeed::Add { lives, quantity }),
        2 => any::<Index>().prop_map(TallyDeed::Remove),
        2 => (1..3_000_i64).prop_map(TallyDeed::Pass),
    ];
    proptest::collection::vec(deed, 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_tally_counts_like_a_list_of_everything_that_is_in_it(deeds in tally_deeds()) {
        let (mut tally, mut list, mut now) = (Tally::default(), Vec::new(), Timestamp::from_millis(START_MILLIS));
        for deed in deeds {
            match deed {
                TallyDeed::Add { lives, quantity } => {
                    let ends_at = now + Span::from_millis(lives);
                    tally.add(ends_at, quantity, now);
                    list.push((ends_at, quantity));
                }
                TallyDeed::Remove(index) => {
                    // Only what has not ended is ever taken back.
                    let live: Vec<usize> = (0..list.len()).filter(|index| list[*index].0 > now).collect();
                    if !live.is_empty() {
                        let (ends_at, quantity) = list.remove(live[index.index(live.len())]);
                        tally.remove(ends_at, quantity, now);
                    }
                }
                TallyDeed::Pass(millis) => now = now + Span::from_millis(millis),
            }
            let mut by_second = BTreeMap::new();
            for (ends_at, quantity) in &list {
                *by_second.entry((ends_at.as_millis() + 999) / 1_000).or_insert(0) += quantity;
            }
            by_second.retain(|second, _| now.as_millis() < second * 1_000);
            prop_assert_eq!(tally.live(now), by_second.values().sum::<u32>());
            let still_to_end = tally.lines().filter(|(second, _)| now.as_millis() < second * 1_000);
            prop_assert_eq!(still_to_end.collect::<BTreeMap<_, _>>(), by_second);
        }
    }
}
