//! Holds without counts and index entries: every answer is found by a scan of all holds.

use std::collections::BTreeMap;

use super::*;
use crate::calendar::{LiveLock, SlotId};
use crate::rejection::Fault;
use crate::shop::{LastHold, stock_unit};
use crate::stay::{ClientKey, DatesKey, LiveHold, night_unit};
use crate::ticket::{BuyerId, SeatPointer, event_unit, seat_unit};

#[derive(Debug, Default)]
pub(super) struct Model {
    /// All holds in the order in which they were placed.
    pub(super) holds: Vec<Hold>,
}

impl Model {
    /// Returns the holds whose units count: live ones, and prepared ones also after their end.
    fn counted(&self, now: Timestamp) -> impl Iterator<Item = &Hold> {
        self.holds.iter().filter(move |hold| match hold.state {
            HoldState::Held => now < end(hold),
            HoldState::Prepared => true,
            HoldState::Confirmed | HoldState::Cancelled | HoldState::Replaced { .. } => false,
        })
    }

    /// Returns the effective counts and index entries, as [`Market::derived`] does.
    pub(super) fn derived(&self, now: Timestamp) -> Vec<String> {
        let mut held: BTreeMap<Unit, (u32, u32)> = BTreeMap::new();
        let mut buyers: BTreeMap<BuyerId, u32> = BTreeMap::new();
        let mut rows = Vec::new();
        for hold in self.counted(now) {
            let (id, is_prepared, has_time) = (hold.id, hold.state == HoldState::Prepared, now < end(hold));
            let mut kinds = Vec::new();
            for line in hold.lines.iter() {
                for (unit, quantity) in units_of(&line.item) {
                    let counts = held.entry(unit).or_default();
                    counts.0 += quantity;
                    counts.1 += if is_prepared { quantity } else { 0 };
                    kinds.push(unit.kind);
                }
                match &line.item {
                    Item::Stay(StayItem { room_type, dates, client_key: Some(key), .. }) if has_time => {
                        let (room_type, dates, entry) =
                            (*room_type, *dates, LiveHold { hold: id, expires_at: end(hold) });
                        rows.push(format!("{:?}", (DatesKey { user: hold.owner.clone(), room_type, dates }, entry)));
                        rows.push(format!("{:?}", (ClientKey { key: *key, room_type, dates }, entry)));
                    }
                    Item::Seats(SeatsItem { event, seats }) => {
                        *buyers.entry(BuyerId { event: *event, user: hold.owner.clone() }).or_default() +=
                            seats.len() as u32;
                        let expires_at = (!is_prepared).then(|| end(hold));
                        let pointer = SeatPointer { hold: id, owner: hold.owner.clone(), expires_at };
                        rows.extend(seats.iter().map(|seat| format!("{:?}", (seat.seat, pointer.clone()))));
                    }
                    Item::Slots(SlotsItem { room, slots }) if has_time => {
                        let entry = LiveLock { hold: id, expires_at: end(hold) };
                        let key = |slot: &LockedSlot| SlotId { room: *room, start: slot.start };
                        rows.extend(slots.iter().map(|slot| format!("{:?}", (key(slot), entry))));
                    }
                    Item::Stay(_) | Item::Slots(_) | Item::Stock(_) => {}
                }
            }
            kinds.sort_unstable();
            kinds.dedup();
            for kind in kinds.into_iter().filter(|_| has_time) {
                rows.push(format!("{kind:?} {:?} {id} {:?}", hold.owner, end(hold)));
            }
        }
        for (unit, (quantity, prepared)) in held {
            rows.push(format!("{unit:?} {quantity}"));
            rows.push(format!("{unit:?} prepared {prepared}"));
        }
        rows.extend(buyers.into_iter().map(|(buyer, count)| format!("held by {buyer:?} {count}")));
        rows.retain(|row| !row.ends_with(" 0"));
        rows.sort();
        rows
    }

