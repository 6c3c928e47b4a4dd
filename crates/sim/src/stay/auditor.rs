//! Invariants of any history: no unit is oversold, no hold leaks, no acknowledged result is lost, every live hold can
//! be confirmed. The auditor knows no rule of stays; it compares records with each other and with earlier replies.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_core::hold::{Hold, HoldState, Line, LineState};
use holdfast_core::id::HoldId;
use holdfast_core::idempotency::IdempotencyRecordId;
use holdfast_core::stay::{ConfirmStayHold, StayDates, StayReservation, StayReservationId, StayReservationState};
use holdfast_core::time::Span;
use holdfast_core::{Actor, Command, Context, Stop, Timestamp};
use holdfast_engine::store::OutboxRecord;

use super::call::{Call, Outcome, Reply, Request};
use super::model::{is_live, stay, today};
use super::view::View;
use crate::disk::{CANCELLED, CONFIRMED};
use crate::query::{Source, query};
use crate::{Finding, ensure};

/// Contract: retention of ended holds.
const ENDED_HOLD_KEPT: Span = Span::from_hours(24);
/// Contract: retention of responses under their idempotency key.
const ANSWER_KEPT: Span = Span::from_hours(24);
/// Retention of durable events.
const OUTBOX_KEPT: Span = Span::from_hours(7 * 24);

#[derive(Debug, Default)]
pub struct Auditor {
    holds: BTreeMap<HoldId, KnownHold>,
    reservations: BTreeMap<StayReservationId, StayReservation>,
    /// Per key: number of the request, its response, and when it was recorded.
    responses: BTreeMap<IdempotencyRecordId, (u64, Vec<u8>, Timestamp)>,
    /// Keyed requests without a reply, and since when. The first replayed response counts as their response.
    unanswered: BTreeMap<(IdempotencyRecordId, u64), Timestamp>,
}

#[derive(Debug)]
struct KnownHold {
    /// As last read or replied.
    row: Hold,
    /// State in which a reply has ended the hold.
    acknowledged: Option<HoldState>,
    /// Time when the hold was first seen ended by a command.
    ended_at: Option<Timestamp>,
}

impl Auditor {
    /// Records a reply, and checks it against earlier replies.
    pub fn record_reply(&mut self, call: &Call, reply: &Reply, now: Timestamp) -> Result<(), Finding> {
        match reply {
            Reply::Rejected(_) => Ok(()),
            Reply::Replayed(response) => self.record_replay(call, response),
            Reply::Done(outcome) => {
                self.record_key(call, outcome, now)?;
                self.record_outcome(call, outcome)
            }
        }
    }

    /// Records that a call got no reply, so that its outcome is unknown.
    pub fn record_no_reply(&mut self, call: &Call, now: Timestamp) {
        let Some(key) = &call.key else { return };
        let is_answered = self.responses.get(&key.id).is_some_and(|(_, _, at)| *at + ANSWER_KEPT > now);
        if !is_answered {
            self.unanswered.entry((key.id.clone(), key.request)).or_insert(now);
        }
    }

    /// Compares the current state with earlier states and replies.
    pub fn inspect(&mut self, stored: &View, now: Timestamp) -> Result<(), Finding> {
        self.inspect_holds(stored, now)?;
        self.inspect_reservations(stored)?;
        inspect_nights(stored, now)
    }

    /// Checks that all live holds together can be confirmed.
    pub fn inspect_confirmability(&self, source: &impl Source, stored: &View, at: &Context<'_>) -> Result<(), Finding> {
        let live: Vec<&Hold> = stored.holds.values().filter(|hold| is_live(hold, at.now)).collect();
        let confirmed = query(source, at, |rows, at| {
            let mut missing = false;
            for hold in &live {
                let confirm = ConfirmStayHold::new(hold.id, Actor::User(hold.owner.clone()));
                match rows.attempt(|rows| confirm.decide(rows, at)) {
                    Ok(_) => {}
                    Err(Stop::NeedRows) => missing = true,
                    Err(Stop::Retry) => return Err(Stop::Retry),
                    Err(Stop::Rejected(rejection)) => return Ok(Some((hold.id, rejection))),
                }
            }
            if missing { Err(Stop::NeedRows) } else { Ok(None) }
        })?;
        ensure(confirmed == Ok(None), || format!("a live hold cannot be confirmed: {confirmed:?}"))
    }

    /// Checks that each confirmation and cancellation is in the outbox exactly once.
    pub fn inspect_outbox(&self, outbox: &[OutboxRecord], stored: &View, now: Timestamp) -> Result<(), Finding> {
        let mut expected = BTreeSet::new();
        for reservation in stored.reservations.values() {
            expected.insert((CONFIRMED, reservation.id.get(), reservation.confirmed_at));
            if let StayReservationState::Cancelled { at } = reservation.state {
                expected.insert((CANCELLED, reservation.id.get(), at));
            }
        }
        for record in outbox {
            let number = record.data.parse().unwrap_or(0);
            let expected_event = expected.take(&(record.event_type.as_str(), number, record.at));
            ensure(expected_event.is_some(), || format!("published twice, or without a cause: {record:?}"))?;
        }
        expected.retain(|(_, _, at)| *at + OUTBOX_KEPT > now);
        ensure(expected.is_empty(), || format!("missing in the outbox: {expected:?}"))
    }

