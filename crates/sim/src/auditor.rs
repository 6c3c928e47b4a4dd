//! What must be true whatever happened: nothing is oversold, nothing leaks, nothing acknowledged is lost, a live hold can
//! be confirmed. The auditor knows no rule of stays; it compares records with each other and with what it heard before.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_core::hold::HoldState;
use holdfast_core::id::HoldId;
use holdfast_core::receipt::ReceiptId;
use holdfast_core::stay::hold::ConfirmHold;
use holdfast_core::stay::{ReservationState, StayDates, StayHold, StayReservation, StayReservationId};
use holdfast_core::time::Span;
use holdfast_core::{Actor, Command, Context, Stop, Timestamp};
use holdfast_engine::store::OutboxRecord;

use crate::call::{Call, Outcome, Reply, Request};
use crate::disk::{CANCELLED, CONFIRMED};
use crate::look::{Source, View, ask};
use crate::model::today;
use crate::{Finding, must};

/// The contract: ended holds stay readable this long.
const ENDED_HOLD_KEPT: Span = Span::from_hours(24);
/// The contract: answers are kept under their key this long.
const ANSWER_KEPT: Span = Span::from_hours(24);
/// Durable events are kept this long.
const OUTBOX_KEPT: Span = Span::from_hours(7 * 24);

#[derive(Debug, Default)]
pub struct Auditor {
    /// Every hold that anybody was told of, as it was last seen, and when it was first seen ended.
    holds: BTreeMap<HoldId, (StayHold, Option<Timestamp>)>,
    reservations: BTreeMap<StayReservationId, StayReservation>,
    /// Per key: which request, what was answered, when.
    answers: BTreeMap<ReceiptId, (u64, Vec<u8>, Timestamp)>,
    /// Keyed requests that got no answer, and since when: what is replayed first counts as theirs.
    unanswered: BTreeMap<(ReceiptId, u64), Timestamp>,
}

impl Auditor {
    /// Writes down what a caller was told, if it can be true beside what callers were told before.
    pub fn hear(&mut self, call: &Call, reply: &Reply, now: Timestamp) -> Result<(), Finding> {
        match reply {
            Reply::Rejected(_) => Ok(()),
            Reply::Replayed(response) => self.hear_again(call, response),
            Reply::Done(outcome) => {
                self.hear_key(call, outcome, now)?;
                self.hear_outcome(call, outcome)
            }
        }
    }

    /// The caller got no answer, and cannot know whether anything happened.
    pub fn hear_nothing(&mut self, call: &Call, now: Timestamp) {
        let Some(key) = &call.key else { return };
        let is_answered = self.answers.get(&key.id).is_some_and(|(_, _, at)| *at + ANSWER_KEPT > now);
        if !is_answered {
            self.unanswered.entry((key.id.clone(), key.request)).or_insert(now);
        }
    }

    /// Compares what is found now with what was seen and said before.
    pub fn inspect(&mut self, seen: &View, now: Timestamp) -> Result<(), Finding> {
        self.inspect_holds(seen, now)?;
        self.inspect_reservations(seen)?;
        inspect_nights(seen, now)
    }

    /// A live hold can always be confirmed: not only each, but all of them together.
    pub fn inspect_promises(&self, source: &impl Source, seen: &View, at: &Context<'_>) -> Result<(), Finding> {
        let live: Vec<&StayHold> = seen.holds.values().filter(|hold| hold.is_live(at.now)).collect();
        let confirmed = ask(source, at, |rows, at| {
            let mut missing = false;
            for hold in &live {
                let confirm = ConfirmHold { id: hold.id, actor: Actor::User(hold.owner) };
                match rows.attempt(|rows| confirm.decide(rows, at)) {
                    Ok(_) => {}
                    Err(Stop::Missing) => missing = true,
                    Err(Stop::Busy) => return Err(Stop::Busy),
                    Err(Stop::Rejected(rejection)) => return Ok(Some((hold.id, rejection))),
                }
            }
            if missing { Err(Stop::Missing) } else { Ok(None) }
        })?;
        must(confirmed == Ok(None), || format!("a live hold cannot be confirmed: {confirmed:?}"))
    }

