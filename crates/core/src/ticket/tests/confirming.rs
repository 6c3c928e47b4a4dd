//! What becomes of a hold: confirmed, cancelled, or left half confirmed by a server that died.

use super::*;
use crate::command::{Attempt, Stop, Writes};
use crate::hold::{Decided, TryId};
use crate::ticket::hold::{SettleSeatHold, find};
use crate::ticket::reservation;

fn confirming(hold: &SeatHold) -> ConfirmSeatHold {
    ConfirmSeatHold { id: hold.id, actor: Actor::User(hold.owner) }
}

#[test]
fn a_hold_becomes_a_reservation_on_its_terms() {
    for way in WAYS {
        let mut hall = Hall::new(way, &[4]);
        let hold = hall.hold(1, &[2, 3]).unwrap();
        hall.world.wait(Span::from_secs(5));
        let reservation = hall.confirm(hold.id).unwrap();
        let expected = SeatReservation {
            id: SeatReservationId::new(1).unwrap(),
            hold: hold.id,
            event: hall.event,
            user: id(1),
            seats: hold.seats.clone(),
            total: 2_000,
            currency: hold.currency,
            reserved_at: hall.world.now,
            state: SeatReservationState::Reserved,
        };
        assert_eq!(reservation, expected);
        assert_eq!((hall.map().as_str(), hall.remaining()), (".RR.", 2));
        assert_eq!(hall.audit(), [""; 0]);
    }
}

#[test]
fn an_ended_hold_can_be_neither_confirmed_nor_cancelled() {
    for way in WAYS {
        let mut hall = Hall::new(way, &[4]);
        let [confirmed, cancelled, expired] = [1, 2, 3].map(|seat| hall.hold(1, &[seat]).unwrap().id);
        let reservation = Some(hall.confirm(confirmed).unwrap().id.get());
        hall.cancel(cancelled).unwrap();
        hall.world.wait(Span::from_secs(300));
        let unknown = HoldId::new(hall.world.now, [0; 10]);
        let expected: [(_, Rejection); 4] = [
            (confirmed, TicketRejection::SeatHoldAlreadyProcessed { reservation }.into()),
            (cancelled, TicketRejection::SeatHoldAlreadyProcessed { reservation: None }.into()),
            (expired, TicketRejection::SeatHoldExpired.into()),
            (unknown, TicketRejection::SeatHoldNotFound.into()),
        ];
        for (hold, rejection) in expected {
            assert_eq!(hall.confirm(hold), Err(rejection.clone()));
            assert_eq!(hall.cancel(hold), Err(rejection));
        }
    }
}

#[test]
fn what_is_anothers_is_not_touched() {
    for way in WAYS {
        let mut hall = Hall::new(way, &[4]);
        let hold = hall.hold(1, &[1]).unwrap();
        let actor = Actor::User(id(2));
        assert_eq!(hall.run(&ConfirmSeatHold { id: hold.id, actor }), Err(Rejection::Forbidden));
        assert_eq!(hall.run(&CancelSeatHold { id: hold.id, actor }), Err(Rejection::Forbidden));
        assert_eq!(hall.world.ask(|rows, _| find(rows, hold.id, actor)), Err(Rejection::Forbidden));
        let id = hall.run(&confirming(&hold)).unwrap().id;
        assert_eq!(hall.run(&CancelSeatReservation { id, actor }), Err(Rejection::Forbidden));
        assert_eq!(hall.world.ask(|rows, _| reservation::find(rows, id, actor)), Err(Rejection::Forbidden));
    }
}

