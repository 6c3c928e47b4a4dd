//! Schema of rooms by the hour.

use std::sync::Arc;

use crate::audit::Audit;
use crate::calendar::hours::Rebuild;
use crate::calendar::{
    Country, Exception, Generation, GenerationId, Holiday, HolidayId, LocalTime, OpenInterval, OperatingHours, Peak,
    ReservedSlot, Room, RoomId, RoomReservation, RoomReservationId, RoomReservationState, Slot, SlotId, SlotStart,
    SlotState, Weekdays,
};
use crate::id::{ID_MAX, UserId};
use jiff::civil::Date;

use crate::schema::list::{Filter, List, Order};
use crate::schema::record::Record;
use crate::schema::table::{ChildRows, Column, TableSchema, big, boolean, date, int, moment, text, uuid};
use crate::schema::value::{Value, ValueReader, Values, number_id, text as text_cell};
use crate::unit::Kind;

number_id!(RoomId, RoomReservationId);
text_cell!(Country, |country| country.as_str().into(), Country::parse);

impl Record for Room {
    type Key = RoomId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "room",
        key: &[big("id")],
        fixed: &[],
        changing: &[
            text("name"),
            text("time_zone"),
            text("country"),
            text("currency"),
            int("slot_minutes"),
            big("base_price"),
            text("peak"),
            int("holiday_percent"),
            boolean("is_active"),
            date("generated_until"),
            date("kept_from"),
        ],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a RoomId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a RoomId, values: &mut Values<'a>) {
        values.add(&self.name).add(&self.zone).add(&self.country).add(&self.currency);
        values.add(&self.slot_minutes).add(&self.base_price).add_value(write_peaks(&self.peak));
        values.add(&self.holiday_percent).add(&self.active).add(&self.generated_until).add(&self.kept_from);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(RoomId, Self)> {
        let id = values.take()?;
        let room = Self {
            id,
            name: values.take()?,
            zone: values.take()?,
            country: values.take()?,
            currency: values.take()?,
            slot_minutes: values.take()?,
            base_price: values.take()?,
            peak: read_peaks(&values.take::<String>()?)?,
            holiday_percent: values.take()?,
            active: values.take()?,
            generated_until: values.take()?,
            kept_from: values.take()?,
        };
        Some((id, room))
    }

    fn show(_key: &RoomId, row: &Self, audit: &mut Audit) {
        audit.calendar.room(row);
    }
}

impl Record for OperatingHours {
    type Key = RoomId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "operating_hours",
        key: &[big("room_id")],
        fixed: &[],
        changing: &[
            text("weekly"),
            text("exceptions"),
            date("rebuild_next"),
            date("rebuild_until"),
            date("rebuild_again_from"),
            boolean("rebuild_is_again"),
        ],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a RoomId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a RoomId, values: &mut Values<'a>) {
        let weekly: Vec<String> = self.weekly.iter().map(|hours| write_hours(hours)).collect();
        let exception = |exception: &Exception| format!("{} {}", exception.date, write_hours(&exception.hours));
        let exceptions: Vec<String> = self.exceptions.iter().map(exception).collect();
        values.add_value(weekly.join(";")).add_value(exceptions.join(";"));
        match &self.rebuild {
            Some(rebuild) => {
                values.add(&rebuild.next).add(&rebuild.until).add(&rebuild.again_from).add(&rebuild.is_again)
            }
            None => values.add_value(Value::Null).add_value(Value::Null).add_value(Value::Null).add_value(false),
        };
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(RoomId, Self)> {
        let (room, weekly, exceptions): (_, String, String) = (values.take()?, values.take()?, values.take()?);
        let weekly: Vec<_> = weekly.split(';').map(read_hours).collect::<Option<_>>()?;
        let exception = |text: &str| {
            let (date, hours) = text.split_once(' ')?;
            Some(Exception { date: date.parse().ok()?, hours: read_hours(hours)? })
        };
        let (next, until): (Option<Date>, Option<Date>) = (values.take()?, values.take()?);
        let (again_from, is_again) = (values.take()?, values.take()?);
        let hours = Self {
            weekly: weekly.try_into().ok()?,
            exceptions: entries(&exceptions, ';').map(exception).collect::<Option<_>>()?,
            rebuild: next.zip(until).map(|(next, until)| Rebuild { next, until, again_from, is_again }),
        };
        Some((room, hours))
    }

    fn show(_key: &RoomId, _row: &Self, _audit: &mut Audit) {}
}

impl Record for Holiday {
    type Key = HolidayId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "holiday",
        key: &[text("country"), date("holiday_date")],
        fixed: &[],
        changing: &[],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a HolidayId, values: &mut Values<'a>) {
        values.add(&key.country).add(&key.date);
    }

    fn put<'a>(&'a self, _key: &'a HolidayId, _cells: &mut Values<'a>) {}

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(HolidayId, Self)> {
        Some((HolidayId { country: values.take()?, date: values.take()? }, Self))
    }

    fn show(_key: &HolidayId, _row: &Self, _audit: &mut Audit) {}
}

