//! Activity counters of holds, as this process sees their events. No job ends a hold, so the store cannot count how many
//! are live or have expired. But each hold is placed and ended by an event, and its id contains its creation time.
//!
//! The counters are for display only, and no decision depends on them: they do not include holds from before the process
//! started, nor those of other servers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use holdfast_api::vertical::{self, VERTICALS};
use holdfast_core::id::HoldId;
use holdfast_core::tee::Subject;
use holdfast_core::{Event, Kind, Timestamp};
use parking_lot::Mutex;
use serde::Serialize;

use crate::wire::event::type_of;

// Indexes of `VERTICALS`, which is the order of the counters below.
const STAY: usize = 0;
const SHOP: usize = 1;
const TEE: usize = 2;
const TICKET: usize = 3;
const ROOM: usize = 4;
/// Index of changes outside the verticals: webhooks, and events being published.
const BESIDE: usize = VERTICALS.len();

/// Number of changes of each vertical, and of the rest, since the process started.
pub type Changes = [u64; 6];

/// Counts since the process started, except `live`, which is current; one number for each vertical.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub live: [u64; 5],
    pub placed: [u64; 5],
    pub confirmed: [u64; 5],
    pub released: [u64; 5],
    pub expired: [u64; 5],
}

#[derive(Debug, Default)]
pub struct ActivityCounters {
    inner: Mutex<Inner>,
    changes: [AtomicU64; 6],
}

#[derive(Debug, Default)]
struct Inner {
    counts: Counts,
    /// Holds by vertical and by the second of their creation.
    made: [BTreeMap<i64, Made>; 5],
}

/// Holds created in the same second.
#[derive(Clone, Copy, Debug)]
struct Made {
    live: u64,
    /// Second at which the last of them expires.
    until: i64,
}

impl ActivityCounters {
    /// Counts a change; `name` is that of a command or of an event.
    pub fn changed(&self, name: &str) {
        self.changes[vertical::index_of(name).unwrap_or(BESIDE)].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of changes; equal numbers mean that no row changed. The expiry of a hold is not counted.
    pub fn changes(&self) -> Changes {
        std::array::from_fn(|part| self.changes[part].load(Ordering::Relaxed))
    }

    pub fn count(&self, event: &Event, at: Timestamp) {
        self.changed(type_of(event));
        let mut inner = self.inner.lock();
        match event {
            Event::HoldPlaced(hold) => {
                hold.kinds().for_each(|kind| inner.placed(vertical_of(kind), hold.id, hold.ends_at()));
            }
            Event::HoldCancelled(hold) | Event::HoldReplaced(hold) => {
                hold.kinds().for_each(|kind| inner.released(vertical_of(kind), hold.id));
            }
            Event::StayReservationConfirmed(reservation) => inner.confirmed(STAY, reservation.hold, at),
            Event::OrderPaid(order) => inner.confirmed(SHOP, order.hold, at),
            Event::SeatsReserved(reservation) => inner.confirmed(TICKET, reservation.hold, at),
            Event::RoomSlotsReserved(reservation) => inner.confirmed(ROOM, reservation.lock, at),
            Event::Tee(message) => inner.published(message.subject()),
            Event::BookingPublished(published) => inner.published(published.action.subject()),
            _ => {}
        }
    }

    /// Returns the counts at a moment, and removes holds that have expired by then.
    pub fn counts(&self, now: Timestamp) -> Counts {
        let mut inner = self.inner.lock();
        let now = now.as_millis() / 1_000;
        for vertical in 0..BESIDE {
            let ran_out: u64 =
                inner.made[vertical].extract_if(.., |_, made| made.until <= now).map(|(_, it)| it.live).sum();
            inner.counts.expired[vertical] += ran_out;
            inner.counts.live[vertical] = inner.made[vertical].values().map(|made| made.live).sum();
        }
        inner.counts
    }
}

impl Inner {
    fn placed(&mut self, vertical: usize, hold: HoldId, expires_at: Timestamp) {
        self.counts.placed[vertical] += 1;
        let until = expires_at.as_secs();
        let made = self.made[vertical].entry(hold.made_at().as_millis() / 1_000).or_insert(Made { live: 0, until });
        made.live += 1;
        made.until = made.until.max(until);
        // Expired holds are also removed here, one second's at a time, because `counts` may never be called.
        if let Some(oldest) = self.made[vertical].first_entry()
            && oldest.get().until <= hold.made_at().as_millis() / 1_000
        {
            self.counts.expired[vertical] += oldest.remove().live;
        }
    }

    fn published(&mut self, subject: Subject) {
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
        // A hold created at the time of its confirmation was reserved in one step and is not counted as live.
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

/// Returns the index of the vertical of a line.
fn vertical_of(kind: Kind) -> usize {
    match kind {
        Kind::Stay => STAY,
        Kind::Shop => SHOP,
        Kind::Room => ROOM,
        Kind::Ticket => TICKET,
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
    fn hold_is_live_until_it_ends_or_expires() {
        let activity = ActivityCounters::default();
        {
            let mut inner = activity.inner.lock();
            for number in 0..4 {
                inner.placed(STAY, hold(100, number), at(700));
            }
            inner.confirmed(STAY, hold(100, 0), at(130));
            inner.released(STAY, hold(100, 1));
            // Reserved in one step, and one from before the process started.
            inner.confirmed(TICKET, hold(140, 0), at(140));
            inner.confirmed(STAY, hold(3, 0), at(140));
        }
        let counts = activity.counts(at(699));
        assert_eq!((counts.live[STAY], counts.expired[STAY]), (2, 0));
        assert_eq!((counts.confirmed[STAY], counts.released[STAY], counts.confirmed[TICKET]), (2, 1, 1));
        let counts = activity.counts(at(700));
        assert_eq!((counts.live[STAY], counts.expired[STAY]), (0, 2));
        assert_eq!(activity.counts(at(900)), counts);
    }

    #[test]
    fn change_is_counted_for_its_vertical() {
        let activity = ActivityCounters::default();
        for name in
            ["stay.hold.place", "order.paid", "slot.release", "queue.join", "calendar.slots.block", "webhook.create"]
        {
            activity.changed(name);
        }
        activity.changed("booking.confirmed");
        assert_eq!(activity.changes(), [1, 1, 2, 1, 1, 1]);
    }

    #[test]
    fn expired_holds_are_removed_without_a_query() {
        let activity = ActivityCounters::default();
        let mut inner = activity.inner.lock();
        for second in 0..1_000 {
            inner.placed(STAY, hold(second, 0), at(second + 10));
        }
        assert!(inner.made[STAY].len() <= 12, "{}", inner.made[STAY].len());
    }
}
