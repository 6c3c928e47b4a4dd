//! Confirming, cancelling, and abandoned confirm attempts.

use super::*;
use crate::command::{Attempt, Stop, Writes};
use crate::hold::{AttemptId, Item, Line, RecoverHold};
use crate::ticket::reservation;

fn confirming(hold: &Hold) -> ConfirmSeatHold {
    ConfirmSeatHold::new(hold.id, Actor::User(hold.owner.clone()))
}

#[test]
fn confirm_turns_hold_into_reservation() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[4]);
        let hold = hall.hold(1, &[2, 3]).unwrap();
        hall.world.wait(Span::from_secs(5));
        let reservation = hall.confirm(hold.id).unwrap();
        let expected = SeatReservation {
            id: SeatReservationId::new(1).unwrap(),
            hold: hold.id,
            line: 0,
            event: hall.event,
            user: id(1),
            seats: hold.item::<SeatsItem>().seats.clone(),
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
fn ended_hold_is_neither_confirmed_nor_cancelled() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[4]);
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
fn commands_of_other_users_are_forbidden() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[4]);
        let hold = hall.hold(1, &[1]).unwrap();
        let actor = Actor::User(id(2));
        assert_eq!(hall.run(&ConfirmSeatHold::new(hold.id, actor.clone())), Err(Rejection::Forbidden));
        assert_eq!(hall.run(&CancelSeatHold::new(hold.id, actor.clone())), Err(Rejection::Forbidden));
        assert_eq!(hall.world.ask(|rows, _| find(rows, hold.id, &actor.clone())), Err(Rejection::Forbidden));
        let id = hall.run(&confirming(&hold)).unwrap().id;
        assert_eq!(hall.run(&CancelSeatReservation { id, actor: actor.clone() }), Err(Rejection::Forbidden));
        assert_eq!(hall.world.ask(|rows, _| reservation::find(rows, id, &actor)), Err(Rejection::Forbidden));
    }
}

#[test]
fn cancel_frees_the_seats_once() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[4]);
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
fn commands_back_off_from_prepared_hold() {
    let mut hall = Hall::new(Mode::Steps, &[2]);
    let hold = hall.hold(1, &[1]).unwrap();
    let confirm = confirming(&hold);
    let attempt = hall.world.prepare(&confirm).unwrap();
    hall.world.wait(Span::from_secs(301));
    assert_eq!(hall.map(), "h.", "a prepared hold does not end by time");
    assert_eq!(hall.world.prepare(&confirm), Err(Stop::Retry));
    let cancel = CancelSeatHold::new(hold.id, Actor::Admin);
    assert_eq!(hall.world.step(Writes::Live, |rows, at| cancel.decide(rows, at)), Err(Stop::Retry));
    for user in [1, 2] {
        let holding = hall.holding(user, &[1, 2]);
        assert_eq!(hall.world.step(Writes::Live, |rows, at| holding.decide(rows, at)), Err(Stop::Retry));
        let reserving = hall.reserving(user, &[1]);
        assert_eq!(hall.world.prepare(&reserving), Err(Stop::Retry));
    }
    let best = HoldBest { random: hall.draw(), event: hall.event, user: id(2), count: 2, section: None };
    assert_eq!(hall.world.step(Writes::Live, |rows, at| best.decide(rows, at)), Err(Stop::Retry));
    let reservation = hall.world.record(&confirm, attempt).unwrap();
    assert_eq!((hall.map().as_str(), hall.remaining()), ("R.", 0), "counted twice until finished");
    let seat = hall.seat(1);
    assert_eq!(hall.hold(2, &[1]), Err(TicketRejection::SeatAlreadyReserved { seat }.into()));
    hall.world.finish(&confirm, attempt, Some(&reservation));
    assert_eq!((hall.map().as_str(), hall.remaining()), ("R.", 1));
    assert_eq!(hall.audit(), [""; 0]);
}

#[test]
fn limit_counting_prepared_seats_makes_retry() {
    let draft = EventDraft { name: Some("Concert".into()), max_seats_per_user: Some(2), ..EventDraft::default() };
    let mut hall = Hall::with(Mode::Steps, &[6], draft);
    let hold = hall.hold(1, &[1]).unwrap();
    let confirm = confirming(&hold);
    let attempt = hall.world.prepare(&confirm).unwrap();
    hall.world.wait(Span::from_secs(301));
    let two = hall.holding(1, &[2, 3]);
    assert_eq!(hall.world.step(Writes::Live, |rows, at| two.decide(rows, at)), Err(Stop::Retry));
    let reached = Err(TicketRejection::SeatLimitReached { max: 2 }.into());
    assert_eq!(hall.hold(1, &[2, 3, 4]), reached, "too many whatever the attempt's outcome");
    let reservation = hall.world.record(&confirm, attempt).unwrap();
    hall.world.finish(&confirm, attempt, Some(&reservation));
    assert_eq!(hall.hold(1, &[2, 3]), reached);
}

