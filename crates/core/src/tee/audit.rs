//! Consistency rules of tee times. Rows of one service agree at any time. Rows of two services agree as far as their
//! messages have arrived: some rules hold always, the rest of them at rest, when every message has been handled.

use std::collections::{BTreeMap, BTreeSet};

use super::allotment::{SlotBooking, SlotBookingState};
use super::booking::{Booking, BookingId, BookingState, BookingStatus, HistoryId, OpenBookingId};
use super::course::{Course, CourseId};
use super::create::KeyUse;
use super::notify::{Notice, NoticeId, Notification, NotificationId};
use super::slot::{SlotTime, SlotTimeId, TeeSlot, TeeSlotId};
use super::slot_replica::SlotReplica;

/// Collects records in any order; [`finish`](Self::finish) returns the violations. If a store keeps the rows of one
/// service only, the rules of other services are skipped.
#[derive(Debug, Default)]
pub struct TeeAudit {
    is_at_rest: bool,
    courses: BTreeSet<CourseId>,
    slots: BTreeMap<TeeSlotId, TeeSlot>,
    slot_times: BTreeMap<SlotTimeId, TeeSlotId>,
    slot_bookings: BTreeMap<BookingId, SlotBooking>,
    bookings: BTreeMap<BookingId, BookingSummary>,
    keys: BTreeMap<BookingId, KeyUse>,
    slot_replicas: BTreeMap<TeeSlotId, SlotReplica>,
    open: BTreeSet<OpenBookingId>,
    histories: BTreeMap<BookingId, u32>,
    notifications: BTreeMap<NotificationId, NoticeId>,
    notices: BTreeMap<NoticeId, NotificationId>,
    findings: Vec<String>,
    records: u64,
}

/// Fields of a booking that the checks need.
#[derive(Debug)]
struct BookingSummary {
    slot: TeeSlotId,
    players: u32,
    status: BookingStatus,
    revision: u32,
}

impl TeeAudit {
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares that every message has been handled, so that `finish` also checks the rules at rest.
    pub fn at_rest(&mut self) {
        self.is_at_rest = true;
    }

    pub fn course(&mut self, course: &Course) {
        self.records += 1;
        self.courses.insert(course.id);
    }

    pub fn slot(&mut self, slot: &TeeSlot) {
        self.records += 1;
        self.slots.insert(slot.id, slot.clone());
    }

    pub fn slot_time(&mut self, id: SlotTimeId, time: SlotTime) {
        self.records += 1;
        self.slot_times.insert(id, time.slot);
    }

    pub fn slot_booking(&mut self, id: BookingId, row: SlotBooking) {
        self.records += 1;
        self.slot_bookings.insert(id, row);
    }

    pub fn booking(&mut self, booking: &Booking) {
        self.records += 1;
        let Booking { id, slot, players, revision, .. } = *booking;
        if self.bookings.insert(id, BookingSummary { slot, players, status: booking.status(), revision }).is_some() {
            self.findings.push(format!("booking {id}: number is not unique"));
        }
        if booking.unit_price * i64::from(players) != booking.total {
            self.findings.push(format!("booking {id}: its amounts do not add up"));
        }
        if let Some(refund) = booking.refund()
            && refund.amount != booking.total * i64::from(refund.percent) / 100
        {
            self.findings.push(format!("booking {id}: its refund is not {} % of its total", refund.percent));
        }
        if booking.released_at.is_some()
            && !matches!(booking.state, BookingState::Cancelled { .. } | BookingState::Failed { .. })
        {
            self.findings.push(format!("booking {id}: released, but {}", booking.status()));
        }
    }

    pub fn key_use(&mut self, row: KeyUse) {
        self.records += 1;
        if self.keys.insert(row.booking, row).is_some() {
            self.findings.push(format!("booking {}: created under two keys", row.booking));
        }
    }

    pub fn slot_replica(&mut self, id: TeeSlotId, row: SlotReplica) {
        self.records += 1;
        self.slot_replicas.insert(id, row);
    }

    pub fn open_booking(&mut self, id: OpenBookingId) {
        self.records += 1;
        self.open.insert(id);
    }

    pub fn history(&mut self, id: HistoryId) {
        self.records += 1;
        let last = self.histories.entry(id.booking).or_default();
        *last = id.number.max(*last);
    }

    pub fn notification(&mut self, row: &Notification) {
        self.records += 1;
        self.notifications.insert(row.id, NoticeId { booking: row.booking, kind: row.kind });
    }

    pub fn notice(&mut self, id: NoticeId, row: Notice) {
        self.records += 1;
        self.notices.insert(id, row.notification);
    }

    /// Returns the number of records collected.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns one sentence per violation; empty if the store is consistent.
    pub fn finish(mut self) -> Vec<String> {
        self.check_slots();
        self.check_bookings();
        self.check_notifications();
        // Rows that a service always has show whether its rows are in this store.
        if !self.courses.is_empty() && !self.slot_replicas.is_empty() {
            self.check_always();
            if self.is_at_rest {
                self.check_at_rest();
            }
        }
        self.findings.sort();
        self.findings
    }

