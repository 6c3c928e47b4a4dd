//! Tables of hotel stays.

use crate::hold::RecordType;
use crate::id::UserId;
use crate::stay::{
    ClientHoldKey, ClientKey, DatesKey, LiveHold, Night, NightId, NightsFrom, RoomType, RoomTypeId, StayDates,
    StayReservation, StayReservationId, StayReservationState,
};
use jiff::civil::Date;

use crate::schema::column::{ColumnType, Columns, type_of};
use crate::schema::list::{Filter, List};
use crate::schema::value::{ValueReader, Values, cancelled_at, number_id, text};

crate::tables! {
    /// Tables of stays.
    {
        room_types: Table<RoomTypeId, RoomType> => durable cached {
            table "room_type";
            key id => id;
            changing { name, description, total_quantity, base_price, currency, zone as time_zone };
            audit |_, row, audit| audit.stay.room_type(row);
        },
        /// Nights that have a reservation or were closed; other nights have no row.
        nights: Table<NightId, Night, NightsFrom> => durable cached {
            table "room_type_stock";
            key { room_type as room_type_id, date as target_date };
            changing { total_quantity, reserved as reserved_count, closed };
            audit |key, row, audit| audit.stay.night(*key, *row);
        },
        reservations: Table<StayReservationId, StayReservation> => durable cached {
            table "stay_reservation";
            key id => id;
            fixed {
                hold as hold_id, line as line_no, user as user_id, room_type as room_type_id,
                dates as (check_in, check_out), quantity, price,
                currency, confirmed_at,
            };
            changing { state as cancelled_at };
            audit |_, row, audit| {
                audit.stay.reservation(row);
                audit.holds.record(RecordType::StayReservation, row.id.get(), row.hold);
            };
        },
        /// Secondary index: the live hold of a user on these dates of a room type.
        by_dates: Table<DatesKey, LiveHold> => live complete {
            table "stay_hold_by_dates";
            key { user as user_id, room_type as room_type_id, dates as (check_in, check_out) };
            changing { hold as hold_id, expires_at };
            name |key| format_args!("hold:idx:{}:{}:{}", key.user.key_part(), key.room_type, DatesName(key.dates));
        },
        /// Secondary index: the live hold under a client's key on these dates of a room type.
        by_client_key: Table<ClientKey, LiveHold> => live complete {
            table "stay_hold_by_client_key";
            key { key as client_key, room_type as room_type_id, dates as (check_in, check_out) };
            changing { hold as hold_id, expires_at };
            name |key| format_args!("hold:snapshot:{}:{}:{}", key.key, key.room_type, DatesName(key.dates));
        },
    }
}

number_id!(RoomTypeId, StayReservationId);
text!(ClientHoldKey, |key| key.to_string().into(), ClientHoldKey::parse);
cancelled_at!(StayReservationState, Confirmed);

struct DatesName(StayDates);

impl std::fmt::Display for DatesName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.0.check_in, self.0.check_out)
    }
}

impl Columns for StayDates {
    const TYPES: &'static [ColumnType] = &[type_of::<Date>(), type_of::<Date>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        values.add(&self.check_in).add(&self.check_out);
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let dates = Self { check_in: values.take()?, check_out: values.take()? };
        (dates.check_in < dates.check_out).then_some(dates)
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
