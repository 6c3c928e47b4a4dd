//! Schema of holds. The lines of a hold are one value, in a versioned encoding.

use std::sync::Arc;

use crate::audit::Audit;
use crate::calendar::{LockedSlot, SlotStart, SlotsItem};
use crate::command::Attempt;
use crate::hold::{Extras, Hold, HoldState, Item, Line, LineState, Origin};
use crate::id::{HoldId, UserId};
use crate::schema::codec;
use crate::schema::list::{Filter, List};
use crate::schema::record::Record;
use crate::schema::table::{TableSchema, bytes, int, moment, text, uuid};
use crate::schema::value::{ToValue as _, Value, ValueReader, Values};
use crate::shop::{LastHold, StockItem};
use crate::stay::{StayDates, StayItem};
use crate::ticket::{ReservedSeat, SeatsItem};

/// Version of the encoding of lines.
const LINES_VERSION: u8 = 1;
/// Version of the encoding of metadata.
const METADATA_VERSION: u8 = 1;

/// Tags of item types in encoded lines.
const STAY: u8 = 1;
const STOCK: u8 = 2;
const SEATS: u8 = 3;
const SLOTS: u8 = 4;

/// Tags of line states in encoded lines.
const HELD: u8 = 0;
const RELEASED: u8 = 1;
const CONFIRMED: u8 = 2;
const CANCELLED: u8 = 3;

impl Record for Hold {
    type Key = HoldId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "hold",
        key: &[uuid("id")],
        fixed: &[text("origin"), moment("created_at"), text("currency")],
        changing: &[
            text("user_id"),
            moment("expires_at"),
            moment("pay_by"),
            // The later of the two above, for the index by end.
            moment("ends_at"),
            text("state"),
            uuid("replaced_by"),
            int("revision"),
            int("extensions"),
            int("attempt"),
            bytes("lines"),
            text("reference"),
            bytes("metadata"),
        ],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a HoldId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a HoldId, values: &mut Values<'a>) {
        values.add_value(origin_name(self.origin)).add(&self.created_at).add(&self.currency);
        values.add(&self.owner).add(&self.expires_at).add(&self.pay_by).add_value(self.ends_at());
        let (state, replaced_by) = match self.state {
            HoldState::Held => ("HELD", None),
            // Not written by a store that confirms in one commit.
            HoldState::Prepared => ("CONFIRMING", None),
            HoldState::Confirmed => ("CONFIRMED", None),
            HoldState::Cancelled => ("CANCELLED", None),
            HoldState::Replaced { by } => ("REPLACED", Some(by)),
        };
        values.add_value(state).add_value(replaced_by.map_or(Value::Null, |by| Value::Uuid(by.0)));
        values.add(&self.version).add(&self.extensions).add(&self.attempt.0);
        values.add_value(Value::Bytes(encode_lines(&self.lines).into()));
        let extras = self.extras.as_deref();
        values.add_value(extras.and_then(|extras| extras.reference.as_ref()).map_or(Value::Null, |it| it.to_value()));
        let metadata = extras.map(|extras| &extras.metadata).filter(|metadata| !metadata.is_empty());
        values.add_value(metadata.map_or(Value::Null, |pairs| Value::Bytes(encode_metadata(pairs).into())));
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(HoldId, Self)> {
        let id = values.take()?;
        let origin = parse_origin(&values.take::<String>()?)?;
        let (created_at, currency, owner) = (values.take()?, values.take()?, values.take()?);
        let (expires_at, pay_by) = (values.take()?, values.take()?);
        let _ends_at: crate::Timestamp = values.take()?;
        let (state, replaced_by): (String, Option<HoldId>) = (values.take()?, values.take()?);
        let state = match &*state {
            "HELD" => HoldState::Held,
            "CONFIRMING" => HoldState::Prepared,
            "CONFIRMED" => HoldState::Confirmed,
            "CANCELLED" => HoldState::Cancelled,
            "REPLACED" => HoldState::Replaced { by: replaced_by? },
            _ => return None,
        };
        let (version, extensions, attempt) = (values.take()?, values.take()?, Attempt(values.take()?));
        let lines = decode_lines(&values.take::<Vec<u8>>()?)?;
        let reference: Option<Arc<str>> = values.take()?;
        let metadata = values.take::<Option<Vec<u8>>>()?.map_or(Some(Vec::new()), |bytes| decode_metadata(&bytes))?;
        let extras = (reference.is_some() || !metadata.is_empty()).then(|| Arc::new(Extras { reference, metadata }));
        let hold = Self {
            id,
            owner,
            origin,
            created_at,
            expires_at,
            pay_by,
            state,
            version,
            extensions,
            attempt,
            currency,
            lines,
            extras,
        };
        Some((id, hold))
    }

    fn show(_key: &HoldId, row: &Self, audit: &mut Audit) {
        audit.hold(row);
    }
}

impl Record for LastHold {
    type Key = UserId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "last_cart_hold",
        key: &[text("user_id")],
        fixed: &[],
        changing: &[uuid("hold_id"), moment("kept_until")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a UserId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a UserId, values: &mut Values<'a>) {
        values.add(&self.hold).add(&self.kept_until);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(UserId, Self)> {
        Some((values.take()?, Self { hold: values.take()?, kept_until: values.take()? }))
    }

    fn show(_key: &UserId, _row: &Self, _audit: &mut Audit) {}
}

/// Lists holds on carts in order of their ids.
pub fn carts(after: Option<&HoldId>, limit: usize) -> List {
    List::of::<Hold>(after, limit).filter(Filter::Is("origin", origin_name(Origin::Cart).into()))
}

fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Stay => "STAY",
        Origin::Cart => "CART",
        Origin::Seats => "SEATS",
        Origin::Lock => "LOCK",
        Origin::Claim => "CLAIM",
        Origin::System => "SYSTEM",
    }
}

