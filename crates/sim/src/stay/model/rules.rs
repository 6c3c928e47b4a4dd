//! Each command of stays by the contract: a rejection, in the contract's order of checks, or a change of the lists.

use holdfast_core::command::Attempt;
use holdfast_core::hold::{ExtendHold, Hold, HoldState, Item, Line, LineState, NewEnd, Origin};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::money::{Currency, PRICE_MAX};
use holdfast_core::rejection::ClaimRejection;
use holdfast_core::stay::place::PlaceStayHold;
use holdfast_core::stay::room_type::{RoomTypeDraft, SetNightsClosed, TOTAL_QUANTITY_MAX};
use holdfast_core::stay::{
    DAYS_AHEAD_MAX, RoomType, RoomTypeId, StayDates, StayItem, StayReservation, StayReservationId, StayReservationState,
};
use holdfast_core::time::Zone;
use holdfast_core::{Actor, Fault, Rejection, StayRejection, Timestamp};
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::Model;
use crate::stay::call::hold_id;

/// Bounds of the contract. Where it only says "out of range", core's bounds are used.
const HOLD_NIGHTS_MAX: u32 = 90;
const RANGE_NIGHTS_MAX: u32 = 366;

impl Model {
    pub(super) fn create(&mut self, draft: &RoomTypeDraft) -> RoomType {
        let number = self.room_types.len() as u64 + 1;
        let zone = draft.time_zone.as_deref().unwrap_or("Asia/Seoul");
        let room_type = RoomType {
            id: RoomTypeId::new(number).expect("histories are short"),
            name: draft.name.as_deref().expect("the workload names its room types").into(),
            description: None,
            total_quantity: draft.total_quantity.expect("the workload sets the quantity"),
            base_price: draft.base_price.expect("the workload sets the price"),
            currency: Currency::KRW,
            zone: Zone::parse(zone).expect("the workload names real zones"),
        };
        self.room_types.push(room_type.clone());
        room_type
    }

    /// Only quantity and price; the workload changes nothing else.
    pub(super) fn change(
        &mut self,
        id: RoomTypeId,
        draft: &RoomTypeDraft,
        now: Timestamp,
    ) -> Result<RoomType, Rejection> {
        let old = self.find_room_type(id)?;
        let total_quantity = draft.total_quantity.unwrap_or(old.total_quantity);
        let base_price = draft.base_price.unwrap_or(old.base_price);
        if total_quantity > TOTAL_QUANTITY_MAX {
            let fault = Fault::OutOfRange { min: 0, max: TOTAL_QUANTITY_MAX.into() };
            return Err(Rejection::invalid("totalQuantity", fault));
        }
        if !(0..=PRICE_MAX).contains(&base_price) {
            return Err(Rejection::invalid("basePrice", Fault::OutOfRange { min: 0, max: PRICE_MAX }));
        }
        if total_quantity < old.total_quantity {
            let today = today(&old, now);
            for date in self.dates_in_use(id) {
                // A past night is irrelevant, unless a hold on it can still be confirmed.
                let (reserved, held) = (self.reserved(id, date), self.held(id, date, now, None));
                let in_use = reserved + held;
                if in_use > total_quantity && (date >= today || held > 0) {
                    return Err(Rejection::Stay(StayRejection::RoomsInUse { date, in_use }));
                }
            }
        }
        let new = RoomType { total_quantity, base_price, ..old };
        for room_type in self.room_types.iter_mut().filter(|room_type| room_type.id == id) {
            *room_type = new.clone();
        }
        Ok(new)
    }

    pub(super) fn set_closed(&mut self, command: &SetNightsClosed) -> Result<StayDates, Rejection> {
        let dates = StayDates { check_in: command.from, check_out: command.to };
        check_range(dates, RANGE_NIGHTS_MAX, "to")?;
        self.find_room_type(command.room_type)?;
        for date in nights(dates) {
            self.closed.retain(|night| *night != (command.room_type, date));
            if command.closed {
                self.closed.push((command.room_type, date));
            }
        }
        Ok(dates)
    }

