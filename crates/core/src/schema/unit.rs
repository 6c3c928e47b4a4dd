//! Counts of held units, and fences: keys and columns of the live rows that all kinds of holds share.

use std::fmt::{self, Display};

use crate::calendar::SlotId;
use crate::idempotency::{IdempotencyRecord, IdempotencyRecordId};
use crate::stay::night_of;
use crate::ticket::seat_of;
use crate::unit::{Kind, Tally, Unit};

use crate::schema::codec;
use crate::schema::column::{ColumnType, Columns, type_of};
use crate::schema::declare::table_row;
use crate::schema::value::{Value, ValueReader, Values, text};

text!(Kind, |kind| kind.name().into(), |name| Kind::ALL.into_iter().find(|known| known.name() == name));

impl Kind {
    /// Returns the name of the kind in keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stay => "stay",
            Self::Shop => "shop",
            Self::Room => "room",
            Self::Ticket => "ticket",
        }
    }
}

/// Name of the tally of a unit.
pub(crate) struct UnitName(pub Unit);

impl Display for UnitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.0;
        match unit.kind {
            Kind::Stay => {
                let night = night_of(unit);
                write!(f, "hold-count:{}:{}", night.room_type, night.date)
            }
            Kind::Shop => write!(f, "stock-reserved:{}", unit.resource),
            Kind::Room => write!(f, "lock-count:{}", SlotName(SlotId::of(unit))),
            // Held seats of an event, in total and one by one.
            Kind::Ticket => match seat_of(unit) {
                None => write!(f, "seat:count:{}", unit.resource),
                Some(seat) => write!(f, "seat:held:{seat}"),
            },
        }
    }
}

/// Room, date and time. Each slot has a key of its own, because each expires at its own time.
pub(crate) struct SlotName(pub SlotId);

impl Display for SlotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SlotId { room, start } = self.0;
        write!(f, "{room}:{}:{}", start.date(), start.time())
    }
}

/// Version of the encoding of a tally's lines.
const LINES_VERSION: u8 = 1;

/// Quantity of prepared holds, and the lines as one sequence of seconds and quantities.
impl Columns for Tally {
    const TYPES: &'static [ColumnType] = &[type_of::<u32>(), type_of::<Vec<u8>>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        let lines: Vec<_> =
            self.lines().flat_map(|(second, quantity)| [Value::Int(second), Value::from(quantity)]).collect();
        values.add_value(self.prepared()).add_value(codec::encode(LINES_VERSION, &lines));
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let (prepared, Value::Bytes(lines)) = (values.take()?, values.next_value()?) else { return None };
        let (LINES_VERSION, numbers) = codec::decode(&lines)? else { return None };
        let (pairs, []) = numbers.as_chunks() else { return None };
        let line = |pair: &[Value<'_>; 2]| match pair {
            [Value::Int(second), Value::Int(quantity)] => Some((*second, u32::try_from(*quantity).ok()?)),
            _ => None,
        };
        Self::from_lines(prepared, pairs.iter().map(line).collect::<Option<Vec<_>>>()?)
    }
}

table_row! {
    IdempotencyRecord by IdempotencyRecordId, cached {
        table "idempotency_key";
        key { caller, key };
        changing { fingerprint, response, expires_at };
        name |id| format_args!("idempotency:{}:{}", id.caller, id.key);
    }
}
