//! Steps that a workload of any vertical plans.

use holdfast_core::time::Span;

use crate::disk::Crash;

/// Next step of a history.
#[derive(Clone, Debug)]
pub enum Plan<C> {
    Batch { calls: Vec<C>, crash: Option<Crash> },
    AdvanceClock(Span),
    Purge,
    Restart,
}
