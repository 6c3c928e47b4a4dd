//! Holding seats, and every rejection. Reserving is rejected for the same reasons in the same order.

use super::*;
use crate::command::{Context, Stop, Writes};
use crate::rejection::Fault;
use crate::table::TableSet as _;
use crate::ticket::event::ChangeEvent;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Returns the rejection of both holding and reserving these seats.
fn rejection_of(hall: &mut Hall, user: u64, seats: &[u64]) -> Rejection {
    let holding = HoldSeats { seats: seats.to_vec(), ..hall.holding(user, &[]) };
    let HoldSeats { random, event, user, seats } = holding.clone();
    let of_hold = hall.run(&holding).unwrap_err();
    let of_reserve = hall.run(&ReserveSeats { random, event, user, seats }).unwrap_err();
    assert_eq!(of_hold, of_reserve);
    of_hold
}

fn change(hall: &mut Hall, draft: EventDraft) {
    let id = hall.event;
    hall.run(&ChangeEvent { id, draft }).unwrap();
}

fn limit(max: u32) -> EventDraft {
    EventDraft { max_seats_per_user: Some(max), ..EventDraft::default() }
}

#[test]
fn hold_has_fixed_prices_and_expires() {
    let mut hall = Hall::new(Mode::SingleCommit, &[4]);
    let hold = hall.hold(1, &[3, 2]).unwrap();
    let labels: Vec<&str> = hold.item::<SeatsItem>().seats.iter().map(|seat| &*seat.label).collect();
    assert_eq!((labels, hold.total(), hold.currency.as_str()), (vec!["A2", "A3"], 2_000, "KRW"));
    assert_eq!(hold.expires_at, hall.world.now + Span::from_secs(300));
    assert_eq!(hall.map(), ".hh.");
    hall.world.wait(Span::from_millis(299_999));
    assert_eq!(hall.map(), ".hh.", "never earlier");
    hall.world.wait(Span::from_millis(1));
    assert_eq!(hall.map(), "....");
    hall.hold(2, &[2]).unwrap();
}

#[test]
fn ordinary_hold_takes_one_load() {
    let mut hall = Hall::new(Mode::SingleCommit, &[4]);
    hall.hold(1, &[1, 2, 3]).unwrap();
    let seat = hall.seat(3);
    let held_by_another = TicketRejection::SeatHeldByAnother { seat }.into();
    // The index entry contains the owner, so the hold is not read.
    for (positions, expected) in [(&[4][..], None), (&[3, 4], Some(held_by_another))] {
        let holding = hall.holding(2, positions);
        let at = Context { now: hall.world.now, limits: &hall.world.limits };
        let mut rows = WorkingSet::default();
        assert_eq!(holding.decide(&mut rows, &at), Err(Stop::NeedRows));
        rows.fill_from(&hall.world.memory);
        assert_eq!(holding.decide(&mut rows, &at).err(), expected);
    }
}

#[test]
fn event_is_checked_before_request() {
    let mut hall = Hall::new(Mode::SingleCommit, &[4]);
    hall.event = EventId::new(77).unwrap();
    assert_eq!(rejection_of(&mut hall, 1, &[]), TicketRejection::EventNotFound.into());
}

#[test]
fn request_is_checked_before_seats() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[4]);
        let invalid = |fault| Rejection::invalid("seatIds", fault);
        assert_eq!(rejection_of(&mut hall, 1, &[]), invalid(Fault::Blank));
        assert_eq!(rejection_of(&mut hall, 1, &[5, 5]), invalid(Fault::Duplicate));
        let many: Vec<u64> = (1..=1_001).collect();
        assert_eq!(rejection_of(&mut hall, 1, &many), TicketRejection::SeatLimitReached { max: 10 }.into());
        change(&mut hall, limit(1_001));
        assert_eq!(rejection_of(&mut hall, 1, &many), invalid(Fault::TooManyItems { max: 1_000 }));
    }
}

#[test]
fn unknown_seats_are_checked_before_sales_start() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[4]);
        let opens_at = hall.world.now + Span::from_secs(1);
        change(&mut hall, EventDraft { sales_open_at: Some(Some(opens_at)), ..EventDraft::default() });
        let seat = hall.seat(1);
        for unknown in [0, 5, hall.seat(0), hall.seat(5), hall.seat(1) + 1_000_000, u64::MAX] {
            assert_eq!(
                rejection_of(&mut hall, 1, &[seat, unknown]),
                TicketRejection::SeatNotFound { seat: unknown }.into()
            );
        }
        assert_eq!(rejection_of(&mut hall, 1, &[seat]), TicketRejection::SalesNotOpen { opens_at }.into());
        hall.world.wait(Span::from_secs(1));
        hall.hold(1, &[1]).unwrap();
    }
}

