//! Holds on rooms: placing, replacing, confirming and cancelling.

use jiff::civil::Date;
use uuid::Uuid;

use super::room_type::{self, Night, NightId, RoomTypeId};
use super::{
    ClientKey, DAYS_AHEAD_MAX, DatesKey, HOLD_NIGHTS_MAX, LiveHold, StayDates, StayReservation, StayReservationId,
    StayReservationState, night_unit, resource,
};
use crate::actor::Actor;
use crate::command::{Attempt, Command, Context, Decision, Stop, TwoPhase, writes};
use crate::event::Event;
use crate::hold::{self, AttemptId, Claim, Hold, HoldState, Indexed, Status};
use crate::id::{HoldId, Sequence, UserId};
use crate::money::Currency;
use crate::rejection::{Fault, Rejection, StayRejection};
use crate::time::Timestamp;
use crate::unit::{Holder, Kind, Unit};
use crate::working_set::WorkingSet;

/// A hold on one room of a type, for each night of a stay.
pub type StayHold = Hold<StayClaim>;

/// Claim of a stay's hold, and its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StayClaim {
    pub room_type: RoomTypeId,
    pub dates: StayDates,
    pub client_key: ClientHoldKey,
    /// Price of the whole stay, fixed when the hold is placed.
    pub price: i64,
    pub currency: Currency,
}

impl Claim for StayClaim {
    const KIND: Kind = Kind::Stay;

    fn lines(&self) -> impl Iterator<Item = (Unit, u32)> {
        self.dates.nights().map(|date| (night_unit(self.room_type, date), 1))
    }
}

/// Client-filled key of a hold. A UUID never equals a ULID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientHoldKey {
    Uuid(Uuid),
    Ulid([u8; 26]),
}

/// Allotment a hold. A live hold of the same user on the same dates is replaced in the same commit.
#[derive(Clone, Debug)]
pub struct PlaceStayHold {
    /// Random part of the hold's id; the rest is the time of the decision.
    pub random: [u8; 10],
    pub user: UserId,
    pub room_type: RoomTypeId,
    pub check_in: Date,
    pub check_out: Date,
    pub client_key: ClientHoldKey,
}

impl Command for PlaceStayHold {
    type Outcome = StayHold;
    const NAME: &'static str = "stay.hold.place";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<StayHold> {
        let dates = StayDates::new(self.check_in, self.check_out, HOLD_NIGHTS_MAX, ["checkIn", "checkOut"])?;
        self.request_rows(rows, dates);
        let room_type = room_type::find(rows, self.room_type)?;
        check_check_in(dates, room_type.zone.today(at.now))?;
        self.check_client_key(rows, dates, at.now)?;
        let id = HoldId::new(at.now, self.random);
        if let Some(old) = find_live_by_dates(rows, &self.dates_key(dates), at.now)? {
            let state = HoldState::Replaced { by: id };
            end(rows, &old, state, at.now)?;
            rows.emit(Event::StayHoldReplaced(Hold { state, ..old }));
        }
        hold::check_hold_limit(rows, at, Kind::Stay, &self.user)?;
        let capacity = hold::effective_capacity(rows, resource(self.room_type), room_type.total_quantity, at.now)?;
        for date in dates.nights() {
            let night = room_type::night(rows, NightId { room_type: self.room_type, date })?;
            let unit = night_unit(self.room_type, date);
            let free = hold::available(rows, unit, capacity, night.reserved, at.now)?;
            if free == 0 && !night.closed && hold::has_prepared(rows, unit)? {
                return Err(Stop::Retry);
            }
            if free == 0 || night.closed {
                return Err(StayRejection::RoomNotAvailable { date }.into());
            }
        }
        let nights = dates.nights().count() as i64;
        let hold = StayHold {
            id,
            owner: self.user.clone(),
            created_at: at.now,
            expires_at: at.end_after(at.limits.stay.hold_ttl),
            state: HoldState::Held,
            attempts: Attempt::default(),
            claim: StayClaim {
                room_type: self.room_type,
                dates,
                client_key: self.client_key,
                price: room_type.base_price * nights,
                currency: room_type.currency,
            },
        };
        StayHold::index(rows, &hold, at.now)?;
        rows.stay.holds.insert(hold.id, hold.clone());
        rows.emit(Event::StayHoldPlaced(hold.clone()));
        Ok(hold)
    }

    fn lane(&self) -> u64 {
        self.room_type.get()
    }

    fn weight(&self) -> usize {
        // A long stay touches more rows than a short one. Its length is validated only in the decision.
        let days = self.check_in.until(self.check_out).map_or(0, |span| span.get_days());
        1 + days.clamp(0, HOLD_NIGHTS_MAX as i32) as usize / 8
    }

    fn user(&self) -> Option<&UserId> {
        Some(&self.user)
    }
}

