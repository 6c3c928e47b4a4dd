//! Everything that can be read, in one value: so that a store, the pure core and the model can be compared by `==`.
//! Reading goes through core's own queries; nothing is changed by it.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_core::command::Attempt;
use holdfast_core::hold::Hold;
use holdfast_core::id::HoldId;
use holdfast_core::receipt::{Receipt, ReceiptId};
use holdfast_core::stay::availability::{Availability, availability};
use holdfast_core::stay::{RoomType, RoomTypeId, StayDates, StayHold, StayReservation, StayReservationId};
use holdfast_core::{Context, Decision, Rejection, Rows, Stop, Timestamp};
use jiff::ToSpan;
use jiff::civil::Date;

use crate::Finding;
use crate::call::{Call, Request, hold_id};

/// A question that still wants rows after so many reads is asking in circles.
const READS_MAX: usize = 32;

/// At most so many nights are looked at.
const NIGHTS_MAX: i32 = 30;
/// A range of at most so many nights is looked at as a whole.
const SHORT_NIGHTS_MAX: i32 = 7;

/// Where committed rows can be read.
pub trait Source {
    /// Supplies all wanted rows.
    fn read(&self, rows: &mut Rows) -> Result<(), Finding>;
}

/// What there is to look at: all that any call has named so far, whether it was carried out or not.
#[derive(Clone, Debug)]
pub struct Scope {
    pub room_types: u64,
    pub holds: BTreeSet<HoldId>,
    pub reservations: u64,
    pub receipts: BTreeSet<ReceiptId>,
    pub dates: StayDates,
}

impl Scope {
    /// Nothing but the days around the first one.
    pub fn around(first_day: Date) -> Self {
        let (check_in, check_out) = (first_day.saturating_sub(2.days()), first_day.saturating_add(2.days()));
        Self {
            room_types: 0,
            holds: BTreeSet::new(),
            reservations: 0,
            receipts: BTreeSet::new(),
            dates: StayDates { check_in, check_out },
        }
    }

    /// A call that is sent at that moment.
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
            self.receipts.insert(key.id.clone());
        }
    }

    /// Short ranges say where things happen; long ones, and those far ahead, reach over nights that nothing else touches.
    /// Of long histories only the latest nights are looked at.
    fn add_dates(&mut self, from: Date, to: Date) {
        let StayDates { check_in, check_out } = self.dates;
        let is_short = from < to && to <= from.saturating_add(SHORT_NIGHTS_MAX.days());
        if is_short && from < check_out.saturating_add(NIGHTS_MAX.days()) {
            let check_out = check_out.max(to);
            let check_in = check_in.min(from).max(check_out.saturating_sub(NIGHTS_MAX.days()));
            self.dates = StayDates { check_in, check_out };
        }
    }

    /// The numbers that room types can have by now, and one more.
    pub fn room_type_ids(&self) -> impl Iterator<Item = RoomTypeId> {
        (1..=self.room_types + 1).filter_map(RoomTypeId::new)
    }

    /// The numbers that reservations can have by now, and one more.
    pub fn reservation_ids(&self) -> impl Iterator<Item = StayReservationId> {
        (1..=self.reservations + 1).filter_map(StayReservationId::new)
    }
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    pub room_types: BTreeMap<RoomTypeId, RoomType>,
    pub availability: Vec<Availability>,
    pub holds: BTreeMap<HoldId, StayHold>,
    pub reservations: BTreeMap<StayReservationId, StayReservation>,
    /// Those that still count: what has run out may be cleared away or not.
    pub receipts: BTreeMap<ReceiptId, Receipt>,
}

impl View {
    pub fn of(source: &impl Source, at: &Context<'_>, scope: &Scope) -> Result<Self, Finding> {
        ask(source, at, |rows, at| Self::read(rows, at, scope))?
            .map_err(|rejection| Finding(format!("reading was refused: {rejection:?}")))
    }

    fn read(rows: &mut Rows, at: &Context<'_>, scope: &Scope) -> Decision<Self> {
        // All wishes first, so that one read serves them.
        scope.reservation_ids().for_each(|id| rows.stay.reservations.want(&id));
        scope.holds.iter().for_each(|id| rows.stay.holds.want(id));
        scope.receipts.iter().for_each(|id| rows.receipts.want(id));
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
            // In how many steps a hold was confirmed is the store's own business.
            let found = rows.stay.holds.get(id)?.cloned().map(|hold| Hold { attempts: Attempt::default(), ..hold });
            view.holds.extend(found.map(|hold| (*id, hold)));
        }
        for id in &scope.receipts {
            let receipt = rows.receipts.get(id)?.filter(|receipt| receipt.expires_at > at.now);
            view.receipts.extend(receipt.cloned().map(|row| (id.clone(), row)));
        }
        Ok(view)
    }

    /// What differs, for whoever has to find out why.
    pub fn differences(&self, other: &Self) -> String {
        let mut lines = Vec::new();
        let mut compare = |what: &str, mine: Vec<String>, others: Vec<String>| {
            lines.extend(mine.iter().filter(|line| !others.contains(line)).map(|line| format!("  - {what} {line}")));
            lines.extend(others.iter().filter(|line| !mine.contains(line)).map(|line| format!("  + {what} {line}")));
        };
        compare("room type", debug(self.room_types.values()), debug(other.room_types.values()));
        compare("night", self.nights(), other.nights());
        compare("hold", debug(self.holds.values()), debug(other.holds.values()));
        compare("reservation", debug(self.reservations.values()), debug(other.reservations.values()));
        compare("receipt", debug(self.receipts.iter()), debug(other.receipts.iter()));
        lines.join("\n")
    }

    fn nights(&self) -> Vec<String> {
        let nights =
            self.availability.iter().flat_map(|all| all.nights.iter().map(move |night| (all.room_type, night)));
        debug(nights)
    }
}

/// Answers a question from committed rows, as the engine answers queries. What it writes is thrown away.
pub fn ask<T>(
    source: &impl Source,
    at: &Context<'_>,
    mut question: impl FnMut(&mut Rows, &Context<'_>) -> Decision<T>,
) -> Result<Result<T, Rejection>, Finding> {
    let mut rows = Rows::default();
    for _ in 0..READS_MAX {
        match rows.attempt(|rows| question(rows, at)) {
            Ok(answer) => return Ok(Ok(answer)),
            Err(Stop::Rejected(rejection)) => return Ok(Err(rejection)),
            Err(Stop::Missing) => source.read(&mut rows)?,
            Err(Stop::Busy) => return Err(Finding("a hold is left between two steps".into())),
        }
    }
    Err(Finding("a question asks for rows in circles".into()))
}

fn debug<T: std::fmt::Debug>(values: impl Iterator<Item = T>) -> Vec<String> {
    values.map(|value| format!("{value:?}")).collect()
}