    /// Each reservation made or given back is told exactly once.
    pub fn inspect_outbox(&self, outbox: &[OutboxRecord], seen: &View, now: Timestamp) -> Result<(), Finding> {
        let mut expected = BTreeSet::new();
        for reservation in seen.reservations.values() {
            expected.insert((CONFIRMED, reservation.id.get(), reservation.confirmed_at));
            if let ReservationState::Cancelled { at } = reservation.state {
                expected.insert((CANCELLED, reservation.id.get(), at));
            }
        }
        for record in outbox {
            let number = record.data.parse().unwrap_or(0);
            let told = expected.take(&(record.event_type.as_str(), number, record.at));
            must(told.is_some(), || format!("told twice, or told what is not so: {record:?}"))?;
        }
        expected.retain(|(_, _, at)| *at + OUTBOX_KEPT > now);
        must(expected.is_empty(), || format!("happened, but is not in the outbox: {expected:?}"))
    }

    /// When every hold has run out, nothing is held.
    pub fn inspect_end(&self, seen: &View) -> Result<(), Finding> {
        let leaked = seen.availability.iter().flat_map(|all| &all.nights).find(|night| night.held > 0);
        must(leaked.is_none(), || format!("still held when every hold is over: {leaked:?}"))
    }

    fn hear_key(&mut self, call: &Call, outcome: &Outcome, now: Timestamp) -> Result<(), Finding> {
        let Some(key) = &call.key else { return Ok(()) };
        self.unanswered.remove(&(key.id.clone(), key.request));
        let before = self.answers.insert(key.id.clone(), (key.request, outcome.render(), now));
        let is_first = before.is_none_or(|(_, _, at)| at + ANSWER_KEPT <= now);
        must(is_first, || format!("{call}: carried out again under a key that was answered before"))
    }

    fn hear_again(&mut self, call: &Call, response: &[u8]) -> Result<(), Finding> {
        let key = call.key.as_ref().ok_or_else(|| Finding(format!("{call}: replayed without a key")))?;
        if let Some(since) = self.unanswered.remove(&(key.id.clone(), key.request)) {
            self.answers.insert(key.id.clone(), (key.request, response.to_vec(), since));
        }
        let first = self.answers.get(&key.id);
        must(first.is_some_and(|(request, first, _)| *request == key.request && first == response), || {
            format!("{call}: replayed what was not the first answer: {}", String::from_utf8_lossy(response))
        })
    }

    fn hear_outcome(&mut self, call: &Call, outcome: &Outcome) -> Result<(), Finding> {
        for hold in outcome.holds() {
            let before = self.holds.insert(hold.id, (hold.clone(), None));
            must(before.is_none(), || format!("{call}: there was a hold of that name before"))?;
        }
        match (&call.request, outcome) {
            (Request::Cancel(cancel), Outcome::Released) => self.hear_ended(cancel.id, HoldState::Cancelled),
            (Request::Confirm(confirm), Outcome::Reservation(reservation)) => {
                self.hear_ended(confirm.id, HoldState::Confirmed { record: reservation.id.get() });
                let before = self.reservations.insert(reservation.id, reservation.clone());
                must(before.is_none(), || format!("{call}: there was a reservation {} before", reservation.id))?;
            }
            (Request::CancelReservation(_), Outcome::Reservation(reservation)) => {
                self.reservations.insert(reservation.id, reservation.clone());
            }
            _ => {}
        }
        Ok(())
    }

    fn hear_ended(&mut self, id: HoldId, state: HoldState) {
        if let Some((hold, _)) = self.holds.get_mut(&id) {
            hold.state = state;
        }
    }

