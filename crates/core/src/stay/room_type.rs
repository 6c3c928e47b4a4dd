//! What a hotel sells: room types, their number of rooms, and which nights are for sale.

use std::ops::RangeInclusive;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::{RANGE_NIGHTS_MAX, StayDates, night_of, night_unit};
use crate::command::{Command, Context, Decision};
use crate::hold;
use crate::id::{Sequence, number_id};
use crate::money::{Currency, check_price};
use crate::rejection::{Fault, Rejection};
use crate::rows::Rows;
use crate::table::{Row, Scan};
use crate::unit::UnitsFrom;

pub const NAME_CHARS_MAX: usize = 200;
pub const DESCRIPTION_CHARS_MAX: usize = 10_000;
pub const TOTAL_QUANTITY_MAX: u32 = 1_000_000;

number_id!(
    /// The name of a room type.
    RoomTypeId
);

/// A kind of room. Cheap to clone: what is long in it is shared.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomType {
    pub id: RoomTypeId,
    pub name: Arc<str>,
    pub description: Option<Arc<str>>,
    pub total_quantity: u32,
    pub base_price: i64,
    pub currency: Currency,
    pub zone: Zone,
}

impl Row for RoomType {}

/// A time zone with its IANA name.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Knows the zones of the IANA database by name, and no other spelling.
    pub fn parse(name: &str) -> Option<Self> {
        let zone = TimeZone::get(name).ok()?;
        zone.iana_name().is_some().then_some(Self(zone))
    }

    pub fn name(&self) -> &str {
        self.0.iana_name().expect("only named zones are made")
    }

    pub fn today(&self, at: &Context) -> Date {
        at.now.date_in(&self.0)
    }
}

/// One night of a room type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NightId {
    pub room_type: RoomTypeId,
    pub date: Date,
}

/// The durable count of a night.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Night {
    /// The room type's quantity when this row was last written: what the database checks `reserved` against.
    pub total_quantity: u32,
    pub reserved: u32,
    pub closed: bool,
}

impl Row for Night {}

/// All nights of a room type from a date on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NightsFrom(pub NightId);

impl Scan<NightId> for NightsFrom {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<NightId> {
        self.0..=NightId { date: Date::MAX, ..self.0 }
    }
}

/// What may be said of a room type; what is left out stays as it is, or takes its default.
#[derive(Clone, Debug, Default)]
pub struct RoomTypeDraft {
    pub name: Option<String>,
    /// `Some(None)` removes it.
    pub description: Option<Option<String>>,
    pub total_quantity: Option<u32>,
    pub base_price: Option<i64>,
    pub currency: Option<String>,
    pub time_zone: Option<String>,
}

/// Puts a room type on sale.
#[derive(Clone, Debug)]
pub struct CreateRoomType(pub RoomTypeDraft);

impl Command for CreateRoomType {
    type Outcome = RoomType;
    const NAME: &'static str = "stay.room_type.create";

    fn decide(&self, rows: &mut Rows, _at: &Context) -> Decision<RoomType> {
        let missing = |field| Rejection::invalid(field, Fault::Missing);
        let draft = &self.0;
        draft.name.as_ref().ok_or_else(|| missing("name"))?;
        let blank = RoomType {
            id: RoomTypeId::new(rows.next_id(Sequence::RoomType)?).expect("sequences give ids"),
            name: "".into(),
            description: None,
            total_quantity: draft.total_quantity.ok_or_else(|| missing("totalQuantity"))?,
            base_price: draft.base_price.ok_or_else(|| missing("basePrice"))?,
            currency: Currency::KRW,
            zone: Zone::parse("Asia/Seoul").expect("the default zone exists"),
        };
        let room_type = draft.apply_to(&blank)?;
        rows.stay.room_types.put(room_type.id, room_type.clone());
        Ok(room_type)
    }
}

/// Changes a room type. Fewer rooms than are confirmed or held on some coming night are refused.
#[derive(Clone, Debug)]
pub struct ChangeRoomType {
    pub id: RoomTypeId,
    pub draft: RoomTypeDraft,
}

impl Command for ChangeRoomType {
    type Outcome = RoomType;
    const NAME: &'static str = "stay.room_type.change";

    fn decide(&self, rows: &mut Rows, at: &Context) -> Decision<RoomType> {
        let old = find(rows, self.id)?;
        let new = self.draft.apply_to(&old)?;
        if new.total_quantity < old.total_quantity {
            check_quantity_covers_coming_nights(rows, at, &new)?;
        }
        rows.stay.room_types.put(new.id, new.clone());
        Ok(new)
    }
}