impl PlaceStayHold {
    fn request_rows(&self, rows: &mut WorkingSet, dates: StayDates) {
        rows.stay.room_types.request(&self.room_type);
        rows.stay.by_dates.request(&self.dates_key(dates));
        rows.stay.by_client_key.request(&self.client_key(dates));
        rows.fences.request(&resource(self.room_type));
        rows.holders.request(&Holder { kind: Kind::Stay, user: self.user.clone() });
        for date in dates.nights() {
            rows.stay.nights.request(&NightId { room_type: self.room_type, date });
            rows.held.request(&night_unit(self.room_type, date));
        }
    }

    fn check_client_key(&self, rows: &mut WorkingSet, dates: StayDates, now: Timestamp) -> Decision<()> {
        let Some(entry) = rows.stay.by_client_key.get(&self.client_key(dates))?.copied() else { return Ok(()) };
        match find_live(rows, entry, now)? {
            Some(hold) if hold.owner != self.user => Err(StayRejection::StayHoldKeyConflict.into()),
            Some(_) | None => Ok(()),
        }
    }

    fn dates_key(&self, dates: StayDates) -> DatesKey {
        DatesKey { user: self.user.clone(), room_type: self.room_type, dates }
    }

    fn client_key(&self, dates: StayDates) -> ClientKey {
        ClientKey { key: self.client_key, room_type: self.room_type, dates }
    }
}

/// Rejects a check-in before today or too far ahead, in the hotel's time zone.
fn check_check_in(dates: StayDates, today: Date) -> Result<(), Rejection> {
    if dates.check_in < today {
        return Err(Rejection::invalid("checkIn", Fault::InThePast));
    }
    let last = today.saturating_add(jiff::Span::new().days(DAYS_AHEAD_MAX));
    if dates.check_in > last {
        return Err(Rejection::invalid("checkIn", Fault::TooFarAhead { days_max: DAYS_AHEAD_MAX }));
    }
    Ok(())
}

/// Allotment many holds in one commit. The lines are independent: a rejected line does not affect the others.
#[derive(Clone, Debug)]
pub struct PlaceStayHolds(pub Vec<PlaceStayHold>);

impl Command for PlaceStayHolds {
    type Outcome = Vec<Result<StayHold, Rejection>>;
    const NAME: &'static str = "stay.hold.place_batch";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Self::Outcome> {
        let mut results = Vec::with_capacity(self.0.len());
        let (mut missing, mut busy) = (false, false);
        for line in &self.0 {
            match rows.attempt(|rows| line.decide(rows, at)) {
                Ok(hold) => results.push(Ok(hold)),
                Err(Stop::Rejected(rejection)) => results.push(Err(rejection)),
                // Continue, so that the rows of all lines are requested for one load.
                Err(Stop::NeedRows) => missing = true,
                Err(Stop::Retry) => busy = true,
            }
        }
        match (missing, busy) {
            (true, _) => Err(Stop::NeedRows),
            (false, true) => Err(Stop::Retry),
            (false, false) => Ok(results),
        }
    }

    fn weight(&self) -> usize {
        self.0.iter().map(Command::weight).sum::<usize>().max(1)
    }
}

/// Confirms a live hold as a reservation.
#[derive(Clone, Debug)]
pub struct ConfirmStayHold {
    pub id: HoldId,
    pub actor: Actor,
}

impl Command for ConfirmStayHold {
    type Outcome = StayReservation;
    const NAME: &'static str = "stay.hold.confirm";
    type Writes = writes::Both;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<StayReservation> {
        rows.ids.request(&Sequence::StayReservation);
        let hold = find_open(rows, self.id, &self.actor, at.now)?;
        request_nights(rows, &hold);
        let reservation = reserve(rows, &hold, at.now)?;
        end(rows, &hold, HoldState::Confirmed { record: reservation.id.get() }, at.now)?;
        Ok(reservation)
    }
}

impl TwoPhase for ConfirmStayHold {
    type Prepared = AttemptId;

    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<AttemptId> {
        let hold = find_open(rows, self.id, &self.actor, at.now)?;
        let prepared = hold::prepare(rows, &hold, at.now)?;
        let attempt = prepared.attempt();
        rows.stay.holds.put(hold.id, prepared);
        Ok(attempt)
    }