    fn inspect_holds(&mut self, seen: &View, now: Timestamp) -> Result<(), Finding> {
        for hold in seen.holds.values() {
            // One whose maker got no answer is known from now on.
            self.holds.entry(hold.id).or_insert_with(|| (hold.clone(), None));
        }
        for (id, (before, ended_at)) in &mut self.holds {
            let Some(hold) = seen.holds.get(id) else {
                let ended_at = ended_at.unwrap_or(before.expires_at);
                must(ended_at + ENDED_HOLD_KEPT <= now, || format!("gone too early: {before:?}"))?;
                continue;
            };
            let is_same = StayHold { state: hold.state, ..before.clone() } == *hold;
            let may_become = before.state == hold.state || before.state == HoldState::Held;
            must(is_same && may_become, || format!("was {before:?}, is {hold:?}"))?;
            if hold.state != HoldState::Held {
                ended_at.get_or_insert(now);
            }
            before.state = hold.state;
        }
        self.holds.retain(|id, _| seen.holds.contains_key(id));
        Ok(())
    }

    fn inspect_reservations(&mut self, seen: &View) -> Result<(), Finding> {
        for (id, before) in &self.reservations {
            let reservation = seen.reservations.get(id);
            let is_still_there = reservation.is_some_and(|reservation| {
                let may_become = before.state == reservation.state || before.state == ReservationState::Confirmed;
                StayReservation { state: reservation.state, ..before.clone() } == *reservation && may_become
            });
            must(is_still_there, || format!("was {before:?}, is {reservation:?}"))?;
        }
        let mut holds = BTreeSet::new();
        for reservation in seen.reservations.values() {
            must(holds.insert(reservation.hold), || format!("confirmed twice: {reservation:?}"))?;
            let hold = seen.holds.get(&reservation.hold);
            let state = HoldState::Confirmed { record: reservation.id.get() };
            must(hold.is_none_or(|hold| hold.state == state), || format!("{reservation:?} is of {hold:?}"))?;
        }
        self.reservations = seen.reservations.clone();
        Ok(())
    }
}

/// `available = capacity − confirmed − held`, on every night, by counting the records. What is counted as held may be
/// late by the rest of a second, so it is compared from both sides.
fn inspect_nights(seen: &View, now: Timestamp) -> Result<(), Finding> {
    for (room_type, night) in
        seen.availability.iter().flat_map(|all| all.nights.iter().map(|night| (all.room_type, night)))
    {
        let is_on = |of, dates: StayDates| of == room_type && (dates.check_in..dates.check_out).contains(&night.date);
        let reserved = seen.reservations.values().filter(|reservation| {
            reservation.state == ReservationState::Confirmed && is_on(reservation.room_type, reservation.dates)
        });
        let held = |now: Timestamp| {
            seen.holds.values().filter(|hold| hold.is_live(now) && is_on(hold.room_type, hold.dates)).count()
        };
        let (reserved, live, live_lately) = (reserved.count(), held(now), held(now - Span::from_millis(999)));
        let counted = night.held as usize;
        must(night.reserved as usize == reserved, || format!("{room_type} {night:?}: {reserved} are reserved"))?;
        must((live..=live_lately).contains(&counted), || format!("{room_type} {night:?}: {live} are held"))?;
        let is_over = night.date < today(&seen.room_types[&room_type], now);
        let capacity = night.total_quantity as usize;
        // A room type may shrink below what it once sold for a night that is over and that nobody holds any more.
        must((is_over && live == 0) || reserved + live <= capacity, || {
            format!("{room_type} {night:?}: oversold: {reserved} reserved + {live} held of {capacity}")
        })?;
        let free = if night.closed { 0 } else { capacity.saturating_sub(reserved + counted) };
        must(night.available as usize == free, || format!("{room_type} {night:?}: {free} are free"))?;
    }
    Ok(())
}
