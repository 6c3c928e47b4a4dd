//! Tables of the course service: courses, their slots, and decisions about bookings.

use crate::audit::Audit;
use crate::tee::{
    BookingId, Course, CourseId, FailureReason, SlotBooking, SlotBookingState, SlotTime, SlotTimeId, StartTime,
    TeeSlot, TeeSlotId,
};

use crate::schema::record::Record;
use crate::schema::table::{TableSchema, big, boolean, date, int, moment, text};
use crate::schema::value::{FromValue, ToValue, Value, ValueReader, Values, number_id};

number_id!(CourseId, TeeSlotId);

impl ToValue for StartTime {
    fn to_value(&self) -> Value<'_> {
        self.minutes().into()
    }
}

impl FromValue for StartTime {
    fn from_value(value: Value<'_>) -> Option<Self> {
        Self::from_minutes(u16::from_value(value)?)
    }
}

impl Record for Course {
    type Key = CourseId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "courses",
        key: &[big("id")],
        fixed: &[text("name"), text("time_zone")],
        changing: &[],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a CourseId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a CourseId, values: &mut Values<'a>) {
        values.add(&self.name).add(&self.zone);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(CourseId, Self)> {
        let id = values.take()?;
        Some((id, Self { id, name: values.take()?, zone: values.take()? }))
    }

    fn show(_key: &CourseId, row: &Self, audit: &mut Audit) {
        audit.tee.course(row);
    }
}

impl Record for TeeSlot {
    type Key = TeeSlotId;

    const SCHEMA: &'static TableSchema = &TableSchema {
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
        child_rows: None,
    };

    fn put_key<'a>(key: &'a TeeSlotId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a TeeSlotId, values: &mut Values<'a>) {
        values.add(&self.course).add(&self.date).add(&self.start).add(&self.tee_off).add(&self.max_players);
        values.add(&self.price).add(&self.currency).add(&self.booked).add(&self.closed).add(&self.version);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(TeeSlotId, Self)> {
        let id = values.take()?;
        let slot = Self {
            id,
            course: values.take()?,
            date: values.take()?,
            start: values.take()?,
            tee_off: values.take()?,
            max_players: values.take()?,
            price: values.take()?,
            currency: values.take()?,
            booked: values.take()?,
            closed: values.take()?,
            version: values.take()?,
        };
        Some((id, slot))
    }

    fn show(_key: &TeeSlotId, row: &Self, audit: &mut Audit) {
        audit.tee.slot(row);
    }
}

impl Record for SlotTime {
    type Key = SlotTimeId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "game_time_slot_time",
        key: &[big("course_id"), date("slot_date"), int("start_minute")],
        fixed: &[big("slot_id")],
        changing: &[],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a SlotTimeId, values: &mut Values<'a>) {
        values.add(&key.course).add(&key.date).add(&key.start);
    }

    fn put<'a>(&'a self, _key: &'a SlotTimeId, values: &mut Values<'a>) {
        values.add(&self.slot);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(SlotTimeId, Self)> {
        let key = SlotTimeId { course: values.take()?, date: values.take()?, start: values.take()? };
        Some((key, Self { slot: values.take()? }))
    }

    fn show(key: &SlotTimeId, row: &Self, audit: &mut Audit) {
        audit.tee.slot_time(*key, *row);
    }
}

impl Record for SlotBooking {
    type Key = BookingId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "processed_slot_reservations",
        key: &[big("booking_id")],
        fixed: &[big("slot_id"), int("players")],
        changing: &[text("state"), big("slot_version"), text("reason")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a BookingId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a BookingId, values: &mut Values<'a>) {
        values.add(&self.slot).add(&self.players);
        match &self.state {
            SlotBookingState::Reserved { version } => values.add_value("RESERVED").add(version).add_value(Value::Null),
            SlotBookingState::Refused(reason) => values.add_value("REFUSED").add_value(Value::Null).add(reason),
            SlotBookingState::Released => values.add_value("RELEASED").add_value(Value::Null).add_value(Value::Null),
        };
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(BookingId, Self)> {
        let (key, slot, players) = (values.take()?, values.take()?, values.take()?);
        let (state, version, reason): (String, Option<u64>, Option<FailureReason>) =
            (values.take()?, values.take()?, values.take()?);
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
