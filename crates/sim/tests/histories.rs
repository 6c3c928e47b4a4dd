//! Thousands of random histories on a real store: short ones for breadth, long ones for depth. A failure reports its
//! seed and the command that replays it.

use holdfast_sim::report::Summary;
use holdfast_sim::stay::runner::History;
use holdfast_testkit::Profile;

/// Runs histories of consecutive seeds, and fails at the first violation.
fn run_histories(profile: Profile, seeds: std::ops::Range<u64>, steps: u32) -> Summary {
    let mut total = Summary::default();
    for seed in seeds {
        match (History { profile, seed, steps }).run(&mut |_| {}) {
            Ok(summary) => total.add(&summary),
            Err(failure) => panic!("{failure}"),
        }
    }
    total
}

#[test]
fn short_histories_hold() {
    run_histories(Profile::Embedded, 0..1_000, 10);
}

#[test]
fn more_short_histories_hold() {
    run_histories(Profile::Embedded, 1_000..2_000, 10);
}

#[test]
fn long_histories_hold() {
    run_histories(Profile::Embedded, 10_000..10_080, 50);
}

#[test]
fn more_long_histories_hold() {
    run_histories(Profile::Embedded, 10_080..10_160, 50);
}

#[test]
fn histories_hold_on_postgres() {
    run_histories(Profile::Postgres, 40_000..40_016, 30);
}

#[test]
fn histories_hold_on_cluster() {
    run_histories(Profile::Cluster, 50_000..50_010, 30);
}

/// Guards against a workload that plans only valid calls, and would find no violations.
#[test]
fn histories_reach_every_reply_and_crash() {
    let reached = run_histories(Profile::Embedded, 20_000..20_060, 40);
    for name in [
        "done",
        "extended",
        "replayed",
        "no reply",
        "clock advanced",
        "purged",
        "restarted",
        "hold purged",
        "crashed when Begun",
        "crashed when Loaded",
        "crashed when Written",
        "crashed when Committed",
        "crashed when Applied",
        "rejected: ClaimNotFound",
        "rejected: ClaimExpired",
        "rejected: ClaimAlreadyProcessed",
        "rejected: ExtensionLimit",
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
        assert!(reached.0.contains_key(name), "never: {name}; only:\n{reached}");
    }
}

#[test]
fn same_seed_gives_same_history() {
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
