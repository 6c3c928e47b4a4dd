//! The line of a hold on rooms: one room of a type, for each night of a stay.

use uuid::Uuid;

use super::room_type::{self, Night, NightId, RoomTypeId};
use super::{
    ClientKey, DatesKey, LiveHold, StayDates, StayReservation, StayReservationId, StayReservationState, night_unit,
};
use crate::command::{Context, Decision};
use crate::event::Event;
use crate::hold::{CancelHold, ConfirmHold, EndpointItem, Hold, Item, Line, LineItem, Origin};
use crate::id::Sequence;
use crate::rejection::StayRejection;
use crate::time::Timestamp;
use crate::unit::{Kind, Unit};
use crate::working_set::WorkingSet;

/// Confirms a live hold as a reservation.
pub type ConfirmStayHold = ConfirmHold<StayItem>;
/// Cancels a live hold.
pub type CancelStayHold = CancelHold<StayItem>;

/// One room of a type, for each night of a stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StayItem {
    pub room_type: RoomTypeId,
    pub dates: StayDates,
    /// Key under which the client placed the hold at the endpoint of stays.
    pub client_key: Option<ClientHoldKey>,
}

/// Client-filled key of a hold. A UUID never equals a ULID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientHoldKey {
    Uuid(Uuid),
    Ulid([u8; 26]),
}

impl LineItem for StayItem {
    const KIND: Kind = Kind::Stay;

    fn of(item: &Item) -> Option<&Self> {
        match item {
            Item::Stay(item) => Some(item),
            _ => None,
        }
    }

    fn units(&self) -> impl Iterator<Item = (Unit, u32)> {
        self.dates.nights().map(|date| (night_unit(self.room_type, date), 1))
    }

    fn request_indexes(&self, hold: &Hold, rows: &mut WorkingSet) {
        if let Some(keys) = self.index_keys(hold) {
            rows.stay.by_dates.request(&keys.dates);
            rows.stay.by_client_key.request(&keys.client);
        }
    }

    fn insert_indexes(&self, hold: &Hold, rows: &mut WorkingSet, _now: Timestamp) -> Decision<()> {
        if let Some(keys) = self.index_keys(hold) {
            let entry = LiveHold { hold: hold.id, expires_at: hold.ends_at() };
            rows.stay.by_dates.get(&keys.dates)?;
            rows.stay.by_client_key.get(&keys.client)?;
            rows.stay.by_dates.put(keys.dates, entry);
            rows.stay.by_client_key.put(keys.client, entry);
        }
        Ok(())
    }

    fn update_indexes(&self, before: &Hold, after: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()> {
        if before.ends_at() == after.ends_at() {
            return Ok(());
        }
        self.insert_indexes(after, rows, now)
    }

    fn delete_indexes(&self, hold: &Hold, rows: &mut WorkingSet, _now: Timestamp) -> Decision<()> {
        let Some(keys) = self.index_keys(hold) else { return Ok(()) };
        if rows.stay.by_dates.get(&keys.dates)?.is_some_and(|entry| entry.hold == hold.id) {
            rows.stay.by_dates.delete(keys.dates);
        }
        if rows.stay.by_client_key.get(&keys.client)?.is_some_and(|entry| entry.hold == hold.id) {
            rows.stay.by_client_key.delete(keys.client);
        }
        Ok(())
    }
}

impl EndpointItem for StayItem {
    type Record = StayReservation;

    const ORIGIN: Origin = Origin::Stay;
    const SEQUENCE: Sequence = Sequence::StayReservation;
    const CONFIRM: &'static str = "stay.hold.confirm";
    const CANCEL: &'static str = "stay.hold.cancel";

    fn request_record(&self, _hold: &Hold, rows: &mut WorkingSet) {
        rows.stay.room_types.request(&self.room_type);
        for date in self.dates.nights() {
            rows.stay.nights.request(&NightId { room_type: self.room_type, date });
        }
    }

    /// Counts the nights as reserved, and inserts the reservation.
    fn confirm(&self, hold: &Hold, line: &Line, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<StayReservation> {
        let number = rows.next_id(Self::SEQUENCE)?;
        let room_type = room_type::find(rows, self.room_type)?;
        for date in self.dates.nights() {
            let id = NightId { room_type: self.room_type, date };
            let night = room_type::night(rows, id)?;
            let reserved = night.reserved + 1;
            if reserved > room_type.total_quantity {
                return Err(StayRejection::RoomNotAvailable { date }.into());
            }
            rows.stay.nights.put(id, Night { total_quantity: room_type.total_quantity, reserved, ..night });
        }
        let reservation = StayReservation {
            id: StayReservationId::new(number).expect("sequence numbers are valid ids"),
            hold: hold.id,
            line: line.index,
            user: hold.owner.clone(),
            room_type: self.room_type,
            dates: self.dates,
            price: line.price,
            currency: hold.currency,
            confirmed_at: at.now,
            state: StayReservationState::Confirmed,
        };
        rows.stay.reservations.insert(reservation.id, reservation.clone());
        rows.emit(Event::StayReservationConfirmed(reservation.clone()));
        Ok(reservation)
    }

    fn number(record: &StayReservation) -> u64 {
        record.id.get()
    }
}

/// Keys of the index entries of a hold.
pub(super) struct IndexKeys {
    pub(super) dates: DatesKey,
    pub(super) client: ClientKey,
}

impl StayItem {
    /// Returns the index keys of a hold that was placed at the endpoint of stays; other holds are never replaced by it.
    pub(super) fn index_keys(&self, hold: &Hold) -> Option<IndexKeys> {
        let (room_type, dates) = (self.room_type, self.dates);
        self.client_key.map(|key| IndexKeys {
            dates: DatesKey { user: hold.owner.clone(), room_type, dates },
            client: ClientKey { key, room_type, dates },
        })
    }
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