#[test]
fn aborted_attempt_restores_the_hold() {
    let mut hall = Hall::new(Mode::Steps, &[2]);
    let hold = hall.hold(1, &[1]).unwrap();
    let before = hall.rows();
    let confirm = confirming(&hold);
    let attempt = hall.world.prepare(&confirm).unwrap();
    hall.world.finish(&confirm, attempt, None);
    assert_eq!(hall.rows(), before);
    let second = hall.world.prepare(&confirm).unwrap();
    assert_eq!((attempt.attempt, second.attempt), (Attempt(1), Attempt(2)));
    hall.world.finish(&confirm, attempt, None);
    assert_eq!(hall.world.prepare(&confirm), Err(Stop::Retry), "an old attempt does not finish a new one");
    hall.world.wait(Span::from_secs(300));
    hall.world.finish(&confirm, second, None);
    assert_eq!(hall.confirm(hold.id), Err(TicketRejection::SeatHoldExpired.into()), "the hold kept its end");
    assert_eq!((hall.map().as_str(), hall.derived()), ("..", Vec::new()));
}

#[test]
fn abandoned_attempt_is_finished_as_decided() {
    for is_committed in [true, false] {
        let mut hall = Hall::new(Mode::Steps, &[2]);
        let hold = hall.hold(1, &[1]).unwrap();
        let confirm = confirming(&hold);
        let attempt = hall.world.prepare(&confirm).unwrap();
        if is_committed {
            hall.world.record(&confirm, attempt).unwrap();
        }
        let recover = RecoverHold { of: attempt, is_committed };
        for _ in 0..2 {
            hall.run(&recover).unwrap();
            assert_eq!(hall.map(), if is_committed { "R." } else { "h." });
        }
        assert_eq!(hall.audit(), [""; 0]);
        let unknown = AttemptId { hold: HoldId::new(hall.world.now, [9; 10]), ..attempt };
        hall.run(&RecoverHold { of: unknown, is_committed }).unwrap();
    }
}

#[test]
fn attempt_is_decided_once() {
    let mut hall = Hall::new(Mode::Steps, &[2]);
    let hold = hall.hold(1, &[1]).unwrap();
    let confirm = confirming(&hold);
    let attempt = hall.world.prepare(&confirm).unwrap();
    for (record, expected) in
        [(None, Stop::Retry), (Some(5), TicketRejection::SeatHoldAlreadyProcessed { reservation: Some(5) }.into())]
    {
        hall.world.decide_attempt(attempt, record);
        assert_eq!(hall.world.record(&confirm, attempt), Err(expected));
    }
}

#[test]
fn seat_is_sold_once_after_loss_of_live_rows() {
    let mut hall = Hall::new(Mode::SingleCommit, &[3]);
    let lost = hall.hold(1, &[1, 2]).unwrap();
    hall.cancel(lost.id).unwrap();
    hall.reserve(2, &[2]).unwrap();
    let reserve = |hall: &mut Hall, hold: &Hold| {
        let (line, item) = hold.line::<SeatsItem>();
        hall.world.step(Writes::Durable, |rows, at| reservation::reserve(rows, hold, line, item, at.now))
    };
    let recorded = reserve(&mut hall, &lost);
    let seat = hall.seat(2);
    assert_eq!(recorded, Err(TicketRejection::SeatAlreadyReserved { seat }.into()));
    // The count of the event is checked too.
    let event = hall.event;
    let count = |rows: &mut WorkingSet, _: &crate::Context<'_>| {
        rows.ticket.sales.get(&event)?;
        rows.ticket.sales.put(event, EventSales { reserved: 3 });
        Ok(())
    };
    hall.world.step(Writes::Durable, count).unwrap();
    let item = SeatsItem { event, seats: lost.item::<SeatsItem>().seats[..1].into() };
    let free = Hold { lines: [Line { item: Item::Seats(item), ..lost.lines[0].clone() }].into(), ..lost };
    assert_eq!(reserve(&mut hall, &free), Err(TicketRejection::SoldOut.into()));
}