fn parse_origin(name: &str) -> Option<Origin> {
    Some(match name {
        "STAY" => Origin::Stay,
        "CART" => Origin::Cart,
        "SEATS" => Origin::Seats,
        "LOCK" => Origin::Lock,
        "CLAIM" => Origin::Claim,
        "SYSTEM" => Origin::System,
        _ => return None,
    })
}

fn encode_lines(lines: &[Line]) -> Vec<u8> {
    let mut values = Values::default();
    for line in lines {
        let (state, record) = match line.state {
            LineState::Held => (HELD, None),
            LineState::Released => (RELEASED, None),
            LineState::Confirmed { record } => (CONFIRMED, Some(record)),
            LineState::Cancelled { record } => (CANCELLED, Some(record)),
        };
        values.add(&line.index).add_value(state).add_value(record.map_or(Value::Null, Into::into)).add(&line.price);
        put_item(&line.item, &mut values);
    }
    codec::encode(LINES_VERSION, &values.0)
}

fn decode_lines(encoded: &[u8]) -> Option<Arc<[Line]>> {
    let (version, values) = codec::decode(encoded)?;
    if version != LINES_VERSION {
        return None;
    }
    let mut values = ValueReader::new(values);
    let mut lines = Vec::new();
    while !values.is_empty() {
        let (index, state, record): (u16, u8, Option<u64>) = (values.take()?, values.take()?, values.take()?);
        let state = match (state, record) {
            (HELD, None) => LineState::Held,
            (RELEASED, None) => LineState::Released,
            (CONFIRMED, Some(record)) => LineState::Confirmed { record },
            (CANCELLED, Some(record)) => LineState::Cancelled { record },
            _ => return None,
        };
        lines.push(Line { index, state, price: values.take()?, item: take_item(&mut values)? });
    }
    Some(lines.into())
}

fn put_item<'a>(item: &'a Item, values: &mut Values<'a>) {
    match item {
        Item::Stay(StayItem { room_type, dates, client_key }) => {
            values.add_value(STAY).add(room_type).add(&dates.check_in).add(&dates.check_out).add(client_key);
        }
        Item::Stock(item) => {
            values.add_value(STOCK).add(&item.reservation).add(&item.option).add(&item.product_name);
            values.add(&item.option_code).add(&item.quantity).add(&item.unit_price);
        }
        Item::Seats(SeatsItem { event, seats }) => {
            values.add_value(SEATS).add(event).add_value(seats.len() as u64);
            for seat in &**seats {
                values.add(&seat.seat).add(&seat.label).add(&seat.section).add(&seat.price);
            }
        }
        Item::Slots(SlotsItem { room, slots }) => {
            values.add_value(SLOTS).add(room).add_value(slots.len() as u64);
            for slot in &**slots {
                values.add_value(slot.start.minutes()).add(&slot.minutes).add(&slot.price);
            }
        }
    }
}

fn take_item(values: &mut ValueReader<'_>) -> Option<Item> {
    Some(match values.take::<u8>()? {
        STAY => {
            let room_type = values.take()?;
            let dates = StayDates { check_in: values.take()?, check_out: values.take()? };
            let dates = Some(dates).filter(|dates| dates.check_in < dates.check_out)?;
            Item::Stay(StayItem { room_type, dates, client_key: values.take()? })
        }
        STOCK => Item::Stock(StockItem {
            reservation: values.take()?,
            option: values.take()?,
            product_name: values.take()?,
            option_code: values.take()?,
            quantity: values.take()?,
            unit_price: values.take()?,
        }),
        SEATS => {
            let (event, count): (_, u16) = (values.take()?, values.take()?);
            let seat = |_| {
                let (seat, label, section) = (values.take()?, values.take()?, values.take()?);
                Some(ReservedSeat { seat, label, section, price: values.take()? })
            };
            Item::Seats(SeatsItem { event, seats: (0..count).map(seat).collect::<Option<_>>()? })
        }
        SLOTS => {
            let (room, count): (_, u16) = (values.take()?, values.take()?);
            let slot = |_| {
                let start = SlotStart::from_minutes(values.take()?)?;
                Some(LockedSlot { start, minutes: values.take()?, price: values.take()? })
            };
            Item::Slots(SlotsItem { room, slots: (0..count).map(slot).collect::<Option<_>>()? })
        }
        _ => return None,
    })
}

fn encode_metadata(pairs: &[(Arc<str>, Arc<str>)]) -> Vec<u8> {
    let mut values = Values::default();
    for (key, value) in pairs {
        values.add(key).add(value);
    }
    codec::encode(METADATA_VERSION, &values.0)
}

fn decode_metadata(encoded: &[u8]) -> Option<Vec<(Arc<str>, Arc<str>)>> {
    let (version, values) = codec::decode(encoded)?;
    let mut values = ValueReader::new(values);
    let mut pairs = Vec::new();
    while version == METADATA_VERSION && !values.is_empty() {
        pairs.push((values.take()?, values.take()?));
    }
    (!pairs.is_empty()).then_some(pairs)
}
