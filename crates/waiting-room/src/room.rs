//! One event's room: the rules of waiting, and nothing else. No I/O, no clock, no randomness: time is an argument.
//!
//! - People stand in the order in which they were accepted. The first `max_concurrent − entered` of them are **ready**, if the
//!   event is not paused and sales are open.
//! - A person **becomes ready at the moment there is space for them**, whether or not they ask: when somebody leaves, when
//!   somebody's time ends, when sales open. From that moment `ready_ttl` runs. Who polls late learns late and has less of it
//!   left; `poll_after_ms` sees to it that one who obeys has at least half. Who stops being ready (a pause, a lower
//!   `max_concurrent`) keeps the place, and gets a whole `ready_ttl` the next time.
//! - Whatever time ends is ended in the order of those moments, before anything else is done ([`Room::advance`]). So it makes
//!   no difference when, or whether, anybody looked in between.
//!
//! Time never runs backwards here: an earlier `now` counts as the latest one seen.

mod time;

use std::collections::BTreeMap;

use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_core::map::Map;

use crate::deadlines::Deadlines;
use crate::journal::{Record, Row};
use crate::line::Line;
use crate::rate::Rate;
use crate::settings::{EventSettings, Timings};
use crate::view::{Admission, Sight, Standing};
use crate::waiting_room::Stats;

#[derive(Clone, Debug)]
pub struct Room {
    timings: Timings,
    /// `None` until somebody tells: then nobody is ready.
    settings: Option<EventSettings>,
    now: Timestamp,
    line: Line<Waiter>,
    numbers: Map<UserId, u64>,
    /// So many at the front of the line are ready.
    ready: usize,
    waiter_deadlines: Deadlines<u64>,
    entries: BTreeMap<UserId, Inside>,
    entry_deadlines: Deadlines<UserId>,
    rate: Rate,
    /// What happened since it was last asked, in order.
    records: Vec<Record>,
    moved: bool,
}

#[derive(Clone, Debug)]
struct Waiter {
    user: UserId,
    /// Unless heard of before.
    waits_until: Timestamp,
    ready_until: Option<Timestamp>,
}

impl Waiter {
    fn deadline(&self) -> Timestamp {
        self.ready_until.map_or(self.waits_until, |ready_until| ready_until.min(self.waits_until))
    }
}

#[derive(Clone, Copy, Debug)]
struct Inside {
    number: u64,
    admission: Admission,
}

/// What came of trying to enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    /// `first` unless the entry was there before.
    Entered {
        sight: Sight,
        first: bool,
    },
    NotYet(Sight),
    NotInQueue,
}

impl Room {
    pub fn new(timings: Timings) -> Self {
        Self {
            timings,
            settings: None,
            now: Timestamp::default(),
            line: Line::default(),
            numbers: Map::default(),
            ready: 0,
            waiter_deadlines: Deadlines::default(),
            entries: BTreeMap::new(),
            entry_deadlines: Deadlines::default(),
            rate: Rate::default(),
            records: Vec::new(),
            moved: false,
        }
    }

    /// The room as it was written down, in the order of numbers. Nobody could be heard of in the meantime, so all who wait
    /// have their whole `waiter_ttl` from now on. Entries end when they were said to end.
    pub fn restore(timings: Timings, rows: impl IntoIterator<Item = Row>, now: Timestamp) -> Self {
        let mut room = Self::new(timings);
        let rows: Vec<Row> = rows.into_iter().collect();
        // A clock that was set back in the meantime.
        let latest = |row: &Row| row.admission.map_or(row.joined_at, |admission| admission.entered_at);
        room.now = rows.iter().map(latest).fold(now, Timestamp::max);
        for row in rows {
            if let Some(admission) = row.admission {
                room.line.skip_to(row.number);
                room.entry_deadlines.note(admission.expires_at, row.user);
                room.entries.insert(row.user, Inside { number: row.number, admission });
            } else {
                room.line.skip_to(row.number - 1);
                let number = room.append(row.user);
                assert_eq!(number, row.number, "rows come in the order of their numbers");
            }
        }
        room
    }

    /// Takes over what the event allows now, unless it is older than what is known.
    pub fn configure(&mut self, settings: &EventSettings, now: Timestamp) {
        self.advance(now);
        if settings.replaces(self.settings.as_ref()) {
            self.settings = Some(settings.clone());
            self.settle();
        }
    }

    /// Takes a place at the end, unless the user has one or is inside. True if it is new.
    pub fn join(&mut self, user: UserId, now: Timestamp) -> (Sight, bool) {
        self.advance(now);
        let new = !self.entries.contains_key(&user) && !self.hear_of(user);
        if new {
            let number = self.append(user);
            self.records.push(Record::Joined { number, user, at: self.now });
            self.settle();
        }
        (self.sight(user).expect("who has joined is there"), new)
    }

    /// Keeps the place, or renews the entry. `None` if the user is not there.
    pub fn poll(&mut self, user: UserId, now: Timestamp) -> Option<Sight> {
        self.advance(now);
        if !self.hear_of(user) {
            self.renew(user);
        }
        self.sight(user)
    }