    pub(super) fn place(&mut self, place: &PlaceStayHold, now: Timestamp) -> Result<Hold, Rejection> {
        let PlaceStayHold { random: _, user, room_type, check_in, check_out, client_key, .. } = place.clone();
        let (id, dates) = (hold_id(place, now), StayDates { check_in, check_out });
        check_range(dates, HOLD_NIGHTS_MAX, "checkOut")?;
        let room_type = self.find_room_type(room_type)?;
        check_check_in(dates, today(&room_type, now))?;
        let on_same_dates =
            |hold: &&Hold| is_live(hold, now) && stay(hold).room_type == room_type.id && stay(hold).dates == dates;
        let has_key = |hold: &Hold| stay(hold).client_key == Some(client_key);
        if self.holds.iter().filter(on_same_dates).any(|hold| has_key(hold) && hold.owner != user) {
            return Err(Rejection::Stay(StayRejection::StayHoldKeyConflict));
        }
        let replaced = self.holds.iter().filter(on_same_dates).find(|hold| hold.owner == user);
        let replaced = replaced.map(|hold| hold.id);
        let others =
            self.holds.iter().filter(|hold| is_live(hold, now) && hold.owner == user && Some(hold.id) != replaced);
        let max = self.limits.holds_per_user_max;
        if others.count() as u32 >= max {
            return Err(Rejection::TooManyHolds { max });
        }
        for date in nights(dates) {
            let in_use = self.reserved(room_type.id, date) + self.held(room_type.id, date, now, replaced);
            if in_use >= room_type.total_quantity || self.is_closed(room_type.id, date) {
                return Err(Rejection::Stay(StayRejection::RoomNotAvailable { available: 0, date }));
            }
        }
        if let Some(replaced) = replaced {
            self.set_state(replaced, HoldState::Replaced { by: id });
        }
        let price = room_type.base_price * nights(dates).len() as i64;
        let item = StayItem { quantity: 1, room_type: room_type.id, dates, client_key: Some(client_key) };
        let hold = Hold {
            id,
            owner: user,
            origin: Origin::Stay,
            created_at: now,
            expires_at: full_second(now + self.limits.stay.hold_ttl),
            pay_by: None,
            state: HoldState::Held,
            version: 0,
            extensions: 0,
            attempt: Attempt::default(),
            currency: room_type.currency,
            lines: [Line { index: 0, state: LineState::Held, price, item: Item::Stay(item) }].into(),
            extras: None,
        };
        self.holds.push(hold.clone());
        Ok(hold)
    }

    /// Confirms a live hold, under any circumstances.
    pub(super) fn confirm(&mut self, id: HoldId, actor: &Actor, now: Timestamp) -> Result<StayReservation, Rejection> {
        let hold = self.find_open_hold(id, actor, now)?;
        let record = self.reservations.len() as u64 + 1;
        self.set_state(id, HoldState::Confirmed);
        self.set_line_state(id, LineState::Confirmed { record });
        let reservation = StayReservation {
            quantity: 1,
            id: StayReservationId::new(record).expect("histories are short"),
            hold: id,
            line: 0,
            user: hold.owner.clone(),
            room_type: stay(&hold).room_type,
            dates: stay(&hold).dates,
            price: hold.lines[0].price,
            currency: hold.currency,
            confirmed_at: now,
            state: StayReservationState::Confirmed,
        };
        self.reservations.push(reservation.clone());
        Ok(reservation)
    }

    pub(super) fn cancel(&mut self, id: HoldId, actor: &Actor, now: Timestamp) -> Result<(), Rejection> {
        self.find_open_hold(id, actor, now)?;
        self.set_state(id, HoldState::Cancelled);
        Ok(())
    }

    pub(super) fn extend(&mut self, command: &ExtendHold, now: Timestamp) -> Result<Hold, Rejection> {
        let refuse = |rejection| Err(Rejection::Claim(rejection));
        let (hold_limits, id) = (self.limits.hold.clone(), command.id);
        let Some(hold) = self.holds.iter_mut().find(|hold| hold.id == id) else {
            return refuse(ClaimRejection::ClaimNotFound);
        };
        check_owner(&command.actor, &hold.owner)?;
        match hold.state {
            HoldState::Prepared => unreachable!("the model confirms in one step"),
            HoldState::Cancelled | HoldState::Confirmed => {
                return refuse(ClaimRejection::ClaimAlreadyProcessed { records: hold.records() });
            }
            HoldState::Held if now < hold.expires_at => {}
            HoldState::Held | HoldState::Replaced { .. } => return refuse(ClaimRejection::ClaimExpired),
        }
        let (field, end) = match command.end {
            NewEnd::Later(span) => ("seconds", hold.expires_at + span),
            NewEnd::At(end) => ("until", end),
        };
        let end = full_second(end);
        if end <= hold.expires_at {
            return Err(Rejection::invalid(field, Fault::EmptyRange));
        }
        let max_until = full_second(hold.created_at + hold_limits.lifetime_max);
        if hold.extensions == hold_limits.extensions_max || max_until < end {
            return refuse(ClaimRejection::ExtensionLimit { max_until });
        }
        hold.expires_at = end;
        hold.extensions += 1;
        hold.version += 1;
        Ok(hold.clone())
    }