#[test]
fn sales_start_is_checked_before_sold_out() {
    let mut hall = Hall::new(Mode::SingleCommit, &[1]);
    hall.reserve(1, &[1]).unwrap();
    let opens_at = hall.world.now + Span::from_secs(1);
    change(&mut hall, EventDraft { sales_open_at: Some(Some(opens_at)), ..EventDraft::default() });
    let seat = hall.seat(1);
    assert_eq!(rejection_of(&mut hall, 1, &[seat]), TicketRejection::SalesNotOpen { opens_at }.into());
}

#[test]
fn sold_out_means_all_seats_are_reserved() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[2]);
        let first = hall.reserve(1, &[1]).unwrap();
        let hold = hall.hold(1, &[2]).unwrap();
        let [one, two] = [hall.seat(1), hall.seat(2)];
        assert_eq!(rejection_of(&mut hall, 2, &[one]), TicketRejection::SeatAlreadyReserved { seat: one }.into());
        hall.confirm(hold.id).unwrap();
        assert_eq!(rejection_of(&mut hall, 2, &[one]), TicketRejection::SoldOut.into());
        assert_eq!(rejection_of(&mut hall, 2, &[two]), TicketRejection::SoldOut.into());
        hall.cancel_reservation(first.id).unwrap();
        assert_eq!(rejection_of(&mut hall, 2, &[two]), TicketRejection::SeatAlreadyReserved { seat: two }.into());
        hall.reserve(2, &[1]).unwrap();
    }
}

#[test]
fn lowest_unavailable_seat_is_reported() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[6]);
        hall.reserve(1, &[2, 5]).unwrap();
        hall.hold(1, &[1, 4]).unwrap();
        let seats: Vec<u64> = (0..7).map(|position| hall.seat(position)).collect();
        let held = |position: usize| Rejection::from(TicketRejection::SeatHeldByAnother { seat: seats[position] });
        let reserved =
            |position: usize| Rejection::from(TicketRejection::SeatAlreadyReserved { seat: seats[position] });
        assert_eq!(rejection_of(&mut hall, 2, &[seats[2], seats[1]]), held(1));
        assert_eq!(rejection_of(&mut hall, 2, &[seats[4], seats[2], seats[3]]), reserved(2));
        assert_eq!(rejection_of(&mut hall, 2, &[seats[5], seats[3], seats[4]]), held(4));
        assert_eq!(
            rejection_of(&mut hall, 1, &[seats[1], seats[2]]),
            reserved(2),
            "a user's own hold does not conflict"
        );
        assert_eq!(hall.map(), "hR.hR.", "all or none");
    }
}

#[test]
fn seats_are_checked_before_seat_limit() {
    for mode in MODES {
        let mut hall = Hall::with(mode, &[6], EventDraft { name: Some("Concert".into()), ..limit(1) });
        hall.hold(1, &[1]).unwrap();
        let seats: Vec<u64> = (0..4).map(|position| hall.seat(position)).collect();
        assert_eq!(
            rejection_of(&mut hall, 2, &seats[1..]),
            TicketRejection::SeatHeldByAnother { seat: seats[1] }.into()
        );
        assert_eq!(rejection_of(&mut hall, 2, &seats[2..]), TicketRejection::SeatLimitReached { max: 1 }.into());
    }
}

#[test]
fn held_and_reserved_seats_count_for_limit() {
    for mode in MODES {
        let mut hall = Hall::with(mode, &[9], EventDraft { name: Some("Concert".into()), ..limit(4) });
        let reservation = hall.reserve(1, &[1, 2]).unwrap();
        hall.hold(1, &[3]).unwrap();
        let too_many = Rejection::from(TicketRejection::SeatLimitReached { max: 4 });
        let [four, five] = [hall.seat(4), hall.seat(5)];
        assert_eq!(rejection_of(&mut hall, 1, &[four, five]), too_many);
        hall.hold(1, &[3, 4]).expect("a replaced hold does not count");
        assert_eq!(rejection_of(&mut hall, 1, &[five]), too_many);
        hall.hold(2, &[5, 6, 7, 8]).expect("the limit is per user");
        hall.cancel_reservation(reservation.id).unwrap();
        hall.reserve(1, &[1, 2]).expect("a cancelled reservation does not count");
        hall.world.wait(Span::from_secs(300));
        hall.reserve(1, &[5, 6]).expect("an ended hold does not count");
        assert_eq!(hall.audit(), [""; 0]);
    }
}

