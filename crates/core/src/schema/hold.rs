//! Columns of holds. The lines of a hold are one value, in a versioned encoding.

use std::sync::Arc;

use crate::calendar::{LockedSlot, SlotStart, SlotsItem};
use crate::claim::refund::RefundTiers;
use crate::hold::owner::{OwnedHold, OwnerHolds};
use crate::hold::{Extras, Hold, HoldState, Item, Line, LineState, Origin};
use crate::id::HoldId;
use crate::schema::codec;
use crate::schema::column::{ColumnType, Columns, Type, nullable, type_of};
use crate::schema::list::{Filter, List};
use crate::schema::value::{FromValue, ToValue, Value, ValueReader, Values, text, text_enum};
use crate::shop::StockItem;
use crate::stay::{StayDates, StayItem};
use crate::ticket::{ReservedSeat, SeatsItem};
use crate::unit::Tally;

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

text!(RefundTiers, |tiers| tiers.to_string().into(), RefundTiers::parse);
text_enum!(Origin {
    Stay = "STAY",
    Cart = "CART",
    Seats = "SEATS",
    Lock = "LOCK",
    Claim = "CLAIM",
    System = "SYSTEM",
});

impl Columns for HoldState {
    const TYPES: &'static [ColumnType] = &[type_of::<String>(), nullable::<HoldId>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        let (state, replaced_by) = match self {
            Self::Held => ("HELD", Value::Null),
            // Not written by a store that confirms in one commit.
            Self::Prepared => ("CONFIRMING", Value::Null),
            Self::Confirmed => ("CONFIRMED", Value::Null),
            Self::Cancelled => ("CANCELLED", Value::Null),
            Self::Replaced { by } => ("REPLACED", by.to_value()),
        };
        values.add_value(state).add_value(replaced_by);
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let (Value::Text(state), replaced_by) = (values.next_value()?, values.take::<Option<_>>()?) else {
            return None;
        };
        match &*state {
            "HELD" => Some(Self::Held),
            "CONFIRMING" => Some(Self::Prepared),
            "CONFIRMED" => Some(Self::Confirmed),
            "CANCELLED" => Some(Self::Cancelled),
            "REPLACED" => Some(Self::Replaced { by: replaced_by? }),
            _ => None,
        }
    }
}

impl ToValue for Arc<[Line]> {
    fn to_value(&self) -> Value<'_> {
        Value::Bytes(encode_lines(self).into())
    }
}

impl FromValue for Arc<[Line]> {
    const TYPE: Type = Type::Bytes;

    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Bytes(encoded) => decode_lines(&encoded),
            _ => None,
        }
    }
}

/// Reference, metadata and refund tiers.
impl Columns for Option<Arc<Extras>> {
    const TYPES: &'static [ColumnType] = &[nullable::<Arc<str>>(), nullable::<Vec<u8>>(), nullable::<RefundTiers>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        let reference = self.as_ref().and_then(|extras| extras.reference.as_ref());
        let metadata = self.as_ref().map(|extras| &extras.metadata).filter(|metadata| !metadata.is_empty());
        values.add_value(reference.map_or(Value::Null, ToValue::to_value));
        values.add_value(metadata.map_or(Value::Null, |pairs| Value::Bytes(encode_metadata(pairs).into())));
        let refund = self.as_ref().and_then(|extras| extras.refund);
        values.add_value(refund.map_or(Value::Null, |tiers| tiers.to_string().into()));
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let reference: Option<Arc<str>> = values.take()?;
        let metadata = match values.next_value()? {
            Value::Null => Vec::new(),
            Value::Bytes(encoded) => decode_metadata(&encoded)?,
            _ => return None,
        };
        Some(Extras { reference, metadata, refund: values.take()? }.into_shared())
    }
}

/// Version of the encoding of an owner's holds.
const OWNER_VERSION: u8 = 1;

/// The listed holds as one sequence of ids and ends, and the tally of those in overflow rows.
impl Columns for OwnerHolds {
    const TYPES: &'static [ColumnType] = &[type_of::<Vec<u8>>(), Tally::TYPES[0], Tally::TYPES[1]];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        let pairs = self.listed().iter().flat_map(|hold| [hold.id.to_value(), hold.ends_at.to_value()]);
        values.add_value(codec::encode(OWNER_VERSION, &pairs.collect::<Vec<_>>()));
        self.overflow().put(values);
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let Value::Bytes(listed) = values.next_value()? else { return None };
        let (OWNER_VERSION, listed) = codec::decode(&listed)? else { return None };
        let (mut listed, mut holds) = (ValueReader::new(listed), Vec::new());
        while !listed.is_empty() {
            holds.push(OwnedHold { id: listed.take()?, ends_at: listed.take()? });
        }
        Self::from_parts(holds, values.take()?)
    }
}

/// Lists holds on carts in order of their ids.
pub fn carts(after: Option<&HoldId>, limit: usize) -> List {
    List::of::<Hold>(after, limit).filter(Filter::Is("origin", Origin::Cart.to_value().into_owned()))
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
        Item::Stay(StayItem { room_type, dates, quantity, client_key }) => {
            values.add_value(STAY).add(room_type).add(&dates.check_in).add(&dates.check_out);
            values.add(quantity).add(client_key);
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
            Item::Stay(StayItem { room_type, dates, quantity: values.take()?, client_key: values.take()? })
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
    if version != METADATA_VERSION {
        return None;
    }
    while !values.is_empty() {
        pairs.push((values.take()?, values.take()?));
    }
    (!pairs.is_empty()).then_some(pairs)
}
