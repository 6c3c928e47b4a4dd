//! What all holds have in common: the columns of their life.

use holdfast_core::Timestamp;
use holdfast_core::command::Attempt;
use holdfast_core::hold::{Hold, HoldState};
use holdfast_core::id::{HoldId, UserId};

use crate::cell::{Cells, Taken};
use crate::layout::{Column, big, moment, text, uuid};

pub(crate) const KEY: &[Column] = &[uuid("id")];
/// Columns that change in the life of a hold.
pub(crate) const STATE: &[Column] = &[text("state"), big("record_id"), uuid("replaced_by")];
/// Columns that do not.
pub(crate) const OWNER: [Column; 3] = [big("user_id"), moment("created_at"), moment("expires_at")];

pub(crate) fn put_owner<'a, C>(hold: &'a Hold<C>, cells: &mut Cells<'a>) {
    cells.add(&hold.owner).add(&hold.created_at).add(&hold.expires_at);
}

pub(crate) fn put_state<C>(hold: &Hold<C>, cells: &mut Cells<'_>) {
    let (state, record, by) = match hold.state {
        HoldState::Held => ("HELD", None, None),
        // Never written by a store that confirms in one commit.
        HoldState::Confirming => ("CONFIRMING", None, None),
        HoldState::Confirmed { record } => ("CONFIRMED", Some(record), None),
        HoldState::Cancelled => ("CANCELLED", None, None),
        HoldState::Replaced { by } => ("REPLACED", None, Some(by)),
    };
    cells.add_value(state).add_value(record.map_or(crate::Value::Null, Into::into));
    cells.add_value(by.map_or(crate::Value::Null, |by| crate::Value::Uuid(by.0)));
}

/// A hold without its claim.
pub(crate) struct Life {
    id: HoldId,
    owner: UserId,
    created_at: Timestamp,
    expires_at: Timestamp,
}

pub(crate) fn take_owner(cells: &mut Taken<'_>) -> Option<Life> {
    Some(Life { id: cells.take()?, owner: cells.take()?, created_at: cells.take()?, expires_at: cells.take()? })
}

impl Life {
    /// With the claim, and the cells of its state.
    pub(crate) fn claims<C>(self, claim: C, cells: &mut Taken<'_>) -> Option<(HoldId, Hold<C>)> {
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
