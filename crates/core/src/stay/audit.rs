//! Consistency rules of stays. For every night confirmed + held <= capacity; every confirmed count equals the number of
//! its reservations; every confirmed hold has its reservation.

use std::collections::{BTreeMap, HashMap};

use jiff::civil::Date;

use super::line::StayItem;
use super::room_type::{Night, NightId, RoomType, RoomTypeId};
use super::{ClientKey, DatesKey, StayReservation, StayReservationState, night_unit};
use crate::hold::{Hold, Status};
use crate::id::HoldId;
use crate::time::Timestamp;
use crate::unit::{Unit, Units};

/// Collects records in any order; [`finish`](Self::finish) returns the violations.
#[derive(Debug)]
pub struct StayAudit {
    now: Timestamp,
    totals: HashMap<RoomTypeId, u32>,
    todays: HashMap<RoomTypeId, Date>,
    nights: BTreeMap<NightId, Counted>,
    live_by_dates: HashMap<DatesKey, HoldId>,
    live_by_client_key: HashMap<ClientKey, HoldId>,
    findings: Vec<String>,
    records: u64,
}

#[derive(Debug, Default)]
struct Counted {
    row: Option<Night>,
    reserved: u32,
    held: u32,
}

impl StayAudit {
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            totals: HashMap::new(),
            todays: HashMap::new(),
            nights: BTreeMap::new(),
            live_by_dates: HashMap::new(),
            live_by_client_key: HashMap::new(),
            findings: Vec::new(),
            records: 0,
        }
    }

    pub fn room_type(&mut self, room_type: &RoomType) {
        self.records += 1;
        self.totals.insert(room_type.id, room_type.total_quantity);
        self.todays.insert(room_type.id, room_type.zone.today(self.now));
    }

    pub fn night(&mut self, id: NightId, night: Night) {
        self.records += 1;
        self.nights.entry(id).or_default().row = Some(night);
    }

    pub fn line(&mut self, hold: &Hold, item: &StayItem) {
        match hold.status(self.now) {
            Status::Held | Status::Prepared => {
                for date in item.dates.nights() {
                    self.nights.entry(NightId { room_type: item.room_type, date }).or_default().held += item.quantity;
                }
                let Some(keys) = item.index_keys(hold) else { return };
                let duplicates = [
                    self.live_by_dates.insert(keys.dates, hold.id),
                    self.live_by_client_key.insert(keys.client, hold.id),
                ];
                for other in duplicates.into_iter().flatten() {
                    self.findings
                        .push(format!("hold {}: live at the same time as {other} under the same key", hold.id));
                }
            }
            Status::Confirmed | Status::Cancelled | Status::Replaced | Status::Expired => {}
        }
    }

    pub(crate) fn units(&self) -> Vec<Units> {
        self.totals.keys().map(|id| Units::from(Unit { part: 0, ..night_unit(*id, Date::MIN) })).collect()
    }

    /// Adds the quantity that is counted as held on a night, where holds cannot be listed.
    pub fn held(&mut self, id: NightId, quantity: u32) {
        self.records += 1;
        self.nights.entry(id).or_default().held += quantity;
    }

    pub fn reservation(&mut self, reservation: &StayReservation) {
        self.records += 1;
        if reservation.state == StayReservationState::Confirmed {
            for date in reservation.dates.nights() {
                self.nights.entry(NightId { room_type: reservation.room_type, date }).or_default().reserved +=
                    reservation.quantity;
            }
        }
    }

    /// Returns the number of records collected.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns one sentence per violation; empty if the store is consistent.
    pub fn finish(mut self) -> Vec<String> {
        self.check_nights();
        self.findings.sort();
        self.findings
    }

    fn check_nights(&mut self) {
        for (id, counted) in &self.nights {
            let night_label = format!("room type {}, night {}", id.room_type, id.date);
            let Some(total) = self.totals.get(&id.room_type).copied() else {
                self.findings.push(format!("{night_label}: the room type does not exist"));
                continue;
            };
            let recorded = counted.row.map_or(0, |night| night.reserved);
            if recorded != counted.reserved {
                let found = counted.reserved;
                self.findings
                    .push(format!("{night_label}: {recorded} counted as reserved, but {found} reservations found"));
            }
            // The total of a room type may since have been lowered below the reservations of a past night, so its row's
            // own total counts.
            let is_past = self.todays.get(&id.room_type).is_some_and(|today| id.date < *today);
            let capacity = counted.row.filter(|_| is_past).map_or(total, |night| night.total_quantity.max(total));
            let used = recorded + counted.held;
            if used > capacity {
                let held = counted.held;
                self.findings.push(format!("{night_label}: oversold: {recorded} reserved + {held} held of {capacity}"));
            }
        }
    }
}