#[test]
fn lower_limit_keeps_existing_holds() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[4]);
        let hold = hall.hold(1, &[1, 2, 3]).unwrap();
        change(&mut hall, limit(1));
        assert_eq!(hall.confirm(hold.id).unwrap().seats.len(), 3);
    }
}

#[test]
fn seat_limit_is_checked_before_hold_limit() {
    for mode in MODES {
        let mut hall = Hall::with(mode, &[6], EventDraft { name: Some("Concert".into()), ..limit(3) });
        hall.world.limits.holds_per_user_max = 2;
        hall.hold(1, &[1]).unwrap();
        hall.hold(1, &[2]).unwrap();
        let [three, four] = [hall.seat(3), hall.seat(4)];
        assert_eq!(rejection_of(&mut hall, 1, &[three, four]), TicketRejection::SeatLimitReached { max: 3 }.into());
        assert_eq!(hall.hold(1, &[3]), Err(Rejection::TooManyHolds { max: 2 }));
        hall.hold(1, &[2, 3]).expect("a replaced hold does not count");
        hall.hold(1, &[2]).unwrap();
        hall.reserve(1, &[4]).expect("a direct reservation does not count as a hold");
    }
}

#[test]
fn hold_and_reserve_are_rejected_while_suspended() {
    let mut hall = Hall::new(Mode::SingleCommit, &[2]);
    let until = hall.world.now + Span::from_secs(1);
    let (holding, reserving) = (hall.holding(1, &[1]), hall.reserving(1, &[1]));
    let suspended = Err(Rejection::HoldsSuspended { until }.into());
    let held = hall.world.step(Writes::Live, |rows, at| {
        rows.suspended_until = Some(until);
        holding.decide(rows, at)
    });
    assert_eq!(held, suspended);
    let reserved = hall.world.step(Writes::Both, |rows, at| {
        rows.suspended_until = Some(until);
        reserving.decide(rows, at).map(|reservation| panic!("{reservation:?}"))
    });
    assert_eq!(reserved, suspended);
}

#[test]
fn overlapping_own_holds_are_replaced_whole() {
    let mut hall = Hall::new(Mode::SingleCommit, &[8]);
    let first = hall.hold(1, &[1, 2]).unwrap();
    let second = hall.hold(1, &[4, 5]).unwrap();
    let apart = hall.hold(1, &[8]).unwrap();
    let new = hall.hold(1, &[2, 3, 4]).unwrap();
    assert_eq!(hall.map(), ".hhh...h");
    for old in [&first, &second] {
        let state = hall.world.hold(old.id).state;
        assert_eq!(state, HoldState::Replaced { by: new.id });
        assert_eq!(hall.confirm(old.id), Err(TicketRejection::SeatHoldExpired.into()));
        assert_eq!(hall.cancel(old.id), Err(TicketRejection::SeatHoldExpired.into()));
    }
    hall.confirm(apart.id).unwrap();
    assert_eq!(hall.remaining(), 4);
}

#[test]
fn rejected_hold_replaces_nothing() {
    let mut hall = Hall::new(Mode::SingleCommit, &[4]);
    let own = hall.hold(1, &[1, 2]).unwrap();
    hall.hold(2, &[3]).unwrap();
    let seat = hall.seat(3);
    assert_eq!(hall.hold(1, &[2, 3]), Err(TicketRejection::SeatHeldByAnother { seat }.into()));
    hall.confirm(own.id).unwrap();
}

#[test]
fn seats_are_free_when_their_hold_ends() {
    let mut hall = Hall::new(Mode::SingleCommit, &[2]);
    hall.world.now = Timestamp::from_millis(1_800_000_000_500);
    let hold = hall.hold(1, &[1]).unwrap();
    assert_eq!(hold.expires_at, Timestamp::from_millis(1_800_000_301_000), "never shorter than the TTL");
    hall.world.wait(Span::from_millis(300_499));
    let seat = hall.seat(1);
    assert_eq!(hall.hold(2, &[1]), Err(TicketRejection::SeatHeldByAnother { seat }.into()));
    hall.world.wait(Span::from_millis(1));
    assert_eq!(hall.confirm(hold.id), Err(TicketRejection::SeatHoldExpired.into()));
    hall.hold(2, &[1]).unwrap();
}
