//! Random histories of the shop on every store. A failure reports its seed.

use holdfast_sim::report::Summary;
use holdfast_sim::shop::runner::History;
use holdfast_testkit::Profile;

/// Runs histories of consecutive seeds, and fails at the first violation.
fn run_histories(profile: Profile, seeds: std::ops::Range<u64>, steps: u32) -> Summary {
    let mut total = Summary::default();
    for seed in seeds {
        let mut trace = Vec::new();
        match (History { profile, seed, steps }).run(&mut |line| trace.push(line)) {
            Ok(summary) => total.add(&summary),
            Err(finding) => panic!(
                "{profile:?}, seed {seed}: {finding}\nbefore that:\n{}\nreplay: cargo run -p holdfast-sim -- --shop \
                    --profile {} --seed {seed} --steps {steps}",
                trace.join("\n"),
                format!("{profile:?}").to_lowercase()
            ),
        }
    }
    total
}

#[test]
fn shop_histories_hold_on_embedded() {
    run_histories(Profile::Embedded, 0..400, 30);
}

#[test]
fn shop_histories_hold_on_postgres() {
    run_histories(Profile::Postgres, 40_000..40_008, 40);
}

#[test]
fn shop_histories_hold_on_cluster() {
    run_histories(Profile::Cluster, 50_000..50_008, 40);
}

/// Guards against a workload that plans only valid calls, and would find no violations.
#[test]
fn shop_histories_reach_every_reply_and_crash() {
    let reached = run_histories(Profile::Embedded, 20_000..20_100, 60);
    println!("{reached}");
    for name in [
        "clock advanced",
        "purged",
        "restarted",
        "no reply",
        "crashed when Begun",
        "crashed when Loaded",
        "crashed when Written",
        "crashed when Committed",
        "crashed when Applied",
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
        assert!(reached.0.contains_key(name), "never: {name}; only:\n{reached}");
    }
}
