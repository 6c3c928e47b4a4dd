//! Tables of the notify service.

use crate::audit::Audit;
use crate::id::UserId;
use crate::tee::{Notice, NoticeId, Notification, NotificationId};

use crate::schema::list::List;
use crate::schema::record::Record;
use crate::schema::table::{TableSchema, big, moment, text};
use crate::schema::value::{ValueReader, Values, number_id};

number_id!(NotificationId);

impl Record for Notification {
    type Key = NotificationId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "notification",
        key: &[big("id")],
        fixed: &[big("booking_id"), text("user_id"), text("kind"), moment("created_at")],
        changing: &[],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a NotificationId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a NotificationId, values: &mut Values<'a>) {
        values.add(&self.booking).add(&self.user).add(&self.kind).add(&self.created_at);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(NotificationId, Self)> {
        let id = values.take()?;
        let (booking, user, kind, created_at) = (values.take()?, values.take()?, values.take()?, values.take()?);
        Some((id, Self { id, booking, user, kind, created_at }))
    }

    fn show(_key: &NotificationId, row: &Self, audit: &mut Audit) {
        audit.tee.notification(row);
    }
}

impl Record for Notice {
    type Key = NoticeId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "notification_told",
        key: &[big("booking_id"), text("kind")],
        fixed: &[big("notification_id")],
        changing: &[],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a NoticeId, values: &mut Values<'a>) {
        values.add(&key.booking).add(&key.kind);
    }

    fn put<'a>(&'a self, _key: &'a NoticeId, values: &mut Values<'a>) {
        values.add(&self.notification);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(NoticeId, Self)> {
        let key = NoticeId { booking: values.take()?, kind: values.take()? };
        Some((key, Self { notification: values.take()? }))
    }

    fn show(key: &NoticeId, row: &Self, audit: &mut Audit) {
        audit.tee.notice(*key, *row);
    }
}

/// Lists notifications of a user, or all, in order of number.
pub fn notifications(user: Option<&UserId>, after: Option<NotificationId>, limit: usize) -> List {
    let list = List::of::<Notification>(after.as_ref(), limit);
    match user {
        Some(user) => list.by("user_id", user.to_string()),
        None => list,
    }
}
