//! Column values, and the conversion of core's types.

use std::borrow::Cow;
use std::sync::Arc;

use holdfast_core::Timestamp;
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::money::Currency;
use holdfast_core::time::Zone;
use jiff::civil::Date;
use uuid::Uuid;

/// Value of a column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Text(Cow<'a, str>),
    Date(Date),
    Moment(Timestamp),
    Uuid(Uuid),
}

impl Value<'_> {
    /// Converts into a value without borrowed data.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Int(value),
            Self::Text(text) => Value::Text(text.into_owned().into()),
            Self::Date(date) => Value::Date(date),
            Self::Moment(moment) => Value::Moment(moment),
            Self::Uuid(uuid) => Value::Uuid(uuid),
        }
    }
}

/// Values of a row, in the order of its columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells<'a>(pub Vec<Value<'a>>);

impl<'a> Cells<'a> {
    /// Appends the value of a field.
    pub fn add(&mut self, cell: &'a (impl ToCell + ?Sized)) -> &mut Self {
        self.0.push(cell.to_cell());
        self
    }

    /// Appends a computed value.
    pub fn add_value(&mut self, value: impl Into<Value<'a>>) -> &mut Self {
        self.0.push(value.into());
        self
    }
}

/// Values that were read, consumed one after another.
#[derive(Debug)]
pub struct Taken<'a>(std::vec::IntoIter<Value<'a>>);

impl<'a> Taken<'a> {
    pub fn new(cells: Vec<Value<'a>>) -> Self {
        Self(cells.into_iter())
    }

    /// Returns the remaining values without borrowed data.
    pub fn into_owned(self) -> Vec<Value<'static>> {
        self.0.map(Value::into_owned).collect()
    }

    /// Returns the next value; `None` if it has another type, or is not valid for `T`.
    pub fn take<T: FromCell>(&mut self) -> Option<T> {
        T::from_cell(self.0.next()?)
    }
}

/// Conversion into a column value.
pub trait ToCell {
    fn to_cell(&self) -> Value<'_>;
}

/// Conversion from a column value; `None` if the value is not valid.
pub trait FromCell: Sized {
    fn from_cell(cell: Value<'_>) -> Option<Self>;
}

impl<T: ToCell> ToCell for Option<T> {
    fn to_cell(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToCell::to_cell)
    }
}

impl<T: FromCell> FromCell for Option<T> {
    fn from_cell(cell: Value<'_>) -> Option<Self> {
        match cell {
            Value::Null => Some(None),
            cell => T::from_cell(cell).map(Some),
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl ToCell for str {
    fn to_cell(&self) -> Value<'_> {
        self.into()
    }
}

impl ToCell for Arc<str> {
    fn to_cell(&self) -> Value<'_> {
        (&**self).into()
    }
}

impl FromCell for Arc<str> {
    fn from_cell(cell: Value<'_>) -> Option<Self> {
        match cell {
            Value::Text(text) => Some((&*text).into()),
            _ => None,
        }
    }
}

impl FromCell for String {
    fn from_cell(cell: Value<'_>) -> Option<Self> {
        match cell {
            Value::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }
}

/// Implements the conversions of a type with a variant of its own.
macro_rules! copy_value {
    ($($type:ty => $variant:ident),+ $(,)?) => { $(
        impl From<$type> for Value<'_> {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        }

        impl ToCell for $type {
            fn to_cell(&self) -> Value<'_> {
                (*self).into()
            }
        }

        impl FromCell for $type {
            fn from_cell(cell: Value<'_>) -> Option<Self> {
                match cell {
                    Value::$variant(value) => Some(value),
                    _ => None,
                }
            }
        }
    )+ };
}
copy_value!(bool => Bool, i64 => Int, Date => Date, Timestamp => Moment, Uuid => Uuid);

/// Implements the conversions of an integer type.
macro_rules! integer {
    ($($type:ty),+) => { $(
        impl From<$type> for Value<'_> {
            fn from(value: $type) -> Self {
                Self::Int(i64::try_from(value).expect("numbers are below 2^53"))
            }
        }

        impl ToCell for $type {
            fn to_cell(&self) -> Value<'_> {
                (*self).into()
            }
        }

        impl FromCell for $type {
            fn from_cell(cell: Value<'_>) -> Option<Self> {
                i64::from_cell(cell)?.try_into().ok()
            }
        }
    )+ };
}
integer!(u8, u16, u32, u64);

/// Implements the conversions of a numeric id.
macro_rules! number_id {
    ($($id:ty),+ $(,)?) => { $(
        impl $crate::cell::ToCell for $id {
            fn to_cell(&self) -> $crate::cell::Value<'_> {
                self.get().into()
            }
        }

        impl $crate::cell::FromCell for $id {
            fn from_cell(cell: $crate::cell::Value<'_>) -> Option<Self> {
                <$id>::new(u64::from_cell(cell)?)
            }
        }
    )+ };
}
pub(crate) use number_id;
number_id!(UserId);

/// Implements the conversions of a type that is stored as text.
macro_rules! text {
    ($type:ty, $write:expr, $parse:expr) => {
        impl $crate::cell::ToCell for $type {
            fn to_cell(&self) -> $crate::cell::Value<'_> {
                let write: fn(&$type) -> std::borrow::Cow<'_, str> = $write;
                $crate::cell::Value::Text(write(self))
            }
        }

        impl $crate::cell::FromCell for $type {
            fn from_cell(cell: $crate::cell::Value<'_>) -> Option<Self> {
                let parse: fn(&str) -> Option<$type> = $parse;
                match cell {
                    $crate::cell::Value::Text(text) => parse(&text),
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use text;
text!(Currency, |currency| currency.as_str().into(), Currency::parse);
text!(Zone, |zone| zone.name().into(), Zone::parse);

impl ToCell for HoldId {
    fn to_cell(&self) -> Value<'_> {
        Value::Uuid(self.0)
    }
}

impl FromCell for HoldId {
    fn from_cell(cell: Value<'_>) -> Option<Self> {
        Uuid::from_cell(cell).map(Self)
    }
}
