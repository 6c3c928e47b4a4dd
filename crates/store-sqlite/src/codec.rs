//! Between columns and core types. What the file says is checked here: a value no rule could have written is damage.

use holdfast_core::Timestamp;
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::money::Currency;
use holdfast_core::stay::{ClientHoldKey, RoomTypeId, StayDates, StayReservationId};
use jiff::civil::Date;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Value, ValueRef};
use uuid::Uuid;

/// A core value as a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Col<T>(pub T);

fn damaged(what: &str) -> FromSqlError {
    FromSqlError::Other(format!("not a {what}").into())
}

macro_rules! number_column {
    ($($id:ty),+) => { $(
        impl FromSql for Col<$id> {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                <$id>::new(u64::column_result(value)?).map(Col).ok_or_else(|| damaged(stringify!($id)))
            }
        }

        impl ToSql for Col<$id> {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::Owned(Value::Integer(self.0.get() as i64)))
            }
        }
    )+ };
}
number_column!(UserId, RoomTypeId, StayReservationId);

macro_rules! text_column {
    ($type:ty, $parse:expr) => {
        impl FromSql for Col<$type> {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let parse: fn(&str) -> Option<$type> = $parse;
                parse(value.as_str()?).map(Col).ok_or_else(|| damaged(stringify!($type)))
            }
        }
    };
}
text_column!(Date, |text| text.parse().ok());
text_column!(Currency, Currency::parse);
text_column!(ClientHoldKey, ClientHoldKey::parse);

impl FromSql for Col<Timestamp> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(Timestamp::from_millis).map(Col)
    }
}

impl ToSql for Col<Timestamp> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(Value::Integer(self.0.as_millis())))
    }
}

impl FromSql for Col<HoldId> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let bytes = value.as_blob()?.try_into().map_err(|_| damaged("hold id"))?;
        Ok(Col(HoldId(Uuid::from_bytes(bytes))))
    }
}

impl ToSql for Col<HoldId> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.0.0.as_bytes())))
    }
}

/// Text that is written into a column without touching the heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<const N: usize>([u8; N], usize);

impl<const N: usize> Text<N> {
    pub(crate) fn of(value: impl std::fmt::Display) -> Self {
        use std::io::Write as _;
        let mut bytes = [0; N];
        let mut rest = &mut bytes[..];
        write!(rest, "{value}").expect("the buffer is as long as the longest value");
        let free = rest.len();
        Self(bytes, N - free)
    }
}

impl<const N: usize> ToSql for Text<N> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(&self.0[..self.1])))
    }
}

pub(crate) fn date_text(date: Date) -> Text<10> {
    let (year, month, day) = (date.year() as u16, date.month() as u8, date.day() as u8);
    let digit = |number: u16, power: u16| b'0' + (number / power % 10) as u8;
    let (month, day) = (u16::from(month), u16::from(day));
    Text(
        [
            digit(year, 1_000),
            digit(year, 100),
            digit(year, 10),
            digit(year, 1),
            b'-',
            digit(month, 10),
            digit(month, 1),
            b'-',
            digit(day, 10),
            digit(day, 1),
        ],
        10,
    )
}

pub(crate) fn stay_dates(check_in: Date, check_out: Date) -> rusqlite::Result<StayDates> {
    if check_in < check_out {
        Ok(StayDates { check_in, check_out })
    } else {
        Err(FromSqlError::Other("a stay without a night".into()).into())
    }
}
