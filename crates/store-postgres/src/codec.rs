//! Conversion between columns and core types. Values are validated on reading: a value that no rule could have written
//! is damage.

use std::error::Error;

use bytes::{BufMut as _, BytesMut};
use holdfast_core::Timestamp;
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::schema::{Type as Kind, Value};
use holdfast_engine::StoreError;
use jiff::civil::{Date, date};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use crate::error::sentence;

type Unfit = Box<dyn Error + Sync + Send>;

/// Epoch of PostgreSQL's dates and timestamps.
const EPOCH: Date = date(2000, 1, 1);
const EPOCH_MILLIS: i64 = 946_684_800_000;

/// Core value as a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Col<T>(pub T);

/// Reads a column of a row.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, StoreError> {
    row.try_get(index).map_err(|error| StoreError::Damaged(sentence(&error)))
}

/// Reads a column of this kind.
pub(crate) fn value_of(kind: Kind, row: &Row, index: usize) -> Result<Value<'_>, StoreError> {
    Ok(match kind {
        Kind::Bool => get::<Option<bool>>(row, index)?.map_or(Value::Null, Value::Bool),
        Kind::Int => get::<Option<i32>>(row, index)?.map_or(Value::Null, |number| Value::Int(number.into())),
        Kind::Big => get::<Option<i64>>(row, index)?.map_or(Value::Null, Value::Int),
        Kind::Text => get::<Option<&str>>(row, index)?.map_or(Value::Null, |text| Value::Text(text.into())),
        Kind::Bytes => get::<Option<&[u8]>>(row, index)?.map_or(Value::Null, |bytes| Value::Bytes(bytes.into())),
        Kind::Date => get::<Option<Col<Date>>>(row, index)?.map_or(Value::Null, |Col(date)| Value::Date(date)),
        Kind::Moment => get::<Option<Col<Timestamp>>>(row, index)?.map_or(Value::Null, |Col(at)| Value::Moment(at)),
        Kind::Uuid => get::<Option<Col<HoldId>>>(row, index)?.map_or(Value::Null, |Col(id)| Value::Uuid(id.0)),
    })
}

/// PostgreSQL type of a kind.
pub(crate) fn type_of(kind: Kind) -> Type {
    match kind {
        Kind::Bool => Type::BOOL,
        Kind::Int => Type::INT4,
        Kind::Big => Type::INT8,
        Kind::Text => Type::TEXT,
        Kind::Bytes => Type::BYTEA,
        Kind::Date => Type::DATE,
        Kind::Moment => Type::TIMESTAMPTZ,
        Kind::Uuid => Type::UUID,
    }
}

