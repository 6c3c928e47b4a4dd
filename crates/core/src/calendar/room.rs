//! Rooms, the length of their slots, and their prices.

use std::sync::Arc;

use jiff::civil::Date;

use super::holiday::Country;
use super::local_time::{DAY_MINUTES, LocalTime, Weekdays};
use crate::command::{Command, Context, Decision, writes};
use crate::id::{Sequence, number_id};
use crate::money::Currency;
use crate::rejection::{CalendarRejection, Fault, Rejection};
use crate::table::Row;
use crate::text::check_name;
use crate::time::Zone;
use crate::unit::{Kind, Unit};
use crate::working_set::WorkingSet;

pub const SLOT_MINUTES_MIN: u16 = 5;
pub const SLOT_MINUTES_MAX: u16 = DAY_MINUTES;
/// Maximum surcharge, in percent.
pub const PERCENT_MAX: u32 = 1_000;
pub const PEAKS_MAX: usize = 50;
/// Maximum price of a slot before surcharges. With both surcharges, all slots of minimum length in the longest range of
/// statistics add up to less than 2^53.
pub const BASE_PRICE_MAX: i64 = 1_000_000_000;

number_id!(
    /// Number of a room.
    RoomId
);

/// A room. Cheap to clone, because its texts and lists are shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    pub id: RoomId,
    pub name: Arc<str>,
    pub zone: Zone,
    pub country: Country,
    pub currency: Currency,
    pub slot_minutes: u16,
    pub base_price: i64,
    pub peak: Arc<[Peak]>,
    /// Surcharge on holidays of the country, in percent.
    pub holiday_percent: u32,
    /// Inactive rooms get no new slots.
    pub active: bool,
    /// Last day for which slots were generated; `None` if never.
    pub generated_until: Option<Date>,
    /// Slots of earlier days were purged, or never generated.
    pub kept_from: Option<Date>,
}

impl Row for Room {}

/// A window with a surcharge, for slots that start at `from` or later and before `to`. A window whose `to` is not after
/// its `from` runs past midnight and belongs to the weekday on which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    pub days: Weekdays,
    pub from: LocalTime,
    pub to: LocalTime,
    /// Surcharge in percent: 50 multiplies the price by 1.5.
    pub percent: u32,
}

/// Fields of a new or changed room. An absent field keeps its value, or takes its default.
#[derive(Clone, Debug, Default)]
pub struct RoomDraft {
    pub name: Option<String>,
    pub time_zone: Option<String>,
    pub country: Option<String>,
    pub currency: Option<String>,
    pub slot_minutes: Option<u32>,
    pub base_price: Option<i64>,
    pub peak: Option<Vec<Peak>>,
    pub holiday_percent: Option<u32>,
    pub active: Option<bool>,
}

/// Creates a room. It has no slots until it has hours.
#[derive(Clone, Debug)]
pub struct CreateRoom(pub RoomDraft);

impl Command for CreateRoom {
    type Outcome = Room;
    const NAME: &'static str = "calendar.room.create";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<Room> {
        let missing = |field| Rejection::invalid(field, Fault::Missing);
        let draft = &self.0;
        draft.name.as_ref().ok_or_else(|| missing("name"))?;
        draft.slot_minutes.ok_or_else(|| missing("slotMinutes"))?;
        draft.base_price.ok_or_else(|| missing("basePrice"))?;
        let template = Room {
            id: RoomId::new(rows.next_id(Sequence::Room)?).expect("sequence numbers are valid ids"),
            name: "".into(),
            zone: Zone::parse("Asia/Seoul").expect("the default zone exists"),
            country: Country::KR,
            currency: Currency::KRW,
            slot_minutes: SLOT_MINUTES_MAX,
            base_price: 0,
            peak: Arc::new([]),
            holiday_percent: 0,
            active: true,
            generated_until: None,
            kept_from: None,
        };
        let room = draft.apply_to(&template)?;
        rows.calendar.rooms.insert(room.id, room.clone());
        Ok(room)
    }
}

