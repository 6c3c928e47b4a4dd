//! Availability of a room type, night by night.

use jiff::civil::Date;

use super::room_type::{self, NightId, RoomTypeId};
use super::{RANGE_NIGHTS_MAX, StayDates, night_unit};
use crate::command::{Context, Decision};
use crate::hold;
use crate::working_set::WorkingSet;

/// Availability of a room type on a range of dates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    pub room_type: RoomTypeId,
    pub dates: StayDates,
    /// Minimum over all nights: the number of whole stays that can still be held.
    pub available: u32,
    pub nights: Vec<NightAvailability>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NightAvailability {
    pub date: Date,
    pub total_quantity: u32,
    pub reserved: u32,
    pub held: u32,
    pub available: u32,
    pub closed: bool,
}

pub fn availability(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    room_type: RoomTypeId,
    check_in: Date,
    check_out: Date,
) -> Decision<Availability> {
    let dates = StayDates::new(check_in, check_out, RANGE_NIGHTS_MAX, ["checkIn", "checkOut"])?;
    rows.stay.room_types.request(&room_type);
    for date in dates.nights() {
        rows.stay.nights.request(&NightId { room_type, date });
        rows.held.request(&night_unit(room_type, date));
    }
    let total_quantity = room_type::find(rows, room_type)?.total_quantity;
    let mut nights = Vec::new();
    for date in dates.nights() {
        let night = room_type::night(rows, NightId { room_type, date })?;
        let unit = night_unit(room_type, date);
        let free = hold::available(rows, unit, total_quantity, night.reserved, at.now)?;
        let mut held = hold::held(rows, unit, at.now)?;
        if hold::has_prepared(rows, unit)? {
            // A prepared hold may be recorded already, so a unit may count as reserved and as held. It is reported
            // once.
            held = held.min(total_quantity.saturating_sub(night.reserved));
        }
        nights.push(NightAvailability {
            date,
            total_quantity,
            reserved: night.reserved,
            held,
            available: if night.closed { 0 } else { free },
            closed: night.closed,
        });
    }
    let available = nights.iter().map(|night| night.available).min().expect("a stay has at least one night");
    Ok(Availability { room_type, dates, available, nights })
}
