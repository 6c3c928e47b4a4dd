//! Room types, their number of rooms, and the nights for sale.

use std::ops::RangeInclusive;
use std::sync::Arc;

use jiff::civil::Date;

use super::{RANGE_NIGHTS_MAX, StayDates, night_of, night_unit, resource};
use crate::capacity_fence;
use crate::command::{Command, Context, Decision, Stop, TwoPhase, writes};
use crate::hold;
use crate::id::{Sequence, number_id};
use crate::money::{Currency, check_price};
use crate::rejection::{Fault, Rejection, StayRejection};
use crate::table::{Row, Scan};
use crate::text::{check_name, check_text};
use crate::time::Zone;
use crate::unit::{CapacityFence, Unit, Units};
use crate::working_set::WorkingSet;

pub const DESCRIPTION_CHARS_MAX: usize = 10_000;
pub const TOTAL_QUANTITY_MAX: u32 = 1_000_000;

number_id!(
    /// Number of a room type.
    RoomTypeId
);

/// A kind of room. Cheap to clone, because its texts are shared.
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

/// Key of one night of a room type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NightId {
    pub room_type: RoomTypeId,
    pub date: Date,
}

/// Durable counts of a night.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Night {
    /// Total of the room type when the row was last written; a constraint of the database bounds `reserved` by it.
    pub total_quantity: u32,
    pub reserved: u32,
    pub closed: bool,
}

impl Row for Night {
    const CACHE_FACTOR: usize = 4;
}

/// Scan of all nights of a room type from a date on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NightsFrom(pub NightId);

impl Scan<NightId> for NightsFrom {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<NightId> {
        self.0..=NightId { date: Date::MAX, ..self.0 }
    }
}

/// Fields of a new or changed room type. An absent field keeps its value, or takes its default.
#[derive(Clone, Debug, Default)]
pub struct RoomTypeDraft {
    pub name: Option<String>,
    /// `Some(None)` removes the description.
    pub description: Option<Option<String>>,
    pub total_quantity: Option<u32>,
    pub base_price: Option<i64>,
    pub currency: Option<String>,
    pub time_zone: Option<String>,
}

/// Creates a room type.
#[derive(Clone, Debug)]
pub struct CreateRoomType(pub RoomTypeDraft);

impl Command for CreateRoomType {
    type Outcome = RoomType;
    const NAME: &'static str = "stay.room_type.create";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<RoomType> {
        let missing = |field| Rejection::invalid(field, Fault::Missing);
        let draft = &self.0;
        draft.name.as_ref().ok_or_else(|| missing("name"))?;
        let template = RoomType {
            id: RoomTypeId::new(rows.next_id(Sequence::RoomType)?).expect("sequence numbers are valid ids"),
            name: "".into(),
            description: None,
            total_quantity: draft.total_quantity.ok_or_else(|| missing("totalQuantity"))?,
            base_price: draft.base_price.ok_or_else(|| missing("basePrice"))?,
            currency: Currency::KRW,
            zone: Zone::parse("Asia/Seoul").expect("the default zone exists"),
        };
        let room_type = draft.apply_to(&template)?;
        rows.stay.room_types.insert(room_type.id, room_type.clone());
        Ok(room_type)
    }
}

/// Changes a room type. A total below the rooms that are confirmed or held on a future night is rejected.
#[derive(Clone, Debug)]
pub struct ChangeRoomType {
    pub id: RoomTypeId,
    pub draft: RoomTypeDraft,
}

impl Command for ChangeRoomType {
    type Outcome = RoomType;
    const NAME: &'static str = "stay.room_type.change";
    type Writes = writes::Both;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<RoomType> {
        let (old, new) = self.change(rows)?;
        if can_reduce_availability(&old, &new) {
            check_quantity_covers(rows, at, &old, &new, InUse::ReservedAndHeld)?;
        }
        rows.stay.room_types.put(new.id, new.clone());
        Ok(new)
    }

    fn weight_in_steps(&self) -> usize {
        // Lowering the total checks every night that can be held.
        if self.draft.total_quantity.is_some() || self.draft.time_zone.is_some() { 2_048 } else { 0 }
    }
}

impl TwoPhase for ChangeRoomType {
    type Prepared = Option<CapacityFence>;

