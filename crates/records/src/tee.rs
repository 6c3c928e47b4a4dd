//! Tee times. Each table belongs to one of three services; none looks into another's.

use holdfast_core::Timestamp;
use holdfast_core::audit::Audit;
use holdfast_core::id::UserId;
use holdfast_core::tee::{
    Booking, BookingAction, BookingId, BookingKey, BookingState, BookingStatus, By, Course, CourseId, FailureReason,
    HistoryEntry, HistoryId, IdempotencyKey, Imported, InboxId, KeyUse, KnownSlot, MessageKey, Notice, NoticeId,
    Notification, NotificationId, OpenBooking, OpenBookingId, Received, Refund, RefundPolicy, RefundRule, Service,
    SlotBooking, SlotBookingState, SlotTime, SlotTimeId, StartTime, TeeSlot, TeeSlotId,
};

use crate::cell::{Cells, FromCell, Taken, ToCell, Value, number_id, text as text_cell};
use crate::layout::{Layout, big, boolean, date, int, moment, text};
use crate::list::{Filter, List};
use crate::record::Record;

number_id!(CourseId, TeeSlotId, BookingId, NotificationId);
text_cell!(IdempotencyKey, |key| key.as_str().into(), |text| IdempotencyKey::parse("idempotencyKey", text).ok());
text_cell!(BookingAction, |action| action.as_str().into(), BookingAction::parse);
text_cell!(BookingStatus, |status| status.as_str().into(), BookingStatus::parse);
text_cell!(FailureReason, |reason| reason.as_str().into(), FailureReason::parse);
text_cell!(Service, |service| service.as_str().into(), Service::parse);
text_cell!(MessageKey, |key| key.as_str().into(), MessageKey::parse);
text_cell!(RefundPolicy, |policy| policy.to_string().into(), RefundPolicy::parse);
text_cell!(RefundRule, |rule| rule.to_string().into(), RefundRule::parse);
text_cell!(By, by_text, parse_by);

impl ToCell for StartTime {
    fn to_cell(&self) -> Value<'_> {
        self.minutes().into()
    }
}

impl FromCell for StartTime {
    fn from_cell(cell: Value<'_>) -> Option<Self> {
        Self::from_minutes(u16::from_cell(cell)?)
    }
}

/// `ADMIN`, `SYSTEM`, `USER 5`.
fn by_text(by: &By) -> std::borrow::Cow<'_, str> {
    match by {
        By::User(user) => format!("USER {user}").into(),
        By::Admin => "ADMIN".into(),
        By::System => "SYSTEM".into(),
    }
}

fn parse_by(text: &str) -> Option<By> {
    match text {
        "ADMIN" => Some(By::Admin),
        "SYSTEM" => Some(By::System),
        _ => text.strip_prefix("USER ")?.parse().ok().and_then(UserId::new).map(By::User),
    }
}

impl Record for Course {
    type Key = CourseId;

    const LAYOUT: &'static Layout = &Layout {
        table: "courses",
        key: &[big("id")],
        fixed: &[text("name"), text("time_zone")],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a CourseId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a CourseId, cells: &mut Cells<'a>) {
        cells.add(&self.name).add(&self.zone);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(CourseId, Self)> {
        let id = cells.take()?;
        Some((id, Self { id, name: cells.take()?, zone: cells.take()? }))
    }

    fn show(_key: &CourseId, row: &Self, audit: &mut Audit) {
        audit.tee.course(row);
    }
}

impl Record for TeeSlot {
    type Key = TeeSlotId;

    const LAYOUT: &'static Layout = &Layout {
        table: "game_time_slots",
        key: &[big("id")],
        fixed: &[
            big("course_id"),
            date("slot_date"),
            int("start_minute"),
            moment("tee_off"),
            int("max_players"),
            big("price"),
            text("currency"),
        ],
        changing: &[int("booked_players"), boolean("closed"), big("slot_version")],
        parts: None,
    };

    fn put_key<'a>(key: &'a TeeSlotId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a TeeSlotId, cells: &mut Cells<'a>) {
        cells.add(&self.course).add(&self.date).add(&self.start).add(&self.tee_off).add(&self.max_players);
        cells.add(&self.price).add(&self.currency).add(&self.booked).add(&self.closed).add(&self.version);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(TeeSlotId, Self)> {
        let id = cells.take()?;
        let slot = Self {
            id,
            course: cells.take()?,
            date: cells.take()?,
            start: cells.take()?,
            tee_off: cells.take()?,
            max_players: cells.take()?,
            price: cells.take()?,
            currency: cells.take()?,
            booked: cells.take()?,
            closed: cells.take()?,
            version: cells.take()?,
        };
        Some((id, slot))
    }

    fn show(_key: &TeeSlotId, row: &Self, audit: &mut Audit) {
        audit.tee.slot(row);
    }
}