/// Date and time are two columns, because the table is partitioned by date.
impl Record for Slot {
    type Key = SlotId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "time_slots",
        key: &[big("room_id"), date("slot_date"), int("slot_time")],
        fixed: &[int("minutes")],
        changing: &[
            text("status"),
            big("reservation_id"),
            big("base_price"),
            big("final_price"),
            boolean("is_peak_time"),
            boolean("is_holiday"),
            boolean("outside_hours"),
        ],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a SlotId, values: &mut Values<'a>) {
        values.add(&key.room);
        put_start(key.start, values);
    }

    fn put<'a>(&'a self, _key: &'a SlotId, values: &mut Values<'a>) {
        let (status, reservation) = match self.state {
            SlotState::Free => ("AVAILABLE", Value::Null),
            SlotState::Reserved { reservation } => ("RESERVED", reservation.get().into()),
            SlotState::Blocked => ("BLOCKED", Value::Null),
            SlotState::Maintenance => ("MAINTENANCE", Value::Null),
        };
        values.add(&self.minutes).add_value(status).add_value(reservation);
        values.add(&self.base_price).add(&self.final_price);
        values.add(&self.is_peak).add(&self.is_holiday).add(&self.outside_hours);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(SlotId, Self)> {
        let id = SlotId { room: values.take()?, start: take_start(values)? };
        let (minutes, status): (_, String) = (values.take()?, values.take()?);
        let reservation: Option<RoomReservationId> = values.take()?;
        let state = match &*status {
            "AVAILABLE" => SlotState::Free,
            "RESERVED" => SlotState::Reserved { reservation: reservation? },
            "BLOCKED" => SlotState::Blocked,
            "MAINTENANCE" => SlotState::Maintenance,
            _ => return None,
        };
        let slot = Self {
            minutes,
            state,
            base_price: values.take()?,
            final_price: values.take()?,
            is_peak: values.take()?,
            is_holiday: values.take()?,
            outside_hours: values.take()?,
        };
        Some((id, slot))
    }

    fn show(key: &SlotId, row: &Self, audit: &mut Audit) {
        audit.calendar.slot(*key, *row);
    }
}

impl Record for Generation {
    type Key = GenerationId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "slot_generation_log",
        key: &[big("room_id"), big("id")],
        fixed: &[date("generation_date"), int("slots_created"), date("generated_until"), moment("created_at")],
        changing: &[],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a GenerationId, values: &mut Values<'a>) {
        values.add(&key.room).add(&key.number);
    }

    fn put<'a>(&'a self, _key: &'a GenerationId, values: &mut Values<'a>) {
        values.add(&self.generation_date).add(&self.slots_created).add(&self.generated_until).add(&self.created_at);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(GenerationId, Self)> {
        let id = GenerationId { room: values.take()?, number: values.take()? };
        let generation = Self {
            generation_date: values.take()?,
            slots_created: values.take()?,
            generated_until: values.take()?,
            created_at: values.take()?,
        };
        Some((id, generation))
    }

    fn show(_key: &GenerationId, _row: &Self, _audit: &mut Audit) {}
}

/// Columns of a slot, the same for locks and reservations.
const LINE: &[Column] = &[date("slot_date"), int("slot_time"), int("minutes"), big("price")];

impl Record for RoomReservation {
    type Key = RoomReservationId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "room_reservation",
        key: &[big("id")],
        fixed: &[
            uuid("hold_id"),
            big("room_id"),
            text("user_id"),
            big("total_price"),
            text("currency"),
            // Range of its slots' dates, for the search of sold slots.
            date("first_date"),
            date("last_date"),
            moment("confirmed_at"),
        ],
        changing: &[moment("cancelled_at")],
        child_rows: Some(ChildRows { table: "room_reservation_slot", owner: "reservation_id", columns: LINE }),
    };

    fn put_key<'a>(key: &'a RoomReservationId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a RoomReservationId, values: &mut Values<'a>) {
        let (first, last) = (self.slots.first(), self.slots.last());
        let day = |slot: Option<&ReservedSlot>| slot.map_or(Value::Null, |slot| slot.date().into());
        values.add(&self.lock).add(&self.room).add(&self.user).add(&self.total).add(&self.currency);
        values.add_value(day(first)).add_value(day(last)).add(&self.confirmed_at);
        match &self.state {
            RoomReservationState::Confirmed => values.add_value(Value::Null),
            RoomReservationState::Cancelled { at } => values.add(at),
        };
    }

    fn put_child_rows<'a>(&'a self, lines: &mut Vec<Values<'a>>) {
        lines.extend(self.slots.iter().map(|slot| line(slot.start, slot.minutes, slot.price)));
    }

    fn take(values: &mut ValueReader<'_>, lines: Vec<ValueReader<'_>>) -> Option<(RoomReservationId, Self)> {
        let (id, lock, room, user) = (values.take()?, values.take()?, values.take()?, values.take()?);
        let (total, currency) = (values.take()?, values.take()?);
        let (_first, _last): (Option<Date>, Option<Date>) = (values.take()?, values.take()?);
        let (confirmed_at, cancelled_at) = (values.take()?, values.take()?);
        let state = match cancelled_at {
            Some(at) => RoomReservationState::Cancelled { at },
            None => RoomReservationState::Confirmed,
        };
        let slots = lines.into_iter().map(|mut line| {
            Some(ReservedSlot { start: take_start(&mut line)?, minutes: line.take()?, price: line.take()? })
        });
        let slots = slots.collect::<Option<_>>()?;
        Some((id, Self { id, lock, room, user, slots, total, currency, confirmed_at, state }))
    }

    fn show(_key: &RoomReservationId, row: &Self, audit: &mut Audit) {
        audit.calendar.reservation(row);
        audit.holds.record(Kind::Room, row.id.get(), row.lock);
    }
}

