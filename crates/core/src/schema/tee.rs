//! Tables of tee times. Each belongs to one of the three services, which never read each other's tables. The inbox is
//! shared, with rows per service.

use crate::Timestamp;
use crate::id::UserId;
use crate::tee::{
    Booking, BookingAction, BookingId, BookingKey, BookingState, BookingStatus, By, Course, CourseId, FailureReason,
    HistoryEntry, HistoryId, HistoryOf, IdempotencyKey, Imported, InboxId, KeyUse, MessageKey, Notice, NoticeId,
    Notification, NotificationId, OpenBooking, OpenBookingId, OpenBookingsOf, Received, Refund, RefundPolicy,
    RefundRule, Service, SlotBooking, SlotBookingState, SlotReplica, SlotTime, SlotTimeId, SlotsOn, StartTime, TeeSlot,
    TeeSlotId,
};

use crate::schema::column::{ColumnType, Columns, Type, nullable, type_of};
use crate::schema::list::{Filter, List};
use crate::schema::value::{FromValue, ToValue, Value, ValueReader, Values, number_id, text};

crate::tables! {
    /// Tables of tee times, grouped by service. All are durable.
    {
        // Course service.
        courses: Table<CourseId, Course> => durable cached {
            table "courses";
            key id => id;
            fixed { name, zone as time_zone };
            audit |_, row, audit| audit.tee.course(row);
        },
        slots: Table<TeeSlotId, TeeSlot> => durable cached {
            table "game_time_slots";
            key id => id;
            fixed {
                course as course_id, date as slot_date, start as start_minute, tee_off, max_players, price, currency,
            };
            changing { booked as booked_players, closed, version as slot_version };
            audit |_, row, audit| audit.tee.slot(row);
        },
        /// Slot at a time of a course; at most one.
        slot_times: Table<SlotTimeId, SlotTime, SlotsOn> => durable cached {
            table "game_time_slot_time";
            key { course as course_id, date as slot_date, start as start_minute };
            fixed { slot as slot_id };
            audit |key, row, audit| audit.tee.slot_time(*key, *row);
        },
        /// Decisions about the places of a booking. Kept forever, so that none is decided twice.
        slot_bookings: Table<BookingId, SlotBooking> => durable cached {
            table "processed_slot_reservations";
            key booking_id;
            fixed { slot as slot_id, players };
            changing { state as (state, slot_version, reason) };
            audit |key, row, audit| audit.tee.slot_booking(*key, *row);
        },

        // Booking service.
        slot_replicas: Table<TeeSlotId, SlotReplica> => durable cached {
            table "game_time_slot_cache";
            key slot_id;
            changing {
                course as course_id, tee_off, max_players, price, currency, closed, version as slot_version,
            };
            audit |key, row, audit| audit.tee.slot_replica(*key, *row);
        },
        bookings: Table<BookingId, Booking> => durable cached {
            table "bookings";
            key id => id;
            fixed {
                user as user_id, slot as slot_id, players, unit_price, total as total_price, currency, tee_off,
                policy as refund_policy, created_at, deadline,
            };
            changing {
                state as (
                    status, status_at, cancelled_by, refund_percent, refund_amount, refund_rule, failure_reason
                ),
                released_at, revision,
            };
            audit |_, row, audit| audit.tee.booking(row);
        },
        booking_keys: Table<BookingKey, KeyUse> => durable cached {
            table "booking_idempotency_key";
            key { user as user_id, key };
            changing { booking as booking_id, slot as slot_id, players };
            audit |_, row, audit| audit.tee.key_use(*row);
        },
        history: Table<HistoryId, HistoryEntry, HistoryOf> => durable cached {
            table "booking_history";
            key { booking as booking_id, number };
            fixed { action, at, by as done_by, reason };
            audit |key, _, audit| audit.tee.history(*key);
        },
        /// Pending and confirmed bookings, by slot.
        by_slot: Table<OpenBookingId, OpenBooking, OpenBookingsOf> => durable cached {
            table "open_booking";
            key { slot as slot_id, booking as booking_id };
            changing { slot_version };
            audit |key, _, audit| audit.tee.open_booking(*key);
        },

        // Notify service.
        notifications: Table<NotificationId, Notification> => durable cached {
            table "notification";
            key id => id;
            fixed { booking as booking_id, user as user_id, kind, created_at };
            audit |_, row, audit| audit.tee.notification(row);
        },
        /// Notifications already created, one per booking and kind.
        notices: Table<NoticeId, Notice> => durable cached {
            table "notification_told";
            key { booking as booking_id, kind };
            fixed { notification as notification_id };
            audit |key, row, audit| audit.tee.notice(*key, *row);
        },

        // All services, each with its own rows.
        inbox: Table<InboxId, Received> => durable cached {
            table "message_inbox";
            key { service, message as message_id };
            fixed { at as received_at };
            purge "received_at" after Inbox;
        },

        // Servers whose booking service has another store.
        imported: Table<MessageKey, Imported> => durable cached {
            table "imported_event";
            key message_id;
            fixed { at as imported_at };
            purge "imported_at" after Outbox;
        },
    }
}

