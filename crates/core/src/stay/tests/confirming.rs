//! Confirming, and abandoned confirm attempts.

use super::*;
use crate::command::{Attempt, Stop, Writes};
use crate::hold::{AttemptId, RecoverHold};

fn confirming(hold: &Hold) -> ConfirmStayHold {
    ConfirmStayHold::new(hold.id, Actor::User(hold.owner.clone()))
}

#[test]
fn confirm_turns_hold_into_reservation() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 2);
        let hold = hotel.place(1, 1, 3).unwrap();
        hotel.world.wait(Span::from_secs(5));
        let reservation = hotel.confirm(hold.id).unwrap();
        let expected = StayReservation {
            quantity: 1,
            id: StayReservationId::new(1).unwrap(),
            hold: hold.id,
            line: 0,
            user: id(1),
            room_type: hotel.room_type,
            dates: hold.item::<StayItem>().dates,
            price: 2 * PRICE,
            currency: hold.currency,
            confirmed_at: hotel.world.now,
            state: StayReservationState::Confirmed,
        };
        assert_eq!(reservation, expected);
        assert_eq!(hotel.counts(0, 3), [(0, 0, 2), (1, 0, 1), (1, 0, 1)]);
        assert_eq!(hotel.derived(), [""; 0], "a confirmed hold is not counted as held");
        assert_eq!(hotel.world.events[1..], [Event::StayReservationConfirmed(reservation)]);
        assert_eq!(hotel.audit().finish(), [""; 0]);
    }
}

#[test]
fn ended_hold_is_neither_confirmed_nor_cancelled() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 4);
        let [confirmed, cancelled, expired] = [1, 2, 3].map(|user| hotel.place(user, 1, 2).unwrap().id);
        let reservation = Some(hotel.confirm(confirmed).unwrap().id.get());
        hotel.cancel(cancelled).unwrap();
        hotel.world.wait(Span::from_secs(600));
        let unknown = HoldId::new(hotel.world.now, [0; 10]);
        let expected: [(_, Rejection); 4] = [
            (confirmed, StayRejection::StayHoldAlreadyProcessed { reservation }.into()),
            (cancelled, StayRejection::StayHoldAlreadyProcessed { reservation: None }.into()),
            (expired, StayRejection::StayHoldExpired.into()),
            (unknown, StayRejection::StayHoldNotFound.into()),
        ];
        for (hold, rejection) in expected {
            assert_eq!(hotel.confirm(hold), Err(rejection.clone()));
            assert_eq!(hotel.cancel(hold), Err(rejection));
        }
    }
}

#[test]
fn commands_of_other_users_are_forbidden() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 2);
        let hold = hotel.place(1, 1, 2).unwrap();
        let actor = Actor::User(id(2));
        assert_eq!(hotel.run(&ConfirmStayHold::new(hold.id, actor.clone())), Err(Rejection::Forbidden));
        assert_eq!(hotel.run(&CancelStayHold::new(hold.id, actor.clone())), Err(Rejection::Forbidden));
        assert_eq!(hotel.world.ask(|rows, _| find(rows, hold.id, &actor.clone())), Err(Rejection::Forbidden));
        let id = hotel.run(&confirming(&hold)).unwrap().id;
        assert_eq!(hotel.run(&CancelStayReservation { id, actor: actor.clone() }), Err(Rejection::Forbidden));
        assert_eq!(hotel.world.ask(|rows, _| reservation::find(rows, id, &actor)), Err(Rejection::Forbidden));
    }
}

#[test]
fn hold_on_past_night_can_be_confirmed() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 1);
        // 15:30 in Seoul; half a minute before midnight a hold for tonight is placed.
        hotel.world.wait(Span::from_secs(8 * 3_600 + 29 * 60 + 30));
        let hold = hotel.place(1, 0, 1).unwrap();
        hotel.world.wait(Span::from_secs(60));
        assert_eq!(hotel.place(2, 0, 1), Err(Rejection::invalid("checkIn", Fault::InThePast)));
        hotel.confirm(hold.id).unwrap();
    }
}

