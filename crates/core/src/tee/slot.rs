//! Slots of a course: a number of players may tee off at a time, at a price.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use jiff::civil::Date;

use super::course::{self, CourseId};
use super::message::{Message, SlotSnapshot};
use super::start_time::StartTime;
use super::string_enum::string_enum;
use super::{DAYS_AHEAD_MAX, SLOT_PLAYERS_MAX, SLOTS_MAX};
use crate::command::{Command, Context, Decision, writes};
use crate::event::Event;
use crate::id::{Sequence, number_id};
use crate::money::{Currency, check_price, parse_currency};
use crate::rejection::{Fault, Rejection, TeeRejection};
use crate::table::{Row, Scan};
use crate::time::{Timestamp, Zone};
use crate::working_set::WorkingSet;

number_id!(
    /// Number of a slot.
    TeeSlotId
);

/// A slot with places for players. `booked` counts the players of all reserved allotments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeeSlot {
    pub id: TeeSlotId,
    pub course: CourseId,
    pub date: Date,
    pub start: StartTime,
    /// `date` and `start` in the time zone of the course.
    pub tee_off: Timestamp,
    pub max_players: u32,
    pub booked: u32,
    pub closed: bool,
    /// Price for one player.
    pub price: i64,
    pub currency: Currency,
    /// Incremented by every change.
    pub version: u64,
}

impl Row for TeeSlot {}

string_enum! {
    /// Status of a slot for customers.
    pub enum SlotStatus {
        Available = "AVAILABLE",
        FullyBooked = "FULLY_BOOKED",
        Closed = "CLOSED",
    }
}

impl TeeSlot {
    pub fn status(&self) -> SlotStatus {
        match (self.closed, self.booked < self.max_players) {
            (true, _) => SlotStatus::Closed,
            (false, true) => SlotStatus::Available,
            (false, false) => SlotStatus::FullyBooked,
        }
    }

    /// Returns the number of free places, whether the slot is closed or not.
    pub fn free(&self) -> u32 {
        self.max_players.saturating_sub(self.booked)
    }

    fn snapshot(&self) -> SlotSnapshot {
        SlotSnapshot {
            slot: self.id,
            course: self.course,
            tee_off: self.tee_off,
            max_players: self.max_players,
            price: self.price,
            currency: self.currency,
            closed: self.closed,
            version: self.version,
        }
    }
}

/// Key of a start time of a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotTimeId {
    pub course: CourseId,
    pub date: Date,
    pub start: StartTime,
}

/// Slot at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotTime {
    pub slot: TeeSlotId,
}

impl Row for SlotTime {}

/// Scan of the slots of a course on a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotsOn {
    pub course: CourseId,
    pub date: Date,
}

impl Scan<SlotTimeId> for SlotsOn {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<SlotTimeId> {
        let Self { course, date } = *self;
        SlotTimeId { course, date, start: StartTime::FIRST }..=SlotTimeId { course, date, start: StartTime::LAST }
    }
}

/// Fields of a new slot.
#[derive(Clone, Debug)]
pub struct SlotDraft {
    pub date: Date,
    pub start: StartTime,
    pub max_players: u32,
    pub price: i64,
    pub currency: Option<String>,
}

/// Creates slots of a course: all of them, or none if one exists at the same time already.
#[derive(Clone, Debug)]
pub struct CreateSlots {
    pub course: CourseId,
    pub slots: Vec<SlotDraft>,
}

impl Command for CreateSlots {
    /// In the order of the drafts.
    type Outcome = Vec<TeeSlot>;
    const NAME: &'static str = "tee.slots.create";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Vec<TeeSlot>> {
        self.check_count()?;
        rows.tee.courses.request(&self.course);
        rows.ids.request(&Sequence::TeeSlot);
        for draft in &self.slots {
            rows.tee.slot_times.request(&self.time_of(draft));
        }
        let course = course::find(rows, self.course)?;
        let last = course.zone.today(at.now).saturating_add(jiff::Span::new().days(DAYS_AHEAD_MAX));
        let mut times = HashSet::new();
        for draft in &self.slots {
            draft.check(last)?;
            let time = self.time_of(draft);
            if rows.tee.slot_times.get(&time)?.is_some() || !times.insert(time) {
                return Err(TeeRejection::SlotExists { date: draft.date, start: draft.start }.into());
            }
        }
        let first = rows.next_ids(Sequence::TeeSlot, self.slots.len())?;
        let mut slots = Vec::with_capacity(self.slots.len());
        for (number, draft) in (first..).zip(&self.slots) {
            let id = TeeSlotId::new(number).expect("sequence numbers are valid ids");
            let slot = draft.to_slot(id, self.course, &course.zone)?;
            rows.tee.slots.insert(id, slot.clone());
            rows.tee.slot_times.put(self.time_of(draft), SlotTime { slot: id });
            rows.emit(Event::Tee(Message::SlotChanged(slot.snapshot())));
            slots.push(slot);
        }
        Ok(slots)
    }

    fn weight(&self) -> usize {
        self.slots.len().clamp(1, SLOTS_MAX)
    }
}

