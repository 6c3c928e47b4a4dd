//! State machine of one event's waiting room. No I/O, clock or randomness: time is an argument.
//!
//! - Users stand in order of acceptance. The first `max_concurrent − entered` of them are **ready**, if the event is
//!   not paused and sales are open.
//! - A user **becomes ready at the moment there is space**, polling or not: when a user leaves, when a deadline passes,
//!   when sales open. From that moment `ready_ttl` runs. A late poll finds less of it left; `poll_after_ms` leaves at
//!   least half of it to a user who obeys. A user who stops being ready (a pause, a lower `max_concurrent`) keeps the
//!   place, and gets a whole `ready_ttl` the next time.
//! - Deadlines take effect in their order before anything else is done ([`Room::advance`]). The result does not depend
//!   on when, or whether, a call came in between.
//!
//! Time never runs backwards here: an earlier `now` counts as the latest one seen.

mod time;

use std::collections::BTreeMap;

use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_core::map::Map;

use crate::deadlines::Deadlines;
use crate::journal::{Record, Row};
use crate::ranked_queue::RankedQueue;
use crate::rate::Rate;
use crate::settings::{EventSettings, Timings};
use crate::view::{Admission, Standing, UserState};
use crate::waiting_room::Stats;

#[derive(Clone, Debug)]
pub struct Room {
    timings: Timings,
    /// `None` until the first call passes settings; no user is ready before.
    settings: Option<EventSettings>,
    now: Timestamp,
    queue: RankedQueue<Waiter>,
    numbers: Map<UserId, u64>,
    /// Number of ready users; they are at the front of the queue.
    ready: usize,
    waiter_deadlines: Deadlines<u64>,
    entries: BTreeMap<UserId, Inside>,
    entry_deadlines: Deadlines<UserId>,
    rate: Rate,
    /// Journal records since the last [`Room::take_records`], in order.
    records: Vec<Record>,
    has_moved: bool,
}

#[derive(Clone, Debug)]
struct Waiter {
    user: UserId,
    /// End of the place unless the user polls before.
    waiting_until: Timestamp,
    ready_until: Option<Timestamp>,
}

impl Waiter {
    fn deadline(&self) -> Timestamp {
        self.ready_until.map_or(self.waiting_until, |ready_until| ready_until.min(self.waiting_until))
    }
}

#[derive(Clone, Copy, Debug)]
struct Inside {
    number: u64,
    admission: Admission,
}

/// Outcome of [`Room::enter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnterOutcome {
    /// `first` unless the entry existed before.
    Entered {
        state: UserState,
        first: bool,
    },
    NotYet(UserState),
    NotInQueue,
}

impl Room {
    pub fn new(timings: Timings) -> Self {
        Self {
            timings,
            settings: None,
            now: Timestamp::default(),
            queue: RankedQueue::default(),
            numbers: Map::default(),
            ready: 0,
            waiter_deadlines: Deadlines::default(),
            entries: BTreeMap::new(),
            entry_deadlines: Deadlines::default(),
            rate: Rate::default(),
            records: Vec::new(),
            has_moved: false,
        }
    }

    /// Restores a room from its journal rows, in the order of numbers. No poll could arrive while the server was down,
    /// so every waiter gets a whole `waiter_ttl`. Entries keep their end.
    pub fn restore(timings: Timings, rows: impl IntoIterator<Item = Row>, now: Timestamp) -> Self {
        let mut room = Self::new(timings);
        let rows: Vec<Row> = rows.into_iter().collect();
        // The clock may have been set back while the server was down.
        let latest = |row: &Row| row.admission.map_or(row.joined_at, |admission| admission.entered_at);
        room.now = rows.iter().map(latest).fold(now, Timestamp::max);
        for row in rows {
            if let Some(admission) = row.admission {
                room.queue.skip_to(row.number);
                room.entry_deadlines.add(admission.expires_at, row.user.clone());
                room.entries.insert(row.user, Inside { number: row.number, admission });
            } else {
                room.queue.skip_to(row.number - 1);
                let number = room.append(&row.user);
                assert_eq!(number, row.number, "rows are in the order of their numbers");
            }
        }
        room
    }

    /// Applies the settings of the event unless they are older than the known ones.
    pub fn configure(&mut self, settings: &EventSettings, now: Timestamp) {
        self.advance(now);
        if settings.replaces(self.settings.as_ref()) {
            self.settings = Some(settings.clone());
            self.update_ready();
        }
    }

    /// Takes a place at the end, unless the user has one or is inside. True if it is new.
    pub fn join(&mut self, user: &UserId, now: Timestamp) -> (UserState, bool) {
        self.advance(now);
        let new = !self.entries.contains_key(user) && !self.refresh_waiter(user);
        if new {
            let number = self.append(user);
            self.records.push(Record::Joined { number, user: user.clone(), at: self.now });
            self.update_ready();
        }
        (self.user_state(user).expect("a user who joined has a place"), new)
    }

    /// Extends the place or renews the entry. `None` if the user has neither.
    pub fn poll(&mut self, user: &UserId, now: Timestamp) -> Option<UserState> {
        self.advance(now);
        if !self.refresh_waiter(user) {
            self.renew(user);
        }
        self.user_state(user)
    }

