//! Tables of the course service: courses, their slots, and decisions about bookings.

use holdfast_core::audit::Audit;
use holdfast_core::tee::{
    BookingId, Course, CourseId, FailureReason, SlotBooking, SlotBookingState, SlotTime, SlotTimeId, StartTime,
    TeeSlot, TeeSlotId,
};

use crate::cell::{Cells, FromCell, Taken, ToCell, Value, number_id};
use crate::layout::{Layout, big, boolean, date, int, moment, text};
use crate::record::Record;

number_id!(CourseId, TeeSlotId);

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