    /// Checks that no unit is held after every hold has expired.
    pub fn inspect_end(&self, stored: &View) -> Result<(), Finding> {
        let leaked = stored.availability.iter().flat_map(|all| &all.nights).find(|night| night.held > 0);
        ensure(leaked.is_none(), || format!("held after every hold has expired: {leaked:?}"))
    }

    fn record_key(&mut self, call: &Call, outcome: &Outcome, now: Timestamp) -> Result<(), Finding> {
        let Some(key) = &call.key else { return Ok(()) };
        self.unanswered.remove(&(key.id.clone(), key.request));
        let before = self.responses.insert(key.id.clone(), (key.request, outcome.render(), now));
        let is_first = before.is_none_or(|(_, _, at)| at + ANSWER_KEPT <= now);
        ensure(is_first, || format!("{call}: executed again under a key with a response"))
    }

    fn record_replay(&mut self, call: &Call, response: &[u8]) -> Result<(), Finding> {
        let key = call.key.as_ref().ok_or_else(|| Finding(format!("{call}: replayed without a key")))?;
        if let Some(since) = self.unanswered.remove(&(key.id.clone(), key.request)) {
            self.responses.insert(key.id.clone(), (key.request, response.to_vec(), since));
        }
        let first = self.responses.get(&key.id);
        ensure(first.is_some_and(|(request, first, _)| *request == key.request && first == response), || {
            format!("{call}: replayed another response than the first one: {}", String::from_utf8_lossy(response))
        })
    }

    fn record_outcome(&mut self, call: &Call, outcome: &Outcome) -> Result<(), Finding> {
        for hold in outcome.holds() {
            let before = self.holds.insert(hold.id, KnownHold::new(hold));
            ensure(before.is_none(), || format!("{call}: the id of the hold is not unique"))?;
        }
        match (&call.request, outcome) {
            (Request::Cancel(cancel), Outcome::Released) => self.record_ended_hold(cancel.id, HoldState::Cancelled),
            (Request::Confirm(confirm), Outcome::Reservation(reservation)) => {
                self.record_ended_hold(confirm.id, HoldState::Confirmed);
                let before = self.reservations.insert(reservation.id, reservation.clone());
                ensure(before.is_none(), || {
                    format!("{call}: the number {} of the reservation is not unique", reservation.id)
                })?;
            }
            (Request::Extend(_), Outcome::Extended(hold)) => {
                let known = self.holds.entry(hold.id).or_insert_with(|| KnownHold::new(hold));
                ensure(known.may_become(hold), || format!("{call}: was {known:?}, is {hold:?}"))?;
                known.row = hold.clone();
            }
            (Request::CancelReservation(_), Outcome::Reservation(reservation)) => {
                self.reservations.insert(reservation.id, reservation.clone());
            }
            _ => {}
        }
        Ok(())
    }

    fn record_ended_hold(&mut self, id: HoldId, state: HoldState) {
        if let Some(known) = self.holds.get_mut(&id) {
            known.acknowledged = Some(state);
        }
    }

    fn inspect_holds(&mut self, stored: &View, now: Timestamp) -> Result<(), Finding> {
        for hold in stored.holds.values() {
            // A hold whose caller got no reply is known from now on.
            self.holds.entry(hold.id).or_insert_with(|| KnownHold::new(hold));
        }
        for (id, known) in &mut self.holds {
            let Some(hold) = stored.holds.get(id) else {
                ensure(known.may_be_purged(now), || format!("purged too early: {known:?}"))?;
                continue;
            };
            ensure(known.may_become(hold), || format!("was {known:?}, is {hold:?}"))?;
            if hold.state != HoldState::Held {
                known.ended_at.get_or_insert(now);
            }
            known.row = hold.clone();
        }
        self.holds.retain(|id, _| stored.holds.contains_key(id));
        Ok(())
    }

