//! Columns that all kinds of holds share.

use std::fmt::Write as _;

use crate::Timestamp;
use crate::command::Attempt;
use crate::hold::{Hold, HoldState};
use crate::id::{HoldId, UserId};

use crate::schema::column::{Column, ColumnType, Columns, named, nullable, type_of};
use crate::schema::spec::TableSpec;
use crate::schema::value::{Value, ValueReader, Values};

pub(crate) const KEY: &[Column] = &[named::<HoldId>("id")];
/// Columns that change during the life of a hold.
pub(crate) const STATE: &[Column] = &[
    named::<String>("state"),
    named::<Option<u64>>("record_id"),
    named::<Option<HoldId>>("replaced_by"),
    named::<Attempt>("attempts"),
];
/// Columns that never change.
pub(crate) const OWNER: [Column; 3] =
    [named::<UserId>("user_id"), named::<Timestamp>("created_at"), named::<Timestamp>("expires_at")];

impl Columns for HoldState {
    const TYPES: &'static [ColumnType] = &[type_of::<String>(), nullable::<u64>(), nullable::<HoldId>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        let (state, record, by) = match self {
            Self::Held => ("HELD", None, None),
            // Not written by a store that confirms in one commit.
            Self::Prepared => ("CONFIRMING", None, None),
            Self::Confirmed { record } => ("CONFIRMED", Some(*record), None),
            Self::Cancelled => ("CANCELLED", None, None),
            Self::Replaced { by } => ("REPLACED", None, Some(*by)),
        };
        values.add_value(state).add_value(record.map_or(Value::Null, Into::into));
        values.add_value(by.map_or(Value::Null, |by| Value::Uuid(by.0)));
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let (state, record, by): (Value<'_>, Option<u64>, Option<HoldId>) =
            (values.next_value()?, values.take()?, values.take()?);
        let Value::Text(state) = state else { return None };
        match &*state {
            "HELD" => Some(Self::Held),
            "CONFIRMING" => Some(Self::Prepared),
            "CONFIRMED" => Some(Self::Confirmed { record: record? }),
            "CANCELLED" => Some(Self::Cancelled),
            "REPLACED" => Some(Self::Replaced { by: by? }),
            _ => None,
        }
    }
}

pub(crate) fn put_owner<'a, C>(hold: &'a Hold<C>, values: &mut Values<'a>) {
    values.add(&hold.owner).add(&hold.created_at).add(&hold.expires_at);
}

pub(crate) fn put_state<'a, C>(hold: &'a Hold<C>, values: &mut Values<'a>) {
    hold.state.put(values);
    values.add(&hold.attempts);
}

/// Owner and times of a hold, without its claim and state.
pub(crate) struct HoldHeader {
    owner: UserId,
    created_at: Timestamp,
    expires_at: Timestamp,
}

pub(crate) fn take_owner(values: &mut ValueReader<'_>) -> Option<HoldHeader> {
    Some(HoldHeader { owner: values.take()?, created_at: values.take()?, expires_at: values.take()? })
}

impl HoldHeader {
    /// Adds the claim, and reads the columns of the state.
    pub(crate) fn with_claim<C>(self, id: HoldId, claim: C, values: &mut ValueReader<'_>) -> Option<Hold<C>> {
        let Self { owner, created_at, expires_at } = self;
        let (state, attempts) = (values.take()?, values.take()?);
        Some(Hold { id, owner, created_at, expires_at, state, attempts, claim })
    }
}

/// Declaration of a table of holds, without the columns of the claim.
pub(crate) const fn spec(table: &'static str) -> TableSpec {
    TableSpec {
        table,
        is_live: true,
        is_index: false,
        is_immutable: false,
        key: KEY,
        fixed: &[],
        changing: STATE,
        child_rows: None,
        month: None,
        purge: None,
    }
}

/// Appends the name of a hold.
pub(crate) fn write_name(prefix: &str, id: HoldId, name: &mut String) {
    write!(name, "{prefix}:{id}").expect("writing to a string cannot fail");
}
