//! Recovery of confirm attempts whose server failed between two steps.

use crate::command::{Command, Context, Decision, writes};
use crate::hold::confirm::{self, Records};
use crate::hold::{AttemptId, Origin};
use crate::working_set::WorkingSet;

/// Finishes a confirm attempt whose durable outcome is already decided.
#[derive(Clone, Debug)]
pub struct RecoverHold {
    pub of: AttemptId,
    pub is_committed: bool,
}

impl Command for RecoverHold {
    type Outcome = ();
    const NAME: &'static str = "hold.finish_attempt";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        if !self.is_committed {
            return confirm::finish(rows, self.of, None, at.now);
        }
        rows.confirmed_holds.request(&self.of.hold);
        let Some(prepared) = confirm::find_prepared(rows, self.of)? else { return Ok(()) };
        if prepared.origin == Origin::System {
            return confirm::finish(rows, self.of, None, at.now);
        }
        let confirmed =
            rows.confirmed_holds.get(&self.of.hold)?.cloned().expect("a committed attempt has its confirmed hold");
        confirm::finish(rows, self.of, Some(Records::Lines(&confirmed.lines)), at.now)
    }
}
