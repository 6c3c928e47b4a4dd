//! That somebody was let in, told to whoever listens. Who may come in, and when, is the waiting room's business.

use super::EventId;
use crate::command::{Command, Context, Decision, Writes};
use crate::event::Event;
use crate::id::UserId;
use crate::rows::Rows;
use crate::time::Timestamp;

/// Somebody has come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueAdmission {
    pub event: EventId,
    pub user: UserId,
    /// No other entry has it.
    pub entry: [u8; 16],
    pub entered_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Writes into the outbox that somebody has come in. Repeated under the entry's own key, it is told once.
#[derive(Clone, Debug)]
pub struct AnnounceAdmission(pub QueueAdmission);

impl Command for AnnounceAdmission {
    type Outcome = ();
    const NAME: &'static str = "ticket.queue.announce";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, _at: &Context<'_>) -> Decision<()> {
        rows.emit(Event::QueueAdmitted(self.0));
        Ok(())
    }
}
