//! Random histories of a room by the hour on every store. A failure names its seed.

use holdfast_sim::calendar::runner::History;
use holdfast_sim::report::Summary;
use holdfast_testkit::Profile;

/// Runs histories of consecutive seeds; fails with all there is to know about the first bad one.
fn check(profile: Profile, seeds: std::ops::Range<u64>, steps: u32) -> Summary {
    let mut all = Summary::default();
    for seed in seeds {
        let mut trace = Vec::new();
        match (History { profile, seed, steps }).run(&mut |line| trace.push(line)) {
            Ok(summary) => all.add(&summary),
            Err(finding) => panic!(
                "{profile:?}, seed {seed}: {finding}\nbefore that:\n{}\nreplay it with: cargo run -p holdfast-sim -- --calendar \
                    --profile {} --seed {seed} --steps {steps}",
                trace.join("\n"),
                format!("{profile:?}").to_lowercase()
            ),
        }
    }
    all
}

#[test]
fn two_hundred_histories_of_a_room_are_as_they_must_be() {
    check(Profile::Embedded, 0..200, 30);
}

#[test]
fn histories_of_a_room_on_postgresql_are_as_they_must_be() {
    check(Profile::Postgres, 40_000..40_006, 40);
}

#[test]
fn histories_of_a_room_on_postgresql_and_redis_are_as_they_must_be() {
    check(Profile::Cluster, 50_000..50_006, 40);
}

/// A simulator that plans only what is allowed would find nothing and look well.
#[test]
fn histories_of_a_room_reach_every_answer_and_every_crash_there_is() {
    let reached = check(Profile::Embedded, 20_000..20_040, 60);
    println!("{reached}");
    for what in [
        "time passes",
        "tidied",
        "restarted",
        "no answer",
        "crashed when Begun",
        "crashed when Loaded",
        "crashed when Written",
        "crashed when Committed",
        "crashed when Absorbed",
        "Generated",
        "Locked",
        "Reserved",
        "Released",
        "Cancelled",
        "Changed",
        "rejected: SlotNotFound",
        "rejected: SlotNotAvailable",
        "rejected: SlotNotLocked",
        "rejected: RoomReservationNotFound",
        "rejected: RoomReservationAlreadyCancelled",
    ] {
        assert!(reached.0.contains_key(what), "never: {what}; only:\n{reached}");
    }
}
