//! Conversions from and to the types of the rules.

use holdfast_core::Fault;
use holdfast_core::calendar::generation::Generation;
use holdfast_core::calendar::hours::{Exception, OpenInterval, OperatingHours};
use holdfast_core::calendar::local_time::{parse_weekday, weekday_name};
use holdfast_core::calendar::room::{Peak, RoomDraft};
use holdfast_core::calendar::{LocalTime, Room, RoomId, RoomReservationId, Weekdays};
use jiff::civil::{Date, Weekday};

use super::{
    ExceptionBody, GenerationView, HolidaysView, HoursBody, HoursView, NewRoomBody, OpenIntervalBody, PeakBody,
    RoomChangeBody, RoomView,
};
use crate::parse::{InvalidField, parse_date};

impl PeakBody {
    fn read(&self) -> Result<Peak, InvalidField> {
        let days: Option<Weekdays> = self.days.iter().map(|day| parse_weekday(day)).collect();
        let days = days.ok_or_else(|| InvalidField::new("peak", Fault::UnknownWeekday))?;
        let (from, to) = times("peak", &self.from, &self.to)?;
        Ok(Peak { days, from, to, percent: self.percent })
    }

    fn new(peak: &Peak) -> Self {
        let days = WEEK.into_iter().filter(|day| peak.days.contains(*day)).map(|day| weekday_name(day).to_owned());
        Self { days: days.collect(), from: peak.from.to_string(), to: peak.to.to_string(), percent: peak.percent }
    }
}

const WEEK: [Weekday; 7] = [
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
    Weekday::Sunday,
];

fn peaks(peaks: Option<&[PeakBody]>) -> Result<Option<Vec<Peak>>, InvalidField> {
    peaks.map(|peaks| peaks.iter().map(PeakBody::read).collect()).transpose()
}

fn times(field: &'static str, from: &str, to: &str) -> Result<(LocalTime, LocalTime), InvalidField> {
    let (from, to) = (LocalTime::parse_start(from), LocalTime::parse_end(to));
    from.zip(to).ok_or_else(|| InvalidField::new(field, Fault::NotATime))
}

impl NewRoomBody {
    pub fn draft(self) -> Result<RoomDraft, InvalidField> {
        Ok(RoomDraft {
            peak: peaks(self.peak.as_deref())?,
            name: Some(self.name),
            time_zone: self.time_zone,
            country: self.country,
            currency: self.currency,
            slot_minutes: Some(self.slot_minutes),
            base_price: Some(self.base_price),
            holiday_percent: self.holiday_percent,
            active: self.active,
        })
    }
}

impl RoomChangeBody {
    pub fn draft(self) -> Result<RoomDraft, InvalidField> {
        Ok(RoomDraft {
            peak: peaks(self.peak.as_deref())?,
            name: self.name,
            time_zone: self.time_zone,
            country: self.country,
            currency: self.currency,
            slot_minutes: self.slot_minutes,
            base_price: self.base_price,
            holiday_percent: self.holiday_percent,
            active: self.active,
        })
    }
}

impl RoomView {
    pub fn new(room: &Room) -> Self {
        Self {
            id: room.id.get(),
            name: room.name.to_string(),
            time_zone: room.zone.name().to_owned(),
            country: room.country.as_str().to_owned(),
            currency: room.currency.as_str().to_owned(),
            slot_minutes: room.slot_minutes,
            base_price: room.base_price,
            peak: room.peak.iter().map(PeakBody::new).collect(),
            holiday_percent: room.holiday_percent,
            active: room.active,
            generated_until: room.generated_until,
        }
    }
}

impl OpenIntervalBody {
    fn read(&self, field: &'static str) -> Result<OpenInterval, InvalidField> {
        times(field, &self.from, &self.to).map(|(from, to)| OpenInterval { from, to })
    }

    fn new(hours: OpenInterval) -> Self {
        Self { from: hours.from.to_string(), to: hours.to.to_string() }
    }
}

impl HoursBody {
    /// Returns the weekly hours, Monday first, and the exceptions.
    pub fn read(&self) -> Result<([Vec<OpenInterval>; 7], Vec<Exception>), InvalidField> {
        let mut weekly: [Vec<OpenInterval>; 7] = Default::default();
        for (name, hours) in &self.weekly {
            let day = parse_weekday(name).ok_or_else(|| InvalidField::new("weekly", Fault::UnknownWeekday))?;
            let hours: Result<_, _> = hours.iter().map(|hours| hours.read("weekly")).collect();
            weekly[day.to_monday_zero_offset() as usize] = hours?;
        }
        let exception = |exception: &ExceptionBody| {
            let hours: Result<Vec<_>, _> = exception.hours.iter().map(|hours| hours.read("exceptions")).collect();
            Ok(Exception { date: parse_date("exceptions", &exception.date)?, hours: hours?.into() })
        };
        Ok((weekly, self.exceptions.iter().map(exception).collect::<Result<_, InvalidField>>()?))
    }
}

impl HoursView {
    pub fn new(room: RoomId, hours: &OperatingHours) -> Self {
        let list = |hours: &[OpenInterval]| hours.iter().copied().map(OpenIntervalBody::new).collect();
        let exception = |it: &Exception| ExceptionBody { date: it.date.to_string(), hours: list(&it.hours) };
        Self {
            room_id: room.get(),
            weekly: WEEK.into_iter().map(|day| (weekday_name(day).to_owned(), list(hours.weekly_on(day)))).collect(),
            exceptions: hours.exceptions.iter().map(exception).collect(),
            affected_reservations: None,
        }
    }

    pub fn set(room: RoomId, hours: &OperatingHours, affected: impl IntoIterator<Item = RoomReservationId>) -> Self {
        let affected = affected.into_iter().map(RoomReservationId::get).collect();
        Self { affected_reservations: Some(affected), ..Self::new(room, hours) }
    }
}

impl HolidaysView {
    pub fn new<'a>(country: &str, dates: impl IntoIterator<Item = &'a Date>) -> Self {
        Self { country: country.to_owned(), dates: dates.into_iter().map(Date::to_string).collect() }
    }
}

impl GenerationView {
    pub fn new(generation: &Generation) -> Self {
        Self {
            generation_date: generation.generation_date,
            slots_created: generation.slots_created,
            generated_until: generation.generated_until,
            created_at: generation.created_at.to_jiff(),
        }
    }
}
