//! Rooms, their hours, holidays, and slot generation, in JSON.

use std::collections::BTreeMap;

use holdfast_core::calendar::generation::Generation;
use holdfast_core::calendar::hours::{Exception, OpenHours, OperatingHours};
use holdfast_core::calendar::local_time::{parse_weekday, weekday_name};
use holdfast_core::calendar::room::{Peak, RoomDraft};
use holdfast_core::calendar::{LocalTime, Room, RoomId, RoomReservationId, Weekdays};
use holdfast_core::{Fault, Timestamp};
use jiff::civil::{Date, Weekday};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::request::parse_date;
use crate::wire::ids;

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewRoom)]
pub struct NewRoomBody {
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// IANA name; `Asia/Seoul` by default.
    pub time_zone: Option<String>,
    /// ISO 3166 country whose holidays apply; `KR` by default.
    #[schema(pattern = "^[A-Z]{2}$")]
    pub country: Option<String>,
    /// ISO 4217; `KRW` by default.
    #[schema(pattern = "^[A-Z]{3}$")]
    pub currency: Option<String>,
    #[schema(minimum = 5, maximum = 1_440)]
    pub slot_minutes: u32,
    #[schema(minimum = 0, maximum = 1_000_000_000)]
    pub base_price: i64,
    #[schema(max_items = 50)]
    pub peak: Option<Vec<PeakBody>>,
    /// Surcharge on holidays in percent: 50 multiplies the price by 1.5.
    #[schema(maximum = 1_000)]
    pub holiday_percent: Option<u32>,
    /// `true` by default; inactive rooms get no slots.
    pub active: Option<bool>,
}

/// Omitted fields stay as they are. Existing slots keep their price and length.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RoomChange)]
pub struct RoomChangeBody {
    #[schema(min_length = 1, max_length = 200)]
    pub name: Option<String>,
    /// Cannot change once there are slots.
    pub time_zone: Option<String>,
    #[schema(pattern = "^[A-Z]{2}$")]
    pub country: Option<String>,
    /// Cannot change once there are slots.
    #[schema(pattern = "^[A-Z]{3}$")]
    pub currency: Option<String>,
    #[schema(minimum = 5, maximum = 1_440)]
    pub slot_minutes: Option<u32>,
    #[schema(minimum = 0, maximum = 1_000_000_000)]
    pub base_price: Option<i64>,
    #[schema(max_items = 50)]
    pub peak: Option<Vec<PeakBody>>,
    #[schema(maximum = 1_000)]
    pub holiday_percent: Option<u32>,
    pub active: Option<bool>,
}

/// Times with a surcharge. If `to` is not after `from`, the time runs past midnight.
#[derive(Deserialize, Serialize, ToSchema)]
#[schema(as = Peak)]
pub struct PeakBody {
    /// `mon` to `sun`.
    days: Vec<String>,
    /// `HH:MM`
    from: String,
    /// `HH:MM`, up to `24:00`
    to: String,
    /// Surcharge in percent: 50 multiplies the price by 1.5.
    #[schema(maximum = 1_000)]
    percent: u32,
}