    fn record(&self, rows: &mut WorkingSet, at: &Context<'_>, prepared: &AttemptId) -> Decision<StayReservation> {
        rows.ids.request(&Sequence::StayReservation);
        let hold = hold::prepared(rows.stay.holds.get(&prepared.hold)?, *prepared)?;
        request_nights(rows, &hold);
        if let reservation @ Some(_) = hold::recorded_outcome(rows, *prepared)? {
            return Err(StayRejection::StayHoldAlreadyProcessed { reservation }.into());
        }
        let reservation = reserve(rows, &hold, at.now)?;
        hold::record_outcome(rows, *prepared, reservation.id.get());
        Ok(reservation)
    }

    fn finish(
        &self,
        rows: &mut WorkingSet,
        at: &Context<'_>,
        prepared: &AttemptId,
        outcome: Option<&StayReservation>,
    ) -> Decision<()> {
        let record = outcome.map(|reservation| reservation.id.get());
        finish_attempt(rows, *prepared, record, at.now)
    }
}

/// Finishes a confirm attempt whose server failed. The durable outcome is already decided: the record of this number,
/// or aborted.
#[derive(Clone, Debug)]
pub struct RecoverStayHold {
    pub of: AttemptId,
    pub record: Option<u64>,
}

impl Command for RecoverStayHold {
    type Outcome = ();
    const NAME: &'static str = "stay.hold.finish_attempt";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        finish_attempt(rows, self.of, self.record, at.now)
    }
}

/// Counts the nights of a hold as reserved, and inserts the reservation.
fn reserve(rows: &mut WorkingSet, hold: &StayHold, now: Timestamp) -> Decision<StayReservation> {
    let number = rows.next_id(Sequence::StayReservation)?;
    let room_type = room_type::find(rows, hold.room_type)?;
    for date in hold.dates.nights() {
        let id = NightId { room_type: hold.room_type, date };
        let night = room_type::night(rows, id)?;
        let reserved = night.reserved + 1;
        // A live hold can always be confirmed. Only after a loss of live rows may another customer have the room.
        if reserved > room_type.total_quantity {
            return Err(StayRejection::RoomNotAvailable { date }.into());
        }
        rows.stay.nights.put(id, Night { total_quantity: room_type.total_quantity, reserved, ..night });
    }
    let reservation = StayReservation {
        id: StayReservationId::new(number).expect("sequence numbers are valid ids"),
        hold: hold.id,
        user: hold.owner.clone(),
        room_type: hold.room_type,
        dates: hold.dates,
        price: hold.price,
        currency: hold.currency,
        confirmed_at: now,
        state: StayReservationState::Confirmed,
    };
    rows.stay.reservations.insert(reservation.id, reservation.clone());
    rows.emit(Event::StayReservationConfirmed(reservation.clone()));
    Ok(reservation)
}

/// Finishes a confirm attempt. No effect if it is finished already, or if the hold was lost.
fn finish_attempt(rows: &mut WorkingSet, of: AttemptId, record: Option<u64>, now: Timestamp) -> Decision<()> {
    let Some(hold) = hold::find_prepared(rows.stay.holds.get(&of.hold)?, of) else { return Ok(()) };
    StayHold::request_indexes(rows, &hold);
    match record {
        Some(record) => end(rows, &hold, HoldState::Confirmed { record }, now),
        None => {
            let hold = hold::revert_prepare(rows, &hold, now)?;
            rows.stay.holds.put(hold.id, hold);
            Ok(())
        }
    }
}

/// Cancels a live hold.
#[derive(Clone, Debug)]
pub struct CancelStayHold {
    pub id: HoldId,
    pub actor: Actor,
}

impl Command for CancelStayHold {
    type Outcome = ();
    const NAME: &'static str = "stay.hold.cancel";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        let hold = find_open(rows, self.id, &self.actor, at.now)?;
        end(rows, &hold, HoldState::Cancelled, at.now)?;
        rows.emit(Event::StayHoldCancelled(Hold { state: HoldState::Cancelled, ..hold }));
        Ok(())
    }
}

/// Returns the hold to its owner or an operator.
pub fn find(rows: &mut WorkingSet, id: HoldId, actor: &Actor) -> Decision<StayHold> {
    let hold = rows.stay.holds.get(&id)?.cloned().ok_or(StayRejection::StayHoldNotFound)?;
    actor.must_own(&hold.owner)?;
    Ok(hold)
}

/// Counts of units and users, and lookups by dates and client key.
impl Indexed for StayHold {
    fn request_indexes(rows: &mut WorkingSet, hold: &Self) {
        hold::request_counts(rows, &hold.owner, &hold.claim);
        rows.stay.by_dates.request(&dates_key_of(hold));
        rows.stay.by_client_key.request(&client_key_of(hold));
    }

