//! Loading rows of stays by key and by range.

use holdfast_core::command::Attempt;
use holdfast_core::hold::HoldState;
use holdfast_core::id::HoldId;
use holdfast_core::stay::{
    Night, NightId, NightsFrom, ReservationState, RoomType, RoomTypeId, StayClaim, StayHold, StayReservation,
    StayReservationId, Tables,
};
use holdfast_core::time::Zone;
use holdfast_engine::StoreError;
use tokio_postgres::Row;

use super::{Seen, hold, night, reservation, room_type};
use crate::codec::{Col, get, stay_dates};
use crate::pipeline::{Pipeline, Rows, Ticket, column, params};

const SELECT_ROOM_TYPES: &str = room_type!("WHERE id = ANY ($1::bigint[])");
const SELECT_NIGHTS: &str = night!(
    "unnest($1::bigint[], $2::date[]) AS wanted (room_type_id, target_date)
     JOIN room_type_stock USING (room_type_id, target_date)"
);
const SELECT_NIGHTS_FROM: &str = night!("room_type_stock WHERE room_type_id = $1 AND target_date >= $2");
const SELECT_HOLDS: &str = hold!("WHERE id = ANY ($1::uuid[])");
const SELECT_RESERVATIONS: &str = reservation!("WHERE id = ANY ($1::bigint[])");
const SELECT_CONFIRMED: &str = "SELECT hold_id, id FROM stay_reservation WHERE hold_id = ANY ($1::uuid[])";

pub(super) const STATEMENTS: &[&str] =
    &[SELECT_ROOM_TYPES, SELECT_NIGHTS, SELECT_NIGHTS_FROM, SELECT_HOLDS, SELECT_RESERVATIONS, SELECT_CONFIRMED];

/// Rows that were asked for.
#[derive(Default)]
pub(crate) struct Asked {
    room_types: Keys<RoomTypeId>,
    nights: Keys<NightId>,
    ranges: Vec<(NightsFrom, Ticket)>,
    holds: Keys<HoldId>,
    reservations: Keys<StayReservationId>,
}

/// Keys, and where their rows will be.
struct Keys<K>(Option<(Vec<K>, Ticket)>);

impl<K> Default for Keys<K> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K> Keys<K> {
    fn ask(keys: Vec<K>, ask: impl FnOnce(&[K]) -> Ticket) -> Self {
        if keys.is_empty() {
            return Self(None);
        }
        let ticket = ask(&keys);
        Self(Some((keys, ticket)))
    }

    /// The keys that were asked for, and the rows that were found.
    fn answered(self, answers: &mut Rows) -> (Vec<K>, Vec<Row>) {
        self.0.map_or_else(Default::default, |(keys, ticket)| (keys, answers.take(ticket)))
    }
}

impl Asked {
    pub(crate) fn ask_durable(&mut self, pipeline: &mut Pipeline<'_>, tables: &mut Tables) {
        self.room_types =
            Keys::ask(tables.room_types.take_wanted(), |ids| pipeline.send(SELECT_ROOM_TYPES, vec![column(ids, Col)]));
        self.nights = Keys::ask(tables.nights.take_wanted(), |ids| {
            pipeline.send(SELECT_NIGHTS, vec![column(ids, |id| Col(id.room_type)), column(ids, |id| Col(id.date))])
        });
        for scan in tables.nights.take_scans_wanted() {
            let from = params![Col(scan.0.room_type), Col(scan.0.date)];
            self.ranges.push((scan, pipeline.send(SELECT_NIGHTS_FROM, from)));
        }
        self.reservations = Keys::ask(tables.reservations.take_wanted(), |ids| {
            pipeline.send(SELECT_RESERVATIONS, vec![column(ids, Col)])
        });
    }

    pub(crate) fn ask_holds(&mut self, pipeline: &mut Pipeline<'_>, tables: &mut Tables) {
        self.holds = Keys::ask(tables.holds.take_wanted(), |ids| pipeline.send(SELECT_HOLDS, vec![column(ids, Col)]));
    }

