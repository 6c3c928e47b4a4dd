//! Hotel nights. A unit is one night of a room type; a hold claims one room for each night of a stay.
//!
//! | module | contents |
//! | --- | --- |
//! | [`room_type`] | room types and nights: creating, changing, closing and opening |
//! | [`mod@line`] | the line of a hold on rooms |
//! | [`place`] | placing and replacing holds |
//! | [`reservation`] | reservations, and their cancellation |
//! | [`availability`] | availability, night by night |
//! | [`audit`] | consistency rules of a whole store |

pub mod audit;
pub mod availability;
pub mod line;
pub mod place;
pub mod reservation;
pub mod room_type;
#[cfg(test)]
mod tests;

use jiff::civil::Date;

use crate::hold::HOLD_TTL_MAX;
use crate::id::{HoldId, UserId};
use crate::rejection::{Fault, Rejection};
use crate::table::Row;
use crate::time::{Span, Timestamp, date_of_ordinal, date_ordinal};
use crate::unit::{Kind, Resource, Unit};

pub use line::{CancelStayHold, ClientHoldKey, ConfirmStayHold, ROOMS_MAX, StayItem, StayRequest};
pub use reservation::{StayReservation, StayReservationId, StayReservationState};
pub use room_type::{Night, NightId, NightsFrom, RoomType, RoomTypeId};

/// Maximum number of nights of a hold.
pub const HOLD_NIGHTS_MAX: u32 = 90;
/// Maximum number of nights of an availability query or of closing nights.
pub const RANGE_NIGHTS_MAX: u32 = 366;
/// Maximum number of days from today to check-in. It bounds the number of future nights with counts.
pub const DAYS_AHEAD_MAX: u32 = 36_525;

/// Settings of stays.
#[derive(Clone, Debug)]
pub struct Limits {
    pub hold_ttl: Span,
}

/// The nights `[check_in, check_out)`, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StayDates {
    pub check_in: Date,
    pub check_out: Date,
}

impl StayDates {
    /// Checks the range. `fields` are the input fields to name in a rejection.
    pub fn new(check_in: Date, check_out: Date, nights_max: u32, fields: [&'static str; 2]) -> Result<Self, Rejection> {
        if check_in >= check_out {
            return Err(Rejection::invalid(fields[1], Fault::EmptyRange));
        }
        let dates = Self { check_in, check_out };
        if dates.nights().take(nights_max as usize + 1).count() > nights_max as usize {
            return Err(Rejection::invalid(fields[1], Fault::TooManyNights { max: nights_max }));
        }
        Ok(dates)
    }

    pub fn nights(self) -> impl Iterator<Item = Date> {
        let next = |date: &Date| date.tomorrow().ok();
        std::iter::successors(Some(self.check_in), next).take_while(move |date| *date < self.check_out)
    }
}

/// Index key of a user's hold on a room type and dates; at most one such hold is live.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatesKey {
    pub user: UserId,
    pub room_type: RoomTypeId,
    pub dates: StayDates,
}

/// Index key of a client's key on a room type and dates; at most one such hold is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientKey {
    pub key: ClientHoldKey,
    pub room_type: RoomTypeId,
    pub dates: StayDates,
}

/// Index entry of a hold, valid until its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveHold {
    pub hold: HoldId,
    pub expires_at: Timestamp,
}

impl Row for LiveHold {
    fn ends_at(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

/// Returns the resource of a room type's nights.
pub fn resource(room_type: RoomTypeId) -> Resource {
    Resource { kind: Kind::Stay, id: room_type.get() }
}

/// Returns the unit of one night.
pub fn night_unit(room_type: RoomTypeId, date: Date) -> Unit {
    Unit { kind: Kind::Stay, resource: room_type.get(), part: date_ordinal(date) }
}

/// Returns all nights that may be held at `now`, in any time zone.
pub(crate) fn nights_ahead(now: Timestamp) -> impl Iterator<Item = Date> {
    // The hotel's today is within a day of UTC's, and a hold may outlive its night.
    let days_past = (HOLD_TTL_MAX.as_millis() / Span::from_days(1).as_millis()) as u32 + 3;
    let first =
        now.to_jiff().to_zoned(jiff::tz::TimeZone::UTC).date().saturating_sub(jiff::Span::new().days(days_past));
    first.series(jiff::Span::new().days(1)).take((days_past + DAYS_AHEAD_MAX + HOLD_NIGHTS_MAX + 3) as usize)
}

/// Returns the night of a stay unit.
pub fn night_of(unit: Unit) -> NightId {
    let room_type = RoomTypeId::new(unit.resource).expect("units are made from room types");
    let date = date_of_ordinal(unit.part).expect("units are made from dates");
    NightId { room_type, date }
}