impl PeakBody {
    fn read(&self) -> Result<Peak, Problem> {
        let days: Option<Weekdays> = self.days.iter().map(|day| parse_weekday(day)).collect();
        let days = days.ok_or_else(|| Problem::invalid("peak", &Fault::UnknownWeekday))?;
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

fn peaks(peaks: Option<&[PeakBody]>) -> Result<Option<Vec<Peak>>, Problem> {
    peaks.map(|peaks| peaks.iter().map(PeakBody::read).collect()).transpose()
}

fn times(field: &'static str, from: &str, to: &str) -> Result<(LocalTime, LocalTime), Problem> {
    let (from, to) = (LocalTime::parse_start(from), LocalTime::parse_end(to));
    from.zip(to).ok_or_else(|| Problem::invalid(field, &Fault::NotATime))
}

impl NewRoomBody {
    pub fn draft(self) -> Result<RoomDraft, Problem> {
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
    pub fn draft(self) -> Result<RoomDraft, Problem> {
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

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Room)]
pub struct RoomView {
    #[schema(value_type = ids::RoomId)]
    id: u64,
    name: String,
    time_zone: String,
    country: String,
    currency: String,
    slot_minutes: u16,
    base_price: i64,
    peak: Vec<PeakBody>,
    holiday_percent: u32,
    active: bool,
    /// Last day with generated slots.
    #[serde(serialize_with = "super::optional_date")]
    #[schema(value_type = Option<String>, format = Date)]
    generated_until: Option<Date>,
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

#[derive(Deserialize, ToSchema)]
#[schema(as = NewOperatingHours)]
pub struct HoursBody {
    /// By weekday, `mon` to `sun`; omitted days are closed.
    weekly: BTreeMap<String, Vec<OpenHoursBody>>,
    /// Dates with hours of their own; no hours mean closed.
    #[serde(default)]
    #[schema(max_items = 1_000)]
    exceptions: Vec<ExceptionBody>,
}

/// If `to` is before `from`, it is a time of the next day.
#[derive(Deserialize, Serialize, ToSchema)]
#[schema(as = OpenHours)]
pub struct OpenHoursBody {
    /// `HH:MM`
    from: String,
    /// `HH:MM`, up to `24:00`
    to: String,
}

#[derive(Deserialize, Serialize, ToSchema)]
#[schema(as = HoursException)]
pub struct ExceptionBody {
    #[schema(format = Date)]
    date: String,
    hours: Vec<OpenHoursBody>,
}

impl OpenHoursBody {
    fn read(&self, field: &'static str) -> Result<OpenHours, Problem> {
        times(field, &self.from, &self.to).map(|(from, to)| OpenHours { from, to })
    }

    fn new(hours: OpenHours) -> Self {
        Self { from: hours.from.to_string(), to: hours.to.to_string() }
    }
}

impl HoursBody {
    /// Returns the weekly hours, Monday first, and the exceptions.
    pub fn read(&self) -> Result<([Vec<OpenHours>; 7], Vec<Exception>), Problem> {
        let mut weekly: [Vec<OpenHours>; 7] = Default::default();
        for (name, hours) in &self.weekly {
            let day = parse_weekday(name).ok_or_else(|| Problem::invalid("weekly", &Fault::UnknownWeekday))?;
            let hours: Result<_, _> = hours.iter().map(|hours| hours.read("weekly")).collect();
            weekly[day.to_monday_zero_offset() as usize] = hours?;
        }
        let exception = |exception: &ExceptionBody| {
            let hours: Result<Vec<_>, _> = exception.hours.iter().map(|hours| hours.read("exceptions")).collect();
            Ok(Exception { date: parse_date("exceptions", &exception.date)?, hours: hours?.into() })
        };
        Ok((weekly, self.exceptions.iter().map(exception).collect::<Result<_, Problem>>()?))
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatingHours)]
pub struct HoursView {
    #[schema(value_type = ids::RoomId)]
    room_id: u64,
    weekly: BTreeMap<&'static str, Vec<OpenHoursBody>>,
    exceptions: Vec<ExceptionBody>,
    /// Reservations with a slot that is now outside the hours; they stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<ids::RoomReservationId>>)]
    affected_reservations: Option<Vec<u64>>,
}

impl HoursView {
    pub fn new(room: RoomId, hours: &OperatingHours) -> Self {
        let list = |hours: &[OpenHours]| hours.iter().copied().map(OpenHoursBody::new).collect();
        let exception = |it: &Exception| ExceptionBody { date: it.date.to_string(), hours: list(&it.hours) };
        Self {
            room_id: room.get(),
            weekly: WEEK.into_iter().map(|day| (weekday_name(day), list(hours.weekly_on(day)))).collect(),
            exceptions: hours.exceptions.iter().map(exception).collect(),
            affected_reservations: None,
        }
    }

    pub fn set(room: RoomId, hours: &OperatingHours, affected: impl IntoIterator<Item = RoomReservationId>) -> Self {
        let affected = affected.into_iter().map(RoomReservationId::get).collect();
        Self { affected_reservations: Some(affected), ..Self::new(room, hours) }
    }
}

#[derive(Deserialize, ToSchema)]
#[schema(as = NewHolidays)]
pub struct HolidaysBody {
    /// ISO 3166; `KR` by default.
    #[schema(pattern = "^[A-Z]{2}$")]
    pub country: Option<String>,
    #[schema(max_items = 1_000)]
    pub dates: Vec<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Holidays)]
pub struct HolidaysView {
    country: String,
    dates: Vec<String>,
}

impl HolidaysView {
    pub fn new<'a>(country: &str, dates: impl IntoIterator<Item = &'a Date>) -> Self {
        Self { country: country.to_owned(), dates: dates.into_iter().map(Date::to_string).collect() }
    }
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = GenerateSlots)]
pub struct GenerateBody {
    /// All rooms by default.
    #[schema(value_type = Option<ids::RoomId>)]
    pub room_id: Option<u64>,
    /// As many days ahead as the settings say, by default.
    #[schema(format = Date)]
    pub until: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = GeneratedSlots)]
pub struct GeneratedView {
    pub slots_created: u64,
    /// Every active room has its slots up to this day.
    #[serde(serialize_with = "super::optional_date")]
    #[schema(value_type = Option<String>, format = Date)]
    pub generated_until: Option<Date>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Generation)]
pub struct GenerationView {
    #[serde(serialize_with = "super::date")]
    #[schema(value_type = String, format = Date)]
    generation_date: Date,
    slots_created: u32,
    #[serde(serialize_with = "super::date")]
    #[schema(value_type = String, format = Date)]
    generated_until: Date,
    #[serde(serialize_with = "crate::wire::time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl GenerationView {
    pub fn new(generation: &Generation) -> Self {
        Self {
            generation_date: generation.generation_date,
            slots_created: generation.slots_created,
            generated_until: generation.generated_until,
            created_at: generation.created_at,
        }
    }
}