/// Encodes a value as the type of its column.
impl ToSql for Col<&Value<'_>> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Unfit> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Bool(value) => value.to_sql(kind, out),
            Value::Int(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            Value::Int(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::Bytes(bytes) => (&**bytes).to_sql(kind, out),
            Value::Date(date) => Col(*date).to_sql(kind, out),
            Value::Moment(moment) => Col(*moment).to_sql(kind, out),
            Value::Uuid(uuid) => Col(HoldId(*uuid)).to_sql(kind, out),
        }
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl ToSql for Col<Value<'_>> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Unfit> {
        Col(&self.0).to_sql(kind, out)
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn damaged(what: &str) -> Unfit {
    format!("not a {what}").into()
}

/// Column of a PostgreSQL type, by way of a type that the library supports.
macro_rules! column {
    ($type:ty, $as:ty, $read:expr, $write:expr) => {
        impl<'a> FromSql<'a> for Col<$type> {
            fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Unfit> {
                let read: fn($as) -> Option<$type> = $read;
                read(<$as>::from_sql(kind, raw)?).map(Col).ok_or_else(|| damaged(stringify!($type)))
            }

            fn accepts(kind: &Type) -> bool {
                <$as as FromSql>::accepts(kind)
            }
        }

        impl ToSql for Col<$type> {
            fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Unfit> {
                let write: fn(&$type) -> $as = $write;
                write(&self.0).to_sql(kind, out)
            }

            fn accepts(kind: &Type) -> bool {
                <$as as ToSql>::accepts(kind)
            }

            to_sql_checked!();
        }
    };
}
column!(u32, i32, |number| number.try_into().ok(), |number| *number as i32);
column!(u64, i64, |number| number.try_into().ok(), |number| *number as i64);
column!(UserId, String, |text| UserId::parse_stored(&text), UserId::to_string);

/// Column whose binary encoding is implemented here.
macro_rules! raw_column {
    ($type:ty, $kind:ident, $read:expr, $write:expr) => {
        impl<'a> FromSql<'a> for Col<$type> {
            fn from_sql(_kind: &Type, raw: &'a [u8]) -> Result<Self, Unfit> {
                let read: fn(&[u8]) -> Option<$type> = $read;
                read(raw).map(Col).ok_or_else(|| damaged(stringify!($type)))
            }

            fn accepts(kind: &Type) -> bool {
                *kind == Type::$kind
            }
        }

        impl ToSql for Col<$type> {
            fn to_sql(&self, _kind: &Type, out: &mut BytesMut) -> Result<IsNull, Unfit> {
                let write: fn(&$type, &mut BytesMut) = $write;
                write(&self.0, out);
                Ok(IsNull::No)
            }

            fn accepts(kind: &Type) -> bool {
                *kind == Type::$kind
            }

            to_sql_checked!();
        }
    };
}
raw_column!(
    Timestamp,
    TIMESTAMPTZ,
    |raw| {
        // Rejects the infinities, which lie beyond the range of `Timestamp`.
        let millis = i64::from_be_bytes(raw.try_into().ok()?).div_euclid(1_000).checked_add(EPOCH_MILLIS)?;
        Some(Timestamp::from_millis(millis)).filter(|moment| moment.as_millis() == millis)
    },
    |moment, out| out.put_i64((moment.as_millis() - EPOCH_MILLIS) * 1_000)
);
raw_column!(
    Date,
    DATE,
    |raw| {
        let days = i32::from_be_bytes(raw.try_into().ok()?);
        EPOCH.checked_add(jiff::Span::new().try_days(days).ok()?).ok()
    },
    |date, out| out.put_i32(EPOCH.until(*date).expect("dates are a bounded number of days apart").get_days())
);
raw_column!(HoldId, UUID, |raw| Some(HoldId(Uuid::from_bytes(raw.try_into().ok()?))), |id, out| out
    .put_slice(id.0.as_bytes()));

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_round_trip<T: PartialEq + std::fmt::Debug + Copy>(value: T, kind: &Type)
    where
        Col<T>: ToSql + for<'a> FromSql<'a>,
    {
        let mut out = BytesMut::new();
        Col(value).to_sql(kind, &mut out).unwrap();
        let Col(back) = Col::<T>::from_sql(kind, &out).unwrap();
        assert_eq!(back, value);
    }

    #[test]
    fn timestamps_and_dates_round_trip() {
        for millis in [0, 1, 946_684_799_999, 946_684_800_000, 1_800_000_000_123, 253_402_207_200_000] {
            assert_round_trip(Timestamp::from_millis(millis), &Type::TIMESTAMPTZ);
        }
        for date in [date(1970, 1, 1), date(1999, 12, 31), date(2000, 2, 29), date(2030, 1, 1), date(9999, 12, 31)] {
            assert_round_trip(date, &Type::DATE);
        }
    }

    #[test]
    fn invalid_values_are_damage() {
        let infinity = i64::MAX.to_be_bytes();
        assert!(Col::<Timestamp>::from_sql(&Type::TIMESTAMPTZ, &infinity).is_err());
        assert!(Col::<UserId>::from_sql(&Type::TEXT, b"007").is_err());
        assert!(Col::<u32>::from_sql(&Type::INT4, &(-1_i32).to_be_bytes()).is_err());
        assert!(Col::<Date>::from_sql(&Type::DATE, &i32::MAX.to_be_bytes()).is_err());
    }
}
