//! A million people.

use holdfast_core::Timestamp;
use holdfast_core::time::Span;
use holdfast_waiting_room::room::Tried;
use holdfast_waiting_room::view::Standing;
use holdfast_waiting_room::{Room, Timings};

use crate::support::{Random, space, user};

const PEOPLE: u64 = 1_000_000;

#[test]
fn a_million_join_poll_and_leave_and_the_last_one_gets_in() {
    let mut room = Room::new(Timings::default());
    let start = Timestamp::from_millis(1_000_000);
    room.configure(&space(800), start);
    // Not in the order of ids.
    let id = |number: u64| user(1 + number.wrapping_mul(7_919) % PEOPLE);
    for number in 0..PEOPLE {
        let (sight, new) = room.join(id(number), start);
        assert!(new);
        if number >= 800 {
            assert_eq!(sight.standing, Standing::Waiting { rank: number });
        }
        room.take_records();
    }
    let mut random = Random::new(1);
    let soon = start + Span::from_secs(30);
    for _ in 0..PEOPLE {
        let number = random.below(PEOPLE);
        let rank = match room.poll(id(number), soon).unwrap().standing {
            Standing::Waiting { rank } | Standing::Ready { rank, .. } => rank,
            Standing::Entered(_) => unreachable!("nobody has entered"),
        };
        assert_eq!(rank, number);
    }
    // All but the last give up, from the front and from the back.
    for number in (0..PEOPLE / 2).chain((PEOPLE / 2..PEOPLE - 1).rev()) {
        assert!(room.leave(id(number), soon));
        room.take_records();
    }
    assert!(matches!(room.enter(id(PEOPLE - 1), [1; 16], soon), Tried::Entered { first: true, .. }));
}

#[test]
fn a_million_who_stopped_polling_are_gone_with_the_next_call() {
    let mut room = Room::new(Timings::default());
    let start = Timestamp::from_millis(1_000_000);
    room.configure(&space(800), start);
    for number in 1..=PEOPLE {
        room.join(user(number), start + Span::from_millis(number as i64 / 100));
        room.take_records();
    }
    let later = start + Span::from_secs(310);
    assert_eq!(
        room.join(user(PEOPLE + 1), later).0.standing,
        Standing::Ready { rank: 0, until: later + Span::from_secs(60) }
    );
    let stats = room.stats(later);
    assert_eq!((stats.waiting, stats.ready, stats.entered), (0, 1, 0));
}
