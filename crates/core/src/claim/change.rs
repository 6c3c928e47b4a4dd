//! Changing a live claim: its lines, its owner and the client's data. One step, all or nothing.

use std::sync::Arc;

use super::place::{Mode, claim_lines};
use super::{
    LINES_MAX, Metadata, UNITS_MAX, check_lines, check_metadata, check_reference, check_version, find, find_live,
    is_confirmed,
};
use crate::actor::Actor;
use crate::command::{Command, Context, Decision, writes};
use crate::event::Event;
use crate::hold::{self, Extras, Hold, LineRequest, LineState, Origin, owner, place};
use crate::id::{HoldId, UserId};
use crate::rejection::{ClaimRejection, Fault, Rejection};
use crate::ticket::{SeatsItem, seat_claim};
use crate::working_set::WorkingSet;

/// New values of a claim's data; an absent field keeps its value.
#[derive(Clone, Debug, Default)]
pub struct DataChange {
    /// `Some(None)` removes the reference.
    pub reference: Option<Option<Arc<str>>>,
    /// Replaces all pairs.
    pub metadata: Option<Metadata>,
}

impl DataChange {
    fn check(&self) -> Result<(), Rejection> {
        if let Some(Some(reference)) = &self.reference {
            check_reference(reference)?;
        }
        self.metadata.as_ref().map_or(Ok(()), check_metadata)
    }

    fn apply_to(&self, hold: &mut Hold) {
        let mut extras: Extras = hold.extras.as_deref().cloned().unwrap_or_default();
        if let Some(reference) = &self.reference {
            extras.reference.clone_from(reference);
        }
        if let Some(metadata) = &self.metadata {
            extras.metadata.clone_from(metadata);
        }
        hold.set_extras(extras);
    }
}

/// Changes a live claim. Units of removed lines count as free for added ones; its end stays.
#[derive(Clone, Debug)]
pub struct ChangeClaim {
    pub id: HoldId,
    pub actor: Actor,
    pub add: Vec<LineRequest>,
    /// Indexes of lines.
    pub remove: Vec<u16>,
    /// New owner.
    pub transfer_to: Option<UserId>,
    pub data: DataChange,
    /// Expected version.
    pub version: Option<u32>,
}

impl Command for ChangeClaim {
    type Outcome = Hold;
    const NAME: &'static str = "claim.change";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Hold> {
        self.data.check()?;
        if self.add.len() > LINES_MAX {
            return Err(Rejection::invalid("add", Fault::TooManyItems { max: LINES_MAX }).into());
        }
        let before = find_live(rows, self.id, &self.actor, self.version, at.now)?;
        self.check(&before)?;
        let mut after = before.with_lines_released(&self.remove);
        after.owner = self.transfer_to.clone().unwrap_or(after.owner);
        self.data.apply_to(&mut after);
        self.check_size(&after)?;
        for hold in [&before, &after] {
            place::request_indexes(rows, hold);
        }
        for item in after.held_items::<SeatsItem>() {
            seat_claim::request_limit(rows, item.event, &after.owner);
        }
        place::remove(rows, &before, at.now)?;
        if after.owner != before.owner {
            for kind in after.kinds() {
                hold::check_hold_limit(rows, at, kind, &after.owner)?;
            }
            for item in after.held_items::<SeatsItem>() {
                seat_claim::check_limit_of(rows, at, item.event, &after.owner, item.seats.len() as u32)?;
            }
        }
        for line in after.held_lines() {
            place::insert_line(rows, &after, line, at.now)?;
        }
        if !self.add.is_empty() {
            claim_lines(rows, at, &mut after, ("add", &self.add), Mode::All)?;
        }
        owner::add(rows, &after, at.now)?;
        rows.holds.put(after.id, after.clone());
        rows.emit(Event::ClaimChanged(after.clone()));
        Ok(after)
    }

    fn weight(&self) -> usize {
        super::place::weight(&self.add)
    }

    fn weight_in_steps(&self) -> usize {
        super::place::weight_in_steps(&self.add)
    }
}

impl ChangeClaim {
    fn check(&self, before: &Hold) -> Result<(), Rejection> {
        // The owner's cart and account belong to the reservation.
        if before.origin == Origin::Cart && self.transfer_to.as_ref().is_some_and(|user| *user != before.owner) {
            return Err(ClaimRejection::ClaimNotChangeable.into());
        }
        if self.add.is_empty() && self.remove.is_empty() {
            return Ok(());
        }
        if before.origin != Origin::Claim {
            return Err(ClaimRejection::ClaimNotChangeable.into());
        }
        if !self.remove.is_empty() {
            check_lines(before, &self.remove, "remove", |state| state == LineState::Held)?;
        }
        Ok(())
    }

    /// Checks that some lines remain, and that they are not too many.
    fn check_size(&self, after: &Hold) -> Result<(), Rejection> {
        if after.held_lines().next().is_none() && self.add.is_empty() {
            return Err(Rejection::invalid("remove", Fault::OutOfRange { min: 0, max: after.lines.len() as i64 - 1 }));
        }
        if after.lines.len() + self.add.len() > LINES_MAX {
            return Err(Rejection::invalid("add", Fault::TooManyItems { max: LINES_MAX }));
        }
        let units = after.units().count() + self.add.iter().map(LineRequest::unit_count).sum::<usize>();
        super::place::check_unit_count(units.min(UNITS_MAX + 1), "add")
    }
}

/// Changes the client's data of a confirmed claim.
#[derive(Clone, Debug)]
pub struct ChangeConfirmedClaim {
    pub id: HoldId,
    pub actor: Actor,
    pub data: DataChange,
    /// Expected version.
    pub version: Option<u32>,
}

impl Command for ChangeConfirmedClaim {
    type Outcome = Hold;
    const NAME: &'static str = "claim.change_confirmed";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<Hold> {
        self.data.check()?;
        let mut hold = find(rows, self.id, &self.actor)?;
        check_version(&hold, self.version)?;
        if !is_confirmed(&hold) || hold.is_cancelled_after_confirm() {
            return Err(ClaimRejection::ClaimNotChangeable.into());
        }
        self.data.apply_to(&mut hold);
        hold.version += 1;
        hold::put_confirmed(rows, hold.clone())?;
        rows.emit(Event::ClaimChanged(hold.clone()));
        Ok(hold)
    }
}
