//! What became of holds, counted as this process sees it happen. No job ends a hold, so nobody could be asked how many are
//! live or ran out of time; but each is placed and ended by an event, and its id says when it was made.
//!
//! For people to look at. Nothing is decided by these numbers: they know nothing of before the process started, nor of
//! what other servers do.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use holdfast_core::id::HoldId;
use holdfast_core::tee::Subject;
use holdfast_core::{Event, Timestamp};
use serde::Serialize;

use crate::wire::event::type_of;

/// The parts of the house, in the order of the numbers below.
pub const VERTICALS: [&str; 5] = ["stay", "shop", "tee", "ticket", "room"];
const STAY: usize = 0;
const SHOP: usize = 1;
const TEE: usize = 2;
const TICKET: usize = 3;
const ROOM: usize = 4;
/// What is no vertical: webhooks, and events on their way.
const BESIDE: usize = 5;

/// How often something of each vertical, and beside them, has changed since the process started.
pub type Changes = [u64; 6];

/// Counts since the process started, but for `live`; one number for each vertical.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub live: [u64; 5],
    pub placed: [u64; 5],
    pub confirmed: [u64; 5],
    pub released: [u64; 5],
    pub expired: [u64; 5],
}

#[derive(Debug, Default)]
pub struct Pulse {
    inner: Mutex<Inner>,
    changes: [AtomicU64; 6],
}

#[derive(Debug, Default)]
struct Inner {
    counts: Counts,
    /// Holds by vertical and the second they were made in.
    made: [BTreeMap<i64, Made>; 5],
}

/// Holds that were made in the same second.
#[derive(Clone, Copy, Debug)]
struct Made {
    live: u64,
    /// When the last of them ends.
    until: i64,
}

impl Pulse {
    /// Something has changed: `name` is that of a command or of an event.
    pub fn changed(&self, name: &str) {
        self.changes[part_of(name)].fetch_add(1, Ordering::Relaxed);
    }

    /// Whoever has seen these numbers before has nothing new to look for. Holds that run out of time change nothing here.
    pub fn changes(&self) -> Changes {
        std::array::from_fn(|part| self.changes[part].load(Ordering::Relaxed))
    }

    pub fn count(&self, event: &Event, at: Timestamp) {
        self.changed(type_of(event));
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::StayHoldPlaced(hold) => inner.placed(STAY, hold.id, hold.expires_at),
            Event::OrderReserved(hold) => inner.placed(SHOP, hold.id, hold.expires_at),
            Event::SeatsHeld(hold) => inner.placed(TICKET, hold.id, hold.expires_at),
            Event::RoomSlotsLocked(lock) => inner.placed(ROOM, lock.id, lock.expires_at),
            Event::StayHoldCancelled(hold) | Event::StayHoldReplaced(hold) => inner.released(STAY, hold.id),
            Event::OrderReleased(hold) => inner.released(SHOP, hold.id),
            Event::SeatsReleased(hold) => inner.released(TICKET, hold.id),
            Event::RoomSlotsReleased(lock) => inner.released(ROOM, lock.id),
            Event::StayReservationConfirmed(reservation) => inner.confirmed(STAY, reservation.hold, at),
            Event::OrderPaid(order) => inner.confirmed(SHOP, order.hold, at),
            Event::SeatsReserved(reservation) => inner.confirmed(TICKET, reservation.hold, at),
            Event::RoomSlotsReserved(reservation) => inner.confirmed(ROOM, reservation.lock, at),
            Event::Tee(message) => inner.told(message.subject()),
            Event::BookingTold(told) => inner.told(told.action.subject()),
            _ => {}
        }
    }

    /// How things stand at a moment.
    pub fn counts(&self, now: Timestamp) -> Counts {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now.as_millis() / 1_000;
        for vertical in 0..VERTICALS.len() {
            let ran_out: u64 =
                inner.made[vertical].extract_if(.., |_, made| made.until < now).map(|(_, it)| it.live).sum();
            inner.counts.expired[vertical] += ran_out;
            inner.counts.live[vertical] = inner.made[vertical].values().map(|made| made.live).sum();
        }
        inner.counts
    }
}

