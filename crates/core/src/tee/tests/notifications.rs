//! Notifications of users.

use super::*;
use crate::time::Span;

fn kinds(club: &Club, booking: BookingId) -> Vec<BookingAction> {
    let all = club.world.memory.tee.notifications.rows();
    let mut kinds: Vec<_> = all.filter(|(_, row)| row.booking == booking).map(|(id, row)| (*id, row.kind)).collect();
    kinds.sort_unstable();
    kinds.into_iter().map(|(_, kind)| kind).collect()
}

#[test]
fn user_is_notified_of_each_outcome() {
    let mut club = Club::new();
    let slot = club.slot(5);
    let [cancelled, completed, missed] = [(); 3].map(|()| club.confirmed(slot, 1).id);
    let failed = club.book(slot, 3).id;
    club.deliver();
    club.cancel(cancelled, By::Admin).unwrap();
    club.run(&CompleteBooking { id: completed }).unwrap();
    club.run(&NoShowBooking { id: missed }).unwrap();
    club.world.wait(Span::from_secs(1));
    club.inspect();
    assert_eq!(kinds(&club, cancelled), [BookingAction::Confirmed, BookingAction::Cancelled]);
    assert_eq!(kinds(&club, completed), [BookingAction::Confirmed, BookingAction::Completed]);
    assert_eq!(kinds(&club, missed), [BookingAction::Confirmed, BookingAction::NoShow]);
    assert_eq!(kinds(&club, failed), [BookingAction::Failed]);
    let last = club.world.memory.tee.notifications.rows().map(|(_, row)| row).max_by_key(|row| row.id).unwrap();
    assert_eq!((last.user.clone(), last.created_at), (user(1), club.world.now));
}

#[test]
fn repeated_message_notifies_once() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.confirmed(slot, 1);
    let confirmed = Message::Booking { action: BookingAction::Confirmed, booking: Box::new(booking.clone()) };
    assert_eq!(club.receive(confirmed.clone()), Handled::Repeated);
    club.purge_inbox();
    assert_eq!(club.receive(confirmed), Handled::Done);
    assert_eq!(kinds(&club, booking.id), [BookingAction::Confirmed]);
}
