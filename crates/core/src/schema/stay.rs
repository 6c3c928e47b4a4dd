//! Schema of hotel stays.

use crate::audit::Audit;
use crate::id::UserId;
use crate::stay::{
    ClientHoldKey, Night, NightId, RoomType, RoomTypeId, StayDates, StayReservation, StayReservationId,
    StayReservationState,
};

use crate::schema::list::{Filter, List};
use crate::schema::record::Record;
use crate::schema::table::{TableSchema, big, boolean, date, int, moment, text, uuid};
use crate::schema::value::{Value, ValueReader, Values, number_id, text as text_cell};
use crate::unit::Kind;

number_id!(RoomTypeId, StayReservationId);
text_cell!(ClientHoldKey, |key| key.to_string().into(), ClientHoldKey::parse);

impl Record for RoomType {
    type Key = RoomTypeId;

    const SCHEMA: &'static TableSchema = &TableSchema {
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
        child_rows: None,
    };

    fn put_key<'a>(key: &'a RoomTypeId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a RoomTypeId, values: &mut Values<'a>) {
        values.add(&self.name).add(&self.description).add(&self.total_quantity).add(&self.base_price);
        values.add(&self.currency).add(&self.zone);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(RoomTypeId, Self)> {
        let id = values.take()?;
        let room_type = Self {
            id,
            name: values.take()?,
            description: values.take()?,
            total_quantity: values.take()?,
            base_price: values.take()?,
            currency: values.take()?,
            zone: values.take()?,
        };
        Some((id, room_type))
    }

    fn show(_key: &RoomTypeId, row: &Self, audit: &mut Audit) {
        audit.stay.room_type(row);
    }
}

impl Record for Night {
    type Key = NightId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "room_type_stock",
        key: &[big("room_type_id"), date("target_date")],
        fixed: &[],
        changing: &[int("total_quantity"), int("reserved_count"), boolean("closed")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a NightId, values: &mut Values<'a>) {
        values.add(&key.room_type).add(&key.date);
    }

    fn put<'a>(&'a self, _key: &'a NightId, values: &mut Values<'a>) {
        values.add(&self.total_quantity).add(&self.reserved).add(&self.closed);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(NightId, Self)> {
        let id = NightId { room_type: values.take()?, date: values.take()? };
        Some((id, Self { total_quantity: values.take()?, reserved: values.take()?, closed: values.take()? }))
    }

    fn show(key: &NightId, row: &Self, audit: &mut Audit) {
        audit.stay.night(*key, *row);
    }
}

impl Record for StayReservation {
    type Key = StayReservationId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "stay_reservation",
        key: &[big("id")],
        fixed: &[
            uuid("hold_id"),
            text("user_id"),
            big("room_type_id"),
            date("check_in"),
            date("check_out"),
            big("price"),
            text("currency"),
            moment("confirmed_at"),
        ],
        changing: &[moment("cancelled_at")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a StayReservationId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a StayReservationId, values: &mut Values<'a>) {
        values.add(&self.hold).add(&self.user).add(&self.room_type);
        values.add(&self.dates.check_in).add(&self.dates.check_out);
        values.add(&self.price).add(&self.currency).add(&self.confirmed_at);
        match &self.state {
            StayReservationState::Confirmed => values.add_value(Value::Null),
            StayReservationState::Cancelled { at } => values.add(at),
        };
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(StayReservationId, Self)> {
        let id = values.take()?;
        let reservation = Self {
            id,
            hold: values.take()?,
            user: values.take()?,
            room_type: values.take()?,
            dates: take_dates(values)?,
            price: values.take()?,
            currency: values.take()?,
            confirmed_at: values.take()?,
            state: match values.take()? {
                Some(at) => StayReservationState::Cancelled { at },
                None => StayReservationState::Confirmed,
            },
        };
        Some((id, reservation))
    }

    fn show(_key: &StayReservationId, row: &Self, audit: &mut Audit) {
        audit.stay.reservation(row);
        audit.holds.record(Kind::Stay, row.id.get(), row.hold);
    }
}

/// Filter of listed reservations; `None` matches all.
#[derive(Clone, Debug, Default)]
pub struct StayReservationFilter {
    pub user: Option<UserId>,
    pub room_type: Option<RoomTypeId>,
    pub confirmed: Option<bool>,
}

impl StayReservationFilter {
    /// Lists in order of number. Users and room types have an index each.
    pub fn list(&self, after: Option<StayReservationId>, limit: usize) -> List {
        let mut list = List::of::<StayReservation>(after.as_ref(), limit);
        match (&self.user, self.room_type) {
            (Some(user), room_type) => {
                list = list.by("user_id", user.to_string());
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

fn take_dates(values: &mut ValueReader<'_>) -> Option<StayDates> {
    let dates = StayDates { check_in: values.take()?, check_out: values.take()? };
    (dates.check_in < dates.check_out).then_some(dates)
}
