//! The line of a hold on rooms of a type, for each night of a stay.

use jiff::civil::Date;
use uuid::Uuid;

use super::room_type::{self, Night, NightId, RoomType, RoomTypeId};
use super::{
    ClientKey, DAYS_AHEAD_MAX, DatesKey, HOLD_NIGHTS_MAX, LiveHold, StayDates, StayReservation, StayReservationId,
    StayReservationState, night_unit, reservation, resource,
};
use crate::actor::Actor;
use crate::command::{Context, Decision, Limits, Stop};
use crate::event::Event;
use crate::hold::{
    self, CancelHold, ConfirmHold, EndpointItem, Hold, Item, Line, LineItem, LineRequest, Origin, RecordType,
};
use crate::id::{Sequence, UserId};
use crate::money::Currency;
use crate::rejection::{Fault, Rejection, StayRejection};
use crate::time::{Span, Timestamp};
use crate::unit::{Kind, Unit};
use crate::working_set::WorkingSet;

/// Confirms a live hold as a reservation.
pub type ConfirmStayHold = ConfirmHold<StayItem>;
/// Cancels a live hold.
pub type CancelStayHold = CancelHold<StayItem>;

/// Maximum number of rooms of a line.
pub const ROOMS_MAX: u32 = 100;

/// Rooms of a type, for each night of a stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StayItem {
    pub room_type: RoomTypeId,
    pub dates: StayDates,
    /// Number of rooms.
    pub quantity: u32,
    /// Key under which the client placed the hold at the endpoint of stays.
    pub client_key: Option<ClientHoldKey>,
}

/// Rooms of a type as a client requests them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StayRequest {
    pub room_type: RoomTypeId,
    pub check_in: Date,
    pub check_out: Date,
    /// Number of rooms.
    pub quantity: u32,
}

/// Client-filled key of a hold. A UUID never equals a ULID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientHoldKey {
    Uuid(Uuid),
    Ulid([u8; 26]),
}

impl StayRequest {
    pub fn dates(&self) -> Result<StayDates, Rejection> {
        StayDates::new(self.check_in, self.check_out, HOLD_NIGHTS_MAX, ["checkIn", "checkOut"])
    }

    /// Returns the room type, if dates and number of rooms are valid today.
    pub(super) fn check(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<RoomType> {
        if !(1..=ROOMS_MAX).contains(&self.quantity) {
            let fault = Fault::OutOfRange { min: 1, max: ROOMS_MAX.into() };
            return Err(Rejection::invalid("quantity", fault).into());
        }
        let dates = self.dates()?;
        let room_type = room_type::find(rows, self.room_type)?;
        check_check_in(dates, room_type.zone.today(at.now))?;
        Ok(room_type)
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

impl LineItem for StayItem {
    type Request = StayRequest;
    type Record = StayReservation;

    const KIND: Kind = Kind::Stay;
    const RECORD: RecordType = RecordType::StayReservation;
    const SEQUENCE: Sequence = Sequence::StayReservation;

    fn of(item: &Item) -> Option<&Self> {
        match item {
            Item::Stay(item) => Some(item),
            _ => None,
        }
    }

    fn ttl(limits: &Limits) -> Span {
        limits.stay.hold_ttl
    }

    fn request_rows(request: &StayRequest, _owner: &UserId, rows: &mut WorkingSet) {
        rows.stay.room_types.request(&request.room_type);
        rows.fences.request(&resource(request.room_type));
        if let Ok(dates) = request.dates() {
            for date in dates.nights() {
                rows.stay.nights.request(&NightId { room_type: request.room_type, date });
                rows.held.request(&night_unit(request.room_type, date));
            }
        }
    }

    fn check(
        request: &StayRequest,
        _owner: &UserId,
        _earlier: &[LineRequest],
        rows: &mut WorkingSet,
        at: &Context<'_>,
    ) -> Decision<Currency> {
        Ok(request.check(rows, at)?.currency)
    }

    fn claim(request: &StayRequest, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<(i64, Self)> {
        let StayRequest { room_type: id, quantity, .. } = *request;
        let dates = request.dates()?;
        let room_type = room_type::find(rows, id)?;
        let capacity = hold::effective_capacity(rows, resource(id), room_type.total_quantity, at.now)?;
        for date in dates.nights() {
            let night = room_type::night(rows, NightId { room_type: id, date })?;
            let unit = night_unit(id, date);
            let free = hold::available(rows, unit, capacity, night.reserved, at.now)?;
            if free < quantity && !night.closed && hold::has_prepared(rows, unit)? {
                return Err(Stop::Retry);
            }
            if free < quantity || night.closed {
                let available = if night.closed { 0 } else { free };
                return Err(StayRejection::RoomNotAvailable { date, available }.into());
            }
        }
        let price = room_type.base_price * dates.nights().count() as i64 * i64::from(quantity);
        Ok((price, Self { room_type: id, dates, quantity, client_key: None }))
    }

    fn units(&self) -> impl Iterator<Item = (Unit, u32)> {
        self.dates.nights().map(|date| (night_unit(self.room_type, date), self.quantity))
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
            let reserved = night.reserved + self.quantity;
            if reserved > room_type.total_quantity {
                let available = room_type.total_quantity.saturating_sub(night.reserved);
                return Err(StayRejection::RoomNotAvailable { date, available }.into());
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
            quantity: self.quantity,
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

    fn cancel(number: u64, actor: &Actor, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        let id = StayReservationId::new(number).expect("a record number is a reservation id");
        reservation::cancel(rows, id, actor, at).map(|_| ())
    }

    fn begins_at(&self, rows: &mut WorkingSet) -> Decision<Option<Timestamp>> {
        let midnight = self.dates.check_in.to_datetime(jiff::civil::Time::midnight());
        Ok(Some(room_type::find(rows, self.room_type)?.zone.moment_of(midnight).reached()))
    }
}

impl EndpointItem for StayItem {
    const ORIGIN: Origin = Origin::Stay;
    const CONFIRM: &'static str = "stay.hold.confirm";
    const CANCEL: &'static str = "stay.hold.cancel";
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