    fn index(rows: &mut WorkingSet, hold: &Self, now: Timestamp) -> Decision<()> {
        hold::count(rows, hold, now)?;
        let entry = LiveHold { hold: hold.id, expires_at: hold.expires_at };
        rows.stay.by_dates.put(dates_key_of(hold), entry);
        rows.stay.by_client_key.put(client_key_of(hold), entry);
        Ok(())
    }
}

/// Ends a live hold before its time, and deletes its index entries.
fn end(rows: &mut WorkingSet, hold: &StayHold, state: HoldState, now: Timestamp) -> Decision<()> {
    hold::uncount(rows, hold, now)?;
    let (dates_key, client_key) = (dates_key_of(hold), client_key_of(hold));
    if rows.stay.by_dates.get(&dates_key)?.is_some_and(|entry| entry.hold == hold.id) {
        rows.stay.by_dates.delete(dates_key);
    }
    if rows.stay.by_client_key.get(&client_key)?.is_some_and(|entry| entry.hold == hold.id) {
        rows.stay.by_client_key.delete(client_key);
    }
    rows.stay.holds.put(hold.id, StayHold { state, ..hold.clone() });
    Ok(())
}

/// Returns the hold if `actor` can still confirm or cancel it, and requests its index entries.
fn find_open(rows: &mut WorkingSet, id: HoldId, actor: &Actor, now: Timestamp) -> Decision<StayHold> {
    let hold = find(rows, id, actor)?;
    match hold.status(now) {
        Status::Held => {}
        Status::Prepared => return Err(Stop::Retry),
        Status::Expired | Status::Replaced => return Err(StayRejection::StayHoldExpired.into()),
        Status::Cancelled => return Err(StayRejection::StayHoldAlreadyProcessed { reservation: None }.into()),
        Status::Confirmed { record } => {
            return Err(StayRejection::StayHoldAlreadyProcessed { reservation: Some(record) }.into());
        }
    }
    StayHold::request_indexes(rows, &hold);
    Ok(hold)
}

fn request_nights(rows: &mut WorkingSet, hold: &StayHold) {
    rows.stay.room_types.request(&hold.room_type);
    for date in hold.dates.nights() {
        rows.stay.nights.request(&NightId { room_type: hold.room_type, date });
    }
}

fn find_live_by_dates(rows: &mut WorkingSet, key: &DatesKey, now: Timestamp) -> Decision<Option<StayHold>> {
    match rows.stay.by_dates.get(key)?.copied() {
        Some(entry) => find_live(rows, entry, now),
        None => Ok(None),
    }
}

/// Returns the live hold of an index entry. An entry whose hold has ended or is gone has no effect.
fn find_live(rows: &mut WorkingSet, entry: LiveHold, now: Timestamp) -> Decision<Option<StayHold>> {
    if entry.expires_at <= now {
        return Ok(None);
    }
    match rows.stay.holds.get(&entry.hold)? {
        Some(hold) if hold.state == HoldState::Prepared => Err(Stop::Retry),
        Some(hold) if hold.is_live(now) => Ok(Some(hold.clone())),
        Some(_) | None => Ok(None),
    }
}

pub(crate) fn dates_key_of(hold: &StayHold) -> DatesKey {
    DatesKey { user: hold.owner.clone(), room_type: hold.room_type, dates: hold.dates }
}

pub(crate) fn client_key_of(hold: &StayHold) -> ClientKey {
    ClientKey { key: hold.client_key, room_type: hold.room_type, dates: hold.dates }
}

impl ClientHoldKey {
    /// Parses a UUID, with or without hyphens, or a ULID.
    pub fn parse(text: &str) -> Option<Self> {
        match text.len() {
            32 | 36 => Uuid::try_parse(text).ok().map(Self::Uuid),
            26 => {
                let mut ulid: [u8; 26] = text.as_bytes().try_into().ok()?;
                ulid.make_ascii_uppercase();
                // Crockford's base 32; the first digit has only three bits.
                let is_digit =
                    |byte: &u8| byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !b"ILOU".contains(byte));
                (ulid[0] <= b'7' && ulid.iter().all(is_digit)).then_some(Self::Ulid(ulid))
            }
            _ => None,
        }
    }
}

impl std::fmt::Display for ClientHoldKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uuid(uuid) => uuid.hyphenated().fmt(f),
            Self::Ulid(ulid) => std::str::from_utf8(ulid).expect("a ULID is ASCII").fmt(f),
        }
    }
}