/// Changes a room. New lengths and prices apply to slots generated later. Zone and currency determine existing slots,
/// so they are fixed once slots were generated.
#[derive(Clone, Debug)]
pub struct ChangeRoom {
    pub id: RoomId,
    pub draft: RoomDraft,
}

impl Command for ChangeRoom {
    type Outcome = Room;
    const NAME: &'static str = "calendar.room.change";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<Room> {
        let old = find(rows, self.id)?;
        let new = self.draft.apply_to(&old)?;
        if old.generated_until.is_some() {
            let fixed = |field| Err(Rejection::invalid(field, Fault::CannotChange).into());
            if new.zone != old.zone {
                return fixed("timeZone");
            }
            if new.currency != old.currency {
                return fixed("currency");
            }
        }
        rows.calendar.rooms.put(new.id, new.clone());
        Ok(new)
    }

    fn lane(&self) -> u64 {
        self.id.get()
    }
}

/// Returns the room, or rejects an unknown one.
pub fn find(rows: &mut WorkingSet, id: RoomId) -> Decision<Room> {
    Ok(rows.calendar.rooms.get(&id)?.cloned().ok_or(CalendarRejection::RoomNotFound)?)
}

/// Returns the unit of the slot that starts `part` minutes after 1970-01-01T00:00 local time.
pub(super) fn unit(room: RoomId, part: u32) -> Unit {
    Unit { kind: Kind::Room, resource: room.get(), part }
}

impl RoomDraft {
    fn apply_to(&self, old: &Room) -> Result<Room, Rejection> {
        let mut new = old.clone();
        if let Some(name) = &self.name {
            new.name = check_name("name", name)?.into();
        }
        if let Some(name) = &self.time_zone {
            new.zone = Zone::parse(name).ok_or_else(|| Rejection::invalid("timeZone", Fault::UnknownTimeZone))?;
        }
        if let Some(code) = &self.country {
            new.country = Country::parse(code).ok_or_else(|| Rejection::invalid("country", Fault::UnknownCountry))?;
        }
        if let Some(code) = &self.currency {
            new.currency =
                Currency::parse(code).ok_or_else(|| Rejection::invalid("currency", Fault::UnknownCurrency))?;
        }
        if let Some(minutes) = self.slot_minutes {
            check_within("slotMinutes", minutes.into(), SLOT_MINUTES_MIN.into(), SLOT_MINUTES_MAX.into())?;
            new.slot_minutes = minutes as u16;
        }
        if let Some(price) = self.base_price {
            check_within("basePrice", price, 0, BASE_PRICE_MAX)?;
            new.base_price = price;
        }
        if let Some(peaks) = &self.peak {
            if peaks.len() > PEAKS_MAX {
                return Err(Rejection::invalid("peak", Fault::TooManyItems { max: PEAKS_MAX }));
            }
            peaks.iter().try_for_each(check_peak)?;
            new.peak = peaks.as_slice().into();
        }
        if let Some(percent) = self.holiday_percent {
            check_within("holidayPercent", percent.into(), 0, PERCENT_MAX.into())?;
            new.holiday_percent = percent;
        }
        new.active = self.active.unwrap_or(old.active);
        Ok(new)
    }
}

fn check_peak(peak: &Peak) -> Result<(), Rejection> {
    if peak.days.is_empty() || peak.from == peak.to {
        return Err(Rejection::invalid("peak", Fault::EmptyRange));
    }
    if peak.from == LocalTime::MIDNIGHT_AFTER {
        return Err(Rejection::invalid("peak", Fault::NotATime));
    }
    check_within("peak", peak.percent.into(), 0, PERCENT_MAX.into())
}

fn check_within(field: &'static str, number: i64, min: i64, max: i64) -> Result<(), Rejection> {
    if (min..=max).contains(&number) { Ok(()) } else { Err(Rejection::invalid(field, Fault::OutOfRange { min, max })) }
}
