//! Placing holds on rooms, and replacing the holds of the same user on the same dates.

use jiff::civil::Date;

use super::line::{ClientHoldKey, StayItem};
use super::room_type::{self, NightId, RoomTypeId};
use super::{ClientKey, DAYS_AHEAD_MAX, DatesKey, HOLD_NIGHTS_MAX, LiveHold, StayDates, night_unit, resource};
use crate::command::{Command, Context, Decision, Stop, writes};
use crate::event::Event;
use crate::hold::{self, Hold, HoldState, Item, Origin, Placement, cancel, owner, place};
use crate::id::{HoldId, UserId};
use crate::rejection::{Fault, Rejection, StayRejection};
use crate::time::Timestamp;
use crate::unit::Kind;
use crate::working_set::WorkingSet;

/// Places a hold. A live hold of the same user on the same dates is replaced in the same commit.
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
    type Outcome = Hold;
    const NAME: &'static str = "stay.hold.place";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Hold> {
        let dates = StayDates::new(self.check_in, self.check_out, HOLD_NIGHTS_MAX, ["checkIn", "checkOut"])?;
        self.request_rows(rows, dates);
        let room_type = room_type::find(rows, self.room_type)?;
        check_check_in(dates, room_type.zone.today(at.now))?;
        self.check_client_key(rows, dates, at.now)?;
        let id = HoldId::new(at.now, self.random);
        if let Some(old) = find_live_by_dates(rows, &self.dates_key(dates), at.now)? {
            cancel::replace(rows, &old, id, at.now)?;
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
        let price = room_type.base_price * dates.nights().count() as i64;
        let item = StayItem { room_type: self.room_type, dates, client_key: Some(self.client_key) };
        let hold = Placement {
            id,
            owner: self.user.clone(),
            origin: Origin::Stay,
            created_at: at.now,
            expires_at: at.end_after(at.limits.stay.hold_ttl),
            currency: room_type.currency,
            lines: [(price, Item::Stay(item))],
        }
        .into_hold();
        place::insert(rows, &hold, at.now)?;
        rows.emit(Event::HoldPlaced(hold.clone()));
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
        owner::request(rows, Kind::Stay, &self.user);
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

/// Places many holds in one commit. The lines are independent: a rejected line does not affect the others.
#[derive(Clone, Debug)]
pub struct PlaceStayHolds(pub Vec<PlaceStayHold>);

impl Command for PlaceStayHolds {
    type Outcome = Vec<Result<Hold, Rejection>>;
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

fn find_live_by_dates(rows: &mut WorkingSet, key: &DatesKey, now: Timestamp) -> Decision<Option<Hold>> {
    match rows.stay.by_dates.get(key)?.copied() {
        Some(entry) => find_live(rows, entry, now),
        None => Ok(None),
    }
}

/// Returns the live hold of an index entry. An entry whose hold has ended or is gone has no effect.
fn find_live(rows: &mut WorkingSet, entry: LiveHold, now: Timestamp) -> Decision<Option<Hold>> {
    if entry.expires_at <= now {
        return Ok(None);
    }
    match rows.holds.get(&entry.hold)? {
        Some(hold) if hold.state == HoldState::Prepared => Err(Stop::Retry),
        Some(hold) if hold.is_live(now) => Ok(Some(hold.clone())),
        Some(_) | None => Ok(None),
    }
}