    fn inspect_reservations(&mut self, stored: &View) -> Result<(), Finding> {
        for (id, before) in &self.reservations {
            let reservation = stored.reservations.get(id);
            let is_kept = reservation.is_some_and(|reservation| {
                let is_transition =
                    before.state == reservation.state || before.state == StayReservationState::Confirmed;
                StayReservation { state: reservation.state, ..before.clone() } == *reservation && is_transition
            });
            ensure(is_kept, || format!("was {before:?}, is {reservation:?}"))?;
        }
        let mut holds = BTreeSet::new();
        for reservation in stored.reservations.values() {
            ensure(holds.insert(reservation.hold), || format!("confirmed twice: {reservation:?}"))?;
            let hold = stored.holds.get(&reservation.hold);
            let record = reservation.id.get();
            let state = match reservation.state {
                StayReservationState::Confirmed => LineState::Confirmed { record },
                StayReservationState::Cancelled { .. } => LineState::Cancelled { record },
            };
            let is_confirmed =
                |hold: &Hold| hold.state == HoldState::Confirmed && hold.lines.iter().all(|line| line.state == state);
            ensure(hold.is_some_and(is_confirmed), || format!("{reservation:?} does not match {hold:?}"))?;
        }
        self.reservations = stored.reservations.clone();
        Ok(())
    }
}

impl KnownHold {
    fn new(row: &Hold) -> Self {
        Self { row: row.clone(), acknowledged: None, ended_at: None }
    }

    /// A confirmed hold is kept for ever, any other for a day after its end.
    fn may_be_purged(&self, now: Timestamp) -> bool {
        let is_confirmed = [Some(self.row.state), self.acknowledged].contains(&Some(HoldState::Confirmed));
        !is_confirmed && self.ended_at.unwrap_or(self.row.expires_at) + ENDED_HOLD_KEPT <= now
    }

    /// Whether the hold can be in this state at a later time. An ended hold never changes, except that the record of a
    /// confirmed one can be cancelled.
    fn may_become(&self, hold: &Hold) -> bool {
        let before = &self.row;
        if self.acknowledged.is_some_and(|state| state != hold.state) {
            return false;
        }
        let is_open = before.state == HoldState::Held || before.state == HoldState::Confirmed;
        if !is_open || before.version == hold.version {
            return before == hold;
        }
        let Hold { state, version, extensions, expires_at, lines, .. } = hold.clone();
        let has_same_lines = before.lines.len() == lines.len()
            && before.lines.iter().zip(&*lines).all(|(before, line)| {
                Line { state: line.state, ..before.clone() } == *line && can_follow(before, line)
            });
        let is_cancelled = |lines: &[Line]| lines.iter().any(|line| matches!(line.state, LineState::Cancelled { .. }));
        // Each extension moves the end, and only extensions do.
        let (Some(changes), Some(moves)) =
            (version.checked_sub(before.version), extensions.checked_sub(before.extensions))
        else {
            return false;
        };
        has_same_lines
            && changes
                == u32::from(moves)
                    + u32::from(state != before.state)
                    + u32::from(is_cancelled(&lines) && !is_cancelled(&before.lines))
            && (before.state == HoldState::Held || (state == HoldState::Confirmed && moves == 0))
            && (expires_at > before.expires_at) == (moves > 0)
            && expires_at >= before.expires_at
            && Hold { state, version, extensions, expires_at, lines, ..before.clone() } == *hold
    }
}

/// Whether a line can be in the state of `after` later: its record stays the same, and a cancelled one stays cancelled.
fn can_follow(before: &Line, after: &Line) -> bool {
    match (before.state, after.state) {
        (LineState::Held, _) => true,
        (LineState::Confirmed { record }, LineState::Cancelled { record: same }) => record == same,
        (before, after) => before == after,
    }
}

/// Checks `available = capacity − confirmed − held` on every night by counting records.
fn inspect_nights(stored: &View, now: Timestamp) -> Result<(), Finding> {
    for (room_type, night) in
        stored.availability.iter().flat_map(|all| all.nights.iter().map(|night| (all.room_type, night)))
    {
        let is_on = |of, dates: StayDates| of == room_type && (dates.check_in..dates.check_out).contains(&night.date);
        let reserved = stored.reservations.values().filter(|reservation| {
            reservation.state == StayReservationState::Confirmed && is_on(reservation.room_type, reservation.dates)
        });
        let held =
            stored.holds.values().filter(|hold| is_live(hold, now) && is_on(stay(hold).room_type, stay(hold).dates));
        let (reserved, live, counted) = (reserved.count(), held.count(), night.held as usize);
        ensure(night.reserved as usize == reserved, || format!("{room_type} {night:?}: {reserved} are reserved"))?;
        ensure(live == counted, || format!("{room_type} {night:?}: {live} are held"))?;
        let is_past = night.date < today(&stored.room_types[&room_type], now);
        let capacity = night.total_quantity as usize;
        // The total of a room type may be lowered below the sales of a past night without live holds.
        ensure((is_past && live == 0) || reserved + live <= capacity, || {
            format!("{room_type} {night:?}: oversold: {reserved} reserved + {live} held of {capacity}")
        })?;
        let free = if night.closed { 0 } else { capacity.saturating_sub(reserved + counted) };
        ensure(night.available as usize == free, || format!("{room_type} {night:?}: {free} are free"))?;
    }
    Ok(())
}
