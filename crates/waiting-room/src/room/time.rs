//! Effects of time on a room, and the set of ready users that follows.

use holdfast_core::Timestamp;
use holdfast_core::id::UserId;

use super::{Room, Waiter};
use crate::journal::Record;

impl Room {
    /// Applies all deadlines up to `now` in their order, and makes users ready at the moment there is space.
    pub fn advance(&mut self, now: Timestamp) {
        let now = now.max(self.now);
        while let Some(at) = self.next_event_at().filter(|at| *at <= now) {
            self.now = at.max(self.now);
            while let Some((_, number)) = self.first_waiter().filter(|(due, _)| *due <= at) {
                self.drop_waiter(number);
            }
            while let Some((_, user)) = self.first_entry().filter(|(due, _)| *due <= at) {
                self.drop_entry(&user);
            }
            self.update_ready();
        }
        self.now = now;
    }

    pub(super) fn drop_waiter(&mut self, number: u64) {
        let Some(waiter) = self.queue.remove(number) else { return };
        self.numbers.remove(&waiter.user);
        self.ready -= usize::from(waiter.ready_until.is_some());
        self.records.push(Record::Ended { number });
        self.has_moved = true;
    }

    pub(super) fn drop_entry(&mut self, user: &UserId) -> bool {
        let Some(inside) = self.entries.remove(user) else { return false };
        self.records.push(Record::Ended { number: inside.number });
        true
    }

    /// Makes the first users of the queue ready, as of now, as far as there is space, and no others.
    pub(super) fn update_ready(&mut self) {
        let target = match &self.settings {
            Some(settings) if settings.admits(self.now) => {
                (settings.max_concurrent as usize).saturating_sub(self.entries.len()).min(self.queue.len())
            }
            _ => 0,
        };
        while self.ready < target {
            self.set_ready(self.ready, Some(self.now + self.timings.ready_ttl));
            self.ready += 1;
        }
        while self.ready > target {
            self.ready -= 1;
            self.set_ready(self.ready, None);
        }
    }

    fn set_ready(&mut self, rank: usize, until: Option<Timestamp>) {
        let number = self.queue.nth(rank).expect("a ready rank is below the length of the queue");
        let waiter = self.queue.get_mut(number).expect("a number from the queue has a waiter");
        waiter.ready_until = until;
        self.has_moved = true;
        if let Some(until) = until {
            self.add_waiter_deadline(until, number);
        }
    }

    pub(super) fn add_waiter_deadline(&mut self, at: Timestamp, number: u64) {
        self.waiter_deadlines.add(at, number);
        if self.waiter_deadlines.needs_rebuild(self.queue.len()) {
            self.waiter_deadlines.rebuild(self.queue.iter().map(|(number, waiter)| (waiter.deadline(), number)));
        }
    }

    /// Returns the next moment at which time alone changes something.
    fn next_event_at(&mut self) -> Option<Timestamp> {
        let opens_at = self.settings.as_ref().and_then(|settings| settings.sales_open_at).filter(|at| *at > self.now);
        let waiter = self.first_waiter().map(|(at, _)| at);
        let entry = self.first_entry().map(|(at, _)| at);
        [opens_at, waiter, entry].into_iter().flatten().min()
    }

    fn first_waiter(&mut self) -> Option<(Timestamp, u64)> {
        let queue = &self.queue;
        self.waiter_deadlines.first(|number| queue.get(*number).map(Waiter::deadline))
    }

    fn first_entry(&mut self) -> Option<(Timestamp, UserId)> {
        let entries = &self.entries;
        self.entry_deadlines.first(|user| entries.get(user).map(|inside| inside.admission.expires_at))
    }
}
