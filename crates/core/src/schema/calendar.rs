//! Tables of rooms by the hour.

use std::sync::Arc;

use crate::calendar::hours::Rebuild;
use crate::calendar::{
    Country, Exception, Generation, GenerationId, Holiday, HolidayId, HolidaysOf, LiveLock, LocalTime, OpenInterval,
    OperatingHours, Peak, ReservedSlot, Room, RoomId, RoomReservation, RoomReservationId, RoomReservationState, Slot,
    SlotId, SlotStart, SlotState, SlotsOf, Weekdays,
};
use crate::hold::RecordType;
use crate::id::{ID_MAX, UserId};
use jiff::civil::Date;

use crate::schema::column::{ColumnType, Columns, nullable, type_of};
use crate::schema::declare::child_row;
use crate::schema::list::{Filter, List, Order};
use crate::schema::unit::SlotName;
use crate::schema::value::{Value, ValueReader, Values, cancelled_at, number_id, text};

crate::tables! {
    /// Tables of rooms by the hour.
    {
        rooms: Table<RoomId, Room> => durable cached {
            table "room";
            key id => id;
            changing {
                name, zone as time_zone, country, currency, slot_minutes, base_price, peak, holiday_percent,
                active as is_active, generated_until, kept_from,
            };
            audit |_, row, audit| audit.calendar.room(row);
        },
        hours: Table<RoomId, OperatingHours> => durable cached {
            table "operating_hours";
            key room_id;
            changing {
                weekly, exceptions,
                rebuild as (rebuild_next, rebuild_until, rebuild_again_from, rebuild_is_again),
            };
        },
        holidays: Table<HolidayId, Holiday, HolidaysOf> => durable cached {
            table "holiday";
            key { country, date as holiday_date };
        },
        // Rooms and reservations come before slots: a trigger reads them to check changes of reserved slots.
        reservations: Table<RoomReservationId, RoomReservation> => durable cached {
            table "room_reservation";
            key id => id;
            fixed {
                lock as hold_id, line as line_no, room as room_id, user as user_id, total as total_price, currency, confirmed_at,
            };
            changing { state as cancelled_at };
            // Range of its slots' dates, for the search of sold slots.
            computed {
                first_date = |row| date_of(row.slots.first()),
                last_date = |row| date_of(row.slots.last()),
            };
            lines slots in "room_reservation_slot" by "reservation_id";
            audit |_, row, audit| {
                audit.calendar.reservation(row);
                audit.holds.record(RecordType::RoomReservation, row.id.get(), row.lock);
            };
        },
        slots: Table<SlotId, Slot, SlotsOf> => durable cached {
            table "time_slots";
            key { room as room_id, start as (slot_date, slot_time) };
            fixed { minutes };
            changing {
                state as (status, reservation_id), base_price, final_price, is_peak as is_peak_time, is_holiday,
                outside_hours,
            };
            month "slot_date";
            audit |key, row, audit| audit.calendar.slot(*key, *row);
        },
        /// Append-only log.
        generations: Table<GenerationId, Generation> => durable cached {
            table "slot_generation_log";
            key { room as room_id, number as id };
            fixed { generation_date, slots_created, generated_until, created_at };
        },
        /// Secondary index: the live lock of a slot.
        by_slot: Table<SlotId, LiveLock> => live complete {
            table "room_lock_by_slot";
            key { room as room_id, start as (slot_date, slot_time) };
            changing { hold as lock_id, expires_at };
            name |slot| format_args!("locks:{}", SlotName(*slot));
        },
    }
}

number_id!(RoomId, RoomReservationId);
text!(Country, |country| country.as_str().into(), Country::parse);
text!(Arc<[Peak]>, |peaks| write_peaks(peaks).into(), read_peaks);
text!(Arc<[Exception]>, |exceptions| write_exceptions(exceptions).into(), read_exceptions);
text!([Arc<[OpenInterval]>; 7], |weekly| write_week(weekly).into(), read_week);
cancelled_at!(RoomReservationState, Confirmed);

child_row!(ReservedSlot { start as (slot_date, slot_time), minutes, price });

/// Date and time are two columns, because the table of slots is partitioned by date.
impl Columns for SlotStart {
    const TYPES: &'static [ColumnType] = &[type_of::<Date>(), type_of::<u16>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        values.add_value(self.date()).add_value(self.time().minutes());
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let (date, minutes) = (values.take()?, values.take()?);
        Self::new(date, LocalTime::from_minutes(minutes)?)
    }
}

