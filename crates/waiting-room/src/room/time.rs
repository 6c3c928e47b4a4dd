//! What time does to a room, and who is ready because of it.

use holdfast_core::Timestamp;
use holdfast_core::id::UserId;

use super::{Room, Waiter};
use crate::journal::Record;

impl Room {
    /// Ends what time has ended, moment by moment up to `now`, and asks in whoever there is space for at each of them.
    pub fn advance(&mut self, now: Timestamp) {
        let now = now.max(self.now);
        while let Some(at) = self.next_moment().filter(|at| *at <= now) {
            self.now = at.max(self.now);
            while let Some((_, number)) = self.first_waiter().filter(|(due, _)| *due <= at) {
                self.drop_waiter(number);
            }
            while let Some((_, user)) = self.first_entry().filter(|(due, _)| *due <= at) {
                self.drop_entry(user);
            }
            self.settle();
        }
        self.now = now;
    }

    pub(super) fn drop_waiter(&mut self, number: u64) {
        let Some(waiter) = self.line.remove(number) else { return };
        self.numbers.remove(&waiter.user);
        self.ready -= usize::from(waiter.ready_until.is_some());
        self.records.push(Record::Ended { number });
        self.moved = true;
    }

    pub(super) fn drop_entry(&mut self, user: UserId) -> bool {
        let Some(inside) = self.entries.remove(&user) else { return false };
        self.records.push(Record::Ended { number: inside.number });
        true
    }

    /// Makes those ready, as of now, who shall be, and no others. They are always the first ones.
    pub(super) fn settle(&mut self) {
        let wanted = match &self.settings {
            Some(settings) if settings.admits(self.now) => {
                (settings.max_concurrent as usize).saturating_sub(self.entries.len()).min(self.line.len())
            }
            _ => 0,
        };
        while self.ready < wanted {
            self.set_ready(self.ready, Some(self.now + self.timings.ready_ttl));
            self.ready += 1;
        }
        while self.ready > wanted {
            self.ready -= 1;
            self.set_ready(self.ready, None);
        }
    }

    fn set_ready(&mut self, rank: usize, until: Option<Timestamp>) {
        let number = self.line.nth(rank).expect("only those in line become ready");
        let waiter = self.line.get_mut(number).expect("a number found is there");
        waiter.ready_until = until;
        self.moved = true;
        if let Some(until) = until {
            self.note_waiter(until, number);
        }
    }

    pub(super) fn note_waiter(&mut self, at: Timestamp, number: u64) {
        self.waiter_deadlines.note(at, number);
        if self.waiter_deadlines.is_cluttered(self.line.len()) {
            self.waiter_deadlines.rewrite(self.line.iter().map(|(number, waiter)| (waiter.deadline(), number)));
        }
    }

    /// The next moment at which time alone changes something.
    fn next_moment(&mut self) -> Option<Timestamp> {
        let opens_at = self.settings.as_ref().and_then(|settings| settings.sales_open_at).filter(|at| *at > self.now);
        let waiter = self.first_waiter().map(|(at, _)| at);
        let entry = self.first_entry().map(|(at, _)| at);
        [opens_at, waiter, entry].into_iter().flatten().min()
    }

    fn first_waiter(&mut self) -> Option<(Timestamp, u64)> {
        let line = &self.line;
        self.waiter_deadlines.first(|number| line.get(number).map(Waiter::deadline))
    }

    fn first_entry(&mut self) -> Option<(Timestamp, UserId)> {
        let entries = &self.entries;
        self.entry_deadlines.first(|user| entries.get(&user).map(|inside| inside.admission.expires_at))
    }
}