impl Record for SlotTime {
    type Key = SlotTimeId;

    const LAYOUT: &'static Layout = &Layout {
        table: "game_time_slot_time",
        key: &[big("course_id"), date("slot_date"), int("start_minute")],
        fixed: &[big("slot_id")],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a SlotTimeId, cells: &mut Cells<'a>) {
        cells.add(&key.course).add(&key.date).add(&key.start);
    }

    fn put<'a>(&'a self, _key: &'a SlotTimeId, cells: &mut Cells<'a>) {
        cells.add(&self.slot);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(SlotTimeId, Self)> {
        let key = SlotTimeId { course: cells.take()?, date: cells.take()?, start: cells.take()? };
        Some((key, Self { slot: cells.take()? }))
    }

    fn show(key: &SlotTimeId, row: &Self, audit: &mut Audit) {
        audit.tee.slot_time(*key, *row);
    }
}

impl Record for SlotBooking {
    type Key = BookingId;

    const LAYOUT: &'static Layout = &Layout {
        table: "processed_slot_reservations",
        key: &[big("booking_id")],
        fixed: &[big("slot_id"), int("players")],
        changing: &[text("state"), big("slot_version"), text("reason")],
        parts: None,
    };

    fn put_key<'a>(key: &'a BookingId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a BookingId, cells: &mut Cells<'a>) {
        cells.add(&self.slot).add(&self.players);
        match &self.state {
            SlotBookingState::Reserved { version } => cells.add_value("RESERVED").add(version).add_value(Value::Null),
            SlotBookingState::Refused(reason) => cells.add_value("REFUSED").add_value(Value::Null).add(reason),
            SlotBookingState::Released => cells.add_value("RELEASED").add_value(Value::Null).add_value(Value::Null),
        };
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(BookingId, Self)> {
        let (key, slot, players) = (cells.take()?, cells.take()?, cells.take()?);
        let (state, version, reason): (String, Option<u64>, Option<FailureReason>) =
            (cells.take()?, cells.take()?, cells.take()?);
        let state = match &*state {
            "RESERVED" => SlotBookingState::Reserved { version: version? },
            "REFUSED" => SlotBookingState::Refused(reason?),
            "RELEASED" => SlotBookingState::Released,
            _ => return None,
        };
        Some((key, Self { slot, players, state }))
    }

    fn show(key: &BookingId, row: &Self, audit: &mut Audit) {
        audit.tee.slot_booking(*key, *row);
    }
}

impl Record for Booking {
    type Key = BookingId;