impl Inner {
    fn placed(&mut self, vertical: usize, hold: HoldId, expires_at: Timestamp) {
        self.counts.placed[vertical] += 1;
        let until = expires_at.as_millis() / 1_000;
        let made = self.made[vertical].entry(hold.made_at().as_millis() / 1_000).or_insert(Made { live: 0, until });
        made.live += 1;
        made.until = made.until.max(until);
        // Nobody may be looking: what is over is forgotten here too, a little at a time.
        if let Some(oldest) = self.made[vertical].first_entry()
            && oldest.get().until < hold.made_at().as_millis() / 1_000
        {
            self.counts.expired[vertical] += oldest.remove().live;
        }
    }

    fn told(&mut self, subject: Subject) {
        match subject {
            Subject::BookingConfirmed => self.counts.confirmed[TEE] += 1,
            Subject::BookingCreated => self.counts.placed[TEE] += 1,
            _ => {}
        }
    }

    fn released(&mut self, vertical: usize, hold: HoldId) {
        self.counts.released[vertical] += 1;
        self.ended(vertical, hold);
    }

    fn confirmed(&mut self, vertical: usize, hold: HoldId, at: Timestamp) {
        self.counts.confirmed[vertical] += 1;
        // What is reserved in one step was never held.
        if hold.made_at() != at {
            self.ended(vertical, hold);
        }
    }

    fn ended(&mut self, vertical: usize, hold: HoldId) {
        if let Some(made) = self.made[vertical].get_mut(&(hold.made_at().as_millis() / 1_000)) {
            made.live = made.live.saturating_sub(1);
        }
    }
}

/// Whose business a command or an event is, as its name begins.
fn part_of(name: &str) -> usize {
    match name.split('.').next().unwrap_or_default() {
        "stay" => STAY,
        "shop" | "order" => SHOP,
        "tee" | "booking" | "slot" => TEE,
        "ticket" | "seat" | "queue" => TICKET,
        "calendar" | "room" => ROOM,
        _ => BESIDE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn hold(seconds: i64, number: u8) -> HoldId {
        HoldId::new(at(seconds), [number; 10])
    }

    #[test]
    fn a_hold_is_live_until_it_is_ended_or_out_of_time() {
        let pulse = Pulse::default();
        {
            let mut inner = pulse.inner.lock().unwrap();
            for number in 0..4 {
                inner.placed(STAY, hold(100, number), at(700));
            }
            inner.confirmed(STAY, hold(100, 0), at(130));
            inner.released(STAY, hold(100, 1));
            // Reserved in one step, and one from before the process started.
            inner.confirmed(TICKET, hold(140, 0), at(140));
            inner.confirmed(STAY, hold(3, 0), at(140));
        }
        let counts = pulse.counts(at(700));
        assert_eq!((counts.live[STAY], counts.expired[STAY]), (2, 0));
        assert_eq!((counts.confirmed[STAY], counts.released[STAY], counts.confirmed[TICKET]), (2, 1, 1));
        let counts = pulse.counts(at(701));
        assert_eq!((counts.live[STAY], counts.expired[STAY]), (0, 2));
        assert_eq!(pulse.counts(at(900)), counts);
    }

    #[test]
    fn a_change_is_counted_where_it_belongs() {
        let pulse = Pulse::default();
        for name in
            ["stay.hold.place", "order.paid", "slot.release", "queue.join", "calendar.slots.block", "webhook.create"]
        {
            pulse.changed(name);
        }
        pulse.changed("booking.confirmed");
        assert_eq!(pulse.changes(), [1, 1, 2, 1, 1, 1]);
    }

    #[test]
    fn what_is_over_is_forgotten_although_nobody_looks() {
        let pulse = Pulse::default();
        let mut inner = pulse.inner.lock().unwrap();
        for second in 0..1_000 {
            inner.placed(STAY, hold(second, 0), at(second + 10));
        }
        assert!(inner.made[STAY].len() <= 12, "{}", inner.made[STAY].len());
    }
}