impl Columns for SlotState {
    const TYPES: &'static [ColumnType] = &[type_of::<String>(), nullable::<RoomReservationId>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        let (status, reservation) = match self {
            Self::Free => ("AVAILABLE", Value::Null),
            Self::Reserved { reservation } => ("RESERVED", reservation.get().into()),
            Self::Blocked => ("BLOCKED", Value::Null),
            Self::Maintenance => ("MAINTENANCE", Value::Null),
        };
        values.add_value(status).add_value(reservation);
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let (Value::Text(status), reservation) = (values.next_value()?, values.take::<Option<_>>()?) else {
            return None;
        };
        match &*status {
            "AVAILABLE" => Some(Self::Free),
            "RESERVED" => Some(Self::Reserved { reservation: reservation? }),
            "BLOCKED" => Some(Self::Blocked),
            "MAINTENANCE" => Some(Self::Maintenance),
            _ => None,
        }
    }
}

impl Columns for Option<Rebuild> {
    const TYPES: &'static [ColumnType] =
        &[nullable::<Date>(), nullable::<Date>(), nullable::<Date>(), type_of::<bool>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        match self {
            Some(rebuild) => {
                values.add(&rebuild.next).add(&rebuild.until).add(&rebuild.again_from).add(&rebuild.is_again)
            }
            None => values.add_value(Value::Null).add_value(Value::Null).add_value(Value::Null).add_value(false),
        };
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let (next, until): (Option<Date>, Option<Date>) = (values.take()?, values.take()?);
        let (again_from, is_again) = (values.take()?, values.take()?);
        Some(next.zip(until).map(|(next, until)| Rebuild { next, until, again_from, is_again }))
    }
}

/// Returns the date of a slot; one that no slot has for a reservation without slots, which is damaged.
fn date_of(slot: Option<&ReservedSlot>) -> Date {
    slot.map_or(Date::MIN, ReservedSlot::date)
}

/// Formats the hours of Monday to Sunday.
fn write_week(weekly: &[Arc<[OpenInterval]>; 7]) -> String {
    weekly.iter().map(|hours| write_hours(hours)).collect::<Vec<_>>().join(";")
}

fn read_week(text: &str) -> Option<[Arc<[OpenInterval]>; 7]> {
    text.split(';').map(read_hours).collect::<Option<Vec<_>>>()?.try_into().ok()
}

fn write_exceptions(exceptions: &[Exception]) -> String {
    let exception = |exception: &Exception| format!("{} {}", exception.date, write_hours(&exception.hours));
    exceptions.iter().map(exception).collect::<Vec<_>>().join(";")
}

fn read_exceptions(text: &str) -> Option<Arc<[Exception]>> {
    let exception = |text: &str| {
        let (date, hours) = text.split_once(' ')?;
        Some(Exception { date: date.parse().ok()?, hours: read_hours(hours)? })
    };
    entries(text, ';').map(exception).collect()
}

/// Formats as `09:00-12:00,13:00-24:00`.
fn write_hours(hours: &[OpenInterval]) -> String {
    let intervals: Vec<String> = hours.iter().map(|hours| format!("{}-{}", hours.from, hours.to)).collect();
    intervals.join(",")
}

fn read_hours(text: &str) -> Option<Arc<[OpenInterval]>> {
    let interval = |text: &str| read_times(text).map(|(from, to)| OpenInterval { from, to });
    entries(text, ',').map(interval).collect()
}

/// Formats as `31 09:00-12:00 50`: weekdays as bits, Monday the lowest; times; percent.
fn write_peaks(peaks: &[Peak]) -> String {
    let peak = |peak: &Peak| format!("{} {}-{} {}", peak.days.bits(), peak.from, peak.to, peak.percent);
    peaks.iter().map(peak).collect::<Vec<_>>().join(",")
}

fn read_peaks(text: &str) -> Option<Arc<[Peak]>> {
    let peak = |text: &str| {
        let mut words = text.split(' ');
        let days = Weekdays::from_bits(words.next()?.parse().ok()?)?;
        let (from, to) = read_times(words.next()?)?;
        Some(Peak { days, from, to, percent: words.next()?.parse().ok()? })
    };
    entries(text, ',').map(peak).collect()
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
