//! Tables of the booking service: bookings, their history, and slot replicas.

use crate::Timestamp;
use crate::audit::Audit;
use crate::id::UserId;
use crate::tee::{
    Booking, BookingAction, BookingId, BookingKey, BookingState, BookingStatus, By, FailureReason, HistoryEntry,
    HistoryId, IdempotencyKey, KeyUse, OpenBooking, OpenBookingId, Refund, RefundPolicy, RefundRule, SlotReplica,
    TeeSlotId,
};

use crate::schema::list::{Filter, List};
use crate::schema::record::Record;
use crate::schema::table::{TableSchema, big, boolean, int, moment, text};
use crate::schema::value::{ToValue, Value, ValueReader, Values, number_id, text as text_cell};

number_id!(BookingId);
text_cell!(IdempotencyKey, |key| key.as_str().into(), |text| IdempotencyKey::parse("idempotencyKey", text).ok());
text_cell!(BookingAction, |action| action.as_str().into(), BookingAction::parse);
text_cell!(BookingStatus, |status| status.as_str().into(), BookingStatus::parse);
text_cell!(FailureReason, |reason| reason.as_str().into(), FailureReason::parse);
text_cell!(RefundPolicy, |policy| policy.to_string().into(), RefundPolicy::parse);
text_cell!(RefundRule, |rule| rule.to_string().into(), RefundRule::parse);
text_cell!(By, by_text, parse_by);

/// Formats as `ADMIN`, `SYSTEM` or `USER 5`.
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
        _ => text.strip_prefix("USER ").and_then(UserId::parse_text).map(By::User),
    }
}

impl Record for Booking {
    type Key = BookingId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "bookings",
        key: &[big("id")],
        fixed: &[
            text("user_id"),
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
        child_rows: None,
    };

    fn put_key<'a>(key: &'a BookingId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a BookingId, values: &mut Values<'a>) {
        values.add(&self.user).add(&self.slot).add(&self.players).add(&self.unit_price).add(&self.total);
        values.add(&self.currency).add(&self.tee_off).add(&self.policy).add(&self.created_at).add(&self.deadline);
        values.add_value(self.status().as_str());
        let (at, by, refund, reason) = match &self.state {
            BookingState::Pending => (None, None, None, None),
            BookingState::Confirmed { at } | BookingState::Completed { at } => (Some(at), None, None, None),
            BookingState::Cancelled { at, by, refund } => (Some(at), Some(by), Some(refund), None),
            BookingState::NoShow { at, refund } => (Some(at), None, Some(refund), None),
            BookingState::Failed { at, reason } => (Some(at), None, None, Some(reason)),
        };
        values.add_value(value_or_null(at)).add_value(value_or_null(by));
        values.add_value(value_or_null(refund.map(|refund| &refund.percent)));
        values.add_value(value_or_null(refund.map(|refund| &refund.amount)));
        values.add_value(value_or_null(refund.map(|refund| &refund.rule)));
        values.add_value(value_or_null(reason)).add(&self.released_at).add(&self.revision);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(BookingId, Self)> {
        let id = values.take()?;
        let booking = Self {
            id,
            user: values.take()?,
            slot: values.take()?,
            players: values.take()?,
            unit_price: values.take()?,
            total: values.take()?,
            currency: values.take()?,
            tee_off: values.take()?,
            policy: values.take()?,
            created_at: values.take()?,
            deadline: values.take()?,
            state: take_state(values)?,
            released_at: values.take()?,
            revision: values.take()?,
        };
        Some((id, booking))
    }

    fn show(_key: &BookingId, row: &Self, audit: &mut Audit) {
        audit.tee.booking(row);
    }
}

fn value_or_null<T: ToValue>(value: Option<&T>) -> Value<'_> {
    value.map_or(Value::Null, ToValue::to_value)
}