number_id!(CourseId, TeeSlotId, BookingId, NotificationId);
text!(IdempotencyKey, |key| key.as_str().into(), |text| IdempotencyKey::parse("idempotencyKey", text).ok());
text!(BookingAction, |action| action.as_str().into(), BookingAction::parse);
text!(BookingStatus, |status| status.as_str().into(), BookingStatus::parse);
text!(FailureReason, |reason| reason.as_str().into(), FailureReason::parse);
text!(RefundPolicy, |policy| policy.to_string().into(), RefundPolicy::parse);
text!(RefundRule, |rule| rule.to_string().into(), RefundRule::parse);
text!(Service, |service| service.as_str().into(), Service::parse);
text!(MessageKey, |key| key.as_str().into(), MessageKey::parse);
text!(By, by_text, parse_by);

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

impl ToValue for StartTime {
    fn to_value(&self) -> Value<'_> {
        self.minutes().into()
    }
}

impl FromValue for StartTime {
    const TYPE: Type = Type::Int;

    fn from_value(value: Value<'_>) -> Option<Self> {
        Self::from_minutes(u16::from_value(value)?)
    }
}

impl Columns for SlotBookingState {
    const TYPES: &'static [ColumnType] = &[type_of::<String>(), nullable::<u64>(), nullable::<FailureReason>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        match self {
            Self::Reserved { version } => values.add_value("RESERVED").add(version).add_value(Value::Null),
            Self::Refused(reason) => values.add_value("REFUSED").add_value(Value::Null).add(reason),
            Self::Released => values.add_value("RELEASED").add_value(Value::Null).add_value(Value::Null),
        };
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let (state, version, reason): (String, Option<u64>, Option<FailureReason>) =
            (values.take()?, values.take()?, values.take()?);
        match &*state {
            "RESERVED" => Some(Self::Reserved { version: version? }),
            "REFUSED" => Some(Self::Refused(reason?)),
            "RELEASED" => Some(Self::Released),
            _ => None,
        }
    }
}

impl Columns for BookingState {
    const TYPES: &'static [ColumnType] = &[
        type_of::<BookingStatus>(),
        nullable::<Timestamp>(),
        nullable::<By>(),
        nullable::<u8>(),
        nullable::<i64>(),
        nullable::<RefundRule>(),
        nullable::<FailureReason>(),
    ];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        values.add_value(self.status().as_str());
        let (at, by, refund, reason) = match self {
            Self::Pending => (None, None, None, None),
            Self::Confirmed { at } | Self::Completed { at } => (Some(at), None, None, None),
            Self::Cancelled { at, by, refund } => (Some(at), Some(by), Some(refund), None),
            Self::NoShow { at, refund } => (Some(at), None, Some(refund), None),
            Self::Failed { at, reason } => (Some(at), None, None, Some(reason)),
        };
        values.add_value(value_or_null(at)).add_value(value_or_null(by));
        values.add_value(value_or_null(refund.map(|refund| &refund.percent)));
        values.add_value(value_or_null(refund.map(|refund| &refund.amount)));
        values.add_value(value_or_null(refund.map(|refund| &refund.rule)));
        values.add_value(value_or_null(reason));
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let (status, at, by): (BookingStatus, Option<Timestamp>, Option<By>) =
            (values.take()?, values.take()?, values.take()?);
        let refund: (Option<u8>, Option<i64>, Option<RefundRule>) = (values.take()?, values.take()?, values.take()?);
        let refund = match refund {
            (Some(percent), Some(amount), Some(rule)) => Some(Refund { percent, amount, rule }),
            _ => None,
        };
        let reason: Option<FailureReason> = values.take()?;
        Some(match status {
            BookingStatus::Pending => Self::Pending,
            BookingStatus::Confirmed => Self::Confirmed { at: at? },
            BookingStatus::Completed => Self::Completed { at: at? },
            BookingStatus::Cancelled => Self::Cancelled { at: at?, by: by?, refund: refund? },
            BookingStatus::NoShow => Self::NoShow { at: at?, refund: refund? },
            BookingStatus::Failed => Self::Failed { at: at?, reason: reason? },
        })
    }
}

fn value_or_null<T: ToValue>(value: Option<&T>) -> Value<'_> {
    value.map_or(Value::Null, ToValue::to_value)
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

/// Lists notifications of a user, or all, in order of number.
pub fn notifications(user: Option<&UserId>, after: Option<NotificationId>, limit: usize) -> List {
    let list = List::of::<Notification>(after.as_ref(), limit);
    match user {
        Some(user) => list.by("user_id", user.to_string()),
        None => list,
    }
}
