//! Every state of a booking, and every input in that state.

use super::*;
use crate::time::Span;

/// Inputs of a booking.
const INPUTS: [&str; 9] = [
    "slot.reserved",
    "slot.reserve.failed",
    "slot.released",
    "slot.closed",
    "time out",
    "cancel by user",
    "cancel by admin",
    "complete",
    "no-show",
];

/// Result per state and input: the next state and the emitted messages, `-` for no effect, or the rejection.
const TABLE: &str = "
PENDING   slot.reserved       CONFIRMED booking.confirmed
PENDING   slot.reserve.failed FAILED booking.failed
PENDING   slot.released       -
PENDING   slot.closed         CANCELLED booking.cancelled slot.release
PENDING   time out            FAILED booking.failed slot.release
PENDING   cancel by user      CANCELLED booking.cancelled slot.release
PENDING   cancel by admin     CANCELLED booking.cancelled slot.release
PENDING   complete            PENDING cannot become COMPLETED
PENDING   no-show             PENDING cannot become NO_SHOW
CONFIRMED slot.reserved       -
CONFIRMED slot.reserve.failed -
CONFIRMED slot.released       -
CONFIRMED slot.closed         CANCELLED booking.cancelled slot.release
CONFIRMED time out            -
CONFIRMED cancel by user      CANCELLED booking.cancelled slot.release
CONFIRMED cancel by admin     CANCELLED booking.cancelled slot.release
CONFIRMED complete            COMPLETED booking.completed
CONFIRMED no-show             NO_SHOW booking.no_show
COMPLETED slot.reserved       -
COMPLETED slot.reserve.failed -
COMPLETED slot.released       -
COMPLETED slot.closed         -
COMPLETED time out            -
COMPLETED cancel by user      COMPLETED cannot be cancelled
COMPLETED cancel by admin     COMPLETED cannot be cancelled
COMPLETED complete            COMPLETED cannot become COMPLETED
COMPLETED no-show             COMPLETED cannot become NO_SHOW
CANCELLED slot.reserved       CANCELLED slot.release
CANCELLED slot.reserve.failed -
CANCELLED slot.released       CANCELLED released
CANCELLED slot.closed         -
CANCELLED time out            -
CANCELLED cancel by user      CANCELLED cannot be cancelled
CANCELLED cancel by admin     CANCELLED cannot be cancelled
CANCELLED complete            CANCELLED cannot become COMPLETED
CANCELLED no-show             CANCELLED cannot become NO_SHOW
NO_SHOW   slot.reserved       -
NO_SHOW   slot.reserve.failed -
NO_SHOW   slot.released       -
NO_SHOW   slot.closed         -
NO_SHOW   time out            -
NO_SHOW   cancel by user      NO_SHOW cannot be cancelled
NO_SHOW   cancel by admin     NO_SHOW cannot be cancelled
NO_SHOW   complete            NO_SHOW cannot become COMPLETED
NO_SHOW   no-show             NO_SHOW cannot become NO_SHOW
FAILED    slot.reserved       FAILED slot.release
FAILED    slot.reserve.failed -
FAILED    slot.released       FAILED released
FAILED    slot.closed         -
FAILED    time out            -
FAILED    cancel by user      FAILED cannot be cancelled
FAILED    cancel by admin     FAILED cannot be cancelled
FAILED    complete            FAILED cannot become COMPLETED
FAILED    no-show             FAILED cannot become NO_SHOW
";

/// Creates a club with a booking in this state, without messages in flight or in the inbox.
fn club_with(status: BookingStatus) -> (Club, BookingId) {
    let mut club = Club::new();
    let slot = club.slot(4);
    let id = club.book(slot, 2).id;
    if status.has_places() {
        club.deliver();
    }
    match status {
        BookingStatus::Pending | BookingStatus::Confirmed => {}
        BookingStatus::Completed => drop(club.run(&CompleteBooking { id }).unwrap()),
        BookingStatus::NoShow => drop(club.run(&NoShowBooking { id }).unwrap()),
        BookingStatus::Cancelled => drop(club.cancel(id, By::Admin).unwrap()),
        BookingStatus::Failed => {
            club.world.wait(Span::from_secs(60));
            club.run(&TimeOutBooking { id }).unwrap().unwrap();
        }
    }
    club.world.wait(Span::from_secs(60));
    club.drop_messages();
    club.purge_inbox();
    assert_eq!(club.status(id), status);
    (club, id)
}

fn apply(club: &mut Club, id: BookingId, input: &str) -> Result<(), Rejection> {
    let places = club.booking(id).places();
    let by = |by| CancelBooking { id, by, reason: None };
    match input {
        "slot.reserved" => club.run(&Receive::new(Message::SlotReserved { places, version: Some(2) })).map(drop),
        "slot.reserve.failed" => {
            let reason = FailureReason::SlotFull;
            club.run(&Receive::new(Message::SlotReserveFailed { places, reason, words: None })).map(drop)
        }
        "slot.released" => club.run(&Receive::new(Message::SlotReleased(places))).map(drop),
        "slot.closed" => club.run(&Receive::new(Message::SlotClosed { slot: places.slot, version: 9 })).map(drop),
        "time out" => club.run(&TimeOutBooking { id }).map(drop),
        "cancel by user" => club.run(&by(By::User(user(1)))).map(drop),
        "cancel by admin" => club.run(&by(By::Admin)).map(drop),
        "complete" => club.run(&CompleteBooking { id }).map(drop),
        "no-show" => club.run(&NoShowBooking { id }).map(drop),
        other => panic!("{other:?}"),
    }
}

fn describe(status: BookingStatus, input: &str) -> String {
    let (mut club, id) = club_with(status);
    let before = club.view(id);
    if let Err(rejection) = apply(&mut club, id, input) {
        assert_eq!(club.view(id), before);
        return match rejection {
            Rejection::Tee(TeeRejection::BookingNotCancellable { ended_as: Some(ended_as) }) => {
                format!("{ended_as} cannot be cancelled")
            }
            Rejection::Tee(TeeRejection::InvalidStateTransition { from, to }) => format!("{from} cannot become {to}"),
            other => panic!("{other:?}"),
        };
    }
    let (after, messages) = (club.view(id), club.drop_subjects());
    // A repeated message or command has no further effect.
    club.purge_inbox();
    let (repeated, state) = (apply(&mut club, id, input), club.booking(id).state);
    assert!(state == after.booking.state || repeated.is_err(), "{status} {input}");
    if after == before && messages.is_empty() {
        return "-".into();
    }
    let released = after.booking.released_at.is_some().then_some("released");
    let words: Vec<&str> = [after.booking.status().as_str()].into_iter().chain(messages).chain(released).collect();
    words.join(" ")
}

#[test]
fn every_state_handles_every_input() {
    let mut found = Vec::new();
    for status in BookingStatus::ALL {
        for input in INPUTS {
            found.push(format!("{:<9} {input:<19} {}", status.as_str(), describe(*status, input)));
        }
    }
    assert_eq!(found, TABLE.trim().lines().collect::<Vec<_>>());
}
