//! Refunds.

use super::*;
use crate::time::Span;

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// Canceller, milliseconds before tee-off, and the expected percent, amount and rule of a confirmed booking of 3 ×
/// 3,333.
const TABLE: &[(Canceller, i64, u8, i64, &str)] = &[
    (Canceller::Owner, 16 * DAY, 100, 9_999, "AT_LEAST_7_DAYS"),
    (Canceller::Owner, 7 * DAY, 100, 9_999, "AT_LEAST_7_DAYS"),
    (Canceller::Owner, 7 * DAY - 1, 80, 7_999, "AT_LEAST_3_DAYS"),
    (Canceller::Owner, 3 * DAY, 80, 7_999, "AT_LEAST_3_DAYS"),
    (Canceller::Owner, 3 * DAY - 1, 50, 4_999, "AT_LEAST_1_DAYS"),
    (Canceller::Owner, DAY, 50, 4_999, "AT_LEAST_1_DAYS"),
    (Canceller::Owner, DAY - 1, 0, 0, "LAST_DAY"),
    (Canceller::Owner, 1, 0, 0, "LAST_DAY"),
    (Canceller::Admin, 1, 100, 9_999, "ADMIN"),
    (Canceller::Admin, -DAY, 100, 9_999, "ADMIN"),
    (Canceller::System, -DAY, 100, 9_999, "SYSTEM"),
];

#[derive(Clone, Copy, Debug)]
enum Canceller {
    Owner,
    Admin,
    System,
}

impl Canceller {
    fn by(self) -> By {
        match self {
            Self::Owner => By::User(user(1)),
            Self::Admin => By::Admin,
            Self::System => By::System,
        }
    }
}

#[test]
fn refund_depends_on_time_left_and_initiator() {
    for (initiator, left, percent, amount, rule) in TABLE {
        let by = initiator.by();
        let mut club = Club::new();
        let course = club.course();
        let slot = club.slot_of(course, SlotDraft { price: 3_333, ..draft() });
        let booking = club.confirmed(slot, 3);
        club.world.now = booking.tee_off + Span::from_millis(-left);
        let expected = Refund { percent: *percent, amount: *amount, rule: RefundRule::parse(rule).unwrap() };
        assert_eq!(club.quote(booking.id, &by).unwrap(), expected, "{initiator:?} {left}");
        assert_eq!(club.cancel(booking.id, by).unwrap().refund(), Some(expected));
        assert_eq!(expected.rule.to_string(), *rule);
        club.inspect();
    }
}

#[test]
fn refund_of_last_day_follows_setting() {
    let mut club = Club::new();
    club.world.limits.tee.refund = RefundPolicy::DEFAULT.with_last_day(30).unwrap();
    let slot = club.slot(4);
    let booking = club.confirmed(slot, 1);
    club.world.now = booking.tee_off + Span::from_millis(-MINUTE);
    let refund = club.quote(booking.id, &By::User(user(1))).unwrap();
    assert_eq!((refund.percent, refund.amount, refund.rule), (30, 3_000, RefundRule::LastDay));
}

#[test]
fn refund_tiers_follow_settings() {
    let mut club = Club::new();
    club.world.limits.tee.refund = RefundPolicy::parse("2:90 0:10").unwrap();
    let slot = club.slot(4);
    let booking = club.confirmed(slot, 1);
    for (left, percent, rule) in [(2 * DAY, 90, RefundRule::AtLeastDays(2)), (2 * DAY - 1, 10, RefundRule::LastDay)] {
        club.world.now = booking.tee_off + Span::from_millis(-left);
        let refund = club.quote(booking.id, &By::User(user(1))).unwrap();
        assert_eq!((refund.percent, refund.rule), (percent, rule));
    }
}

#[test]
fn pending_booking_is_refunded_in_full() {
    let mut club = Club::new();
    let slot = club.slot(4);
    club.world.now = club.find_slot(slot).tee_off + Span::from_millis(-MINUTE);
    let id = club.book(slot, 1).id;
    let rule = |by: By| club.quote(id, &by).unwrap().rule;
    assert_eq!(
        [By::User(user(1)), By::Admin, By::System].map(rule),
        [RefundRule::Pending, RefundRule::Admin, RefundRule::System]
    );
}

#[test]
fn policy_days_decrease_to_the_last_day() {
    let tier = |days, percent| RefundTier { days, percent };
    assert_eq!(RefundPolicy::new(RefundPolicy::DEFAULT.tiers()), Some(RefundPolicy::DEFAULT));
    assert_eq!(RefundPolicy::new(&[tier(3, 100), tier(7, 80), tier(1, 50), tier(0, 0)]), None);
    assert_eq!(RefundPolicy::new(&[tier(7, 100), tier(3, 80), tier(2, 50), tier(1, 0)]), None);
    assert_eq!(RefundPolicy::new(&[]), None);
    assert_eq!(RefundPolicy::new(&[tier(3_651, 100), tier(0, 0)]), None);
    let many: Vec<_> = (0..9).rev().map(|days| tier(days, 100)).collect();
    assert_eq!(RefundPolicy::new(&many), None);
    assert!(RefundPolicy::new(&many[1..]).is_some());
    assert_eq!(RefundPolicy::DEFAULT.with_last_day(101), None);
}

#[test]
fn policies_and_rules_round_trip() {
    assert_eq!(RefundPolicy::DEFAULT.to_string(), "7:100 3:80 1:50 0:0");
    assert_eq!(RefundPolicy::parse("7:100 3:80 1:50 0:0"), Some(RefundPolicy::DEFAULT));
    for text in [
        "",
        "7:100",
        "7:101 0:0",
        "7:100 3:80 1:50 0:0 0:0",
        "7:100 3:80 1:50 0",
        "7:100 3:80 1:50 0:x",
        "1:1 2:2 3:3 0:0",
    ] {
        assert_eq!(RefundPolicy::parse(text), None, "{text:?}");
    }
    for text in ["0:30", "14:100 0:0", "9:9 8:8 7:7 6:6 5:5 4:4 3:3 0:0"] {
        assert_eq!(RefundPolicy::parse(text).unwrap().to_string(), text);
    }
    for text in ["PENDING", "ADMIN", "SYSTEM", "AT_LEAST_14_DAYS", "LAST_DAY", "NO_SHOW"] {
        assert_eq!(RefundRule::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(RefundRule::parse("AT_LEAST_X_DAYS"), None);
    assert_eq!(RefundRule::parse("FULL"), None);
}
