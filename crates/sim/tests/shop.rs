//! Random histories of the shop on every store. A failure names its seed.

use holdfast_sim::report::Summary;
use holdfast_sim::shop::runner::History;
use holdfast_testkit::Profile;

/// Runs histories of consecutive seeds; fails with all there is to know about the first bad one.
fn check(profile: Profile, seeds: std::ops::Range<u64>, steps: u32) -> Summary {
    let mut all = Summary::default();
    for seed in seeds {
        let mut trace = Vec::new();
        match (History { profile, seed, steps }).run(&mut |line| trace.push(line)) {
            Ok(summary) => all.add(&summary),
            Err(finding) => panic!(
                "{profile:?}, seed {seed}: {finding}\nbefore that:\n{}\nreplay it with: cargo run -p holdfast-sim -- --shop \
                    --profile {} --seed {seed} --steps {steps}",
                trace.join("\n"),
                format!("{profile:?}").to_lowercase()
            ),
        }
    }
    all
}

#[test]
fn four_hundred_histories_of_a_shop_are_as_they_must_be() {
    check(Profile::Embedded, 0..400, 30);
}

#[test]
fn histories_of_a_shop_on_postgresql_are_as_they_must_be() {
    check(Profile::Postgres, 40_000..40_008, 40);
}

#[test]
fn histories_of_a_shop_on_postgresql_and_redis_are_as_they_must_be() {
    check(Profile::Cluster, 50_000..50_008, 40);
}

/// A simulator that plans only what is allowed would find nothing and look well.
#[test]
fn histories_of_a_shop_reach_every_answer_and_every_crash_there_is() {
    let reached = check(Profile::Embedded, 20_000..20_100, 60);
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
        "Balance",
        "Cart",
        "Issued",
        "Reserved",
        "Released",
        "Paid",
        "Cancelled",
        "Stock",
        "rejected: StockInUse",
        "rejected: CartEmpty",
        "rejected: ProductOptionInactive",
        "rejected: DuplicateReservation",
        "rejected: InsufficientAvailableStock",
        "rejected: OrderReservationNotFound",
        "rejected: OrderReservationExpired",
        "rejected: CouponNotFound",
        "rejected: CouponAlreadyIssued",
        "rejected: CouponSoldOut",
        "rejected: CouponNotUsable",
        "rejected: AmountChanged",
        "rejected: InsufficientBalance",
        "rejected: OrderNotFound",
        "rejected: OrderAlreadyCancelled",
    ] {
        assert!(reached.0.contains_key(what), "never: {what}; only:\n{reached}");
    }
}
