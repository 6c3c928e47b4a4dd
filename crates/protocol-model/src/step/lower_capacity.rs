//! Lowering the capacity: set a capacity fence in the live tier, change the durable total, remove the fence. If the
//! server crashes in between, the fence ends by time, later than its transaction can commit.

use super::ServerStep;
use crate::durable::Outcome;
use crate::live::{Change, Fence, Write};
use crate::safeguard::Safeguard;
use crate::scenario::Op;
use crate::world::{Step, Then, Transaction};

impl ServerStep<'_> {
    pub(super) fn lower(&mut self, total: u8) {
        let (now, live) = (self.now(), &self.world.live);
        // One lowering at a time: the fence of another one is not overwritten.
        if live.fence.value.is_some() {
            return self.reply(false);
        }
        let write = Write {
            epoch: live.epoch,
            tally: Some(live.tally.unchanged()),
            fence: Some(live.fence.becomes(Some(Fence { capacity: total, by: self.index }))),
            ..Write::default()
        };
        self.server().step = Step::LowerReadLive { held: self.world.live.tally.value.held(now), write };
    }

    pub(super) fn lower_reads_durable(&mut self, held: u8, write: Write) {
        let counted = if self.rules().keep(Safeguard::LoweringCountsHeld) { held } else { 0 };
        if counted + self.world.durable.reserved > self.requested_total() {
            return self.reply(false);
        }
        // Removes exactly the fence that is about to be set; if that has ended, there is nothing to remove.
        let announced = write.fence.as_ref().map(|fence| Change { read: fence.read + 1, write: Some(None) });
        let finish = Write { epoch: write.epoch, fence: announced, ..Write::default() };
        self.server().step = if self.rules().keep(Safeguard::CapacityFence) {
            Step::Apply { write, then: Then::FenceWritten { finish } }
        } else {
            Step::LowerRecord { finish }
        };
    }

    pub(super) fn lower_records(&mut self, finish: Write) {
        let total = self.requested_total();
        if self.world.lower(total, self.index, self.protocol.rules) != Outcome::Committed {
            self.note_rejection();
        }
        self.server().step = Step::LowerFinish { finish };
    }

    pub(super) fn send_lower(&mut self) {
        let total = self.requested_total();
        self.world.in_flight.push(Transaction::Lower { total, by: self.index });
    }

    pub(super) fn lower_finishes(&mut self, finish: Write) {
        let now = self.world.clock;
        self.world.live.compare_and_set(finish, now, self.protocol.rules);
        self.next_op();
    }

    fn requested_total(&self) -> u8 {
        let Op::Lower(total) = self.op() else { unreachable!("the operation is a lowering") };
        total
    }
}