    /// Whether ranges were asked for: memory knows rows, not which rows there are.
    pub(crate) fn is_beside_memory(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Supplies what was found, and writes down which version of it. What was not found is not there.
    pub(crate) fn supply(self, answers: &mut Rows, tables: &mut Tables, seen: &mut Seen) -> Result<(), StoreError> {
        let (ids, rows) = self.room_types.answered(answers);
        for row in &rows {
            let room_type = read_room_type(row)?;
            seen.room_type(room_type.id, Some(get(row, 7)?));
            tables.room_types.supply(room_type.id, Some(room_type));
        }
        for id in ids {
            seen.room_type(id, None);
            tables.room_types.supply(id, None);
        }
        let (ids, rows) = self.nights.answered(answers);
        for row in &rows {
            let (id, night) = read_night(row)?;
            seen.night(id, Some(get(row, 5)?));
            tables.nights.supply(id, Some(night));
        }
        for id in ids {
            seen.night(id, None);
            tables.nights.supply(id, None);
        }
        for (scan, ticket) in self.ranges {
            let rows = answers.take(ticket);
            for row in &rows {
                let (id, night) = read_night(row)?;
                seen.night(id, Some(get(row, 5)?));
                tables.nights.supply(id, Some(night));
            }
            seen.nights_from(scan, rows.len());
            tables.nights.supply_scan(scan);
        }
        let (ids, rows) = self.holds.answered(answers);
        for row in &rows {
            let hold = read_hold(row)?;
            tables.holds.supply(hold.id, Some(hold));
        }
        for id in ids {
            tables.holds.supply(id, None);
        }
        let (ids, rows) = self.reservations.answered(answers);
        for row in &rows {
            let reservation = read_reservation(row)?;
            seen.reservation(reservation.id, Some(get(row, 10)?));
            tables.reservations.supply(reservation.id, Some(reservation));
        }
        for id in ids {
            seen.reservation(id, None);
            tables.reservations.supply(id, None);
        }
        Ok(())
    }
}

/// Asks which of these holds became reservations.
pub(crate) fn ask_confirmed(pipeline: &mut Pipeline<'_>, holds: &[HoldId]) -> Ticket {
    pipeline.send(SELECT_CONFIRMED, vec![column(holds, Col)])
}

/// The answer to [`ask_confirmed`]: each with the number of its reservation.
pub(crate) fn confirmed(answers: &mut Rows, ticket: Ticket) -> Result<Vec<(HoldId, u64)>, StoreError> {
    let read = |row: &Row| {
        let (Col(hold), Col(number)) = (get(row, 0)?, get(row, 1)?);
        Ok((hold, number))
    };
    answers.take(ticket).iter().map(read).collect()
}

pub(super) fn read_room_type(row: &Row) -> Result<RoomType, StoreError> {
    let (Col(id), Col(total_quantity), Col(currency)) = (get(row, 0)?, get(row, 3)?, get(row, 5)?);
    let zone = get(row, 6)?;
    Ok(RoomType {
        id,
        name: get::<&str>(row, 1)?.into(),
        description: get::<Option<&str>>(row, 2)?.map(Into::into),
        total_quantity,
        base_price: get(row, 4)?,
        currency,
        zone: Zone::parse(zone).ok_or_else(|| StoreError::Damaged(format!("unknown time zone {zone}")))?,
    })
}

pub(super) fn read_night(row: &Row) -> Result<(NightId, Night), StoreError> {
    let (Col(room_type), Col(date)) = (get(row, 0)?, get(row, 1)?);
    let (Col(total_quantity), Col(reserved)) = (get(row, 2)?, get(row, 3)?);
    Ok((NightId { room_type, date }, Night { total_quantity, reserved, closed: get(row, 4)? }))
}

pub(super) fn read_hold(row: &Row) -> Result<StayHold, StoreError> {
    let (Col(id), Col(owner), Col(room_type)) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
    let (Col(check_in), Col(check_out), Col(client_key)) = (get(row, 3)?, get(row, 4)?, get(row, 5)?);
    let (Col(currency), Col(created_at), Col(expires_at)) = (get(row, 7)?, get(row, 8)?, get(row, 9)?);
    let state = match get(row, 10)? {
        "HELD" => HoldState::Held,
        "CONFIRMED" => {
            let Col(record) = get(row, 11)?;
            HoldState::Confirmed { record }
        }
        "CANCELLED" => HoldState::Cancelled,
        "REPLACED" => {
            let Col(by) = get(row, 12)?;
            HoldState::Replaced { by }
        }
        other => return Err(StoreError::Damaged(format!("unknown state {other}"))),
    };
    let dates = stay_dates(check_in, check_out)?;
    let claim = StayClaim { room_type, dates, client_key, price: get(row, 6)?, currency };
    Ok(StayHold { id, owner, created_at, expires_at, state, attempts: Attempt::default(), claim })
}

pub(super) fn read_reservation(row: &Row) -> Result<StayReservation, StoreError> {
    let (Col(id), Col(hold), Col(user), Col(room_type)) = (get(row, 0)?, get(row, 1)?, get(row, 2)?, get(row, 3)?);
    let (Col(check_in), Col(check_out), Col(currency)) = (get(row, 4)?, get(row, 5)?, get(row, 7)?);
    let Col(confirmed_at) = get(row, 8)?;
    let state = match get(row, 9)? {
        Some(Col(at)) => ReservationState::Cancelled { at },
        None => ReservationState::Confirmed,
    };
    let dates = stay_dates(check_in, check_out)?;
    Ok(StayReservation { id, hold, user, room_type, dates, price: get(row, 6)?, currency, confirmed_at, state })
}
