//! Placing holds on rooms, and replacing the holds of the same user on the same dates.

use jiff::civil::Date;

use super::line::{ClientHoldKey, StayItem, StayRequest};
use super::room_type::RoomTypeId;
use super::{ClientKey, DatesKey, HOLD_NIGHTS_MAX, LiveHold, StayDates};
use crate::command::{Command, Context, Decision, Stop, writes};
use crate::event::Event;
use crate::hold::{self, Extras, Hold, HoldState, Item, LineItem as _, Origin, Placement, cancel, owner, place};
use crate::id::{HoldId, UserId};
use crate::rejection::{Rejection, StayRejection};
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
    /// Number of rooms.
    pub quantity: u32,
    pub client_key: ClientHoldKey,
}

impl Command for PlaceStayHold {
    type Outcome = Hold;
    const NAME: &'static str = "stay.hold.place";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Hold> {
        let request = self.request();
        let dates = request.dates()?;
        self.request_rows(rows, &request, dates);
        let room_type = request.check(rows, at)?;
        self.check_client_key(rows, dates, at.now)?;
        let id = HoldId::new(at.now, self.random);
        if let Some(old) = find_live_by_dates(rows, &self.dates_key(dates), at.now)? {
            cancel::replace(rows, &old, id, at.now)?;
        }
        hold::check_hold_limit(rows, at, Kind::Stay, &self.user)?;
        let (price, item) = StayItem::claim(&request, rows, at)?;
        let item = StayItem { client_key: Some(self.client_key), ..item };
        let hold = Placement {
            id,
            owner: self.user.clone(),
            origin: Origin::Stay,
            created_at: at.now,
            expires_at: at.end_after(at.limits.stay.hold_ttl),
            currency: room_type.currency,
            lines: [(price, Item::Stay(item))],
            extras: Extras::of_new_hold(&at.limits.hold),
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
    fn request(&self) -> StayRequest {
        let Self { room_type, check_in, check_out, quantity, .. } = *self;
        StayRequest { room_type, check_in, check_out, quantity }
    }

    fn request_rows(&self, rows: &mut WorkingSet, request: &StayRequest, dates: StayDates) {
        StayItem::request_rows(request, &self.user, rows);
        rows.stay.by_dates.request(&self.dates_key(dates));
        rows.stay.by_client_key.request(&self.client_key(dates));
        owner::request(rows, Kind::Stay, &self.user);
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

/// Places many holds in one commit. They are independent: a rejected hold does not affect the others.
#[derive(Clone, Debug)]
pub struct PlaceStayHolds(pub Vec<PlaceStayHold>);

impl Command for PlaceStayHolds {
    type Outcome = Vec<Result<Hold, Rejection>>;
    const NAME: &'static str = "stay.hold.place_batch";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Self::Outcome> {
        rows.attempt_each(&self.0, |rows, hold| hold.decide(rows, at))
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
