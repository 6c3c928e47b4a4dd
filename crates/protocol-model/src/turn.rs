//! One server doing one step. A step reads one tier, or changes one tier, at one moment; between two steps of a server
//! anything may happen, and a server knows only what its [`Step`] carries.

mod confirm;
mod lower;
mod place;

use crate::durable::Decision;
use crate::live::{Time, Write};
use crate::protocol::Protocol;
use crate::safeguard::{Safeguard, Safeguards};
use crate::scenario::Op;
use crate::world::{Server, Step, Then, World};

pub(crate) struct Turn<'a> {
    protocol: &'a Protocol,
    world: &'a mut World,
    who: usize,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(protocol: &'a Protocol, world: &'a mut World, who: usize) -> Self {
        Self { protocol, world, who }
    }

    /// The next step, whatever it is. What must be done again later puts itself back.
    pub(crate) fn take(&mut self) {
        match std::mem::take(&mut self.me().step) {
            Step::Ready => self.begin(),
            Step::PlaceKnowsLive { held, limit, write } => self.place_reads_durable(held, limit, write),
            Step::PlaceKnowsDurable { total, reserved } => self.place_reads_live_second(total, reserved),
            Step::LowerKnowsLive { held, write } => self.lower_reads_durable(held, write),
            Step::Apply { write, then } => self.apply(write, then),
            Step::Record { attempt, sent_before } => self.record(attempt, sent_before),
            Step::Resolve { hold, attempt } => self.resolve(hold, attempt),
            Step::Settle(settling) => self.settle(settling),
            Step::LowerRecord { finish } => self.lower_records(finish),
            Step::LowerFinish { finish } => self.lower_finishes(finish),
        }
    }

    /// The transaction is sent and its answer lost: the server leaves it to time and the resolver.
    pub(crate) fn lose_answer(&mut self) {
        match std::mem::take(&mut self.me().step) {
            Step::Record { attempt, .. } => self.send_confirm(attempt),
            Step::LowerRecord { .. } => self.send_lower(),
            other => unreachable!("only transactions have answers to lose, not {other:?}"),
        }
        self.next_op();
    }

    /// The same, but the server sends it once more: the first may have been lost, or committed, or be on its way.
    pub(crate) fn lose_answer_and_retry(&mut self) {
        if let Step::Record { attempt, .. } = self.me().step {
            self.send_confirm(attempt);
            self.me().step = Step::Record { attempt, sent_before: true };
        }
    }

    /// The transaction is rolled back for no reason of ours, and the server knows.
    pub(crate) fn roll_back(&mut self) {
        if let Step::Record { attempt, sent_before } = self.me().step {
            self.recorded(attempt, sent_before, Decision::Aborted);
        }
    }

    fn begin(&mut self) {
        match self.op() {
            Op::Place(_) => self.place(),
            Op::Confirm(hold) => self.confirm(hold),
            Op::Cancel(hold) => self.cancel(hold),
            Op::CancelReservation(hold) => {
                let done = self.world.durable.cancel_reservation(hold);
                self.answer(done);
            }
            Op::Lower(total) => self.lower(total),
        }
    }

    /// The one way in which rows of the live tier are written.
    fn apply(&mut self, write: Write, then: Then) {
        let now = self.world.clock;
        if !self.world.live.compare_and_set(write, now, self.rules()) {
            // What was read is old. Whoever settles has a decision to tell and reads again; all others begin again.
            if let Then::Settled(settling) = then {
                self.me().step = Step::Settle(settling);
            }
            return;
        }
        match then {
            Then::Placed => self.next_op(),
            Then::Pinned { attempt, expires_at } => self.pinned(attempt, expires_at),
            Then::Cancelled => self.hold_cancelled(),
            Then::Settled(settling) => self.settled(&settling),
            Then::LimitWritten { finish } => self.me().step = Step::LowerRecord { finish },
        }
    }

    fn answer(&mut self, done: bool) {
        if !done {
            self.note_refusal();
        }
        self.next_op();
    }

    fn note_refusal(&mut self) {
        let server = self.me();
        server.refused |= 1 << server.at;
    }

    fn next_op(&mut self) {
        if self.who < self.protocol.scenario.scripts.len() {
            self.me().at += 1;
        }
    }

    /// What this server takes for the time.
    fn now(&self) -> Time {
        if self.rules().keep(Safeguard::OneClock) {
            self.world.clock
        } else {
            self.world.clock + self.protocol.scenario.seconds_ahead.get(self.who).copied().unwrap_or_default()
        }
    }

    fn op(&self) -> Op {
        self.protocol.scenario.scripts[self.who][self.world.servers[self.who].at]
    }

    fn me(&mut self) -> &mut Server {
        &mut self.world.servers[self.who]
    }

    fn rules(&self) -> Safeguards {
        self.protocol.rules
    }
}
