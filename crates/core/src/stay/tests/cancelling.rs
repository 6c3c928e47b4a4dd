//! Cancelling holds and reservations.

use super::*;

#[test]
fn cancelled_hold_frees_its_nights() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    let hold = hotel.place(1, 1, 3).unwrap();
    hotel.cancel(hold.id).unwrap();
    let cancelled = hold.with_state(HoldState::Cancelled);
    assert_eq!(hotel.hold(cancelled.id), cancelled);
    assert_eq!(hotel.derived(), [""; 0]);
    assert_eq!(hotel.world.events[1..], [Event::HoldCancelled(cancelled)]);
    hotel.place(2, 1, 3).unwrap();
    assert_eq!(hotel.audit().finish(), [""; 0]);
}

#[test]
fn cancelled_reservation_frees_its_nights() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 2);
        let hold = hotel.place(1, 1, 3).unwrap();
        let reservation = hotel.confirm(hold.id).unwrap();
        let other = hotel.place(2, 2, 4).unwrap();
        hotel.confirm(other.id).unwrap();
        assert_eq!(hotel.counts(1, 4), [(1, 0, 1), (2, 0, 0), (1, 0, 1)]);
        let cancelled = hotel.cancel_reservation(reservation.id).unwrap();
        let state = StayReservationState::Cancelled { at: hotel.world.now };
        assert_eq!(cancelled, StayReservation { state, ..reservation });
        assert_eq!(hotel.counts(1, 4), [(0, 0, 2), (1, 0, 1), (1, 0, 1)]);
        assert_eq!(hotel.world.events.last(), Some(&Event::StayReservationCancelled(cancelled)));
        assert_eq!(hotel.audit().finish(), [""; 0]);
    }
}

#[test]
fn reservation_is_cancelled_once() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 1);
        let hold = hotel.place(1, 1, 2).unwrap();
        let id = hotel.confirm(hold.id).unwrap().id;
        hotel.cancel_reservation(id).unwrap();
        assert_eq!(hotel.cancel_reservation(id), Err(StayRejection::StayReservationAlreadyCancelled.into()));
        let unknown = StayReservationId::new(77).unwrap();
        assert_eq!(hotel.cancel_reservation(unknown), Err(StayRejection::StayReservationNotFound.into()));
        assert_eq!(hotel.counts(1, 2), [(0, 0, 1)]);
    }
}

#[test]
fn reservation_is_final_from_check_in_day_on() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 2);
    let [early, late] = [1, 2].map(|user| {
        let hold = hotel.place(user, 1, 2).unwrap();
        hotel.confirm(hold.id).unwrap().id
    });
    // 15:30 in Seoul: one second before midnight, then midnight.
    hotel.world.wait(Span::from_secs(8 * 3_600 + 30 * 60 - 1));
    hotel.cancel_reservation(early).unwrap();
    hotel.world.wait(Span::from_secs(1));
    assert_eq!(hotel.cancel_reservation(late), Err(StayRejection::StayReservationNotCancellable.into()));
    let again = Err(StayRejection::StayReservationAlreadyCancelled.into());
    assert_eq!(hotel.cancel_reservation(early), again, "checked before the date");
}

#[test]
fn lowered_total_does_not_block_cancelling() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 3);
        let reservations = [1, 2].map(|user| {
            let hold = hotel.place(user, 1, 2).unwrap();
            hotel.confirm(hold.id).unwrap().id
        });
        hotel.change(RoomTypeDraft { total_quantity: Some(2), ..RoomTypeDraft::default() }).unwrap();
        for reservation in reservations {
            hotel.cancel_reservation(reservation).unwrap();
        }
        assert_eq!(hotel.counts(1, 2), [(0, 0, 2)]);
        assert_eq!(hotel.audit().finish(), [""; 0]);
    }
}