    /// Checks the rows of the course service: booked = Σ players of reserved allotments, and at most the maximum.
    fn check_slots(&mut self) {
        let mut reserved: BTreeMap<TeeSlotId, u64> = BTreeMap::new();
        for (booking, row) in &self.slot_bookings {
            if !matches!(row.state, SlotBookingState::Reserved { .. }) {
                continue;
            }
            *reserved.entry(row.slot).or_default() += u64::from(row.players);
            if !self.slots.contains_key(&row.slot) {
                self.findings.push(format!("booking {booking}: has places in slot {}, which does not exist", row.slot));
            }
        }
        for (id, slot) in &self.slots {
            let (booked, max) = (slot.booked, slot.max_players);
            let found = reserved.get(id).copied().unwrap_or_default();
            if u64::from(booked) != found {
                self.findings.push(format!("slot {id}: {booked} counted as booked, but {found} reserved"));
            }
            if booked > max {
                self.findings.push(format!("slot {id}: oversold: {booked} booked of {max}"));
            }
            if !self.courses.contains(&slot.course) {
                self.findings.push(format!("slot {id}: course {} does not exist", slot.course));
            }
            let time = SlotTimeId { course: slot.course, date: slot.date, start: slot.start };
            if self.slot_times.get(&time) != Some(id) {
                self.findings.push(format!("slot {id}: is not the slot at {} {}", slot.date, slot.start));
            }
        }
        for (time, slot) in &self.slot_times {
            if !self.slots.contains_key(slot) {
                self.findings.push(format!("slot {slot}: at {} {}, but does not exist", time.date, time.start));
            }
        }
    }

    /// Checks the rows of the booking service.
    fn check_bookings(&mut self) {
        for (id, summary) in &self.bookings {
            let is_listed = self.open.contains(&OpenBookingId { slot: summary.slot, booking: *id });
            if is_listed != summary.status.is_open() {
                let status = summary.status;
                self.findings
                    .push(format!("booking {id}: {status} does not match its entry in the list of open bookings"));
            }
            // A booking whose key was used again after its TTL has no key any more.
            let matches = |key: &KeyUse| (key.slot, key.players) == (summary.slot, summary.players);
            if !self.keys.get(id).is_none_or(matches) {
                self.findings.push(format!("booking {id}: its key belongs to another request"));
            }
            if !(1..=summary.revision).contains(&self.histories.get(id).copied().unwrap_or_default()) {
                self.findings.push(format!("booking {id}: its history does not match its revision"));
            }
        }
        let referenced =
            self.keys.keys().chain(self.open.iter().map(|open| &open.booking)).chain(self.histories.keys());
        let unknown: BTreeSet<&BookingId> = referenced.filter(|id| !self.bookings.contains_key(id)).collect();
        self.findings.extend(unknown.iter().map(|id| format!("booking {id}: does not exist")));
    }

    fn check_notifications(&mut self) {
        for (id, notice) in &self.notifications {
            if self.notices.get(notice) != Some(id) {
                let NoticeId { booking, kind } = notice;
                self.findings
                    .push(format!("notification {id}: {kind} of booking {booking} was notified more than once"));
            }
        }
        for (notice, id) in &self.notices {
            if !self.notifications.contains_key(id) {
                self.findings.push(format!("notification {id}: of booking {} does not exist", notice.booking));
            }
        }
    }

    /// Checks that confirmed bookings have an allotment, and that slot replicas are not newer than their slots.
    fn check_always(&mut self) {
        for (id, summary) in self.bookings.iter().filter(|(_, summary)| summary.status.has_places()) {
            let has_places = self.slot_bookings.get(id).is_some_and(|row| {
                let is_reserved = matches!(row.state, SlotBookingState::Reserved { .. });
                is_reserved && (row.slot, row.players) == (summary.slot, summary.players)
            });
            if !has_places {
                self.findings.push(format!("booking {id}: {}, but has no places", summary.status));
            }
        }
        for (id, replica) in &self.slot_replicas {
            if self.slots.get(id).is_none_or(|slot| slot.version < replica.version) {
                self.findings.push(format!("slot {id}: its replica is newer than the slot"));
            }
        }
    }

    /// Checks that booked = Σ players of confirmed, completed and no-show bookings, that no booking is pending, and
    /// that slot replicas are current.
    fn check_at_rest(&mut self) {
        for (id, summary) in &self.bookings {
            if summary.status == BookingStatus::Pending {
                self.findings.push(format!("booking {id}: still pending"));
            }
        }
        for (id, row) in &self.slot_bookings {
            let has_places = matches!(row.state, SlotBookingState::Reserved { .. });
            if has_places && !self.bookings.get(id).is_some_and(|summary| summary.status.has_places()) {
                self.findings
                    .push(format!("booking {id}: has places in slot {} without a confirmed booking", row.slot));
            }
        }
        for (id, slot) in &self.slots {
            if self.slot_replicas.get(id).is_none_or(|replica| replica.closed != slot.closed) {
                self.findings.push(format!("slot {id}: its replica is not current"));
            }
        }
    }
}