impl CreateSlots {
    fn check_count(&self) -> Result<(), Rejection> {
        match self.slots.len() {
            0 => Err(Rejection::invalid("slots", Fault::Missing)),
            1..=SLOTS_MAX => Ok(()),
            _ => Err(Rejection::invalid("slots", Fault::TooManyItems { max: SLOTS_MAX })),
        }
    }

    fn time_of(&self, draft: &SlotDraft) -> SlotTimeId {
        SlotTimeId { course: self.course, date: draft.date, start: draft.start }
    }
}

impl SlotDraft {
    /// Past slots may be created, but not booked.
    fn check(&self, last: Date) -> Result<(), Rejection> {
        if self.date.year() < 1970 {
            return Err(Rejection::invalid("date", Fault::InThePast));
        }
        if self.date > last {
            return Err(Rejection::invalid("date", Fault::TooFarAhead { days_max: DAYS_AHEAD_MAX }));
        }
        if !(1..=SLOT_PLAYERS_MAX).contains(&self.max_players) {
            let fault = Fault::OutOfRange { min: 1, max: SLOT_PLAYERS_MAX.into() };
            return Err(Rejection::invalid("maxPlayers", fault));
        }
        check_price("price", self.price)?;
        parse_currency("currency", self.currency.as_deref())?;
        Ok(())
    }

    fn to_slot(&self, id: TeeSlotId, course: CourseId, zone: &Zone) -> Result<TeeSlot, Rejection> {
        Ok(TeeSlot {
            id,
            course,
            date: self.date,
            start: self.start,
            tee_off: self.start.tee_off(self.date, zone),
            max_players: self.max_players,
            booked: 0,
            closed: false,
            price: self.price,
            currency: parse_currency("currency", self.currency.as_deref())?,
            version: 1,
        })
    }
}

/// Closes a slot for new bookings. Existing ones stay, unless they are to be cancelled.
#[derive(Clone, Debug)]
pub struct CloseSlot {
    pub slot: TeeSlotId,
    pub cancel_bookings: bool,
}

impl Command for CloseSlot {
    type Outcome = TeeSlot;
    const NAME: &'static str = "tee.slot.close";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<TeeSlot> {
        let slot = set_closed(rows, self.slot, true)?;
        if self.cancel_bookings {
            // Also if the slot was closed before, because its bookings were kept then.
            rows.emit(Event::Tee(Message::SlotClosed { slot: slot.id, version: slot.version }));
        }
        Ok(slot)
    }

    fn lane(&self) -> u64 {
        self.slot.get()
    }
}

/// Reopens a slot for bookings.
#[derive(Clone, Debug)]
pub struct ReopenSlot {
    pub slot: TeeSlotId,
}

impl Command for ReopenSlot {
    type Outcome = TeeSlot;
    const NAME: &'static str = "tee.slot.reopen";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<TeeSlot> {
        set_closed(rows, self.slot, false)
    }

    fn lane(&self) -> u64 {
        self.slot.get()
    }
}

fn set_closed(rows: &mut WorkingSet, id: TeeSlotId, closed: bool) -> Decision<TeeSlot> {
    let old = find(rows, id)?;
    if old.closed == closed {
        return Ok(old);
    }
    let slot = TeeSlot { closed, version: old.version + 1, ..old };
    rows.tee.slots.put(id, slot.clone());
    rows.emit(Event::Tee(Message::SlotChanged(slot.snapshot())));
    Ok(slot)
}

/// Returns the slot, or rejects an unknown one.
pub fn find(rows: &mut WorkingSet, id: TeeSlotId) -> Decision<TeeSlot> {
    Ok(rows.tee.slots.get(&id)?.cloned().ok_or(TeeRejection::SlotNotFound)?)
}

/// Returns all slots of a course on a date, by time.
pub fn on_date(rows: &mut WorkingSet, course: CourseId, date: Date) -> Decision<Vec<TeeSlot>> {
    rows.tee.courses.request(&course);
    let times = rows.tee.slot_times.scan(&SlotsOn { course, date });
    course::find(rows, course)?;
    let mut ids = Vec::new();
    for time in times? {
        let slot = rows.tee.slot_times.get(&time)?.expect("a scanned time exists").slot;
        rows.tee.slots.request(&slot);
        ids.push(slot);
    }
    ids.into_iter().map(|id| find(rows, id)).collect()
}
