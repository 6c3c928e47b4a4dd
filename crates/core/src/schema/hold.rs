//! Columns that all kinds of holds share.

use crate::Timestamp;
use crate::command::Attempt;
use crate::hold::{Hold, HoldState};
use crate::id::{HoldId, UserId};

use crate::schema::table::{Column, big, moment, text, uuid};
use crate::schema::value::{ValueReader, Values};

pub(crate) const KEY: &[Column] = &[uuid("id")];
/// Columns that change during the life of a hold.
pub(crate) const STATE: &[Column] = &[text("state"), big("record_id"), uuid("replaced_by")];
/// Columns that never change.
pub(crate) const OWNER: [Column; 3] = [text("user_id"), moment("created_at"), moment("expires_at")];

pub(crate) fn put_owner<'a, C>(hold: &'a Hold<C>, values: &mut Values<'a>) {
    values.add(&hold.owner).add(&hold.created_at).add(&hold.expires_at);
}

pub(crate) fn put_state<C>(hold: &Hold<C>, values: &mut Values<'_>) {
    let (state, record, by) = match hold.state {
        HoldState::Held => ("HELD", None, None),
        // Not written by a store that confirms in one commit.
        HoldState::Prepared => ("CONFIRMING", None, None),
        HoldState::Confirmed { record } => ("CONFIRMED", Some(record), None),
        HoldState::Cancelled => ("CANCELLED", None, None),
        HoldState::Replaced { by } => ("REPLACED", None, Some(by)),
    };
    values.add_value(state).add_value(record.map_or(crate::schema::Value::Null, Into::into));
    values.add_value(by.map_or(crate::schema::Value::Null, |by| crate::schema::Value::Uuid(by.0)));
}

/// Owner and times of a hold, without its claim and state.
pub(crate) struct HoldHeader {
    id: HoldId,
    owner: UserId,
    created_at: Timestamp,
    expires_at: Timestamp,
}

pub(crate) fn take_owner(values: &mut ValueReader<'_>) -> Option<HoldHeader> {
    Some(HoldHeader {
        id: values.take()?,
        owner: values.take()?,
        created_at: values.take()?,
        expires_at: values.take()?,
    })
}

impl HoldHeader {
    /// Adds the claim, and reads the columns of the state.
    pub(crate) fn with_claim<C>(self, claim: C, values: &mut ValueReader<'_>) -> Option<(HoldId, Hold<C>)> {
        let (state, record, by): (String, Option<u64>, Option<HoldId>) =
            (values.take()?, values.take()?, values.take()?);
        let state = match &*state {
            "HELD" => HoldState::Held,
            "CONFIRMING" => HoldState::Prepared,
            "CONFIRMED" => HoldState::Confirmed { record: record? },
            "CANCELLED" => HoldState::Cancelled,
            "REPLACED" => HoldState::Replaced { by: by? },
            _ => return None,
        };
        let Self { id, owner, created_at, expires_at } = self;
        Some((id, Hold { id, owner, created_at, expires_at, state, attempts: Attempt::default(), claim }))
    }
}
