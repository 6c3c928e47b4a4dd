//! Publishing admissions through the waiting room. The waiting room decides who is admitted, and when.

use super::EventId;
use crate::command::{Command, Context, Decision, writes};
use crate::event::Event;
use crate::id::UserId;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Admission of a user to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueAdmission {
    pub event: EventId,
    pub user: UserId,
    /// Unique id of the entry.
    pub entry: [u8; 16],
    pub entered_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Writes an admission to the outbox. Repeated under the entry's idempotency key, it is published once.
#[derive(Clone, Debug)]
pub struct AnnounceAdmission(pub QueueAdmission);

impl Command for AnnounceAdmission {
    type Outcome = ();
    const NAME: &'static str = "ticket.queue.announce";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<()> {
        rows.emit(Event::QueueAdmitted(self.0.clone()));
        Ok(())
    }
}