    const LAYOUT: &'static Layout = &Layout {
        table: "bookings",
        key: &[big("id")],
        fixed: &[
            big("user_id"),
            big("slot_id"),
            int("players"),
            big("unit_price"),
            big("total_price"),
            text("currency"),
            moment("tee_off"),
            text("refund_policy"),
            moment("created_at"),
            moment("deadline"),
        ],
        changing: &[
            text("status"),
            moment("status_at"),
            text("cancelled_by"),
            int("refund_percent"),
            big("refund_amount"),
            text("refund_rule"),
            text("failure_reason"),
            moment("released_at"),
            int("revision"),
        ],
        parts: None,
    };

    fn put_key<'a>(key: &'a BookingId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a BookingId, cells: &mut Cells<'a>) {
        cells.add(&self.user).add(&self.slot).add(&self.players).add(&self.unit_price).add(&self.total);
        cells.add(&self.currency).add(&self.tee_off).add(&self.policy).add(&self.created_at).add(&self.deadline);
        cells.add_value(self.status().as_str());
        let (at, by, refund, reason) = match &self.state {
            BookingState::Pending => (None, None, None, None),
            BookingState::Confirmed { at } | BookingState::Completed { at } => (Some(at), None, None, None),
            BookingState::Cancelled { at, by, refund } => (Some(at), Some(by), Some(refund), None),
            BookingState::NoShow { at, refund } => (Some(at), None, Some(refund), None),
            BookingState::Failed { at, reason } => (Some(at), None, None, Some(reason)),
        };
        cells.add_value(cell_or_null(at)).add_value(cell_or_null(by));
        cells.add_value(cell_or_null(refund.map(|refund| &refund.percent)));
        cells.add_value(cell_or_null(refund.map(|refund| &refund.amount)));
        cells.add_value(cell_or_null(refund.map(|refund| &refund.rule)));
        cells.add_value(cell_or_null(reason)).add(&self.released_at).add(&self.revision);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(BookingId, Self)> {
        let id = cells.take()?;
        let booking = Self {
            id,
            user: cells.take()?,
            slot: cells.take()?,
            players: cells.take()?,
            unit_price: cells.take()?,
            total: cells.take()?,
            currency: cells.take()?,
            tee_off: cells.take()?,
            policy: cells.take()?,
            created_at: cells.take()?,
            deadline: cells.take()?,
            state: take_state(cells)?,
            released_at: cells.take()?,
            revision: cells.take()?,
        };
        Some((id, booking))
    }

    fn show(_key: &BookingId, row: &Self, audit: &mut Audit) {
        audit.tee.booking(row);
    }
}

fn cell_or_null<T: ToCell>(value: Option<&T>) -> Value<'_> {
    value.map_or(Value::Null, ToCell::to_cell)
}

fn take_state(cells: &mut Taken<'_>) -> Option<BookingState> {
    let (status, at, by): (BookingStatus, Option<Timestamp>, Option<By>) =
        (cells.take()?, cells.take()?, cells.take()?);
    let refund: (Option<u8>, Option<i64>, Option<RefundRule>) = (cells.take()?, cells.take()?, cells.take()?);
    let refund = match refund {
        (Some(percent), Some(amount), Some(rule)) => Some(Refund { percent, amount, rule }),
        _ => None,
    };
    let reason: Option<FailureReason> = cells.take()?;
    Some(match status {
        BookingStatus::Pending => BookingState::Pending,
        BookingStatus::Confirmed => BookingState::Confirmed { at: at? },
        BookingStatus::Completed => BookingState::Completed { at: at? },
        BookingStatus::Cancelled => BookingState::Cancelled { at: at?, by: by?, refund: refund? },
        BookingStatus::NoShow => BookingState::NoShow { at: at?, refund: refund? },
        BookingStatus::Failed => BookingState::Failed { at: at?, reason: reason? },
    })
}

impl Record for KeyUse {
    type Key = BookingKey;

    const LAYOUT: &'static Layout = &Layout {
        table: "booking_idempotency_key",
        key: &[big("user_id"), text("key")],
        fixed: &[big("booking_id"), big("slot_id"), int("players")],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a BookingKey, cells: &mut Cells<'a>) {
        cells.add(&key.user).add(&key.key);
    }

    fn put<'a>(&'a self, _key: &'a BookingKey, cells: &mut Cells<'a>) {
        cells.add(&self.booking).add(&self.slot).add(&self.players);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(BookingKey, Self)> {
        let key = BookingKey { user: cells.take()?, key: cells.take()? };
        Some((key, Self { booking: cells.take()?, slot: cells.take()?, players: cells.take()? }))
    }

    fn show(_key: &BookingKey, row: &Self, audit: &mut Audit) {
        audit.tee.key_use(*row);
    }
}

impl Record for HistoryEntry {
    type Key = HistoryId;

    const LAYOUT: &'static Layout = &Layout {
        table: "booking_history",
        key: &[big("booking_id"), int("number")],
        fixed: &[text("action"), moment("at"), text("done_by"), text("reason")],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a HistoryId, cells: &mut Cells<'a>) {
        cells.add(&key.booking).add(&key.number);
    }

    fn put<'a>(&'a self, _key: &'a HistoryId, cells: &mut Cells<'a>) {
        cells.add(&self.action).add(&self.at).add(&self.by).add(&self.reason);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(HistoryId, Self)> {
        let key = HistoryId { booking: cells.take()?, number: cells.take()? };
        Some((key, Self { action: cells.take()?, at: cells.take()?, by: cells.take()?, reason: cells.take()? }))
    }

    fn show(key: &HistoryId, _row: &Self, audit: &mut Audit) {
        audit.tee.history(*key);
    }
}