fn take_state(values: &mut ValueReader<'_>) -> Option<BookingState> {
    let (status, at, by): (BookingStatus, Option<Timestamp>, Option<By>) =
        (values.take()?, values.take()?, values.take()?);
    let refund: (Option<u8>, Option<i64>, Option<RefundRule>) = (values.take()?, values.take()?, values.take()?);
    let refund = match refund {
        (Some(percent), Some(amount), Some(rule)) => Some(Refund { percent, amount, rule }),
        _ => None,
    };
    let reason: Option<FailureReason> = values.take()?;
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

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "booking_idempotency_key",
        key: &[text("user_id"), text("key")],
        fixed: &[],
        changing: &[big("booking_id"), big("slot_id"), int("players")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a BookingKey, values: &mut Values<'a>) {
        values.add(&key.user).add(&key.key);
    }

    fn put<'a>(&'a self, _key: &'a BookingKey, values: &mut Values<'a>) {
        values.add(&self.booking).add(&self.slot).add(&self.players);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(BookingKey, Self)> {
        let key = BookingKey { user: values.take()?, key: values.take()? };
        Some((key, Self { booking: values.take()?, slot: values.take()?, players: values.take()? }))
    }

    fn show(_key: &BookingKey, row: &Self, audit: &mut Audit) {
        audit.tee.key_use(*row);
    }
}

impl Record for HistoryEntry {
    type Key = HistoryId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "booking_history",
        key: &[big("booking_id"), int("number")],
        fixed: &[text("action"), moment("at"), text("done_by"), text("reason")],
        changing: &[],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a HistoryId, values: &mut Values<'a>) {
        values.add(&key.booking).add(&key.number);
    }

    fn put<'a>(&'a self, _key: &'a HistoryId, values: &mut Values<'a>) {
        values.add(&self.action).add(&self.at).add(&self.by).add(&self.reason);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(HistoryId, Self)> {
        let key = HistoryId { booking: values.take()?, number: values.take()? };
        Some((key, Self { action: values.take()?, at: values.take()?, by: values.take()?, reason: values.take()? }))
    }

    fn show(key: &HistoryId, _row: &Self, audit: &mut Audit) {
        audit.tee.history(*key);
    }
}

impl Record for SlotReplica {
    type Key = TeeSlotId;

    const SCHEMA: &'static TableSchema = &TableSchema {
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
        child_rows: None,
    };

    fn put_key<'a>(key: &'a TeeSlotId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a TeeSlotId, values: &mut Values<'a>) {
        values.add(&self.course).add(&self.tee_off).add(&self.max_players).add(&self.price).add(&self.currency);
        values.add(&self.closed).add(&self.version);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(TeeSlotId, Self)> {
        let key = values.take()?;
        let slot = Self {
            course: values.take()?,
            tee_off: values.take()?,
            max_players: values.take()?,
            price: values.take()?,
            currency: values.take()?,
            closed: values.take()?,
            version: values.take()?,
        };
        Some((key, slot))
    }

    fn show(key: &TeeSlotId, row: &Self, audit: &mut Audit) {
        audit.tee.slot_replica(*key, *row);
    }
}

impl Record for OpenBooking {
    type Key = OpenBookingId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "open_booking",
        key: &[big("slot_id"), big("booking_id")],
        fixed: &[],
        changing: &[big("slot_version")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a OpenBookingId, values: &mut Values<'a>) {
        values.add(&key.slot).add(&key.booking);
    }

    fn put<'a>(&'a self, _key: &'a OpenBookingId, values: &mut Values<'a>) {
        values.add(&self.slot_version);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(OpenBookingId, Self)> {
        let key = OpenBookingId { slot: values.take()?, booking: values.take()? };
        Some((key, Self { slot_version: values.take()? }))
    }

    fn show(key: &OpenBookingId, _row: &Self, audit: &mut Audit) {
        audit.tee.open_booking(*key);
    }
}

/// Lists bookings in order of number: all, or those of a user, by the index of users; in any state, or in one.
pub fn bookings(user: Option<&UserId>, status: Option<BookingStatus>, after: Option<BookingId>, limit: usize) -> List {
    let mut list = List::of::<Booking>(after.as_ref(), limit);
    if let Some(user) = user {
        list = list.by("user_id", user.to_string());
    }
    list.filters.extend(status.map(|status| Filter::Is("status", status.as_str().into())));
    list
}