#[test]
fn cancelling_a_reservation_frees_its_seats_once() {
    for way in WAYS {
        let mut hall = Hall::new(way, &[4]);
        let reservation = hall.reserve(1, &[1, 2]).unwrap();
        hall.reserve(1, &[4]).unwrap();
        let cancelled = hall.cancel_reservation(reservation.id).unwrap();
        assert_eq!(cancelled.state, SeatReservationState::Cancelled { at: hall.world.now });
        assert_eq!(hall.map(), "...R");
        assert_eq!(
            hall.cancel_reservation(reservation.id),
            Err(TicketRejection::SeatReservationAlreadyCancelled.into())
        );
        let unknown = SeatReservationId::new(77).unwrap();
        assert_eq!(hall.cancel_reservation(unknown), Err(TicketRejection::SeatReservationNotFound.into()));
        hall.reserve(2, &[1, 2]).unwrap();
        assert_eq!(hall.audit(), [""; 0]);
    }
}

#[test]
fn whoever_meets_a_hold_that_is_being_confirmed_stands_back() {
    let mut hall = Hall::new(Way::Steps, &[2]);
    let hold = hall.hold(1, &[1]).unwrap();
    let confirm = confirming(&hold);
    let attempt = hall.world.prepare(&confirm).unwrap();
    hall.world.wait(Span::from_secs(301));
    assert_eq!(hall.map(), "h.", "it does not end by time");
    assert_eq!(hall.world.prepare(&confirm), Err(Stop::Busy));
    let cancel = CancelSeatHold { id: hold.id, actor: Actor::Admin };
    assert_eq!(hall.world.step(Writes::Live, |rows, at| cancel.decide(rows, at)), Err(Stop::Busy));
    for user in [1, 2] {
        let holding = hall.holding(user, &[1, 2]);
        assert_eq!(hall.world.step(Writes::Live, |rows, at| holding.decide(rows, at)), Err(Stop::Busy));
        let reserving = hall.reserving(user, &[1]);
        assert_eq!(hall.world.prepare(&reserving), Err(Stop::Busy));
    }
    let best = HoldBest { random: hall.draw(), event: hall.event, user: id(2), count: 2, section: None };
    assert_eq!(hall.world.step(Writes::Live, |rows, at| best.decide(rows, at)), Err(Stop::Busy));
    let reservation = hall.world.record(&confirm, attempt).unwrap();
    assert_eq!((hall.map().as_str(), hall.remaining()), ("R.", 0), "counted twice for a moment");
    let seat = hall.seat(1);
    assert_eq!(hall.hold(2, &[1]), Err(TicketRejection::SeatAlreadyReserved { seat }.into()));
    hall.world.finish(&confirm, attempt, Some(&reservation));
    assert_eq!((hall.map().as_str(), hall.remaining()), ("R.", 1));
    assert_eq!(hall.audit(), [""; 0]);
}

#[test]
fn a_limit_that_rests_on_what_is_being_confirmed_is_not_said_yet() {
    let draft = EventDraft { name: Some("Concert".into()), max_seats_per_user: Some(2), ..EventDraft::default() };
    let mut hall = Hall::with(Way::Steps, &[6], draft);
    let hold = hall.hold(1, &[1]).unwrap();
    let confirm = confirming(&hold);
    let attempt = hall.world.prepare(&confirm).unwrap();
    hall.world.wait(Span::from_secs(301));
    let two = hall.holding(1, &[2, 3]);
    assert_eq!(hall.world.step(Writes::Live, |rows, at| two.decide(rows, at)), Err(Stop::Busy));
    let reached = Err(TicketRejection::SeatLimitReached { max: 2 }.into());
    assert_eq!(hall.hold(1, &[2, 3, 4]), reached, "too many in any case");
    let reservation = hall.world.record(&confirm, attempt).unwrap();
    hall.world.finish(&confirm, attempt, Some(&reservation));
    assert_eq!(hall.hold(1, &[2, 3]), reached);
}