impl Record for KnownSlot {
    type Key = TeeSlotId;

    const LAYOUT: &'static Layout = &Layout {
        table: "game_time_slot_cache",
        key: &[big("slot_id")],
        fixed: &[],
        changing: &[
            big("course_id"),
            moment("tee_off"),
            int("max_players"),
            big("price"),
            text("currency"),
            boolean("closed"),
            big("slot_version"),
        ],
        parts: None,
    };

    fn put_key<'a>(key: &'a TeeSlotId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a TeeSlotId, cells: &mut Cells<'a>) {
        cells.add(&self.course).add(&self.tee_off).add(&self.max_players).add(&self.price).add(&self.currency);
        cells.add(&self.closed).add(&self.version);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(TeeSlotId, Self)> {
        let key = cells.take()?;
        let slot = Self {
            course: cells.take()?,
            tee_off: cells.take()?,
            max_players: cells.take()?,
            price: cells.take()?,
            currency: cells.take()?,
            closed: cells.take()?,
            version: cells.take()?,
        };
        Some((key, slot))
    }

    fn show(key: &TeeSlotId, row: &Self, audit: &mut Audit) {
        audit.tee.known_slot(*key, *row);
    }
}

impl Record for OpenBooking {
    type Key = OpenBookingId;

    const LAYOUT: &'static Layout = &Layout {
        table: "open_booking",
        key: &[big("slot_id"), big("booking_id")],
        fixed: &[],
        changing: &[big("slot_version")],
        parts: None,
    };

    fn put_key<'a>(key: &'a OpenBookingId, cells: &mut Cells<'a>) {
        cells.add(&key.slot).add(&key.booking);
    }

    fn put<'a>(&'a self, _key: &'a OpenBookingId, cells: &mut Cells<'a>) {
        cells.add(&self.slot_version);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(OpenBookingId, Self)> {
        let key = OpenBookingId { slot: cells.take()?, booking: cells.take()? };
        Some((key, Self { slot_version: cells.take()? }))
    }

    fn show(key: &OpenBookingId, _row: &Self, audit: &mut Audit) {
        audit.tee.open_booking(*key);
    }
}

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

impl Record for Received {
    type Key = InboxId;

    const LAYOUT: &'static Layout = &Layout {
        table: "message_inbox",
        key: &[text("service"), text("message_id")],
        fixed: &[moment("received_at")],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a InboxId, cells: &mut Cells<'a>) {
        cells.add(&key.service).add(&key.message);
    }

    fn put<'a>(&'a self, _key: &'a InboxId, cells: &mut Cells<'a>) {
        cells.add(&self.at);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(InboxId, Self)> {
        let key = InboxId { service: cells.take()?, message: cells.take()? };
        Some((key, Self { at: cells.take()? }))
    }

    fn show(_key: &InboxId, _row: &Self, _audit: &mut Audit) {}
}

impl Record for Imported {
    type Key = MessageKey;

    const LAYOUT: &'static Layout = &Layout {
        table: "imported_event",
        key: &[text("message_id")],
        fixed: &[moment("imported_at")],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a MessageKey, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a MessageKey, cells: &mut Cells<'a>) {
        cells.add(&self.at);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(MessageKey, Self)> {
        let key = cells.take()?;
        Some((key, Self { at: cells.take()? }))
    }

    fn show(_key: &MessageKey, _row: &Self, _audit: &mut Audit) {}
}

/// Bookings in order of number: all, or those of a user, who have an index of their own; in any state, or in one.
pub fn bookings(user: Option<UserId>, status: Option<BookingStatus>, after: Option<BookingId>, limit: usize) -> List {
    let mut list = List::of::<Booking>(after.as_ref(), limit);
    if let Some(user) = user {
        list = list.by("user_id", user.get());
    }
    list.filters.extend(status.map(|status| Filter::Is("status", status.as_str().into())));
    list
}

/// What a user was told, in order of number.
pub fn notifications(user: Option<UserId>, after: Option<NotificationId>, limit: usize) -> List {
    let list = List::of::<Notification>(after.as_ref(), limit);
    match user {
        Some(user) => list.by("user_id", user.get()),
        None => list,
    }
}
