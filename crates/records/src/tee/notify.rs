//! Tables of the notify service.

use holdfast_core::audit::Audit;
use holdfast_core::id::UserId;
use holdfast_core::tee::{Notice, NoticeId, Notification, NotificationId};

use crate::cell::{Cells, Taken, number_id};
use crate::layout::{Layout, big, moment, text};
use crate::list::List;
use crate::record::Record;

number_id!(NotificationId);

impl Record for Notification {
    type Key = NotificationId;

    const LAYOUT: &'static Layout = &Layout {
        table: "notification",
        key: &[big("id")],
        fixed: &[big("booking_id"), big("user_id"), text("kind"), moment("created_at")],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a NotificationId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a NotificationId, cells: &mut Cells<'a>) {
        cells.add(&self.booking).add(&self.user).add(&self.kind).add(&self.created_at);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(NotificationId, Self)> {
        let id = cells.take()?;
        let (booking, user, kind, created_at) = (cells.take()?, cells.take()?, cells.take()?, cells.take()?);
        Some((id, Self { id, booking, user, kind, created_at }))
    }

    fn show(_key: &NotificationId, row: &Self, audit: &mut Audit) {
        audit.tee.notification(row);
    }
}

impl Record for Notice {
    type Key = NoticeId;

    const LAYOUT: &'static Layout = &Layout {
        table: "notification_told",
        key: &[big("booking_id"), text("kind")],
        fixed: &[big("notification_id")],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a NoticeId, cells: &mut Cells<'a>) {
        cells.add(&key.booking).add(&key.kind);
    }

    fn put<'a>(&'a self, _key: &'a NoticeId, cells: &mut Cells<'a>) {
        cells.add(&self.notification);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(NoticeId, Self)> {
        let key = NoticeId { booking: cells.take()?, kind: cells.take()? };
        Some((key, Self { notification: cells.take()? }))
    }

    fn show(key: &NoticeId, row: &Self, audit: &mut Audit) {
        audit.tee.notice(*key, *row);
    }
}

/// Lists notifications of a user, or all, in order of number.
pub fn notifications(user: Option<UserId>, after: Option<NotificationId>, limit: usize) -> List {
    let list = List::of::<Notification>(after.as_ref(), limit);
    match user {
        Some(user) => list.by("user_id", user.get()),
        None => list,
    }
}
