//! Columns that all kinds of holds share.

use holdfast_core::Timestamp;
use holdfast_core::command::Attempt;
use holdfast_core::hold::{Hold, HoldState};
use holdfast_core::id::{HoldId, UserId};

use crate::cell::{Cells, Taken};
use crate::layout::{Column, big, moment, text, uuid};

pub(crate) const KEY: &[Column] = &[uuid("id")];
/// Columns that change during the life of a hold.
pub(crate) const STATE: &[Column] = &[text("state"), big("record_id"), uuid("replaced_by")];
/// Columns that never change.
pub(crate) const OWNER: [Column; 3] = [big("user_id"), moment("created_at"), moment("expires_at")];

pub(crate) fn put_owner<'a, C>(hold: &'a Hold<C>, cells: &mut Cells<'a>) {
    cells.add(&hold.owner).add(&hold.created_at).add(&hold.expires_at);
}

pub(crate) fn put_state<C>(hold: &Hold<C>, cells: &mut Cells<'_>) {
    let (state, record, by) = match hold.state {
        HoldState::Held => ("HELD", None, None),
        // Not written by a store that confirms in one commit.
        HoldState::Confirming => ("CONFIRMING", None, None),
        HoldState::Confirmed { record } => ("CONFIRMED", Some(record), None),
        HoldState::Cancelled => ("CANCELLED", None, None),
        HoldState::Replaced { by } => ("REPLACED", None, Some(by)),
    };
    cells.add_value(state).add_value(record.map_or(crate::Value::Null, Into::into));
    cells.add_value(by.map_or(crate::Value::Null, |by| crate::Value::Uuid(by.0)));
}

/// Owner and times of a hold, without its claim and state.
pub(crate) struct HoldHeader {
    id: HoldId,
    owner: UserId,
    created_at: Timestamp,
    expires_at: Timestamp,
}

pub(crate) fn take_owner(cells: &mut Taken<'_>) -> Option<HoldHeader> {
    Some(HoldHeader { id: cells.take()?, owner: cells.take()?, created_at: cells.take()?, expires_at: cells.take()? })
}

impl HoldHeader {
    /// Adds the claim, and reads the columns of the state.
    pub(crate) fn with_claim<C>(self, claim: C, cells: &mut Taken<'_>) -> Option<(HoldId, Hold<C>)> {
        let (state, record, by): (String, Option<u64>, Option<HoldId>) = (cells.take()?, cells.take()?, cells.take()?);
        let state = match &*state {
            "HELD" => HoldState::Held,
            "CONFIRMING" => HoldState::Confirming,
            "CONFIRMED" => HoldState::Confirmed { record: record? },
            "CANCELLED" => HoldState::Cancelled,
            "REPLACED" => HoldState::Replaced { by: by? },
            _ => return None,
        };
        let Self { id, owner, created_at, expires_at } = self;
        Some((id, Hold { id, owner, created_at, expires_at, state, attempts: Attempt::default(), claim }))
    }
}
