//! What users are told about their bookings. How it reaches them is the server's business.

use super::booking::{BookingAction, BookingId};
use crate::command::{Context, Decision};
use crate::id::{Sequence, UserId, number_id};
use crate::rows::Rows;
use crate::table::Row;
use crate::time::Timestamp;

number_id!(
    /// The number of a notification.
    NotificationId
);

/// Something a user is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    pub id: NotificationId,
    pub booking: BookingId,
    pub user: UserId,
    pub kind: BookingAction,
    pub created_at: Timestamp,
}

impl Row for Notification {}

/// Something that can be told about a booking. Each happens once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoticeId {
    pub booking: BookingId,
    pub kind: BookingAction,
}

/// That it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    pub notification: NotificationId,
}

impl Row for Notice {}

pub(super) fn want(rows: &mut Rows, kind: BookingAction, booking: BookingId) {
    rows.tee.notices.want(&NoticeId { booking, kind });
    rows.ids.want(&Sequence::Notification);
}

/// `booking.confirmed` and the like: tells the user, once.
pub(super) fn notify(
    rows: &mut Rows,
    at: &Context<'_>,
    kind: BookingAction,
    booking: BookingId,
    user: UserId,
) -> Decision<()> {
    let notice = NoticeId { booking, kind };
    if rows.tee.notices.get(&notice)?.is_some() {
        return Ok(());
    }
    let id = NotificationId::new(rows.next_id(Sequence::Notification)?).expect("sequences give ids");
    rows.tee.notifications.insert(id, Notification { id, booking, user, kind, created_at: at.now });
    rows.tee.notices.put(notice, Notice { notification: id });
    Ok(())
}