    /// Returns the latest cart of each user, for a day after its end.
    pub(super) fn last_carts(&self, now: Timestamp) -> BTreeMap<UserId, LastHold> {
        let carts = self.holds.iter().filter(|hold| hold.origin == Origin::Cart);
        let entry = |hold: &Hold| LastHold { hold: hold.id, kept_until: end(hold) + Span::from_hours(24) };
        let mut last: BTreeMap<_, _> = carts.map(|hold| (hold.owner.clone(), entry(hold))).collect();
        last.retain(|_, entry| now < entry.kept_until);
        last
    }

    /// Whether one of the lines needs a unit, or an index key, that a new hold cannot take from another one.
    pub(super) fn is_blocked(&self, new: &Hold, now: Timestamp) -> bool {
        let is_sold = |hold: &Hold| hold.state == HoldState::Confirmed && shares_unit(hold, new, is_confirmed);
        let is_prepared = |hold: &Hold| hold.state == HoldState::Prepared && conflicts(hold, new, now);
        self.holds.iter().any(|hold| is_sold(hold) || is_prepared(hold))
    }

    /// Returns the live holds in whose place a new one is placed.
    pub(super) fn replaced_by(&self, new: &Hold, now: Timestamp) -> Vec<Hold> {
        let live = self.counted(now).filter(|hold| hold.state == HoldState::Held);
        live.filter(|hold| conflicts(hold, new, now)).cloned().collect()
    }

    /// Returns a live hold, or the rejection of any change.
    pub(super) fn find_live(&self, index: usize, actor: &Actor, now: Timestamp) -> Decision<&Hold> {
        let hold = &self.holds[index];
        let fault = match hold.state {
            _ if !is_allowed(actor, hold) => return Err(Rejection::Forbidden.into()),
            HoldState::Held if now < end(hold) => return Ok(hold),
            HoldState::Prepared => return Err(Stop::Retry),
            HoldState::Held | HoldState::Replaced { .. } => HoldFault::Ended,
            HoldState::Confirmed | HoldState::Cancelled => HoldFault::Processed { record: hold.record() },
        };
        Err(hold.origin.rejection(fault).into())
    }

    /// Returns the outcome of an extension.
    pub(super) fn extended(
        &self,
        index: usize,
        actor: &Actor,
        new_end: NewEnd,
        limits: &Limits,
        now: Timestamp,
    ) -> Decision<Hold> {
        let hold = &self.holds[index];
        match hold.state {
            _ if !is_allowed(actor, hold) => return Err(Rejection::Forbidden.into()),
            HoldState::Held if now < end(hold) => {}
            HoldState::Prepared => return Err(Stop::Retry),
            HoldState::Held | HoldState::Replaced { .. } => return Err(ClaimRejection::ClaimExpired.into()),
            HoldState::Confirmed | HoldState::Cancelled => {
                return Err(ClaimRejection::ClaimAlreadyProcessed { records: hold.records() }.into());
            }
        }
        let (field, millis) = match new_end {
            NewEnd::Later(span) => ("seconds", hold.expires_at.as_millis() + span.as_millis()),
            NewEnd::At(until) => ("until", until.as_millis()),
        };
        let expires_at = full_second(millis);
        if expires_at <= hold.expires_at {
            return Err(Rejection::invalid(field, Fault::EmptyRange).into());
        }
        let max_until = full_second(hold.created_at.as_millis() + limits.lifetime_max.as_millis());
        if expires_at > max_until || hold.extensions == limits.extensions_max {
            return Err(ClaimRejection::ExtensionLimit { max_until }.into());
        }
        Ok(Hold { expires_at, version: hold.version + 1, extensions: hold.extensions + 1, ..hold.clone() })
    }

