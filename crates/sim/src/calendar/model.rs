//! Naive, independent implementation of the rules of rooms by the hour. It uses the types of core, but none of its
//! logic. The room is open every day from nine to noon, in a zone without clock changes.

use std::collections::BTreeMap;

use holdfast_core::calendar::block::BlockSlots;
use holdfast_core::calendar::lock::LockSlots;
use holdfast_core::calendar::{BlockStatus, LocalTime, RoomReservationId, SlotStart};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::time::Span;
use holdfast_core::{CalendarRejection, Rejection, Timestamp};
use jiff::civil::Date;

use super::call::{Call, Reply};

/// Hours at which slots start.
pub const HOURS: [u16; 3] = [9, 10, 11];
/// Offset of the zone from UTC.
const UTC_OFFSET: Span = Span::from_hours(9);

#[derive(Clone, Debug)]
pub struct Model {
    pub lock_ttl: Span,
    pub days_ahead: u32,
    pub slots: BTreeMap<SlotStart, State>,
    pub generated_until: Option<Date>,
    pub locks: BTreeMap<HoldId, Lock>,
    pub reservations: BTreeMap<RoomReservationId, Reservation>,
    /// Number of commands that blocked slots; a command without effect emits no event.
    pub blocked: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Free,
    Reserved(RoomReservationId),
    Off(BlockStatus),
}

#[derive(Clone, Debug)]
pub struct Lock {
    pub user: UserId,
    pub slots: Vec<SlotStart>,
    pub created_at: Timestamp,
    pub ends_at: Timestamp,
    pub end: End,
}

/// End of a lock, other than by expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    None,
    Released,
    Replaced,
    Confirmed(RoomReservationId),
}

#[derive(Clone, Debug)]
pub struct Reservation {
    pub user: UserId,
    pub slots: Vec<SlotStart>,
    pub is_cancelled: bool,
}

impl Model {
    pub fn new(lock_ttl: Span, days_ahead: u32) -> Self {
        Self {
            lock_ttl,
            days_ahead,
            slots: BTreeMap::new(),
            generated_until: None,
            locks: BTreeMap::new(),
            reservations: BTreeMap::new(),
            blocked: 0,
        }
    }

    /// Executes a call and returns the expected reply. `number` is that of a new reservation, because it cannot be
    /// predicted.
    pub fn apply(&mut self, call: &Call, number: Option<RoomReservationId>, now: Timestamp) -> Reply {
        let reply = match call {
            Call::Generate(_) => Ok(self.generate(now)),
            Call::Lock(lock) => self.lock(lock, now),
            Call::Confirm(confirm) => self.confirm(confirm.id, number, now),
            Call::Release(release) => self.check_live(release.id, now).map(|()| {
                self.end(release.id, End::Released);
                Reply::Released
            }),
            Call::Cancel(cancel) => self.cancel(cancel.id),
            Call::Block(block) => self.block(block, now),
            Call::Unblock(unblock) => self.changeable(&unblock.slots, now).map(|starts| {
                for start in &starts {
                    self.slots.insert(*start, State::Free);
                }
                Reply::Changed(starts.len())
            }),
        };
        reply.unwrap_or_else(|rejection| Reply::Rejected(Rejection::Calendar(rejection)))
    }

    /// Returns the live lock on a slot.
    pub fn locked_by(&self, start: SlotStart, now: Timestamp) -> Option<HoldId> {
        let is_on = |(_, lock): &(&HoldId, &Lock)| lock.is_live(now) && lock.slots.contains(&start);
        self.locks.iter().find(is_on).map(|(id, _)| *id)
    }

    fn generate(&mut self, now: Timestamp) -> Reply {
        let today = today(now);
        let until = today.saturating_add(jiff::Span::new().days(self.days_ahead));
        let before = self.slots.len();
        let mut date = today;
        while date <= until {
            if date == today || self.generated_until.is_none_or(|last| date > last) {
                for hour in HOURS {
                    self.slots.entry(start(date, hour)).or_insert(State::Free);
                }
            }
            date = date.tomorrow().expect("histories are short");
        }
        self.generated_until = self.generated_until.max(Some(until));
        Reply::Generated((self.slots.len() - before) as u32, self.generated_until)
    }

