//! Column values, and the conversion of core's types.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Timestamp;
use crate::command::Attempt;
use crate::id::{HoldId, UserId};
use crate::money::Currency;
use crate::schema::column::{Columns, Type};
use crate::time::Zone;
use jiff::civil::Date;
use uuid::Uuid;

/// Value of a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
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
            Self::Bytes(bytes) => Value::Bytes(bytes.into_owned().into()),
            Self::Date(date) => Value::Date(date),
            Self::Moment(moment) => Value::Moment(moment),
            Self::Uuid(uuid) => Value::Uuid(uuid),
        }
    }
}

/// Values of a row, in the order of its columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values<'a>(pub Vec<Value<'a>>);

impl<'a> Values<'a> {
    pub fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// Appends the value of a field.
    pub fn add(&mut self, value: &'a (impl ToValue + ?Sized)) -> &mut Self {
        self.0.push(value.to_value());
        self
    }

    /// Appends an owned copy of a value, which may borrow from a temporary.
    pub fn add_computed(&mut self, value: &impl ToValue) -> &mut Self {
        self.0.push(value.to_value().into_owned());
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
pub struct ValueReader<'a>(std::vec::IntoIter<Value<'a>>);

impl<'a> ValueReader<'a> {
    pub fn new(values: Vec<Value<'a>>) -> Self {
        Self(values.into_iter())
    }

    /// Whether all values were consumed.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// Returns the remaining values without borrowed data.
    pub fn into_owned(self) -> Vec<Value<'static>> {
        self.0.map(Value::into_owned).collect()
    }

    /// Reads a field; `None` if its values have other types, or are not valid for `T`.
    pub fn take<T: Columns>(&mut self) -> Option<T> {
        T::take(self)
    }

    /// Reads the next value; `None` if it has another type, or is not valid for `T`.
    pub fn take_value<T: FromValue>(&mut self) -> Option<T> {
        T::from_value(self.0.next()?)
    }

    /// Returns the next value.
    pub fn next_value(&mut self) -> Option<Value<'a>> {
        self.0.next()
    }
}

/// Conversion into a column value.
pub trait ToValue {
    fn to_value(&self) -> Value<'_>;
}

/// Conversion from a column value; `None` if the value is not valid.
pub trait FromValue: Sized {
    /// Type of the column.
    const TYPE: Type;
    /// Whether the column may be NULL.
    const IS_NULLABLE: bool = false;

    fn from_value(value: Value<'_>) -> Option<Self>;
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<T: FromValue> FromValue for Option<T> {
    const TYPE: Type = T::TYPE;
    const IS_NULLABLE: bool = true;

    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
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

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value<'_> {
        self[..].into()
    }
}

impl FromValue for Vec<u8> {
    const TYPE: Type = Type::Bytes;

    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Bytes(bytes) => Some(bytes.into_owned()),
            _ => None,
        }
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value<'_> {
        self.into()
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value<'_> {
        (&**self).into()
    }
}

impl ToValue for Arc<str> {
    fn to_value(&self) -> Value<'_> {
        (&**self).into()
    }
}

impl FromValue for Arc<str> {
    const TYPE: Type = Type::Text;

    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some((&*text).into()),
            _ => None,
        }
    }
}

impl FromValue for String {
    const TYPE: Type = Type::Text;

    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }
}

/// Implements the conversions of a type with a variant of its own.
macro_rules! copy_value {
    ($($type:ty => $variant:ident as $column:ident),+ $(,)?) => { $(
        impl From<$type> for Value<'_> {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        }

        impl ToValue for $type {
            fn to_value(&self) -> Value<'_> {
                (*self).into()
            }
        }

        impl FromValue for $type {
            const TYPE: Type = Type::$column;

            fn from_value(value: Value<'_>) -> Option<Self> {
                match value {
                    Value::$variant(value) => Some(value),
                    _ => None,
                }
            }
        }
    )+ };
}
copy_value!(
    bool => Bool as Bool,
    i64 => Int as Big,
    Date => Date as Date,
    Timestamp => Moment as Moment,
    Uuid => Uuid as Uuid,
);

/// Implements the conversions of an integer type.
macro_rules! integer {
    ($($type:ty => $column:ident),+) => { $(
        impl From<$type> for Value<'_> {
            fn from(value: $type) -> Self {
                Self::Int(i64::try_from(value).expect("numbers are below 2^53"))
            }
        }

        impl ToValue for $type {
            fn to_value(&self) -> Value<'_> {
                (*self).into()
            }
        }

        impl FromValue for $type {
            const TYPE: Type = Type::$column;

            fn from_value(value: Value<'_>) -> Option<Self> {
                i64::from_value(value)?.try_into().ok()
            }
        }
    )+ };
}
integer!(u8 => Int, u16 => Int, u32 => Int, u64 => Big);