    /// Enters if it is the user's turn. `id` becomes the id of the new entry.
    pub fn enter(&mut self, user: &UserId, id: [u8; 16], now: Timestamp) -> EnterOutcome {
        self.advance(now);
        if self.refresh_waiter(user) {
            let number = *self.numbers.get(user).expect("a refreshed waiter has a number");
            if self.queue.get(number).is_none_or(|waiter| waiter.ready_until.is_none()) {
                return EnterOutcome::NotYet(self.user_state(user).expect("a waiter has a state"));
            }
            self.admit(number, user, id);
            return EnterOutcome::Entered {
                state: self.user_state(user).expect("a user who entered has a state"),
                first: true,
            };
        }
        self.user_state(user).map_or(EnterOutcome::NotInQueue, |state| EnterOutcome::Entered { state, first: false })
    }

    /// Ends the place or the entry. True if there was one.
    pub fn leave(&mut self, user: &UserId, now: Timestamp) -> bool {
        self.advance(now);
        match self.numbers.get(user) {
            Some(&number) => {
                self.drop_waiter(number);
                self.update_ready();
                true
            }
            None => self.give_back(user, now),
        }
    }

    /// Ends the entry but not a place. True if there was one.
    pub fn give_back(&mut self, user: &UserId, now: Timestamp) -> bool {
        self.advance(now);
        let had = self.drop_entry(user);
        self.update_ready();
        had
    }

    /// Returns the user's entry if it is live, without renewing it.
    pub fn entry(&mut self, user: &UserId, now: Timestamp) -> Option<Admission> {
        self.advance(now);
        self.entries.get(user).map(|inside| inside.admission)
    }

    pub fn stats(&mut self, now: Timestamp) -> Stats {
        self.advance(now);
        Stats {
            waiting: (self.queue.len() - self.ready) as u64,
            ready: self.ready as u64,
            entered: self.entries.len() as u64,
            max_concurrent: self.settings.as_ref().map_or(0, |settings| settings.max_concurrent),
            paused: self.settings.as_ref().is_some_and(|settings| settings.paused),
            admitted_per_minute: self.rate.per_minute(self.now),
        }
    }

    /// Returns the journal records since the last call, and whether any position has changed.
    pub fn take_records(&mut self) -> (Vec<Record>, bool) {
        (std::mem::take(&mut self.records), std::mem::take(&mut self.has_moved))
    }

    /// Whether a new room would behave the same once it has the event's settings.
    pub fn is_discardable(&self) -> bool {
        self.queue.is_empty() && self.entries.is_empty() && self.rate.per_minute(self.now) == 0
    }

    fn user_state(&self, user: &UserId) -> Option<UserState> {
        let standing = match self.entries.get(user) {
            Some(inside) => Standing::Entered(inside.admission),
            None => {
                let number = *self.numbers.get(user)?;
                let rank = self.queue.rank(number)? as u64;
                match self.queue.get(number)?.ready_until {
                    Some(until) => Standing::Ready { rank, until },
                    None => Standing::Waiting { rank },
                }
            }
        };
        Some(UserState {
            at: self.now,
            standing,
            entered: self.entries.len() as u64,
            max_concurrent: self.settings.as_ref().map_or(0, |settings| settings.max_concurrent),
            sales_open_at: self.settings.as_ref().and_then(|settings| settings.sales_open_at),
            admitted_per_minute: self.rate.per_minute(self.now),
        })
    }

    /// Adds the user at the end of the queue, with a whole `waiter_ttl`.
    fn append(&mut self, user: &UserId) -> u64 {
        let waiting_until = self.now + self.timings.waiter_ttl;
        let number = self.queue.push(Waiter { user: user.clone(), waiting_until, ready_until: None });
        self.numbers.insert(user.clone(), number);
        self.add_waiter_deadline(waiting_until, number);
        number
    }

    /// Extends a waiter's deadline. False if the user has no place.
    fn refresh_waiter(&mut self, user: &UserId) -> bool {
        let Some(waiter) = self.numbers.get(user).and_then(|number| self.queue.get_mut(*number)) else { return false };
        waiter.waiting_until = self.now + self.timings.waiter_ttl;
        true
    }

    fn renew(&mut self, user: &UserId) {
        let Some(inside) = self.entries.get_mut(user) else { return };
        let admission = &mut inside.admission;
        let renewed = (self.now + self.timings.entry_ttl).min(admission.entered_at + self.timings.entry_max);
        if renewed > admission.expires_at {
            admission.expires_at = renewed;
            self.records.push(Record::Entered { number: inside.number, admission: *admission });
        }
    }

    fn admit(&mut self, number: u64, user: &UserId, id: [u8; 16]) {
        self.queue.remove(number);
        self.numbers.remove(user);
        self.ready -= 1;
        let expires_at = self.now + self.timings.entry_ttl.min(self.timings.entry_max);
        let admission = Admission { id, entered_at: self.now, expires_at };
        self.entries.insert(user.clone(), Inside { number, admission });
        self.entry_deadlines.add(expires_at, user.clone());
        if self.entry_deadlines.needs_rebuild(self.entries.len()) {
            self.entry_deadlines
                .rebuild(self.entries.iter().map(|(user, inside)| (inside.admission.expires_at, user.clone())));
        }
        self.rate.count(self.now);
        self.records.push(Record::Entered { number, admission });
        self.has_moved = true;
        self.update_ready();
    }
}
