//! Some thousands of random histories on a real store: short ones for breadth, long ones for depth. A failure names its
//! seed and the command that replays it.

use holdfast_sim::report::Summary;
use holdfast_sim::runner::History;
use holdfast_testkit::Profile;

/// Runs histories of consecutive seeds; fails with all there is to know about the first bad one.
fn check(profile: Profile, seeds: std::ops::Range<u64>, steps: u32) -> Summary {
    let mut all = Summary::default();
    for seed in seeds {
        match (History { profile, seed, steps }).run(&mut |_| {}) {
            Ok(summary) => all.add(&summary),
            Err(failure) => panic!("{failure}"),
        }
    }
    all
}

#[test]
fn a_thousand_short_histories_are_as_they_must_be() {
    check(Profile::Embedded, 0..1_000, 10);
}

#[test]
fn another_thousand_short_histories_are_as_they_must_be() {
    check(Profile::Embedded, 1_000..2_000, 10);
}

#[test]
fn eighty_long_histories_are_as_they_must_be() {
    check(Profile::Embedded, 10_000..10_080, 50);
}

#[test]
fn another_eighty_long_histories_are_as_they_must_be() {
    check(Profile::Embedded, 10_080..10_160, 50);
}

#[test]
fn histories_on_postgresql_are_as_they_must_be() {
    check(Profile::Postgres, 40_000..40_016, 30);
}

#[test]
fn histories_on_postgresql_and_redis_are_as_they_must_be() {
    check(Profile::Cluster, 50_000..50_010, 30);
}

/// A simulator that plans only what is allowed would find nothing and look well.
#[test]
fn histories_reach_every_refusal_every_crash_and_everything_else_there_is() {
    let reached = check(Profile::Embedded, 20_000..20_060, 40);
    for what in [
        "done",
        "replayed",
        "no answer",
        "time passes",
        "tidied",
        "restarted",
        "hold cleared away",
        "crashed when Begun",
        "crashed when Loaded",
        "crashed when Written",
        "crashed when Committed",
        "crashed when Absorbed",
        "rejected: RoomsInUse",
        "rejected: Forbidden",
        "rejected: IdempotencyKeyReused",
        "rejected: InvalidInput",
        "rejected: StayReservationAlreadyCancelled",
        "rejected: StayReservationNotCancellable",
        "rejected: StayReservationNotFound",
        "rejected: RoomNotAvailable",
        "rejected: RoomTypeNotFound",
        "rejected: StayHoldAlreadyProcessed",
        "rejected: StayHoldExpired",
        "rejected: StayHoldKeyConflict",
        "rejected: StayHoldNotFound",
        "rejected: TooManyHolds",
    ] {
        assert!(reached.0.contains_key(what), "never: {what}; only:\n{reached}");
    }
}

#[test]
fn the_same_seed_is_the_same_history() {
    let trace = |seed| {
        let mut lines = Vec::new();
        let ended =
            History { profile: Profile::Embedded, seed, steps: 40 }.run(&mut |line| lines.push(line.to_owned()));
        assert!(ended.is_ok(), "{}", ended.unwrap_err());
        lines
    };
    for seed in 30_000..30_010 {
        assert_eq!(trace(seed), trace(seed), "seed {seed}");
    }
    assert_ne!(trace(30_000), trace(30_001), "another seed is another history");
}
