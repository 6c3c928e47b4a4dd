//! Fairness of admission to a simulated sale.

use holdfast_console::sale::{Fairness, QueueRecord};

/// `entered` has places in order of entering; `left` has those who left, and when.
fn check(entered: &[u64], left: &[(u64, f64)], inside: u32, overtaken: u64, error: u64) {
    let entered = entered.iter().enumerate().map(|(at, place)| (*place, Some(at as f64), None));
    let left = left.iter().map(|(place, at)| (*place, None, Some(*at)));
    let records = entered.chain(left).map(|(place, entered_at, left_at)| QueueRecord { place, entered_at, left_at });
    assert_eq!(Fairness::of(&records.collect::<Vec<_>>(), inside), Fairness { overtaken_max: overtaken, error });
}

#[test]
fn only_ready_users_may_overtake() {
    check(&[0, 1, 2, 3], &[], 2, 0, 0);
    check(&[1, 0, 3, 2], &[], 2, 1, 0);
    check(&[3, 0, 1, 2], &[], 1, 3, 3);
}

#[test]
fn only_users_still_queued_are_overtaken() {
    check(&[0, 2], &[(1, 0.5)], 1, 0, 0);
    check(&[0, 2], &[(1, 5.0)], 1, 1, 1);
}