    /// Goes in, if it is the user's turn. `id` names the new entry.
    pub fn enter(&mut self, user: UserId, id: [u8; 16], now: Timestamp) -> Tried {
        self.advance(now);
        if self.hear_of(user) {
            let number = *self.numbers.get(&user).expect("who was heard of has a number");
            if self.line.get(number).is_none_or(|waiter| waiter.ready_until.is_none()) {
                return Tried::NotYet(self.sight(user).expect("a waiter is there"));
            }
            self.admit(number, user, id);
            return Tried::Entered { sight: self.sight(user).expect("who has entered is there"), first: true };
        }
        self.sight(user).map_or(Tried::NotInQueue, |sight| Tried::Entered { sight, first: false })
    }

    /// Gives up the place or the entry. True if there was one.
    pub fn leave(&mut self, user: UserId, now: Timestamp) -> bool {
        self.advance(now);
        match self.numbers.get(&user) {
            Some(&number) => {
                self.drop_waiter(number);
                self.settle();
                true
            }
            None => self.give_back(user, now),
        }
    }

    /// Gives up the entry, but not a place. True if there was one.
    pub fn give_back(&mut self, user: UserId, now: Timestamp) -> bool {
        self.advance(now);
        let had = self.drop_entry(user);
        self.settle();
        had
    }

    /// The user's entry, if it is live. Renews nothing.
    pub fn entry(&mut self, user: UserId, now: Timestamp) -> Option<Admission> {
        self.advance(now);
        self.entries.get(&user).map(|inside| inside.admission)
    }

    pub fn stats(&mut self, now: Timestamp) -> Stats {
        self.advance(now);
        Stats {
            waiting: (self.line.len() - self.ready) as u64,
            ready: self.ready as u64,
            entered: self.entries.len() as u64,
            max_concurrent: self.settings.as_ref().map_or(0, |settings| settings.max_concurrent),
            paused: self.settings.as_ref().is_some_and(|settings| settings.paused),
            admitted_per_minute: self.rate.per_minute(self.now),
        }
    }

    /// What has to be remembered of what happened since this was last asked, and whether anybody's standing has changed.
    pub fn take_records(&mut self) -> (Vec<Record>, bool) {
        (std::mem::take(&mut self.records), std::mem::take(&mut self.moved))
    }

    /// Whether a new room would be just as good, once it is told what the event allows.
    pub fn is_forgettable(&self) -> bool {
        self.line.is_empty() && self.entries.is_empty() && self.rate.per_minute(self.now) == 0
    }

    fn sight(&self, user: UserId) -> Option<Sight> {
        let standing = match self.entries.get(&user) {
            Some(inside) => Standing::Entered(inside.admission),
            None => {
                let number = *self.numbers.get(&user)?;
                let rank = self.line.rank(number)? as u64;
                match self.line.get(number)?.ready_until {
                    Some(until) => Standing::Ready { rank, until },
                    None => Standing::Waiting { rank },
                }
            }
        };
        Some(Sight {
            at: self.now,
            standing,
            entered: self.entries.len() as u64,
            max_concurrent: self.settings.as_ref().map_or(0, |settings| settings.max_concurrent),
            sales_open_at: self.settings.as_ref().and_then(|settings| settings.sales_open_at),
            admitted_per_minute: self.rate.per_minute(self.now),
        })
    }

    /// At the end of the line, with a whole `waiter_ttl`.
    fn append(&mut self, user: UserId) -> u64 {
        let waits_until = self.now + self.timings.waiter_ttl;
        let number = self.line.push(Waiter { user, waits_until, ready_until: None });
        self.numbers.insert(user, number);
        self.note_waiter(waits_until, number);
        number
    }

    /// A waiter is there. False if the user is none.
    fn hear_of(&mut self, user: UserId) -> bool {
        let Some(waiter) = self.numbers.get(&user).and_then(|number| self.line.get_mut(*number)) else { return false };
        waiter.waits_until = self.now + self.timings.waiter_ttl;
        true
    }

    fn renew(&mut self, user: UserId) {
        let Some(inside) = self.entries.get_mut(&user) else { return };
        let admission = &mut inside.admission;
        let renewed = (self.now + self.timings.entry_ttl).min(admission.entered_at + self.timings.entry_max);
        if renewed > admission.expires_at {
            admission.expires_at = renewed;
            self.records.push(Record::Entered { number: inside.number, admission: *admission });
        }
    }

    fn admit(&mut self, number: u64, user: UserId, id: [u8; 16]) {
        self.line.remove(number);
        self.numbers.remove(&user);
        self.ready -= 1;
        let expires_at = self.now + self.timings.entry_ttl.min(self.timings.entry_max);
        let admission = Admission { id, entered_at: self.now, expires_at };
        self.entries.insert(user, Inside { number, admission });
        self.entry_deadlines.note(expires_at, user);
        if self.entry_deadlines.is_cluttered(self.entries.len()) {
            self.entry_deadlines
                .rewrite(self.entries.iter().map(|(user, inside)| (inside.admission.expires_at, *user)));
        }
        self.rate.count(self.now);
        self.records.push(Record::Entered { number, admission });
        self.moved = true;
        self.settle();
    }
}
