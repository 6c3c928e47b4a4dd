//! What a hotel sells: room types, their number of rooms, and which nights are for sale.

use std::ops::RangeInclusive;
use std::sync::Arc;

use jiff::civil::Date;

use super::{RANGE_NIGHTS_MAX, StayDates, night_of, night_unit, resource};
use crate::command::{Attempt, Command, Context, Decision, Stop, Writes};
use crate::hold;
use crate::id::{Sequence, number_id};
use crate::limit;
use crate::money::{Currency, check_price};
use crate::rejection::{Fault, Rejection, StayRejection};
use crate::rows::Rows;
use crate::table::{Row, Scan};
use crate::text::{check_name, check_text};
use crate::time::Zone;
use crate::unit::{Unit, Units};

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

impl Row for Night {
    const CACHED_TIMES: usize = 4;
}

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
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, _at: &Context<'_>) -> Decision<RoomType> {
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
        rows.stay.room_types.insert(room_type.id, room_type.clone());
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
    const WRITES: Writes = Writes::Both;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<RoomType> {
        let (old, new) = self.change(rows)?;
        if may_shrink(&old, &new) {
            check_quantity_covers(rows, at, &old, &new, Count::ReservedAndHeld)?;
        }
        rows.stay.room_types.put(new.id, new.clone());
        Ok(new)
    }

    /// Nobody may hold more from now on, also those who still see the old quantity.
    fn prepare(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Attempt> {
        let (old, new) = self.change(rows)?;
        if may_shrink(&old, &new) {
            limit::check_free(rows, resource(self.id), at.now)?;
            check_quantity_covers(rows, at, &old, &new, Count::ReservedAndHeld)?;
            return Ok(limit::bind(rows, resource(self.id), new.total_quantity, at.now));
        }
        Ok(limit::NO_LIMIT)
    }

    fn record(&self, rows: &mut Rows, at: &Context<'_>, attempt: Attempt) -> Decision<RoomType> {
        let (old, new) = self.change(rows)?;
        if may_shrink(&old, &new) {
            // Only under a limit of its own: somebody may have changed the room type since this was prepared.
            limit::bound(rows, resource(self.id), attempt, at.now)?;
            // What is held was counted when this was prepared; since then it can only have become reserved, or less.
            check_quantity_covers(rows, at, &old, &new, Count::Reserved)?;
        }
        rows.stay.room_types.put(new.id, new.clone());
        Ok(new)
    }

    fn finish(
        &self,
        rows: &mut Rows,
        _at: &Context<'_>,
        attempt: Attempt,
        _outcome: Option<&RoomType>,
    ) -> Decision<()> {
        limit::unbind(rows, resource(self.id), attempt)
    }

    fn weight_in_steps(&self) -> usize {
        // To have fewer rooms, all nights that can be held are looked at, one by one.
        if self.draft.total_quantity.is_some() || self.draft.time_zone.is_some() { 2_048 } else { 0 }
    }
}

impl ChangeRoomType {
    /// What is, and what shall be.
    fn change(&self, rows: &mut Rows) -> Decision<(RoomType, RoomType)> {
        let old = find(rows, self.id)?;
        let new = self.draft.apply_to(&old)?;
        Ok((old, new))
    }
}

/// Whether some night could end up with less than is in use. In another zone yesterday may be today again, and what
/// was sold then comes back into view.
fn may_shrink(old: &RoomType, new: &RoomType) -> bool {
    new.total_quantity < old.total_quantity || new.zone != old.zone
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
    const NAME: &'static str = "stay.nights.set_closed";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, _at: &Context<'_>) -> Decision<StayDates> {
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
    Ok(rows.stay.room_types.get(&id)?.cloned().ok_or(StayRejection::RoomTypeNotFound)?)
}

/// The night's counts; a night nobody touched yet is open and empty.
pub fn night(rows: &mut Rows, id: NightId) -> Decision<Night> {
    Ok(rows.stay.nights.get(&id)?.copied().unwrap_or(Night { total_quantity: 0, reserved: 0, closed: false }))
}

/// What counts as in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Reserved,
    ReservedAndHeld,
}

fn check_quantity_covers(
    rows: &mut Rows,
    at: &Context<'_>,
    old: &RoomType,
    new: &RoomType,
    count: Count,
) -> Decision<()> {
    let (id, today) = (new.id, old.zone.today(at.now).min(new.zone.today(at.now)));
    let nights = rows.stay.nights.scan(&NightsFrom(NightId { room_type: id, date: today }));
    // What is held on a night just past can still be confirmed, so units count from the first one on.
    let units = match count {
        Count::Reserved => Ok(Vec::new()),
        Count::ReservedAndHeld => rows.held.scan(&Units::from(Unit { part: 0, ..night_unit(id, today) })),
    };
    let units = units?;
    let mut dates: Vec<Date> = nights?.into_iter().map(|id| id.date).collect();
    dates.extend(units.iter().map(|unit| night_of(*unit).date));
    dates.sort_unstable();
    dates.dedup();
    // Named all at once: asking night by night would need a load for each.
    for date in &dates {
        rows.stay.nights.want(&NightId { room_type: id, date: *date });
        if count == Count::ReservedAndHeld {
            rows.held.want(&night_unit(id, *date));
        }
    }
    for date in dates {
        let unit = night_unit(id, date);
        let reserved = night(rows, NightId { room_type: id, date })?.reserved;
        let held = if count == Count::ReservedAndHeld { hold::held(rows, unit, at.now)? } else { 0 };
        let (in_use, is_coming) = (reserved + held, date >= today);
        if in_use > new.total_quantity && (is_coming || held > 0) {
            if held > 0 && hold::is_in_doubt(rows, unit)? {
                return Err(Stop::Busy);
            }
            return Err(StayRejection::RoomsInUse { date, in_use }.into());
        }
    }
    Ok(())
}

impl RoomTypeDraft {
    fn apply_to(&self, old: &RoomType) -> Result<RoomType, Rejection> {
        let mut new = old.clone();
        if let Some(name) = &self.name {
            new.name = check_name("name", name)?.into();
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
