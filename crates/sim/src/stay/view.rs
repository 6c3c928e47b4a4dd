//! The readable state as one value, so that a store, the pure core and the model can be compared by `==`. It is read by
//! core's own queries, which change nothing.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_core::command::Attempt;
use holdfast_core::hold::{self, Hold};
use holdfast_core::id::HoldId;
use holdfast_core::idempotency::{IdempotencyRecord, IdempotencyRecordId};
use holdfast_core::stay::availability::{Availability, availability};
use holdfast_core::stay::{RoomType, RoomTypeId, StayDates, StayReservation, StayReservationId};
use holdfast_core::{Context, Decision, Timestamp, WorkingSet};
use jiff::ToSpan;
use jiff::civil::Date;

use super::call::{Call, Request, hold_id};
use crate::Finding;
use crate::query::{Source, query};

/// Maximum number of nights that are read.
const NIGHTS_MAX: i32 = 30;
/// Maximum length of a range of nights that is read as a whole.
const SHORT_NIGHTS_MAX: i32 = 7;

/// Keys to read: all that any call has contained so far, whether it was executed or not.
#[derive(Clone, Debug)]
pub struct Scope {
    pub room_types: u64,
    pub holds: BTreeSet<HoldId>,
    pub reservations: u64,
    pub idempotency_records: BTreeSet<IdempotencyRecordId>,
    pub dates: StayDates,
}

impl Scope {
    /// Returns a scope with only the days prefetch the first one.
    pub fn prefetch(first_day: Date) -> Self {
        let (check_in, check_out) = (first_day.saturating_sub(2.days()), first_day.saturating_add(2.days()));
        Self {
            room_types: 0,
            holds: BTreeSet::new(),
            reservations: 0,
            idempotency_records: BTreeSet::new(),
            dates: StayDates { check_in, check_out },
        }
    }

    /// Adds the keys of a call that is sent at `now`.
    pub fn add(&mut self, call: &Call, now: Timestamp) {
        match &call.request {
            Request::CreateRoomType(_) => self.room_types += 1,
            Request::Confirm(_) => self.reservations += 1,
            Request::SetNightsClosed(command) => self.add_dates(command.from, command.to),
            _ => {}
        }
        for place in call.places() {
            self.holds.insert(hold_id(place, now));
            self.add_dates(place.check_in, place.check_out);
        }
        if let Some(key) = &call.key {
            self.idempotency_records.insert(key.id.clone());
        }
    }

    /// Short ranges determine the nights to read; long or distant ones also cover nights that no other call touches. In
    /// long histories only the latest nights are read.
    fn add_dates(&mut self, from: Date, to: Date) {
        let StayDates { check_in, check_out } = self.dates;
        let is_short = from < to && to <= from.saturating_add(SHORT_NIGHTS_MAX.days());
        if is_short && from < check_out.saturating_add(NIGHTS_MAX.days()) {
            let check_out = check_out.max(to);
            let check_in = check_in.min(from).max(check_out.saturating_sub(NIGHTS_MAX.days()));
            self.dates = StayDates { check_in, check_out };
        }
    }

    /// Returns the possible numbers of room types, and one more.
    pub fn room_type_ids(&self) -> impl Iterator<Item = RoomTypeId> {
        (1..=self.room_types + 1).filter_map(RoomTypeId::new)
    }

    /// Returns the possible numbers of reservations, and one more.
    pub fn reservation_ids(&self) -> impl Iterator<Item = StayReservationId> {
        (1..=self.reservations + 1).filter_map(StayReservationId::new)
    }
}

/// State as read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    pub room_types: BTreeMap<RoomTypeId, RoomType>,
    pub availability: Vec<Availability>,
    pub holds: BTreeMap<HoldId, Hold>,
    pub reservations: BTreeMap<StayReservationId, StayReservation>,
    /// Records that have not expired; expired ones may be purged or not.
    pub idempotency_records: BTreeMap<IdempotencyRecordId, IdempotencyRecord>,
}

impl View {
    pub fn of(source: &impl Source, at: &Context<'_>, scope: &Scope) -> Result<Self, Finding> {
        query(source, at, |rows, at| Self::read(rows, at, scope))?
            .map_err(|rejection| Finding(format!("reading was rejected: {rejection:?}")))
    }

    fn read(rows: &mut WorkingSet, at: &Context<'_>, scope: &Scope) -> Decision<Self> {
        // All rows are requested first, so that one read loads them.
        scope.reservation_ids().for_each(|id| rows.stay.reservations.request(&id));
        for id in &scope.holds {
            rows.holds.request(id);
            rows.confirmed_holds.request(id);
        }
        scope.idempotency_records.iter().for_each(|id| rows.idempotency_records.request(id));
        let StayDates { check_in, check_out } = scope.dates;
        let availability: Vec<_> =
            scope.room_type_ids().map(|id| availability(rows, at, id, check_in, check_out)).collect();
        let mut view = Self::default();
        for (id, availability) in scope.room_type_ids().zip(availability) {
            if let Some(room_type) = rows.stay.room_types.get(&id)?.cloned() {
                view.room_types.insert(id, room_type);
                view.availability.push(availability?);
            }
        }
        for id in scope.reservation_ids() {
            view.reservations.extend(rows.stay.reservations.get(&id)?.cloned().map(|row| (id, row)));
        }
        for id in &scope.holds {
            // The number of attempts depends on the store.
            let found = hold::get(rows, *id)?.map(|hold| Hold { attempt: Attempt::default(), ..hold });
            view.holds.extend(found.map(|hold| (*id, hold)));
        }
        for id in &scope.idempotency_records {
            let receipt = rows.idempotency_records.get(id)?.filter(|receipt| receipt.expires_at > at.now);
            view.idempotency_records.extend(receipt.cloned().map(|row| (id.clone(), row)));
        }
        Ok(view)
    }

    /// Returns the differences, one line each.
    pub fn differences(&self, other: &Self) -> String {
        let mut lines = Vec::new();
        let mut compare = |kind: &str, own: Vec<String>, others: Vec<String>| {
            lines.extend(own.iter().filter(|line| !others.contains(line)).map(|line| format!("  - {kind} {line}")));
            lines.extend(others.iter().filter(|line| !own.contains(line)).map(|line| format!("  + {kind} {line}")));
        };
        compare("room type", debug(self.room_types.values()), debug(other.room_types.values()));
        compare("night", self.nights(), other.nights());
        compare("hold", debug(self.holds.values()), debug(other.holds.values()));
        compare("reservation", debug(self.reservations.values()), debug(other.reservations.values()));
        compare("receipt", debug(self.idempotency_records.iter()), debug(other.idempotency_records.iter()));
        lines.join("\n")
    }

    fn nights(&self) -> Vec<String> {
        let nights =
            self.availability.iter().flat_map(|all| all.nights.iter().map(move |night| (all.room_type, night)));
        debug(nights)
    }
}

fn debug<T: std::fmt::Debug>(values: impl Iterator<Item = T>) -> Vec<String> {
    values.map(|value| format!("{value:?}")).collect()
}
