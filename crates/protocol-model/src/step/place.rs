//! Placing and cancelling holds: read, decide, one compare-and-set. No durable row is written.

use super::ServerStep;
use crate::live::{Hold, HoldId, HoldState, Write};
use crate::safeguard::Safeguard;
use crate::scenario::Op;
use crate::world::{Step, Then};

impl ServerStep<'_> {
    /// Reads live rows first, durable rows second: a quantity that moves from held to reserved in between is counted
    /// twice, never missed.
    pub(super) fn place(&mut self) {
        self.server().step = if self.rules().keep(Safeguard::LiveReadBeforeDurable) {
            let (held, fence, write) = self.place_reads_live();
            Step::PlaceReadLive { held, fence, write }
        } else {
            Step::PlaceReadDurable { total: self.world.durable.total, reserved: self.world.durable.reserved }
        };
    }

    pub(super) fn place_reads_durable(&mut self, held: u8, fence: Option<u8>, write: Write) {
        let (total, reserved) = (self.world.durable.total, self.world.durable.reserved);
        self.place_decides(total, reserved, held, fence, write);
    }

    pub(super) fn place_reads_live_second(&mut self, total: u8, reserved: u8) {
        let (held, fence, write) = self.place_reads_live();
        self.place_decides(total, reserved, held, fence, write);
    }

    /// Returns the held quantity, the fence, and the write if units are available.
    fn place_reads_live(&self) -> (u8, Option<u8>, Write) {
        let Op::Place(id) = self.op() else { unreachable!("the operation is a placing") };
        let (now, live) = (self.now(), &self.world.live);
        let expires_at = now + self.protocol.scenario.ttl;
        let placed = Hold { state: HoldState::Held, expires_at, attempt: 0 };
        let tally = live.tally.value.at(now);
        let held = tally.held(now);
        let fence = live.fence.value.as_ref().map(|fence| fence.capacity);
        let write = Write {
            epoch: live.epoch,
            tally: Some(live.tally.becomes(tally.with_line(expires_at))),
            fence: Some(live.fence.unchanged()),
            hold: Some((id, live.holds[id].becomes(Some(placed)))),
            rejected_from: None,
        };
        (held, fence, write)
    }

    fn place_decides(&mut self, total: u8, reserved: u8, held: u8, fence: Option<u8>, write: Write) {
        let capacity = fence.map_or(total, |fence| fence.min(total));
        if reserved + held < capacity {
            self.server().step = Step::Apply { write, then: Then::Placed };
        } else {
            self.reply(false);
        }
    }

    pub(super) fn cancel(&mut self, id: HoldId) {
        let (now, live) = (self.now(), &self.world.live);
        let Some(hold) = &live.holds[id].value else { return self.reply(false) };
        let mut tally = live.tally.value.at(now);
        if hold.is_live(now) {
            tally = tally.without_line(hold.expires_at);
        } else if hold.state == HoldState::Confirming && !self.rules().keep(Safeguard::NoCancelWhilePrepared) {
            tally.prepared = tally.prepared.saturating_sub(1);
        } else {
            return self.reply(false);
        }
        let cancelled = Hold { state: HoldState::Cancelled, ..hold.clone() };
        let write = Write {
            epoch: live.epoch,
            tally: Some(live.tally.becomes(tally)),
            hold: Some((id, live.holds[id].becomes(Some(cancelled)))),
            ..Write::default()
        };
        self.server().step = Step::Apply { write, then: Then::Cancelled };
    }

    pub(super) fn hold_cancelled(&mut self) {
        let Op::Cancel(id) = self.op() else { unreachable!("the operation is a cancel") };
        self.world.observed.cancelled[id] = true;
        self.next_op();
    }
}
