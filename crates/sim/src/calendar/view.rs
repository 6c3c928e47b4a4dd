//! The readable state of a room as one value, so that a store and the model can be compared by `==`.

use std::collections::BTreeMap;

use holdfast_core::actor::Actor;
use holdfast_core::calendar::{
    BlockStatus, RoomId, RoomReservationId, RoomReservationState, SlotStart, SlotStatus, reservation, room, slot,
};
use holdfast_core::hold::{self, Origin, Status};
use holdfast_core::id::HoldId;
use holdfast_core::time::Span;
use holdfast_core::{Context, Timestamp};
use jiff::civil::Date;

use super::model::{End, Lock, Model, State, today};
use crate::Finding;
use crate::query::{Source, query};

/// Ended locks may be purged after a day.
pub const READABLE_TIME: Span = Span::from_hours(23);
/// Number of days before and after today that are read.
const DAYS: u32 = 40;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    pub generated_until: Option<Date>,
    pub slots: BTreeMap<SlotStart, (&'static str, Option<RoomReservationId>)>,
    pub locks: BTreeMap<HoldId, String>,
    /// Whether the reservation is active.
    pub reservations: BTreeMap<RoomReservationId, (Vec<SlotStart>, bool)>,
}

impl View {
    /// Reads from the store all that the model contains.
    pub fn of(source: &impl Source, at: &Context<'_>, id: RoomId, model: &Model) -> Result<Self, Finding> {
        let unexpected = |subject: String| move |rejection| Finding(format!("{subject} is rejected: {rejection:?}"));
        let mut view = Self::default();
        let stored = query(source, at, |rows, _| room::find(rows, id))?.map_err(unexpected("the room".into()))?;
        view.generated_until = stored.generated_until;
        let (from, to) = days(at.now);
        let ids = query(source, at, |rows, _| slot::ids(rows, id, from, to))?.map_err(unexpected("the list".into()))?;
        let actual = query(source, at, |rows, at| slot::views(rows, at, id, &ids))?;
        for (id, actual) in ids.iter().zip(actual.map_err(unexpected("the slots".into()))?) {
            view.slots.insert(id.start, (status_name(actual.status), actual.reservation));
        }
        for (id, _) in model.readable_locks(at.now) {
            let lock = query(source, at, |rows, _| hold::find(rows, *id, &Actor::Admin, Origin::Lock))?;
            // A lock of a candidate model may not exist in the store.
            let status = match lock.map(|lock| (lock.status(at.now), lock.record())) {
                Ok((Status::Confirmed, Some(record))) => format!("confirmed as {record}"),
                Ok(other) => format!("{other:?}"),
                Err(rejection) => format!("{rejection:?}"),
            };
            view.locks.insert(*id, status);
        }
        for id in model.reservations.keys().copied() {
            let stored = query(source, at, |rows, _| reservation::find(rows, id, &Actor::Admin))?;
            let stored = stored.map_err(unexpected(format!("reservation {id}")))?;
            let slots = stored.slots.iter().map(|slot| slot.start).collect();
            view.reservations.insert(id, (slots, stored.state == RoomReservationState::Confirmed));
        }
        Ok(view)
    }

    pub fn expected(model: &Model, now: Timestamp) -> Self {
        let mut view = Self { generated_until: model.generated_until, ..Self::default() };
        let (from, to) = days(now);
        for (start, state) in model.slots.iter().filter(|(start, _)| (from..=to).contains(&start.date())) {
            let actual = match state {
                State::Free if model.locked_by(*start, now).is_some() => ("locked", None),
                State::Free => ("available", None),
                State::Reserved(number) => ("reserved", Some(*number)),
                State::Off(BlockStatus::Blocked) => ("blocked", None),
                State::Off(BlockStatus::Maintenance) => ("maintenance", None),
            };
            view.slots.insert(*start, actual);
        }
        for (id, lock) in model.readable_locks(now) {
            let status = match lock.end {
                End::Confirmed(number) => format!("confirmed as {number}"),
                End::Released => without_record("Cancelled"),
                End::Replaced => without_record("Replaced"),
                End::None if lock.is_live(now) => without_record("Held"),
                End::None => without_record("Expired"),
            };
            view.locks.insert(*id, status);
        }
        for (id, it) in &model.reservations {
            view.reservations.insert(*id, (it.slots.clone(), !it.is_cancelled));
        }
        view
    }
}

impl Model {
    /// Returns the locks that must not be purged yet.
    pub fn readable_locks(&self, now: Timestamp) -> impl Iterator<Item = (&HoldId, &Lock)> {
        self.locks.iter().filter(move |(_, lock)| now < lock.created_at + READABLE_TIME)
    }
}

fn without_record(status: &str) -> String {
    format!("({status}, None)")
}

fn days(now: Timestamp) -> (Date, Date) {
    let span = jiff::Span::new().days(DAYS);
    (today(now).saturating_sub(span), today(now).saturating_add(span))
}

fn status_name(status: SlotStatus) -> &'static str {
    match status {
        SlotStatus::Available => "available",
        SlotStatus::Locked => "locked",
        SlotStatus::Reserved => "reserved",
        SlotStatus::Blocked => "blocked",
        SlotStatus::Maintenance => "maintenance",
    }
}
