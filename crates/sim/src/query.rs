//! Queries on the committed rows of a store, or of the pure core.

use holdfast_core::{Context, Decision, Rejection, Stop, WorkingSet};

use crate::Finding;

/// Maximum number of load rounds per query; more means that its read set does not converge.
const READS_MAX: usize = 32;

/// A source of committed rows.
pub trait Source {
    /// Fills in all requested rows.
    fn read(&self, rows: &mut WorkingSet) -> Result<(), Finding>;
}

/// Runs a query on committed rows, like the engine. Its writes are discarded.
pub fn query<T>(
    source: &impl Source,
    at: &Context<'_>,
    mut query: impl FnMut(&mut WorkingSet, &Context<'_>) -> Decision<T>,
) -> Result<Result<T, Rejection>, Finding> {
    let mut rows = WorkingSet::default();
    for _ in 0..READS_MAX {
        match rows.attempt(|rows| query(rows, at)) {
            Ok(answer) => return Ok(Ok(answer)),
            Err(Stop::Rejected(rejection)) => return Ok(Err(rejection)),
            Err(Stop::NeedRows) => source.read(&mut rows)?,
            Err(Stop::Retry) => return Err(Finding("a prepared hold is left unfinished".into())),
        }
    }
    Err(Finding("the read set of a query does not converge".into()))
}
