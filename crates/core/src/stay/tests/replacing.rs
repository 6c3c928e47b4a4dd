//! Replacing a hold on the same dates, and conflicts of client keys.

use super::*;

#[test]
fn hold_on_same_dates_replaces_the_old_one() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    let old = hotel.place(1, 1, 3).unwrap();
    hotel.world.wait(Span::from_secs(60));
    let new = hotel.place(1, 1, 3).expect("the rooms of the old hold count as free");
    let replaced = old.with_state(HoldState::Replaced { by: new.id });
    assert_eq!(hotel.hold(old.id), replaced);
    assert_eq!(new.expires_at, hotel.world.now + Span::from_secs(600));
    assert_eq!(hotel.counts(1, 3), [(0, 1, 0); 2]);
    assert_eq!(hotel.world.events[1..], [Event::HoldReplaced(replaced), Event::HoldPlaced(new.clone())]);
    assert_eq!(hotel.confirm(old.id), Err(StayRejection::StayHoldExpired.into()));
    assert_eq!(hotel.cancel(old.id), Err(StayRejection::StayHoldExpired.into()));
    hotel.confirm(new.id).unwrap();
    assert_eq!(hotel.audit().finish(), [""; 0]);
}

#[test]
fn other_dates_or_users_replace_nothing() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 4);
    let holds = [(1, 1, 3), (1, 1, 4), (1, 2, 3), (2, 1, 3)];
    let placed = holds.map(|(user, check_in, check_out)| hotel.place(user, check_in, check_out).unwrap());
    assert!(placed.iter().all(|hold| hotel.hold(hold.id) == *hold));
    let other = hotel.run(&CreateRoomType(draft(1))).unwrap().id;
    hotel.room_type = other;
    hotel.place(1, 1, 3).unwrap();
    assert_eq!(hotel.hold(placed[0].id), placed[0]);
}

#[test]
fn ended_hold_is_not_replaced() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 9);
        let [confirmed, cancelled, expired] = [1, 2, 3].map(|user| hotel.place(user, 1, 2).unwrap().id);
        hotel.confirm(confirmed).unwrap();
        hotel.cancel(cancelled).unwrap();
        hotel.world.wait(Span::from_secs(600));
        for user in [1, 2, 3] {
            hotel.place(user, 1, 2).unwrap();
        }
        assert_eq!((hotel.hold(confirmed).state, hotel.hold(confirmed).record()), (HoldState::Confirmed, Some(1)));
        assert_eq!(hotel.hold(cancelled).state, HoldState::Cancelled);
        assert_eq!(hotel.hold(expired).state, HoldState::Held, "expiry is not stored");
        assert_eq!(hotel.counts(1, 2), [(1, 3, 5)]);
    }
}

#[test]
fn full_night_keeps_the_old_hold() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    let old = hotel.place(1, 1, 3).unwrap();
    hotel.set_closed(2, 3, true).unwrap();
    assert_eq!(hotel.place(1, 1, 3), Err(full(2)));
    assert_eq!(hotel.hold(old.id), old);
    hotel.confirm(old.id).unwrap();
}

#[test]
fn client_key_of_other_user_conflicts() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    let command = hotel.placing(1, 1, 2);
    let hold = hotel.run(&command).unwrap();
    let other = PlaceStayHold { user: id(2), ..command.clone() };
    let conflict = Err(StayRejection::StayHoldKeyConflict.into());
    assert_eq!(hotel.run(&other), conflict, "checked before availability");
    let later = PlaceStayHold { random: [78; 10], check_in: day(2), check_out: day(3), ..other.clone() };
    hotel.run(&later).expect("the key is bound to the dates");
    let own = PlaceStayHold { random: [77; 10], ..command.clone() };
    let new = hotel.run(&own).expect("the same user replaces the hold");
    assert_eq!(hotel.hold(hold.id).state, HoldState::Replaced { by: new.id });
    hotel.cancel(new.id).unwrap();
    hotel.run(&other).expect("an ended hold frees its key");
}

#[test]
fn expired_hold_frees_its_client_key() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    let command = hotel.placing(1, 1, 2);
    hotel.run(&command).unwrap();
    hotel.world.wait(Span::from_secs(600));
    hotel.run(&PlaceStayHold { user: id(2), ..command }).unwrap();
    assert_eq!(hotel.audit().finish(), [""; 0]);
}

#[test]
fn stale_index_entries_have_no_effect() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    let command = hotel.placing(1, 1, 2);
    let gone =
        LiveHold { hold: HoldId::new(hotel.world.now, [9; 10]), expires_at: hotel.world.now + Span::from_secs(60) };
    let dates = StayDates { check_in: day(1), check_out: day(2) };
    let dates_key = DatesKey { user: id(1), room_type: hotel.room_type, dates };
    let client_key = ClientKey { key: command.client_key, room_type: hotel.room_type, dates };
    let leave = |rows: &mut WorkingSet, _: &crate::Context<'_>| {
        rows.stay.by_dates.get(&dates_key)?;
        rows.stay.by_client_key.get(&client_key)?;
        rows.stay.by_dates.put(dates_key.clone(), gone);
        rows.stay.by_client_key.put(client_key, gone);
        Ok(())
    };
    hotel.world.step(crate::command::Writes::Live, leave).unwrap();
    hotel.run(&command).expect("entries of a hold that is gone do not block");
    assert_eq!(hotel.world.memory.stay.by_dates.rows().count(), 1);
}
