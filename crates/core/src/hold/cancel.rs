//! Ending a hold before its time: cancelled, replaced or confirmed.

use std::marker::PhantomData;

use crate::actor::Actor;
use crate::command::{Command, Context, Decision, writes};
use crate::event::Event;
use crate::hold::{self, EndpointItem, Hold, HoldState, Status, place};
use crate::id::HoldId;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Cancels a live hold that the endpoint of `I`'s vertical placed.
#[derive(Clone, Debug)]
pub struct CancelHold<I> {
    pub id: HoldId,
    pub actor: Actor,
    item: PhantomData<I>,
}

impl<I> CancelHold<I> {
    pub fn new(id: HoldId, actor: Actor) -> Self {
        Self { id, actor, item: PhantomData }
    }
}

impl<I: EndpointItem> Command for CancelHold<I> {
    type Outcome = ();
    const NAME: &'static str = I::CANCEL;
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        let hold = hold::find_live(rows, self.id, &self.actor, I::ORIGIN, at.now)?;
        cancel(rows, &hold, at.now)
    }
}

/// Cancels a live hold.
pub fn cancel(rows: &mut WorkingSet, hold: &Hold, now: Timestamp) -> Decision<()> {
    let cancelled = hold.with_state(HoldState::Cancelled);
    end(rows, hold, cancelled.clone(), now)?;
    rows.emit(Event::HoldCancelled(cancelled));
    Ok(())
}

/// Ends a live hold in favour of a new one, whose units may be the same.
pub fn replace(rows: &mut WorkingSet, hold: &Hold, by: HoldId, now: Timestamp) -> Decision<()> {
    let replaced = hold.with_state(HoldState::Replaced { by });
    end(rows, hold, replaced.clone(), now)?;
    rows.emit(Event::HoldReplaced(replaced));
    Ok(())
}

/// Writes the ended hold, and deletes the counts and index entries that it had while it was live or prepared.
pub(super) fn end(rows: &mut WorkingSet, hold: &Hold, ended: Hold, now: Timestamp) -> Decision<()> {
    assert!(matches!(hold.status(now), Status::Held | Status::Prepared), "only a live hold is counted");
    place::remove(rows, hold, now)?;
    rows.holds.put(ended.id, ended);
    Ok(())
}
