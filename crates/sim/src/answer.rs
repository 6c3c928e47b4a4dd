//! Putting a command of any vertical into a batch, and asking for the answer once that has run.

use holdfast_core::{Command, Rejection};
use holdfast_engine::{Answer, Batch, Pending, Refused};

/// Asks for the answer.
pub type Waiting<R> = Box<dyn FnOnce() -> Result<R, Refused>>;

/// `reply` says what the caller is told of an outcome.
pub(crate) fn join<C, R>(batch: &mut Batch, command: &C, reply: fn(C::Outcome) -> R) -> Waiting<R>
where
    C: Command + Clone,
    C::Outcome: Clone,
    R: From<Rejection> + 'static,
{
    let mut pending: Pending<C::Outcome> = batch.add(command.clone(), None);
    Box::new(move || match pending.try_recv() {
        Ok(Ok(Answer::Fresh(outcome))) => Ok(reply(outcome)),
        Ok(Err(Refused::Rejected(rejection))) => Ok(rejection.into()),
        Ok(Err(refused)) => Err(refused),
        // Nothing was sent under a key.
        Ok(Ok(Answer::Kept(_) | Answer::Replayed(_))) | Err(_) => Err(Refused::Internal),
    })
}
