//! Submits a command of any vertical to a batch, and takes its reply after the batch has run.

use holdfast_core::{Command, Rejection};
use holdfast_engine::{Answer, Batch, Pending, Refused};

/// Takes the reply after the batch has run.
pub type PendingReply<R> = Box<dyn FnOnce() -> Result<R, Refused>>;

/// Adds a command to a batch. `reply` converts its outcome into the reply of a vertical.
pub(crate) fn submit<C, R>(batch: &mut Batch, command: &C, reply: fn(C::Outcome) -> R) -> PendingReply<R>
where
    C: Command + Clone,
    C::Outcome: Clone,
    R: From<Rejection> + 'static,
{
    let mut pending: Pending<C::Outcome> = batch.add(command.clone(), None);
    Box::new(move || match pending.try_recv() {
        Ok(Ok(Answer::Fresh(outcome))) => Ok(reply(outcome)),
        Ok(Err(Refused::Rejected(rejection))) => Ok(rejection.into()),
        Ok(Err(error)) => Err(error),
        // No command was submitted under an idempotency key.
        Ok(Ok(Answer::Recorded(_) | Answer::Replayed(_))) | Err(_) => Err(Refused::Internal),
    })
}