/// Stops selling nights, or sells them again. What is confirmed or held on them stays.
#[derive(Clone, Debug)]
pub struct SetNightsClosed {
    pub room_type: RoomTypeId,
    pub from: Date,
    pub to: Date,
    pub closed: bool,
}

impl Command for SetNightsClosed {
    type Outcome = StayDates;
    const NAME: &'static str = "stay.nights.close";

    fn decide(&self, rows: &mut Rows, _at: &Context) -> Decision<StayDates> {
        let dates = StayDates::new(self.from, self.to, RANGE_NIGHTS_MAX, ["from", "to"])?;
        for date in dates.nights() {
            rows.stay.nights.want(&NightId { room_type: self.room_type, date });
        }
        let room_type = find(rows, self.room_type)?;
        for date in dates.nights() {
            let id = NightId { room_type: self.room_type, date };
            let night = night(rows, id)?;
            if night.closed != self.closed {
                let total_quantity = room_type.total_quantity.max(night.reserved);
                rows.stay.nights.put(id, Night { total_quantity, closed: self.closed, ..night });
            }
        }
        Ok(dates)
    }

    fn weight(&self) -> usize {
        32
    }
}

/// The room type, or the refusal that there is none.
pub fn find(rows: &mut Rows, id: RoomTypeId) -> Decision<RoomType> {
    Ok(rows.stay.room_types.get(&id)?.cloned().ok_or(Rejection::RoomTypeNotFound)?)
}

/// The night's counts; a night nobody touched yet is open and empty.
pub fn night(rows: &mut Rows, id: NightId) -> Decision<Night> {
    Ok(rows.stay.nights.get(&id)?.copied().unwrap_or(Night { total_quantity: 0, reserved: 0, closed: false }))
}

fn check_quantity_covers_coming_nights(rows: &mut Rows, at: &Context, room_type: &RoomType) -> Decision<()> {
    let today = room_type.zone.today(at);
    let nights = rows.stay.nights.scan(&NightsFrom(NightId { room_type: room_type.id, date: today }));
    let units = rows.held.scan(&UnitsFrom(night_unit(room_type.id, today)));
    let mut dates: Vec<Date> = nights?.into_iter().map(|id| id.date).collect();
    dates.extend(units?.into_iter().map(|unit| night_of(unit).date));
    dates.sort_unstable();
    dates.dedup();
    for date in dates {
        let reserved = night(rows, NightId { room_type: room_type.id, date })?.reserved;
        let in_use = reserved + hold::held(rows, night_unit(room_type.id, date), at.now)?;
        if in_use > room_type.total_quantity {
            return Err(Rejection::CapacityInUse { date, in_use }.into());
        }
    }
    Ok(())
}

impl RoomTypeDraft {
    fn apply_to(&self, old: &RoomType) -> Result<RoomType, Rejection> {
        let mut new = old.clone();
        if let Some(name) = &self.name {
            new.name = check_text("name", name, NAME_CHARS_MAX)?.into();
            if name.trim().is_empty() {
                return Err(Rejection::invalid("name", Fault::Blank));
            }
        }
        if let Some(description) = &self.description {
            new.description = match description {
                Some(text) => Some(check_text("description", text, DESCRIPTION_CHARS_MAX)?.into()),
                None => None,
            };
        }
        new.total_quantity = self.total_quantity.unwrap_or(old.total_quantity);
        if new.total_quantity > TOTAL_QUANTITY_MAX {
            let fault = Fault::OutOfRange { min: 0, max: TOTAL_QUANTITY_MAX.into() };
            return Err(Rejection::invalid("totalQuantity", fault));
        }
        new.base_price = check_price("basePrice", self.base_price.unwrap_or(old.base_price))?;
        if let Some(code) = &self.currency {
            new.currency =
                Currency::parse(code).ok_or_else(|| Rejection::invalid("currency", Fault::UnknownCurrency))?;
        }
        if let Some(name) = &self.time_zone {
            new.zone = Zone::parse(name).ok_or_else(|| Rejection::invalid("timeZone", Fault::UnknownTimeZone))?;
        }
        Ok(new)
    }
}

/// Text people read: of bounded length, and without characters that only do harm.
fn check_text<'a>(field: &'static str, text: &'a str, chars_max: usize) -> Result<&'a str, Rejection> {
    if text.chars().count() > chars_max {
        return Err(Rejection::invalid(field, Fault::TooLong { max: chars_max }));
    }
    if text.chars().any(|char| char.is_control() && char != '\n' && char != '\t') {
        return Err(Rejection::invalid(field, Fault::ControlCharacter));
    }
    Ok(text)
}