fn line(start: SlotStart, minutes: u16, price: i64) -> Values<'static> {
    let mut values = Values::default();
    put_start(start, &mut values);
    values.add_value(minutes).add_value(price);
    values
}

fn put_start(start: SlotStart, values: &mut Values<'_>) {
    values.add_value(start.date()).add_value(start.time().minutes());
}

fn take_start(values: &mut ValueReader<'_>) -> Option<SlotStart> {
    let (date, minutes) = (values.take()?, values.take()?);
    SlotStart::new(date, LocalTime::from_minutes(minutes)?)
}

/// Formats as `09:00-12:00,13:00-24:00`.
fn write_hours(hours: &[OpenInterval]) -> String {
    let child_rows: Vec<String> = hours.iter().map(|hours| format!("{}-{}", hours.from, hours.to)).collect();
    child_rows.join(",")
}

fn read_hours(text: &str) -> Option<Arc<[OpenInterval]>> {
    let child_rows = |text: &str| read_times(text).map(|(from, to)| OpenInterval { from, to });
    entries(text, ',').map(child_rows).collect()
}

/// Formats as `31 09:00-12:00 50`: weekdays as bits, Monday the lowest; times; percent.
fn write_peaks(peaks: &[Peak]) -> String {
    let child_rows = |peak: &Peak| format!("{} {}-{} {}", peak.days.bits(), peak.from, peak.to, peak.percent);
    peaks.iter().map(child_rows).collect::<Vec<_>>().join(",")
}

fn read_peaks(text: &str) -> Option<Arc<[Peak]>> {
    let child_rows = |text: &str| {
        let mut words = text.split(' ');
        let days = Weekdays::from_bits(words.next()?.parse().ok()?)?;
        let (from, to) = read_times(words.next()?)?;
        Some(Peak { days, from, to, percent: words.next()?.parse().ok()? })
    };
    entries(text, ',').map(child_rows).collect()
}

fn read_times(text: &str) -> Option<(LocalTime, LocalTime)> {
    let (from, to) = text.split_once('-')?;
    Some((LocalTime::parse_end(from)?, LocalTime::parse_end(to)?))
}

/// Splits at the separator; an empty text has no entries.
fn entries(text: &str, separator: char) -> impl Iterator<Item = &str> {
    text.split(separator).filter(|entry| !entry.is_empty())
}

/// Filter of listed reservations; `None` matches all.
#[derive(Clone, Debug, Default)]
pub struct RoomReservationFilter {
    pub user: Option<UserId>,
    pub room: Option<RoomId>,
}

impl RoomReservationFilter {
    /// Lists in order of number. Users and rooms have an index each; for both, the user's is used because it is more
    /// selective.
    pub fn list(&self, after: Option<RoomReservationId>, limit: usize) -> List {
        let list = List::of::<RoomReservation>(after.as_ref(), limit);
        match (&self.user, self.room) {
            (Some(user), Some(room)) => {
                list.by("user_id", user.to_string()).filter(Filter::Is("room_id", room.get().into()))
            }
            (Some(user), None) => list.by("user_id", user.to_string()),
            (None, Some(room)) => list.by("room_id", room.get()),
            (None, None) => list,
        }
    }
}

/// Lists the active reservations of a room whose range of dates overlaps `first..=last`.
pub fn sold(room: RoomId, first: Date, last: Date, after: Option<RoomReservationId>, limit: usize) -> List {
    let (before_first, after_last) = (first.yesterday().unwrap_or(first), last.tomorrow().unwrap_or(last));
    List::of::<RoomReservation>(after.as_ref(), limit)
        .by("room_id", room.get())
        .filter(Filter::IsNull("cancelled_at"))
        .filter(Filter::Above("last_date", before_first.into()))
        .filter(Filter::Below("first_date", after_last.into()))
}

/// Lists the generation log of a room.
pub fn generations(room: RoomId, order: Order, after: Option<u64>, limit: usize) -> List {
    let (begin, end) = match order {
        Order::Ascending => (0, ID_MAX),
        Order::Descending => (ID_MAX + 1, 1),
    };
    let after = GenerationId { room, number: after.unwrap_or(begin) };
    let list = List::of::<Generation>(Some(&after), limit).ordered(order);
    list.until::<Generation>(&GenerationId { room, number: end })
}
