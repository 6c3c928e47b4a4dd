//! Conversion between columns and values. Values are validated on reading: a value that no rule could have written is
//! damage.

use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_core::schema::{Type, Value};
use rusqlite::types::{self, FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use uuid::Uuid;

/// Value to bind to a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<'a>(pub &'a Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Bool(value) => ToSqlOutput::Borrowed(ValueRef::Integer((*value).into())),
            Value::Int(value) => ToSqlOutput::Borrowed(ValueRef::Integer(*value)),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Value::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Value::Date(date) => ToSqlOutput::Owned(types::Value::Text(date.to_string())),
            Value::Moment(moment) => ToSqlOutput::Borrowed(ValueRef::Integer(moment.as_millis())),
            Value::Uuid(uuid) => ToSqlOutput::Borrowed(ValueRef::Blob(uuid.as_bytes())),
        })
    }
}

/// Reads a column of this kind.
pub(crate) fn value_of(kind: Type, found: ValueRef<'_>) -> FromSqlResult<Value<'_>> {
    if found == ValueRef::Null {
        return Ok(Value::Null);
    }
    Ok(match kind {
        Type::Bool => Value::Bool(bool::column_result(found)?),
        Type::Int | Type::Big => Value::Int(found.as_i64()?),
        Type::Text => Value::Text(found.as_str()?.into()),
        Type::Bytes => Value::Bytes(found.as_blob()?.into()),
        Type::Date => Value::Date(found.as_str()?.parse().map_err(|_| damaged("date"))?),
        Type::Moment => Value::Moment(Timestamp::from_millis(found.as_i64()?)),
        Type::Uuid => Value::Uuid(Uuid::from_slice(found.as_blob()?).map_err(|_| damaged("uuid"))?),
    })
}

fn damaged(what: &str) -> FromSqlError {
    FromSqlError::Other(format!("not a {what}").into())
}

/// User as a column, or NULL.
#[derive(Clone, Debug)]
pub(crate) struct Owner(pub Option<UserId>);

impl FromSql for Owner {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let Some(text) = value.as_str_or_null()? else { return Ok(Self(None)) };
        UserId::parse_stored(text).map(|user| Self(Some(user))).ok_or_else(|| damaged("user"))
    }
}

/// Timestamp as a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(pub Timestamp);

impl FromSql for Moment {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(Timestamp::from_millis).map(Self)
    }
}

impl ToSql for Moment {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Integer(self.0.as_millis())))
    }
}