    fn lock(&mut self, lock: &LockSlots, now: Timestamp) -> Result<Reply, CalendarRejection> {
        let starts = sorted(&lock.slots);
        for start in &starts {
            let is_free = self.slots.get(start) == Some(&State::Free) && begins_at(*start) > now;
            let is_locked_by_other = self.locked_by(*start, now).is_some_and(|id| self.locks[&id].user != lock.user);
            if !is_free || is_locked_by_other {
                return Err(not_available(*start));
            }
        }
        let replaced: Vec<HoldId> = starts.iter().filter_map(|start| self.locked_by(*start, now)).collect();
        for id in replaced {
            self.end(id, End::Replaced);
        }
        let id = HoldId::new(now, lock.random);
        let ttl = lock.ttl.map_or(self.lock_ttl, |ttl| ttl.min(self.lock_ttl));
        let lock_row = Lock {
            user: lock.user.clone(),
            slots: starts.clone(),
            created_at: now,
            ends_at: (now + ttl).rounded_up_to_second(),
            end: End::None,
        };
        self.locks.insert(id, lock_row);
        Ok(Reply::Locked(id, starts))
    }

    fn confirm(
        &mut self,
        id: HoldId,
        number: Option<RoomReservationId>,
        now: Timestamp,
    ) -> Result<Reply, CalendarRejection> {
        self.check_live(id, now)?;
        // Without such a reservation, the call cannot have been executed here.
        let Some(number) = number.filter(|number| !self.reservations.contains_key(number)) else {
            return Ok(Reply::Unnumbered);
        };
        self.end(id, End::Confirmed(number));
        let Lock { user, slots, .. } = self.locks[&id].clone();
        for start in &slots {
            self.slots.insert(*start, State::Reserved(number));
        }
        self.reservations.insert(number, Reservation { user, slots: slots.clone(), is_cancelled: false });
        Ok(Reply::Reserved(number, slots))
    }

    fn cancel(&mut self, id: RoomReservationId) -> Result<Reply, CalendarRejection> {
        let reservation = self.reservations.get_mut(&id).ok_or(CalendarRejection::RoomReservationNotFound)?;
        if reservation.is_cancelled {
            return Err(CalendarRejection::RoomReservationAlreadyCancelled);
        }
        reservation.is_cancelled = true;
        for start in reservation.slots.clone() {
            self.slots.insert(start, State::Free);
        }
        Ok(Reply::Cancelled(id))
    }

    fn block(&mut self, block: &BlockSlots, now: Timestamp) -> Result<Reply, CalendarRejection> {
        let starts = self.changeable(&block.slots, now)?;
        let new = State::Off(block.status);
        if starts.iter().any(|start| self.slots[start] != new) {
            self.blocked += 1;
        }
        for start in &starts {
            self.slots.insert(*start, new);
        }
        Ok(Reply::Changed(starts.len()))
    }

    /// Returns the starts in order, if the slots exist and are neither reserved nor locked.
    fn changeable(&self, starts: &[SlotStart], now: Timestamp) -> Result<Vec<SlotStart>, CalendarRejection> {
        let starts = sorted(starts);
        for start in &starts {
            match self.slots.get(start) {
                None => return Err(CalendarRejection::SlotNotFound { date: start.date(), time: start.time() }),
                Some(State::Reserved(_)) => return Err(not_available(*start)),
                Some(State::Free | State::Off(_)) if self.locked_by(*start, now).is_some() => {
                    return Err(not_available(*start));
                }
                Some(State::Free | State::Off(_)) => {}
            }
        }
        Ok(starts)
    }

    fn check_live(&self, id: HoldId, now: Timestamp) -> Result<(), CalendarRejection> {
        let reservation = match self.locks.get(&id) {
            Some(lock) if lock.is_live(now) => return Ok(()),
            Some(Lock { end: End::Confirmed(number), .. }) => Some(number.get()),
            Some(_) | None => None,
        };
        Err(CalendarRejection::SlotNotLocked { reservation })
    }

    fn end(&mut self, id: HoldId, end: End) {
        self.locks.get_mut(&id).expect("the lock is live").end = end;
    }
}

impl Lock {
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.end == End::None && now < self.ends_at
    }
}

/// Returns the local date of the room.
pub fn today(now: Timestamp) -> Date {
    (now + UTC_OFFSET).to_jiff().to_zoned(jiff::tz::TimeZone::UTC).date()
}

pub fn start(date: Date, hour: u16) -> SlotStart {
    SlotStart::new(date, LocalTime::from_minutes(hour * 60).expect("an hour of a day")).expect("a day of a history")
}

fn begins_at(start: SlotStart) -> Timestamp {
    let minutes = i64::from(start.time().minutes());
    let midnight = start.date().at(0, 0, 0, 0).to_zoned(jiff::tz::TimeZone::UTC).expect("UTC has every time");
    Timestamp::from_millis(midnight.timestamp().as_millisecond() + minutes * 60_000) - UTC_OFFSET
}

fn sorted(starts: &[SlotStart]) -> Vec<SlotStart> {
    let mut starts = starts.to_vec();
    starts.sort_unstable();
    starts
}

fn not_available(start: SlotStart) -> CalendarRejection {
    CalendarRejection::SlotNotAvailable { date: start.date(), time: start.time() }
}
