//! What a workload of any vertical plans.

use holdfast_core::time::Span;

use crate::disk::Crash;

/// What happens next.
#[derive(Clone, Debug)]
pub enum Plan<C> {
    Batch { calls: Vec<C>, crash: Option<Crash> },
    Pass(Span),
    Tidy,
    Restart,
}