    pub(super) fn cancel_reservation(
        &mut self,
        id: StayReservationId,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<StayReservation, Rejection> {
        let found = self.reservations.iter().position(|reservation| reservation.id == id);
        let index = found.ok_or(Rejection::Stay(StayRejection::StayReservationNotFound))?;
        let reservation = self.reservations[index].clone();
        check_owner(actor, &reservation.user)?;
        if reservation.state != StayReservationState::Confirmed {
            return Err(Rejection::Stay(StayRejection::StayReservationAlreadyCancelled));
        }
        let room_type = self.find_room_type(reservation.room_type)?;
        if today(&room_type, now) >= reservation.dates.check_in {
            return Err(Rejection::Stay(StayRejection::StayReservationNotCancellable));
        }
        self.reservations[index].state = StayReservationState::Cancelled { at: now };
        let hold = self.holds.iter_mut().find(|hold| hold.id == reservation.hold).expect("a reservation has its hold");
        let cancelled = |line: &Line| Line { state: LineState::Cancelled { record: id.get() }, ..line.clone() };
        hold.lines = hold.lines.iter().map(cancelled).collect();
        hold.version += 1;
        Ok(self.reservations[index].clone())
    }

    fn find_room_type(&self, id: RoomTypeId) -> Result<RoomType, Rejection> {
        self.room_types
            .iter()
            .find(|room_type| room_type.id == id)
            .cloned()
            .ok_or(Rejection::Stay(StayRejection::RoomTypeNotFound))
    }

    fn find_open_hold(&self, id: HoldId, actor: &Actor, now: Timestamp) -> Result<Hold, Rejection> {
        let hold =
            self.holds.iter().find(|hold| hold.id == id).ok_or(Rejection::Stay(StayRejection::StayHoldNotFound))?;
        check_owner(actor, &hold.owner)?;
        match hold.state {
            HoldState::Held if is_live(hold, now) => Ok(hold.clone()),
            HoldState::Prepared => unreachable!("the model confirms in one step"),
            HoldState::Held | HoldState::Replaced { .. } => Err(Rejection::Stay(StayRejection::StayHoldExpired)),
            HoldState::Cancelled | HoldState::Confirmed => {
                let reservation = self.reservations.iter().find(|row| row.hold == id).map(|row| row.id.get());
                Err(Rejection::Stay(StayRejection::StayHoldAlreadyProcessed { reservation }))
            }
        }
    }

    fn set_state(&mut self, id: HoldId, state: HoldState) {
        for hold in self.holds.iter_mut().filter(|hold| hold.id == id) {
            hold.state = state;
            hold.version += 1;
        }
    }

    fn set_line_state(&mut self, id: HoldId, state: LineState) {
        for hold in self.holds.iter_mut().filter(|hold| hold.id == id) {
            hold.lines = hold.lines.iter().map(|line| Line { state, ..line.clone() }).collect();
        }
    }

    /// Returns every date of any hold or reservation of a room type, in order.
    fn dates_in_use(&self, room_type: RoomTypeId) -> Vec<Date> {
        let held = self.holds.iter().map(stay).filter(|stay| stay.room_type == room_type).map(|stay| stay.dates);
        let reserved = self.reservations.iter().filter(|row| row.room_type == room_type).map(|row| row.dates);
        let mut dates: Vec<Date> = held.chain(reserved).flat_map(nights).collect();
        dates.sort_unstable();
        dates.dedup();
        dates
    }
}

/// Whether a hold counts at `now`: no command has ended it, and its end is later.
pub fn is_live(hold: &Hold, now: Timestamp) -> bool {
    hold.state == HoldState::Held && now < hold.expires_at
}

/// Returns the stay that a hold claims.
pub fn stay(hold: &Hold) -> &StayItem {
    match &*hold.lines {
        [Line { item: Item::Stay(item), .. }] => item,
        lines => panic!("a hold on rooms has one line: {lines:?}"),
    }
}

/// Returns the first full second at or after a time.
fn full_second(at: Timestamp) -> Timestamp {
    let millis = at.as_millis();
    Timestamp::from_millis(if millis % 1_000 == 0 { millis } else { (millis / 1_000 + 1) * 1_000 })
}

/// Returns the local date of the room type.
pub fn today(room_type: &RoomType, now: Timestamp) -> Date {
    let zone = TimeZone::get(room_type.zone.name()).expect("the workload names real zones");
    now.to_jiff().to_zoned(zone).date()
}

/// Returns the nights `[checkIn, checkOut)`.
pub(super) fn nights(dates: StayDates) -> Vec<Date> {
    let mut nights = Vec::new();
    let mut date = dates.check_in;
    while date < dates.check_out {
        nights.push(date);
        date = date.tomorrow().expect("histories end before the year 9999");
    }
    nights
}

pub(super) fn covers(dates: StayDates, date: Date) -> bool {
    dates.check_in <= date && date < dates.check_out
}

fn check_range(dates: StayDates, nights_max: u32, field: &'static str) -> Result<(), Rejection> {
    if dates.check_in >= dates.check_out {
        return Err(Rejection::invalid(field, Fault::EmptyRange));
    }
    if nights(dates).len() > nights_max as usize {
        return Err(Rejection::invalid(field, Fault::TooManyNights { max: nights_max }));
    }
    Ok(())
}

fn check_check_in(dates: StayDates, today: Date) -> Result<(), Rejection> {
    if dates.check_in < today {
        return Err(Rejection::invalid("checkIn", Fault::InThePast));
    }
    if (dates.check_in - today).get_days() > DAYS_AHEAD_MAX as i32 {
        return Err(Rejection::invalid("checkIn", Fault::TooFarAhead { days_max: DAYS_AHEAD_MAX }));
    }
    Ok(())
}

fn check_owner(actor: &Actor, owner: &UserId) -> Result<(), Rejection> {
    match actor {
        Actor::Admin => Ok(()),
        Actor::User(user) if user == owner => Ok(()),
        Actor::User(_) => Err(Rejection::Forbidden),
    }
}
