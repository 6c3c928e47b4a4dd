//! Reserving in one step.

use super::*;
use crate::command::{Attempt, Stop, Writes};
use crate::hold::AttemptId;

#[test]
fn seats_are_reserved_all_or_none() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[4]);
        let reservation = hall.reserve(1, &[3, 1]).unwrap();
        let positions: Vec<u32> = reservation.seats.iter().map(|seat| seat.seat.position()).collect();
        assert_eq!((positions, reservation.total, reservation.user), (vec![1, 3], 2_000, id(1)));
        let seat = hall.seat(3);
        assert_eq!(hall.reserve(2, &[2, 3]), Err(TicketRejection::SeatAlreadyReserved { seat }.into()));
        assert_eq!(
            hall.reserve(1, &[2, 3]),
            Err(TicketRejection::SeatAlreadyReserved { seat }.into()),
            "also a seat reserved by the same user"
        );
        assert_eq!(hall.map(), "R.R.");
        assert_eq!(hall.audit(), [""; 0]);
    }
}

#[test]
fn reserve_replaces_own_holds() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[6]);
        let old = hall.hold(1, &[1, 2]).unwrap();
        let reservation = hall.reserve(1, &[2, 3]).unwrap();
        assert_eq!(hall.map(), ".RR...", "the hold is replaced whole");
        assert_eq!(hall.confirm(old.id), Err(TicketRejection::SeatHoldExpired.into()));
        let hold = hall.world.hold(reservation.hold);
        assert_eq!((hold.state, hold.record()), (HoldState::Confirmed, Some(reservation.id.get())));
        let processed = TicketRejection::SeatHoldAlreadyProcessed { reservation: Some(reservation.id.get()) };
        assert_eq!(hall.confirm(reservation.hold), Err(processed.into()));
        assert_eq!(hall.derived(), [""; 0], "no unit is held any more");
        assert_eq!(hall.audit(), [""; 0]);
    }
}

#[test]
fn modes_write_the_same_rows() {
    let rows = MODES.map(|mode| {
        let mut hall = Hall::new(mode, &[6]);
        hall.hold(1, &[1, 2]).unwrap();
        hall.reserve(1, &[2, 3]).unwrap();
        let hold = hall.hold(2, &[4, 5]).unwrap();
        hall.hold(2, &[6]).unwrap();
        hall.confirm(hold.id).unwrap();
        hall.rows()
    });
    assert_eq!(rows[0], rows[1]);
}

#[test]
fn prepared_seats_are_not_available() {
    let mut hall = Hall::new(Mode::Steps, &[3]);
    let reserving = hall.reserving(1, &[1, 2]);
    let attempt = hall.world.prepare(&reserving).unwrap();
    hall.world.wait(Span::from_secs(60));
    assert_eq!(hall.map(), "hh.");
    let holding = hall.holding(2, &[2]);
    assert_eq!(hall.world.step(Writes::Live, |rows, at| holding.decide(rows, at)), Err(Stop::Retry));
    let reservation = hall.world.record(&reserving, attempt).expect("a prepared hold does not expire");
    hall.world.finish(&reserving, attempt, Some(&reservation));
    assert_eq!((hall.map().as_str(), hall.audit()), ("RR.", Vec::new()));
}

#[test]
fn aborted_reservation_keeps_replaced_claim() {
    let mut hall = Hall::new(Mode::Steps, &[4]);
    hall.hold(1, &[1, 2]).unwrap();
    hall.world.wait(Span::from_secs(100));
    let reserving = hall.reserving(1, &[1, 2]);
    let attempt = hall.world.prepare(&reserving).unwrap();
    hall.world.wait(Span::from_secs(1));
    hall.world.finish(&reserving, attempt, None);
    hall.world.wait(Span::from_secs(198));
    assert_eq!(hall.map(), "hh..");
    hall.world.wait(Span::from_secs(1));
    assert_eq!((hall.map().as_str(), hall.derived()), ("....", Vec::new()), "with the end of the replaced hold");
}

#[test]
fn aborted_reservation_frees_seats_soon() {
    let mut hall = Hall::new(Mode::Steps, &[4]);
    let reserving = hall.reserving(1, &[1, 2]);
    let attempt = hall.world.prepare(&reserving).unwrap();
    hall.world.finish(&reserving, attempt, None);
    hall.reserve(1, &[1]).expect("one may try processed at once");
    hall.cancel_reservation(SeatReservationId::new(1).unwrap()).unwrap();
    let processed = hall.world.prepare(&reserving).unwrap();
    hall.world.finish(&reserving, processed, None);
    hall.world.wait(Span::from_secs(10));
    hall.hold(2, &[1, 2]).unwrap();
}

#[test]
fn aborted_reservation_is_retried() {
    for later in [Span::from_millis(0), Span::from_millis(1), Span::from_secs(20)] {
        check_retry(later);
    }
}

fn check_retry(later: Span) {
    let mut hall = Hall::new(Mode::Steps, &[4]);
    let reserving = hall.reserving(1, &[1, 2]);
    let attempt = hall.world.prepare(&reserving).unwrap();
    let hold = hall.world.memory.ticket.by_seat.rows().next().unwrap().1.hold;
    hall.world.decide_attempt(AttemptId { hold, attempt: Attempt(1) }, None);
    assert_eq!(hall.world.record(&reserving, attempt), Err(Stop::Retry));
    hall.world.finish(&reserving, attempt, None);
    hall.world.wait(later);
    hall.run(&reserving).unwrap();
    assert_eq!((hall.map().as_str(), hall.audit()), ("RR..", Vec::new()));
    assert_eq!(hall.derived(), [""; 0]);
}

#[test]
fn repeated_finish_has_no_effect() {
    let mut hall = Hall::new(Mode::Steps, &[4]);
    let reserving = hall.reserving(1, &[1]);
    let attempt = hall.world.prepare(&reserving).unwrap();
    let reservation = hall.world.record(&reserving, attempt).unwrap();
    hall.world.finish(&reserving, attempt, Some(&reservation));
    let rows = hall.rows();
    hall.world.finish(&reserving, attempt, Some(&reservation));
    hall.world.finish(&reserving, attempt, None);
    assert_eq!(hall.rows(), rows);
}
