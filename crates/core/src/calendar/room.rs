//! What is rented by the hour: rooms, how long their slots are and what they cost.

use std::sync::Arc;

use jiff::civil::Date;

use super::holiday::Country;
use super::wall::{DAY_MINUTES, WallTime, Weekdays};
use crate::command::{Command, Context, Decision, Writes};
use crate::id::{Sequence, number_id};
use crate::money::Currency;
use crate::rejection::{CalendarRejection, Fault, Rejection};
use crate::rows::Rows;
use crate::table::Row;
use crate::text::check_name;
use crate::time::Zone;
use crate::unit::{Kind, Unit};

pub const SLOT_MINUTES_MIN: u16 = 5;
pub const SLOT_MINUTES_MAX: u16 = DAY_MINUTES;
/// The largest surcharge, in percent.
pub const PERCENT_MAX: u32 = 1_000;
pub const PEAKS_MAX: usize = 50;
/// The largest price of a slot before surcharges. With both of them, all slots of the shortest kind in the longest
/// range of statistics still add up to less than 2^53.
pub const BASE_PRICE_MAX: i64 = 1_000_000_000;

number_id!(
    /// The name of a room.
    RoomId
);

/// A room. Cheap to clone: what is long in it is shared.
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
    /// The surcharge on holidays of the country.
    pub holiday_percent: u32,
    /// A room that is not gets no more slots.
    pub active: bool,
    /// The last day for which slots were made; none, if they never were.
    pub generated_until: Option<Date>,
    /// Slots of earlier days were cleared, or never made.
    pub kept_from: Option<Date>,
}

impl Row for Room {}

/// When slots cost more: those that begin at `from` or later, and before `to`. A window whose `to` is not after its `from`
/// runs past midnight and belongs to the weekday on which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    pub days: Weekdays,
    pub from: WallTime,
    pub to: WallTime,
    /// A surcharge: 50 makes it half as much again.
    pub percent: u32,
}

/// What may be said of a room; what is left out stays as it is, or takes its default.
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

/// Opens a room. It has no slots before it has hours.
#[derive(Clone, Debug)]
pub struct CreateRoom(pub RoomDraft);

impl Command for CreateRoom {
    type Outcome = Room;
    const NAME: &'static str = "calendar.room.create";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, _at: &Context<'_>) -> Decision<Room> {
        let missing = |field| Rejection::invalid(field, Fault::Missing);
        let draft = &self.0;
        draft.name.as_ref().ok_or_else(|| missing("name"))?;
        draft.slot_minutes.ok_or_else(|| missing("slotMinutes"))?;
        draft.base_price.ok_or_else(|| missing("basePrice"))?;
        let blank = Room {
            id: RoomId::new(rows.next_id(Sequence::Room)?).expect("sequences give ids"),
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
        let room = draft.apply_to(&blank)?;
        rows.calendar.rooms.insert(room.id, room.clone());
        Ok(room)
    }
}

/// Changes a room. What is said of slots counts for those that are made from then on; zone and currency, which say what
/// the slots there are mean, cannot change once there are any.
#[derive(Clone, Debug)]
pub struct ChangeRoom {
    pub id: RoomId,
    pub draft: RoomDraft,
}

impl Command for ChangeRoom {
    type Outcome = Room;
    const NAME: &'static str = "calendar.room.change";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, _at: &Context<'_>) -> Decision<Room> {
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

/// The room, or the refusal that there is none.
pub fn find(rows: &mut Rows, id: RoomId) -> Decision<Room> {
    Ok(rows.calendar.rooms.get(&id)?.cloned().ok_or(CalendarRejection::RoomNotFound)?)
}

/// The unit of the slot that begins `part` minutes after 1970 on the wall.
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
    if peak.from == WallTime::MIDNIGHT_AFTER {
        return Err(Rejection::invalid("peak", Fault::NotATime));
    }
    check_within("peak", peak.percent.into(), 0, PERCENT_MAX.into())
}

fn check_within(field: &'static str, number: i64, min: i64, max: i64) -> Result<(), Rejection> {
    if (min..=max).contains(&number) { Ok(()) } else { Err(Rejection::invalid(field, Fault::OutOfRange { min, max })) }
}