#[test]
fn a_try_that_came_to_nothing_gives_the_hold_back() {
    let mut hall = Hall::new(Way::Steps, &[2]);
    let hold = hall.hold(1, &[1]).unwrap();
    let before = hall.rows();
    let confirm = confirming(&hold);
    let attempt = hall.world.prepare(&confirm).unwrap();
    hall.world.finish(&confirm, attempt, None);
    assert_eq!(hall.rows(), before);
    let again = hall.world.prepare(&confirm).unwrap();
    assert_eq!((attempt, again), (Attempt(1), Attempt(2)));
    hall.world.finish(&confirm, attempt, None);
    assert_eq!(hall.world.prepare(&confirm), Err(Stop::Busy), "an old try ends nothing");
    hall.world.wait(Span::from_secs(300));
    hall.world.finish(&confirm, again, None);
    assert_eq!(hall.confirm(hold.id), Err(TicketRejection::SeatHoldExpired.into()), "its time went on");
    assert_eq!((hall.map().as_str(), hall.derived()), ("..", Vec::new()));
}

#[test]
fn what_a_dead_server_left_is_settled_as_it_was_decided() {
    for record in [Some(1), None] {
        let mut hall = Hall::new(Way::Steps, &[2]);
        let hold = hall.hold(1, &[1]).unwrap();
        let confirm = confirming(&hold);
        let attempt = hall.world.prepare(&confirm).unwrap();
        if record.is_some() {
            hall.world.record(&confirm, attempt).unwrap();
        }
        let settle = SettleSeatHold { of: TryId { hold: hold.id, attempt }, record };
        for _ in 0..2 {
            hall.run(&settle).unwrap();
            assert_eq!(hall.map(), if record.is_some() { "R." } else { "h." });
        }
        assert_eq!(hall.audit(), [""; 0]);
        let unknown = TryId { hold: HoldId::new(hall.world.now, [9; 10]), attempt };
        hall.run(&SettleSeatHold { of: unknown, record }).unwrap();
    }
}

#[test]
fn a_try_is_decided_once() {
    let mut hall = Hall::new(Way::Steps, &[2]);
    let hold = hall.hold(1, &[1]).unwrap();
    let confirm = confirming(&hold);
    let attempt = hall.world.prepare(&confirm).unwrap();
    for (record, expected) in
        [(None, Stop::Busy), (Some(5), TicketRejection::SeatHoldAlreadyProcessed { reservation: Some(5) }.into())]
    {
        let of = TryId { hold: hold.id, attempt };
        let decide = |rows: &mut crate::Rows, _: &crate::Context<'_>| {
            rows.decisions.get(&of)?;
            rows.decisions.put(of, Decided { record });
            Ok(())
        };
        hall.world.step(Writes::Durable, decide).unwrap();
        assert_eq!(hall.world.record(&confirm, attempt), Err(expected));
    }
}

#[test]
fn where_live_rows_were_lost_the_later_one_is_told_which_seat_is_gone() {
    let mut hall = Hall::new(Way::Whole, &[3]);
    let lost = hall.hold(1, &[1, 2]).unwrap();
    hall.cancel(lost.id).unwrap();
    hall.reserve(2, &[2]).unwrap();
    let recorded = hall.world.step(Writes::Durable, |rows, at| reservation::reserve(rows, &lost, at.now));
    let seat = hall.seat(2);
    assert_eq!(recorded, Err(TicketRejection::SeatAlreadyReserved { seat }.into()));
    // A count that says more than its seats is not gone beyond either.
    let event = hall.event;
    let count = |rows: &mut crate::Rows, _: &crate::Context<'_>| {
        rows.ticket.sales.get(&event)?;
        rows.ticket.sales.put(event, EventSales { reserved: 3 });
        Ok(())
    };
    hall.world.step(Writes::Durable, count).unwrap();
    let free = SeatHold { claim: SeatClaim { seats: lost.seats[..1].into(), ..lost.claim.clone() }, ..lost };
    let recorded = hall.world.step(Writes::Durable, |rows, at| reservation::reserve(rows, &free, at.now));
    assert_eq!(recorded, Err(TicketRejection::SoldOut.into()));
}
