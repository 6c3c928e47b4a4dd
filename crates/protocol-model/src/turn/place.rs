//! Placing a hold, and cancelling one: read, decide, one compare-and-set. Nothing durable is written.

use super::Turn;
use crate::live::{Hold, HoldId, HoldState, Write};
use crate::safeguard::Safeguard;
use crate::scenario::Op;
use crate::world::{Step, Then};

impl Turn<'_> {
    /// Live first, durable second: what moves from held to reserved in between is then seen twice, never not at all.
    pub(super) fn place(&mut self) {
        self.me().step = if self.rules().keep(Safeguard::LiveReadBeforeDurable) {
            let (held, limit, write) = self.place_reads_live();
            Step::PlaceKnowsLive { held, limit, write }
        } else {
            Step::PlaceKnowsDurable { total: self.world.durable.total, reserved: self.world.durable.reserved }
        };
    }

    pub(super) fn place_reads_durable(&mut self, held: u8, limit: Option<u8>, write: Write) {
        let (total, reserved) = (self.world.durable.total, self.world.durable.reserved);
        self.place_decides(total, reserved, held, limit, write);
    }

    pub(super) fn place_reads_live_second(&mut self, total: u8, reserved: u8) {
        let (held, limit, write) = self.place_reads_live();
        self.place_decides(total, reserved, held, limit, write);
    }

    /// What is held, whether a limit stands, and what to write if there is room.
    fn place_reads_live(&self) -> (u8, Option<u8>, Write) {
        let Op::Place(id) = self.op() else { unreachable!("only placing places") };
        let (now, live) = (self.now(), &self.world.live);
        let expires_at = now + self.protocol.scenario.ttl;
        let placed = Hold { state: HoldState::Held, expires_at, attempt: 0 };
        let tally = live.tally.value.at(now);
        let held = tally.held(now);
        let limit = live.limit.value.as_ref().map(|limit| limit.capacity);
        let write = Write {
            incarnation: live.incarnation,
            tally: Some(live.tally.becomes(tally.with_line(expires_at))),
            limit: Some(live.limit.unchanged()),
            hold: Some((id, live.holds[id].becomes(Some(placed)))),
            not_from: None,
        };
        (held, limit, write)
    }

    fn place_decides(&mut self, total: u8, reserved: u8, held: u8, limit: Option<u8>, write: Write) {
        let capacity = limit.map_or(total, |limit| limit.min(total));
        if reserved + held < capacity {
            self.me().step = Step::Apply { write, then: Then::Placed };
        } else {
            self.answer(false);
        }
    }

    pub(super) fn cancel(&mut self, id: HoldId) {
        let (now, live) = (self.now(), &self.world.live);
        let Some(hold) = &live.holds[id].value else { return self.answer(false) };
        let mut tally = live.tally.value.at(now);
        if hold.is_live(now) {
            tally = tally.without_line(hold.expires_at);
        } else if hold.state == HoldState::Confirming && !self.rules().keep(Safeguard::NoCancelWhileConfirming) {
            tally.pinned = tally.pinned.saturating_sub(1);
        } else {
            return self.answer(false);
        }
        let cancelled = Hold { state: HoldState::Cancelled, ..hold.clone() };
        let write = Write {
            incarnation: live.incarnation,
            tally: Some(live.tally.becomes(tally)),
            hold: Some((id, live.holds[id].becomes(Some(cancelled)))),
            ..Write::default()
        };
        self.me().step = Step::Apply { write, then: Then::Cancelled };
    }

    pub(super) fn hold_cancelled(&mut self) {
        let Op::Cancel(id) = self.op() else { unreachable!("only cancelling cancels") };
        self.world.told.cancelled[id] = true;
        self.next_op();
    }
}