/// Implements the conversions of a numeric id.
macro_rules! number_id {
    ($($id:ty),+ $(,)?) => { $(
        impl $crate::schema::value::ToValue for $id {
            fn to_value(&self) -> $crate::schema::value::Value<'_> {
                self.get().into()
            }
        }

        impl $crate::schema::value::FromValue for $id {
            const TYPE: $crate::schema::column::Type = $crate::schema::column::Type::Big;

            fn from_value(value: $crate::schema::value::Value<'_>) -> Option<Self> {
                <$id>::new(u64::from_value(value)?)
            }
        }
    )+ };
}
pub(crate) use number_id;

/// Implements the conversions of a type that is stored as text.
macro_rules! text {
    ($type:ty, $write:expr, $parse:expr) => {
        impl $crate::schema::value::ToValue for $type {
            fn to_value(&self) -> $crate::schema::value::Value<'_> {
                let write: fn(&$type) -> std::borrow::Cow<'_, str> = $write;
                $crate::schema::value::Value::Text(write(self))
            }
        }

        impl $crate::schema::value::FromValue for $type {
            const TYPE: $crate::schema::column::Type = $crate::schema::column::Type::Text;

            fn from_value(value: $crate::schema::value::Value<'_>) -> Option<Self> {
                let parse: fn(&str) -> Option<$type> = $parse;
                match value {
                    $crate::schema::value::Value::Text(text) => parse(&text),
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use text;
text!(Currency, |currency| currency.as_str().into(), Currency::parse);
text!(Zone, |zone| zone.name().into(), Zone::parse);
text!(
    UserId,
    |user| user.text().map_or_else(|| user.to_string().into(), |text| (&**text).into()),
    UserId::parse_stored
);

impl ToValue for HoldId {
    fn to_value(&self) -> Value<'_> {
        Value::Uuid(self.0)
    }
}

impl FromValue for HoldId {
    const TYPE: Type = Type::Uuid;

    fn from_value(value: Value<'_>) -> Option<Self> {
        Uuid::from_value(value).map(Self)
    }
}

impl ToValue for Attempt {
    fn to_value(&self) -> Value<'_> {
        self.0.into()
    }
}

impl FromValue for Attempt {
    const TYPE: Type = Type::Int;

    fn from_value(value: Value<'_>) -> Option<Self> {
        u32::from_value(value).map(Self)
    }
}

impl<const N: usize> ToValue for [u8; N] {
    fn to_value(&self) -> Value<'_> {
        self[..].into()
    }
}

impl<const N: usize> FromValue for [u8; N] {
    const TYPE: Type = Type::Bytes;

    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Bytes(bytes) => (*bytes).try_into().ok(),
            _ => None,
        }
    }
}

/// Implements the conversions of an enum without data, stored as text.
macro_rules! text_enum {
    ($type:ty { $($variant:ident = $text:literal),+ $(,)? }) => {
        $crate::schema::value::text!(
            $type,
            |value| match value {
                $(<$type>::$variant => $text),+
            }
            .into(),
            |text| match text {
                $($text => Some(<$type>::$variant),)+
                _ => None,
            }
        );
    };
}
pub(crate) use text_enum;

/// Implements the conversions of a state that is stored as the time of cancellation, which only one variant has.
macro_rules! cancelled_at {
    ($type:ident, $active:ident) => {
        impl $crate::schema::value::ToValue for $type {
            fn to_value(&self) -> $crate::schema::value::Value<'_> {
                match self {
                    Self::$active => $crate::schema::value::Value::Null,
                    Self::Cancelled { at } => (*at).into(),
                }
            }
        }

        impl $crate::schema::value::FromValue for $type {
            const TYPE: $crate::schema::column::Type = $crate::schema::column::Type::Moment;
            const IS_NULLABLE: bool = true;

            fn from_value(value: $crate::schema::value::Value<'_>) -> Option<Self> {
                let cancelled_at = Option::<$crate::Timestamp>::from_value(value)?;
                Some(cancelled_at.map_or(Self::$active, |at| Self::Cancelled { at }))
            }
        }
    };
}
pub(crate) use cancelled_at;
