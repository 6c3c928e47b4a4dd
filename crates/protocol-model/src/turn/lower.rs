//! Lowering the capacity: announce it in the live tier so that nobody places above it, change the durable total, take
//! the announcement away. If the server dies in between, the limit row ends by time, later than its transaction can commit.

use super::Turn;
use crate::durable::Outcome;
use crate::live::{Change, Limit, Write};
use crate::safeguard::Safeguard;
use crate::scenario::Op;
use crate::world::{Step, Then, Transaction};

impl Turn<'_> {
    pub(super) fn lower(&mut self, total: u8) {
        let (now, live) = (self.now(), &self.world.live);
        // One lowering at a time: the limit row of another is not overwritten.
        if live.limit.value.is_some() {
            return self.answer(false);
        }
        let write = Write {
            incarnation: live.incarnation,
            tally: Some(live.tally.unchanged()),
            limit: Some(live.limit.becomes(Some(Limit { capacity: total, by: self.who }))),
            ..Write::default()
        };
        self.me().step = Step::LowerKnowsLive { held: self.world.live.tally.value.held(now), write };
    }

    pub(super) fn lower_reads_durable(&mut self, held: u8, write: Write) {
        let counted = if self.rules().keep(Safeguard::LoweringCountsHeld) { held } else { 0 };
        if counted + self.world.durable.reserved > self.total_wanted() {
            return self.answer(false);
        }
        // Takes away the row that is about to be written and no other: if that is gone, there is nothing left to do.
        let announced = write.limit.as_ref().map(|limit| Change { read: limit.read + 1, write: Some(None) });
        let finish = Write { incarnation: write.incarnation, limit: announced, ..Write::default() };
        self.me().step = if self.rules().keep(Safeguard::LimitRow) {
            Step::Apply { write, then: Then::LimitWritten { finish } }
        } else {
            Step::LowerRecord { finish }
        };
    }

    pub(super) fn lower_records(&mut self, finish: Write) {
        let total = self.total_wanted();
        if self.world.lower(total, self.who, self.protocol.rules) != Outcome::Committed {
            self.note_refusal();
        }
        self.me().step = Step::LowerFinish { finish };
    }

    pub(super) fn send_lower(&mut self) {
        let total = self.total_wanted();
        self.world.in_flight.push(Transaction::Lower { total, by: self.who });
    }

    pub(super) fn lower_finishes(&mut self, finish: Write) {
        let now = self.world.clock;
        self.world.live.compare_and_set(finish, now, self.protocol.rules);
        self.next_op();
    }

    fn total_wanted(&self) -> u8 {
        let Op::Lower(total) = self.op() else { unreachable!("only lowering lowers") };
        total
    }
}