    /// Sets a capacity fence, which also binds holds that are decided on the old total.
    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Option<CapacityFence>> {
        let (old, new) = self.change(rows)?;
        if can_reduce_availability(&old, &new) {
            capacity_fence::check_unfenced(rows, resource(self.id), at.now)?;
            check_quantity_covers(rows, at, &old, &new, InUse::ReservedAndHeld)?;
            return Ok(Some(capacity_fence::set(rows, resource(self.id), new.total_quantity, at.now)));
        }
        Ok(None)
    }

    fn record(&self, rows: &mut WorkingSet, at: &Context<'_>, prepared: &Option<CapacityFence>) -> Decision<RoomType> {
        let (old, new) = self.change(rows)?;
        if can_reduce_availability(&old, &new) {
            // Requires this attempt's own fence: the room type may have changed since it was prepared.
            capacity_fence::fenced_capacity(rows, resource(self.id), *prepared, at.now)?;
            // Held rooms were checked by `prepare`. Since then they can only have been confirmed or released.
            check_quantity_covers(rows, at, &old, &new, InUse::Reserved)?;
        }
        rows.stay.room_types.put(new.id, new.clone());
        Ok(new)
    }

    fn finish(
        &self,
        rows: &mut WorkingSet,
        _at: &Context<'_>,
        prepared: &Option<CapacityFence>,
        _outcome: Option<&RoomType>,
    ) -> Decision<()> {
        capacity_fence::remove(rows, resource(self.id), *prepared)
    }
}

impl ChangeRoomType {
    /// Returns the present and the changed room type.
    fn change(&self, rows: &mut WorkingSet) -> Decision<(RoomType, RoomType)> {
        let old = find(rows, self.id)?;
        let new = self.draft.apply_to(&old)?;
        Ok((old, new))
    }
}

/// Whether a night could end up with less than is in use. A change of the zone can move today back to yesterday, whose
/// sales then count again.
fn can_reduce_availability(old: &RoomType, new: &RoomType) -> bool {
    new.total_quantity < old.total_quantity || new.zone != old.zone
}

/// Closes nights for sale, or opens them again. Confirmed and held stays are unaffected.
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
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<StayDates> {
        let dates = StayDates::new(self.from, self.to, RANGE_NIGHTS_MAX, ["from", "to"])?;
        for date in dates.nights() {
            rows.stay.nights.request(&NightId { room_type: self.room_type, date });
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

/// Returns the room type, or rejects an unknown one.
pub fn find(rows: &mut WorkingSet, id: RoomTypeId) -> Decision<RoomType> {
    Ok(rows.stay.room_types.get(&id)?.cloned().ok_or(StayRejection::RoomTypeNotFound)?)
}

/// Returns the counts of a night; a night without a row is open and empty.
pub fn night(rows: &mut WorkingSet, id: NightId) -> Decision<Night> {
    Ok(rows.stay.nights.get(&id)?.copied().unwrap_or(Night { total_quantity: 0, reserved: 0, closed: false }))
}

/// Claims that count as in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InUse {
    Reserved,
    ReservedAndHeld,
}

fn check_quantity_covers(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    old: &RoomType,
    new: &RoomType,
    count: InUse,
) -> Decision<()> {
    let (id, today) = (new.id, old.zone.today(at.now).min(new.zone.today(at.now)));
    let nights = rows.stay.nights.scan(&NightsFrom(NightId { room_type: id, date: today }));
    // A hold on a night just past can still be confirmed, so held units are checked from the first one on.
    let units = match count {
        InUse::Reserved => Ok(Vec::new()),
        InUse::ReservedAndHeld => rows.held.scan(&Units::from(Unit { part: 0, ..night_unit(id, today) })),
    };
    let units = units?;
    let mut dates: Vec<Date> = nights?.into_iter().map(|id| id.date).collect();
    dates.extend(units.iter().map(|unit| night_of(*unit).date));
    dates.sort_unstable();
    dates.dedup();
    // All rows are requested at once; night by night, each would need a load round.
    for date in &dates {
        rows.stay.nights.request(&NightId { room_type: id, date: *date });
        if count == InUse::ReservedAndHeld {
            rows.held.request(&night_unit(id, *date));
        }
    }
    for date in dates {
        let unit = night_unit(id, date);
        let reserved = night(rows, NightId { room_type: id, date })?.reserved;
        let held = if count == InUse::ReservedAndHeld { hold::held(rows, unit, at.now)? } else { 0 };
        let (in_use, is_future) = (reserved + held, date >= today);
        if in_use > new.total_quantity && (is_future || held > 0) {
            if held > 0 && hold::has_prepared(rows, unit)? {
                return Err(Stop::Retry);
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
