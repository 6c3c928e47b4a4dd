//! Schema of hotel stays.

use holdfast_core::audit::Audit;
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::stay::{
    ClientHoldKey, Night, NightId, ReservationState, RoomType, RoomTypeId, StayClaim, StayDates, StayHold,
    StayReservation, StayReservationId,
};

use crate::cell::{Cells, Taken, Value, number_id, text as text_cell};
use crate::hold::{self, OWNER};
use crate::layout::{Layout, big, boolean, date, int, moment, text, uuid};
use crate::list::{Filter, List};
use crate::record::Record;

number_id!(RoomTypeId, StayReservationId);
text_cell!(ClientHoldKey, |key| key.to_string().into(), ClientHoldKey::parse);

impl Record for RoomType {
    type Key = RoomTypeId;

    const LAYOUT: &'static Layout = &Layout {
        table: "room_type",
        key: &[big("id")],
        fixed: &[],
        changing: &[
            text("name"),
            text("description"),
            int("total_quantity"),
            big("base_price"),
            text("currency"),
            text("time_zone"),
        ],
        parts: None,
    };

    fn put_key<'a>(key: &'a RoomTypeId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a RoomTypeId, cells: &mut Cells<'a>) {
        cells.add(&self.name).add(&self.description).add(&self.total_quantity).add(&self.base_price);
        cells.add(&self.currency).add(&self.zone);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(RoomTypeId, Self)> {
        let id = cells.take()?;
        let room_type = Self {
            id,
            name: cells.take()?,
            description: cells.take()?,
            total_quantity: cells.take()?,
            base_price: cells.take()?,
            currency: cells.take()?,
            zone: cells.take()?,
        };
        Some((id, room_type))
    }

    fn show(_key: &RoomTypeId, row: &Self, audit: &mut Audit) {
        audit.stay.room_type(row);
    }
}

impl Record for Night {
    type Key = NightId;

    const LAYOUT: &'static Layout = &Layout {
        table: "room_type_stock",
        key: &[big("room_type_id"), date("target_date")],
        fixed: &[],
        changing: &[int("total_quantity"), int("reserved_count"), boolean("closed")],
        parts: None,
    };

    fn put_key<'a>(key: &'a NightId, cells: &mut Cells<'a>) {
        cells.add(&key.room_type).add(&key.date);
    }

    fn put<'a>(&'a self, _key: &'a NightId, cells: &mut Cells<'a>) {
        cells.add(&self.total_quantity).add(&self.reserved).add(&self.closed);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(NightId, Self)> {
        let id = NightId { room_type: cells.take()?, date: cells.take()? };
        Some((id, Self { total_quantity: cells.take()?, reserved: cells.take()?, closed: cells.take()? }))
    }

    fn show(key: &NightId, row: &Self, audit: &mut Audit) {
        audit.stay.night(*key, *row);
    }
}

impl Record for StayHold {
    type Key = HoldId;

    const LAYOUT: &'static Layout = &Layout {
        table: "stay_hold",
        key: hold::KEY,
        fixed: &[
            OWNER[0],
            OWNER[1],
            OWNER[2],
            big("room_type_id"),
            date("check_in"),
            date("check_out"),
            text("client_key"),
            big("price"),
            text("currency"),
        ],
        changing: hold::STATE,
        parts: None,
    };

    fn put_key<'a>(key: &'a HoldId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a HoldId, cells: &mut Cells<'a>) {
        hold::put_owner(self, cells);
        cells.add(&self.claim.room_type).add(&self.claim.dates.check_in).add(&self.claim.dates.check_out);
        cells.add(&self.claim.client_key).add(&self.claim.price).add(&self.claim.currency);
        hold::put_state(self, cells);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(HoldId, Self)> {
        let header = hold::take_owner(cells)?;
        let claim = StayClaim {
            room_type: cells.take()?,
            dates: take_dates(cells)?,
            client_key: cells.take()?,
            price: cells.take()?,
            currency: cells.take()?,
        };
        header.with_claim(claim, cells)
    }

    fn show(_key: &HoldId, row: &Self, audit: &mut Audit) {
        audit.stay.hold(row);
    }
}

impl Record for StayReservation {
    type Key = StayReservationId;

    const LAYOUT: &'static Layout = &Layout {
        table: "stay_reservation",
        key: &[big("id")],
        fixed: &[
            uuid("hold_id"),
            big("user_id"),
            big("room_type_id"),
            date("check_in"),
            date("check_out"),
            big("price"),
            text("currency"),
            moment("confirmed_at"),
        ],
        changing: &[moment("cancelled_at")],
        parts: None,
    };

    fn put_key<'a>(key: &'a StayReservationId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a StayReservationId, cells: &mut Cells<'a>) {
        cells.add(&self.hold).add(&self.user).add(&self.room_type);
        cells.add(&self.dates.check_in).add(&self.dates.check_out);
        cells.add(&self.price).add(&self.currency).add(&self.confirmed_at);
        match &self.state {
            ReservationState::Confirmed => cells.add_value(Value::Null),
            ReservationState::Cancelled { at } => cells.add(at),
        };
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(StayReservationId, Self)> {
        let id = cells.take()?;
        let reservation = Self {
            id,
            hold: cells.take()?,
            user: cells.take()?,
            room_type: cells.take()?,
            dates: take_dates(cells)?,
            price: cells.take()?,
            currency: cells.take()?,
            confirmed_at: cells.take()?,
            state: match cells.take()? {
                Some(at) => ReservationState::Cancelled { at },
                None => ReservationState::Confirmed,
            },
        };
        Some((id, reservation))
    }

    fn show(_key: &StayReservationId, row: &Self, audit: &mut Audit) {
        audit.stay.reservation(row);
    }
}

/// Filter of listed reservations; `None` matches all.
#[derive(Clone, Copy, Debug, Default)]
pub struct StayReservationFilter {
    pub user: Option<UserId>,
    pub room_type: Option<RoomTypeId>,
    pub confirmed: Option<bool>,
}

impl StayReservationFilter {
    /// Lists in order of number. Users and room types have an index each.
    pub fn list(self, after: Option<StayReservationId>, limit: usize) -> List {
        let mut list = List::of::<StayReservation>(after.as_ref(), limit);
        match (self.user, self.room_type) {
            (Some(user), room_type) => {
                list = list.by("user_id", user.get());
                list.filters.extend(room_type.map(|id| Filter::Is("room_type_id", id.get().into())));
            }
            (None, Some(room_type)) => list = list.by("room_type_id", room_type.get()),
            (None, None) => {}
        }
        list.filters.extend(self.confirmed.map(|confirmed| {
            if confirmed { Filter::IsNull("cancelled_at") } else { Filter::IsNotNull("cancelled_at") }
        }));
        list
    }
}

fn take_dates(cells: &mut Taken<'_>) -> Option<StayDates> {
    let dates = StayDates { check_in: cells.take()?, check_out: cells.take()? };
    (dates.check_in < dates.check_out).then_some(dates)
}