    /// Confirms these lines of a hold, and releases the others.
    pub(super) fn confirm(&mut self, id: HoldId, confirmed: &[Line]) {
        let hold = self.get_mut(id);
        let state = |line: &Line| {
            let found = confirmed.iter().find(|confirmed| confirmed.index == line.index);
            Line { state: found.map_or(LineState::Released, |line| line.state), ..line.clone() }
        };
        let lines = hold.lines.iter().map(state).collect();
        *hold = Hold { state: HoldState::Confirmed, version: hold.version + 1, lines, ..hold.clone() };
    }

    /// Ends a hold otherwise.
    pub(super) fn end(&mut self, id: HoldId, state: HoldState) -> &Hold {
        let hold = self.get_mut(id);
        (hold.state, hold.version) = (state, hold.version + 1);
        hold
    }

    pub(super) fn get_mut(&mut self, id: HoldId) -> &mut Hold {
        self.holds.iter_mut().find(|hold| hold.id == id).expect("the hold was placed")
    }
}

/// Returns the end of a hold: its own, or that of its payment.
fn end(hold: &Hold) -> Timestamp {
    hold.pay_by.into_iter().fold(hold.expires_at, Timestamp::max)
}

fn full_second(millis: i64) -> Timestamp {
    Timestamp::from_millis(-(-millis).div_euclid(1_000) * 1_000)
}

fn is_allowed(actor: &Actor, hold: &Hold) -> bool {
    actor.must_own(&hold.owner).is_ok()
}

fn is_confirmed(line: &Line) -> bool {
    matches!(line.state, LineState::Confirmed { .. })
}

/// Whether two holds cannot be live at the same time.
fn conflicts(old: &Hold, new: &Hold, now: Timestamp) -> bool {
    let is_cart = old.origin == Origin::Cart && new.origin == Origin::Cart;
    let has_same_key = now < end(old)
        && stay_of(old).zip(stay_of(new)).is_some_and(|(old_item, new_item)| {
            let is_same_user = old.owner == new.owner || old_item.client_key == new_item.client_key;
            old_item.dates == new_item.dates && is_same_user
        });
    (is_cart && old.owner == new.owner) || has_same_key || shares_unit(old, new, |_| true)
}

/// Returns the line of a hold that the endpoint of stays placed.
fn stay_of(hold: &Hold) -> Option<&StayItem> {
    hold.items::<StayItem>().find(|item| item.client_key.is_some())
}

/// Whether a new hold claims a seat or a slot of these lines of an old one.
fn shares_unit(old: &Hold, new: &Hold, filter: impl Fn(&Line) -> bool) -> bool {
    let old_units: Vec<Unit> =
        old.lines.iter().filter(|line| filter(line)).flat_map(|line| single_units(&line.item)).collect();
    new.lines.iter().flat_map(|line| single_units(&line.item)).any(|unit| old_units.contains(&unit))
}

/// Returns the units of which there is one.
pub(super) fn single_units(item: &Item) -> Vec<Unit> {
    match item {
        Item::Stay(_) | Item::Stock(_) => Vec::new(),
        Item::Seats(_) => units_of(item).into_iter().skip(1).map(|(unit, _)| unit).collect(),
        Item::Slots(_) => units_of(item).into_iter().map(|(unit, _)| unit).collect(),
    }
}

fn units_of(item: &Item) -> Vec<(Unit, u32)> {
    match item {
        Item::Stay(StayItem { room_type, dates, .. }) => {
            dates.nights().map(|date| (night_unit(*room_type, date), 1)).collect()
        }
        Item::Stock(item) => vec![(stock_unit(item.option), item.quantity)],
        Item::Seats(SeatsItem { event, seats }) => {
            let whole = (event_unit(*event), seats.len() as u32);
            [whole].into_iter().chain(seats.iter().map(|seat| (seat_unit(seat.seat), 1))).collect()
        }
        Item::Slots(SlotsItem { room, slots }) => {
            slots.iter().map(|slot| (SlotId { room: *room, start: slot.start }.unit(), 1)).collect()
        }
    }
}
