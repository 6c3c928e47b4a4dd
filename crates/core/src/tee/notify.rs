//! Notifications of users about their bookings. The server delivers them.

use super::booking::{BookingAction, BookingId};
use crate::command::{Context, Decision};
use crate::id::{Sequence, UserId, number_id};
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

number_id!(
    /// Number of a notification.
    NotificationId
);

/// A notification for a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    pub id: NotificationId,
    pub booking: BookingId,
    pub user: UserId,
    pub kind: BookingAction,
    pub created_at: Timestamp,
}

impl Row for Notification {}

/// Key of a notification: each kind occurs once per booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoticeId {
    pub booking: BookingId,
    pub kind: BookingAction,
}

/// Record that the notification was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    pub notification: NotificationId,
}

impl Row for Notice {}

pub(super) fn request_rows(rows: &mut WorkingSet, kind: BookingAction, booking: BookingId) {
    rows.tee.notices.request(&NoticeId { booking, kind });
    rows.ids.request(&Sequence::Notification);
}

/// `booking.confirmed` and similar: creates the user's notification, once.
pub(super) fn notify(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    kind: BookingAction,
    booking: BookingId,
    user: &UserId,
) -> Decision<()> {
    let notice = NoticeId { booking, kind };
    if rows.tee.notices.get(&notice)?.is_some() {
        return Ok(());
    }
    let id = NotificationId::new(rows.next_id(Sequence::Notification)?).expect("sequence numbers are valid ids");
    rows.tee.notifications.insert(id, Notification { id, booking, user: user.clone(), kind, created_at: at.now });
    rows.tee.notices.put(notice, Notice { notification: id });
    Ok(())
}
