//! Queues of a million users.

use holdfast_core::Timestamp;
use holdfast_core::time::Span;
use holdfast_waiting_room::room::EnterOutcome;
use holdfast_waiting_room::view::Standing;
use holdfast_waiting_room::{Room, Timings};

use crate::support::{Random, space, user};

const USERS: u64 = 1_000_000;

#[test]
fn million_users_join_poll_and_leave() {
    let mut room = Room::new(Timings::default());
    let start = Timestamp::from_millis(1_000_000);
    room.configure(&space(800), start);
    // Not in the order of ids.
    let id = |number: u64| user(1 + number.wrapping_mul(7_919) % USERS);
    for number in 0..USERS {
        let (state, new) = room.join(&id(number), start);
        assert!(new);
        if number >= 800 {
            assert_eq!(state.standing, Standing::Waiting { rank: number });
        }
        room.take_records();
    }
    let mut random = Random::new(1);
    let soon = start + Span::from_secs(30);
    for _ in 0..USERS {
        let number = random.below(USERS);
        let rank = match room.poll(&id(number), soon).unwrap().standing {
            Standing::Waiting { rank } | Standing::Ready { rank, .. } => rank,
            Standing::Entered(_) => unreachable!("no user has entered"),
        };
        assert_eq!(rank, number);
    }
    // All but the last leave, from the front and from the back.
    for number in (0..USERS / 2).chain((USERS / 2..USERS - 1).rev()) {
        assert!(room.leave(&id(number), soon));
        room.take_records();
    }
    assert!(matches!(room.enter(&id(USERS - 1), [1; 16], soon), EnterOutcome::Entered { first: true, .. }));
}

#[test]
fn million_silent_waiters_expire_at_once() {
    let mut room = Room::new(Timings::default());
    let start = Timestamp::from_millis(1_000_000);
    room.configure(&space(800), start);
    for number in 1..=USERS {
        room.join(&user(number), start + Span::from_millis(number as i64 / 100));
        room.take_records();
    }
    let later = start + Span::from_secs(310);
    assert_eq!(
        room.join(&user(USERS + 1), later).0.standing,
        Standing::Ready { rank: 0, until: later + Span::from_secs(60) }
    );
    let stats = room.stats(later);
    assert_eq!((stats.waiting, stats.ready, stats.entered), (0, 1, 0));
}
