//! One step of one server. A step reads or changes one tier atomically. Between two steps of a server any action may
//! happen, and a server keeps only the data of its [`Step`].

mod confirm;
mod lower_capacity;
mod place;

use crate::durable::Decision;
use crate::live::{Time, Write};
use crate::protocol::Protocol;
use crate::safeguard::{Safeguard, Safeguards};
use crate::scenario::Op;
use crate::world::{Server, Step, Then, World};

pub(crate) struct ServerStep<'a> {
    protocol: &'a Protocol,
    world: &'a mut World,
    index: usize,
}

impl<'a> ServerStep<'a> {
    pub(crate) fn new(protocol: &'a Protocol, world: &'a mut World, index: usize) -> Self {
        Self { protocol, world, index }
    }

    /// Executes the next step. A step that must be repeated sets itself again.
    pub(crate) fn execute(&mut self) {
        match std::mem::take(&mut self.server().step) {
            Step::Ready => self.begin(),
            Step::PlaceReadLive { held, fence, write } => self.place_reads_durable(held, fence, write),
            Step::PlaceReadDurable { total, reserved } => self.place_reads_live_second(total, reserved),
            Step::LowerReadLive { held, write } => self.lower_reads_durable(held, write),
            Step::Apply { write, then } => self.apply(write, then),
            Step::Record { attempt, sent_before } => self.record(attempt, sent_before),
            Step::Recover { hold, attempt } => self.recover(hold, attempt),
            Step::Finish(finishing) => self.finish_attempt(finishing),
            Step::LowerRecord { finish } => self.lower_records(finish),
            Step::LowerFinish { finish } => self.lower_finishes(finish),
        }
    }

    /// Sends the transaction and loses the reply: the outcome is left to recovery.
    pub(crate) fn lose_reply(&mut self) {
        match std::mem::take(&mut self.server().step) {
            Step::Record { attempt, .. } => self.send_confirm(attempt),
            Step::LowerRecord { .. } => self.send_lower(),
            other => unreachable!("only transactions have replies to lose, not {other:?}"),
        }
        self.next_op();
    }

    /// Sends the transaction, and again next: the first copy may be lost, committed or in flight.
    pub(crate) fn lose_reply_and_retry(&mut self) {
        if let Step::Record { attempt, .. } = self.server().step {
            self.send_confirm(attempt);
            self.server().step = Step::Record { attempt, sent_before: true };
        }
    }

    /// Rolls back the transaction for an external reason that the server learns.
    pub(crate) fn roll_back(&mut self) {
        if let Step::Record { attempt, sent_before } = self.server().step {
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
                self.reply(done);
            }
            Op::Lower(total) => self.lower(total),
        }
    }

    /// Applies a compare-and-set; the only way in which rows of the live tier are written.
    fn apply(&mut self, write: Write, then: Then) {
        let now = self.world.clock;
        if !self.world.live.compare_and_set(write, now, self.rules()) {
            // The read rows are outdated. Finishing reads again, because its outcome is decided; other steps start
            // over.
            if let Then::Finished(finishing) = then {
                self.server().step = Step::Finish(finishing);
            }
            return;
        }
        match then {
            Then::Placed => self.next_op(),
            Then::Prepared { attempt, expires_at } => self.prepared(attempt, expires_at),
            Then::Cancelled => self.hold_cancelled(),
            Then::Finished(finishing) => self.attempt_finished(&finishing),
            Then::FenceWritten { finish } => self.server().step = Step::LowerRecord { finish },
        }
    }

    fn reply(&mut self, done: bool) {
        if !done {
            self.note_rejection();
        }
        self.next_op();
    }

    fn note_rejection(&mut self) {
        let server = self.server();
        server.rejected |= 1 << server.at;
    }

    fn next_op(&mut self) {
        if self.index < self.protocol.scenario.scripts.len() {
            self.server().at += 1;
        }
    }

    /// Returns the time that this server uses.
    fn now(&self) -> Time {
        if self.rules().keep(Safeguard::OneClock) {
            self.world.clock
        } else {
            self.world.clock + self.protocol.scenario.seconds_ahead.get(self.index).copied().unwrap_or_default()
        }
    }

    fn op(&self) -> Op {
        self.protocol.scenario.scripts[self.index][self.world.servers[self.index].at]
    }

    fn server(&mut self) -> &mut Server {
        &mut self.world.servers[self.index]
    }

    fn rules(&self) -> Safeguards {
        self.protocol.rules
    }
}
