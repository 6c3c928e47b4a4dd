//! Faults at every wait between the stores while a user buys seats. After each: no seat is sold twice, no set of seats
//! is split, no reservation is lost, and no row is left over.

use holdfast_core::TicketRejection;
use holdfast_core::rejection::Rejection;
use holdfast_core::ticket::SeatReservationState;
use holdfast_core::time::Span;
use holdfast_engine::{Refused, Store as _};
use holdfast_store_redis::fault::Point;

use crate::faults::{LIVE, RECORD, dying, for_each_fault};
use crate::support::rejected;
use crate::tickets::SEATS_LIFE;

#[tokio::test(flavor = "multi_thread")]
async fn seat_hold_survives_faults() {
    for_each_fault(&LIVE, async |cluster, broken, healthy, what| {
        let event = healthy.concert(4).await;
        healthy.hold_seats(1, event, &[1]).await.unwrap();
        let held = broken.hold_seats(2, event, &[2, 3]).await;
        let taken = healthy.taken(event).await;
        match &held {
            Ok(_) => assert_eq!(taken, (3, 0), "{what}: answered, so they are held"),
            Err(Refused::StoreUnavailable(_)) => assert_eq!(taken, (1, 0), "{what}: nothing changed"),
            Err(Refused::OutcomeUnknown) => assert!(taken == (1, 0) || taken == (3, 0), "{what}: split, {taken:?}"),
            Err(other) => panic!("{what}: {other}"),
        }
        let other = healthy.hold_seats(3, event, &[3, 4]).await;
        assert_eq!(other.is_ok(), taken == (1, 0), "{what}: {other:?}");
        cluster.clock.advance(SEATS_LIFE + Span::from_secs(1));
        assert_eq!(healthy.taken(event).await, (0, 0), "{what}: time frees everything");
        healthy.hold_best(4, event, 4).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn best_seats_hold_survives_faults() {
    for_each_fault(&LIVE, async |cluster, broken, healthy, what| {
        let event = healthy.concert(4).await;
        let held = broken.hold_best(1, event, 3).await;
        let taken = healthy.taken(event).await;
        assert!(taken == (3, 0) || (taken == (0, 0) && held.is_err()), "{what}: {taken:?}, {held:?}");
        cluster.clock.advance(SEATS_LIFE + Span::from_secs(1));
        healthy.hold_best(2, event, 4).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seat_release_survives_faults() {
    for_each_fault(&LIVE, async |_, broken, healthy, what| {
        let event = healthy.concert(3).await;
        let hold = healthy.hold_seats(1, event, &[1, 2]).await.unwrap();
        let given_back = broken.give_seats_back(hold.id).await;
        match (given_back, healthy.taken(event).await) {
            (Ok(()) | Err(Refused::OutcomeUnknown), (0, 0)) => {
                healthy.hold_seats(2, event, &[2, 3]).await.unwrap();
            }
            (Err(Refused::StoreUnavailable(_) | Refused::OutcomeUnknown), (2, 0)) => {
                healthy.give_seats_back(hold.id).await.unwrap();
            }
            other => panic!("{what}: {other:?}"),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seat_confirm_survives_faults() {
    for_each_fault(&[&LIVE[..], &RECORD[..]].concat(), async |cluster, broken, healthy, what| {
        let event = healthy.concert(3).await;
        let hold = healthy.hold_seats(1, event, &[1, 2]).await.unwrap();
        let confirmed = broken.confirm_seats(hold.id).await;
        // No other user gets a seat of it, in any state of the hold.
        assert!(healthy.hold_seats(2, event, &[2, 3]).await.is_err(), "{what}");
        assert!(healthy.reserve_seats(2, event, &[1]).await.is_err(), "{what}");
        healthy.recover_in_doubt().await;
        match confirmed {
            Ok(reservation) => {
                let reservation = Some(reservation.id.get());
                let processed = Rejection::Ticket(TicketRejection::SeatHoldAlreadyProcessed { reservation });
                assert_eq!(rejected(healthy.confirm_seats(hold.id).await), processed, "{what}");
            }
            // The retry gets the outcome, or completes it.
            Err(Refused::StoreUnavailable(_) | Refused::OutcomeUnknown) => match healthy.confirm_seats(hold.id).await {
                Ok(_)
                | Err(Refused::Rejected(Rejection::Ticket(TicketRejection::SeatHoldAlreadyProcessed {
                    reservation: Some(_),
                }))) => {}
                other => panic!("{what}: {other:?}"),
            },
            Err(other) => panic!("{what}: {other}"),
        }
        assert_eq!(healthy.taken(event).await, (0, 2), "{what}");
        cluster.clock.advance(SEATS_LIFE + Span::from_secs(1));
        assert_eq!(healthy.taken(event).await, (0, 2), "{what}");
        assert_eq!(healthy.seat_reservations(1).await.len(), 1, "{what}: sold once");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_step_reservation_survives_faults() {
    for_each_fault(&[&LIVE[..], &RECORD[..]].concat(), async |cluster, broken, healthy, what| {
        let event = healthy.concert(3).await;
        // One seat is held by the user already, and stays held if the reservation fails.
        healthy.hold_seats(1, event, &[1]).await.unwrap();
        let reserved = broken.reserve_seats(1, event, &[1, 2]).await;
        assert!(healthy.hold_seats(2, event, &[1]).await.is_err(), "{what}: no other user gets it");
        healthy.recover_in_doubt().await;
        let found = healthy.seat_reservations(1).await;
        match (&reserved, found.len()) {
            (Ok(told), 1) => assert_eq!(told.id, found[0].id, "{what}"),
            (Err(Refused::OutcomeUnknown | Refused::StoreUnavailable(_)), 1) => {
                let again = rejected(healthy.reserve_seats(1, event, &[1, 2]).await);
                let seat = event.seat(1).get();
                assert_eq!(again, Rejection::Ticket(TicketRejection::SeatAlreadyReserved { seat }), "{what}");
            }
            (Err(Refused::OutcomeUnknown | Refused::StoreUnavailable(_)), 0) => {
                let (held, sold) = healthy.taken(event).await;
                assert!((1..=2).contains(&held) && sold == 0, "{what}: all or nothing, {held} held, {sold} sold");
                healthy.reserve_seats(1, event, &[1, 2]).await.unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            other => panic!("{what}: {other:?}"),
        }
        assert_eq!(healthy.taken(event).await, (0, 2), "{what}");
        cluster.clock.advance(SEATS_LIFE + Span::from_secs(1));
        let [one] = &*healthy.seat_reservations(1).await else { panic!("{what}: sold once") };
        healthy.cancel_seats(one.id).await.unwrap();
        healthy.reserve_seats(2, event, &[1, 2, 3]).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    })
    .await;
}

/// An aborted one-step reservation releases its prepared seats.
#[tokio::test(flavor = "multi_thread")]
async fn aborted_reservation_releases_its_seats() {
    for_each_fault(&LIVE, async |cluster, broken, healthy, what| {
        let event = healthy.concert(2).await;
        let reserved = broken.reserve_seats(1, event, &[1, 2]).await;
        healthy.recover_in_doubt().await;
        cluster.clock.advance(Span::from_secs(11));
        let other = healthy.reserve_seats(2, event, &[1, 2]).await;
        let is_sold = healthy.seat_reservations(1).await.len() == 1;
        assert_eq!(other.is_err(), is_sold, "{what}: {other:?}");
        assert!(is_sold || reserved.is_err(), "{what}: answered, so it is committed");
        assert_eq!(healthy.taken(event).await, (0, 2), "{what}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seat_cancel_survives_faults() {
    for_each_fault(&RECORD, async |_, broken, healthy, what| {
        let event = healthy.concert(3).await;
        let reservation = healthy.reserve_seats(1, event, &[1, 2]).await.unwrap();
        let cancelled = broken.cancel_seats(reservation.id).await;
        match healthy.taken(event).await {
            (0, 0) => {
                let again = rejected(healthy.cancel_seats(reservation.id).await);
                assert_eq!(again, Rejection::Ticket(TicketRejection::SeatReservationAlreadyCancelled), "{what}");
            }
            (0, 2) => {
                assert!(cancelled.is_err(), "{what}: answered, so it is committed");
                healthy.cancel_seats(reservation.id).await.unwrap();
            }
            other => panic!("{what}: all or nothing, {other:?}"),
        }
        let found = healthy.seat_reservations(1).await;
        assert!(matches!(found[0].state, SeatReservationState::Cancelled { .. }), "{what}: {found:?}");
        healthy.reserve_seats(2, event, &[1, 2, 3]).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seat_recovery_survives_faults() {
    let points = [Point::AbandonedListed, Point::AbandonedDecided, Point::LiveDecided];
    for_each_fault(&points, async |_, broken, healthy, what| {
        let event = healthy.concert(4).await;
        let hold = healthy.hold_seats(1, event, &[1, 2]).await.unwrap();
        // A server that dies right after it has prepared the seats, or right after the reservation was recorded.
        for point in [Point::LiveCommitted, Point::RecordCommitted] {
            dying(healthy, point).confirm_seats(hold.id).await.unwrap_err();
            dying(healthy, point).reserve_seats(2, event, &[3, 4]).await.unwrap_err();
            if let Ok(resolved) = broken.store.recover_in_doubt().await {
                for one in &resolved {
                    broken.recover(one).await.ok();
                }
            }
            healthy.recover_in_doubt().await;
        }
        assert_eq!(healthy.taken(event).await, (0, 4), "{what}");
        for user in [1, 2] {
            assert_eq!(healthy.seat_reservations(user).await.len(), 1, "{what}: recorded once");
        }
    })
    .await;
}