#[test]
fn commands_back_off_from_prepared_hold() {
    let mut hotel = Hotel::new(Mode::Steps, 1);
    let hold = hotel.place(1, 1, 2).unwrap();
    let confirm = confirming(&hold);
    let attempt = hotel.world.prepare(&confirm).unwrap();
    hotel.world.wait(Span::from_secs(601));
    assert_eq!(hotel.counts(1, 2), [(0, 1, 0)], "a prepared hold does not end by time");
    assert_eq!(hotel.world.prepare(&confirm), Err(Stop::Retry));
    let cancel = CancelStayHold::new(hold.id, Actor::Admin);
    assert_eq!(hotel.world.step(Writes::Live, |rows, at| cancel.decide(rows, at)), Err(Stop::Retry));
    for user in [1, 2] {
        let placing = hotel.placing(user, 0, 2);
        assert_eq!(hotel.world.step(Writes::Live, |rows, at| placing.decide(rows, at)), Err(Stop::Retry));
    }
    let reservation = hotel.world.record(&confirm, attempt).unwrap();
    assert_eq!(hotel.counts(1, 2), [(1, 0, 0)], "a recorded attempt is reported once");
    hotel.world.finish(&confirm, attempt, Some(&reservation));
    assert_eq!(hotel.counts(1, 2), [(1, 0, 0)]);
    assert_eq!(hotel.place(2, 1, 2), Err(full(1)));
    assert_eq!(hotel.audit().finish(), [""; 0]);
}

#[test]
fn aborted_attempt_restores_the_hold() {
    let mut hotel = Hotel::new(Mode::Steps, 1);
    let hold = hotel.place(1, 1, 2).unwrap();
    let before = hotel.rows();
    let confirm = confirming(&hold);
    let attempt = hotel.world.prepare(&confirm).unwrap();
    hotel.world.finish(&confirm, attempt, None);
    assert_eq!(hotel.rows(), before);
    let second = hotel.world.prepare(&confirm).unwrap();
    assert_eq!((attempt.attempt, second.attempt), (Attempt(1), Attempt(2)));
    hotel.world.finish(&confirm, attempt, None);
    assert_eq!(hotel.world.prepare(&confirm), Err(Stop::Retry), "an old attempt does not finish a new one");
    hotel.world.wait(Span::from_secs(600));
    hotel.world.finish(&confirm, second, None);
    assert_eq!(hotel.confirm(hold.id), Err(StayRejection::StayHoldExpired.into()), "the hold kept its end");
    assert_eq!((hotel.counts(1, 2), hotel.derived()), (vec![(0, 0, 1)], Vec::new()));
}

#[test]
fn abandoned_attempt_is_finished_as_decided() {
    for is_committed in [true, false] {
        let mut hotel = Hotel::new(Mode::Steps, 1);
        let hold = hotel.place(1, 1, 2).unwrap();
        let confirm = confirming(&hold);
        let attempt = hotel.world.prepare(&confirm).unwrap();
        if is_committed {
            hotel.world.record(&confirm, attempt).unwrap();
        }
        let recover = RecoverHold { of: attempt, is_committed };
        for _ in 0..2 {
            hotel.run(&recover).unwrap();
            assert_eq!(hotel.counts(1, 2), [if is_committed { (1, 0, 0) } else { (0, 1, 0) }]);
        }
        assert_eq!(hotel.audit().finish(), [""; 0]);
        let unknown = AttemptId { hold: HoldId::new(hotel.world.now, [9; 10]), ..attempt };
        hotel.run(&RecoverHold { of: unknown, is_committed }).unwrap();
    }
}

#[test]
fn attempt_is_decided_once() {
    let mut hotel = Hotel::new(Mode::Steps, 1);
    let hold = hotel.place(1, 1, 2).unwrap();
    let confirm = confirming(&hold);
    let attempt = hotel.world.prepare(&confirm).unwrap();
    for (record, expected) in
        [(None, Stop::Retry), (Some(5), StayRejection::StayHoldAlreadyProcessed { reservation: Some(5) }.into())]
    {
        hotel.world.decide_attempt(attempt, record);
        assert_eq!(hotel.world.record(&confirm, attempt), Err(expected));
    }
}

#[test]
fn room_is_sold_once_after_loss_of_live_rows() {
    let mut hotel = Hotel::new(Mode::Steps, 1);
    let hold = hotel.place(1, 1, 3).unwrap();
    let confirm = confirming(&hold);
    let attempt = hotel.world.prepare(&confirm).unwrap();
    // Another customer has got a night meanwhile, as after a loss of the live rows.
    let night = NightId { room_type: hotel.room_type, date: day(2) };
    let sell = |rows: &mut WorkingSet, _: &crate::Context<'_>| {
        rows.stay.nights.get(&night)?;
        rows.stay.nights.put(night, Night { total_quantity: 1, reserved: 1, closed: false });
        Ok(())
    };
    hotel.world.step(Writes::Durable, sell).unwrap();
    assert_eq!(hotel.world.record(&confirm, attempt), Err(Stop::Rejected(full(2))));
    assert_eq!(hotel.world.memory.stay.reservations.rows().count(), 0);
}
