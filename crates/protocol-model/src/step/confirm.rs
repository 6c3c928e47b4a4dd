//! Confirming: prepare the hold in the live tier, record in the durable tier, finish in the live tier. Recovery, which
//! any server may do for a prepared hold: ensure that the attempt is decided, then finish in the live tier.

use super::ServerStep;
use crate::durable::{Decision, Outcome};
use crate::live::{Hold, HoldId, HoldState, Live, Tally, Time, Write};
use crate::safeguard::Safeguard;
use crate::scenario::Op;
use crate::world::{Finishing, Role, Step, Then, Transaction};

impl ServerStep<'_> {
    pub(super) fn confirm(&mut self, id: HoldId) {
        let now = self.now();
        let Some(hold) = self.world.live.holds[id].value.clone() else { return self.reply(false) };
        match hold.state {
            HoldState::Held if now < hold.expires_at => self.server().step = self.prepare(id, &hold, now),
            HoldState::Held | HoldState::Cancelled => self.reply(false),
            HoldState::Confirming => self.server().step = Step::Recover { hold: id, attempt: hold.attempt },
            HoldState::Confirmed => self.confirmed(id),
        }
    }

    fn prepare(&self, id: HoldId, hold: &Hold, now: Time) -> Step {
        let mut tally = self.world.live.tally.value.at(now);
        if self.rules().keep(Safeguard::PreparedDoesNotExpire) {
            tally = tally.without_line(hold.expires_at);
            tally.prepared += 1;
        }
        let attempt = hold.attempt + 1;
        let prepared = Hold { state: HoldState::Confirming, attempt, ..hold.clone() };
        let mut write = hold_and_tally(&self.world.live, id, prepared, tally);
        // Other servers may have counted on its end without writing the tally.
        write.rejected_from = self.rules().keep(Safeguard::PrepareBeforeEnd).then_some(hold.expires_at);
        Step::Apply { write, then: Then::Prepared { attempt, expires_at: hold.expires_at } }
    }

    pub(super) fn prepared(&mut self, attempt: u8, expires_at: Time) {
        self.world.observed.reactivated |= self.world.clock >= expires_at;
        self.server().step = if self.rules().keep(Safeguard::RecordBeforeFinish) {
            Step::Record { attempt, sent_before: false }
        } else {
            let hold = self.hold_to_confirm();
            Step::Finish(Finishing { hold, attempt, decision: Decision::Confirmed, role: Role::EarlyFinisher })
        };
    }

    pub(super) fn record(&mut self, attempt: u8, sent_before: bool) {
        let hold = self.hold_to_confirm();
        let outcome = self.world.confirm(hold, attempt, self.protocol.rules);
        let decision = match outcome {
            Outcome::Committed => Decision::Confirmed,
            Outcome::AlreadyDecided | Outcome::Guarded | Outcome::TooOld => Decision::Aborted,
        };
        self.recorded(attempt, sent_before, decision);
    }

    /// Handles the reply of a transaction. A transaction sent once and rolled back has no effect. If it was sent twice,
    /// the first copy may have won or be in flight, so the attempt is recovered.
    pub(super) fn recorded(&mut self, attempt: u8, sent_before: bool, decision: Decision) {
        let hold = self.hold_to_confirm();
        let confirmed = decision == Decision::Confirmed;
        self.world.observed.confirmed[hold] |= confirmed;
        if !self.rules().keep(Safeguard::RecordBeforeFinish) {
            self.reply(confirmed);
        } else if !confirmed && sent_before && self.rules().keep(Safeguard::UnknownOutcomeIsRecovered) {
            self.server().step = Step::Recover { hold, attempt };
        } else {
            self.server().step = Step::Finish(Finishing { hold, attempt, decision, role: Role::Finisher });
        }
    }

    pub(super) fn send_confirm(&mut self, attempt: u8) {
        let hold = self.hold_to_confirm();
        self.world.in_flight.push(Transaction::Confirm { hold, attempt });
    }

    pub(super) fn recover(&mut self, hold: HoldId, attempt: u8) {
        let decision = self.world.durable.abort_unless_decided(hold, attempt, self.protocol.rules);
        self.server().step = Step::Finish(Finishing { hold, attempt, decision, role: Role::Recovery });
    }

    /// Reads the live rows and prepares their update by the outcome. If the hold is no longer in this attempt, it is
    /// finished already.
    pub(super) fn finish_attempt(&mut self, finishing: Finishing) {
        let (now, live) = (self.now(), &self.world.live);
        let id = finishing.hold;
        let hold = live.holds[id].value.clone().filter(|hold| {
            let this_attempt = hold.attempt == finishing.attempt || !self.rules().keep(Safeguard::AttemptCompared);
            hold.state == HoldState::Confirming && this_attempt
        });
        let Some(hold) = hold else { return self.attempt_finished(&finishing) };

        let mut tally = live.tally.value.at(now);
        if self.rules().keep(Safeguard::PreparedDoesNotExpire) {
            tally.prepared = tally.prepared.saturating_sub(1);
            if finishing.decision == Decision::Aborted && now < hold.expires_at {
                tally = tally.with_line(hold.expires_at);
            }
        } else if finishing.decision == Decision::Confirmed {
            tally = tally.without_line(hold.expires_at);
        }
        let state = match finishing.decision {
            Decision::Confirmed => HoldState::Confirmed,
            // A hold past its end is held no more than any other ended hold.
            Decision::Aborted => HoldState::Held,
        };
        let write = hold_and_tally(live, id, Hold { state, ..hold }, tally);
        self.server().step = Step::Apply { write, then: Then::Finished(finishing) };
    }

    pub(super) fn attempt_finished(&mut self, finishing: &Finishing) {
        let confirmed = finishing.decision == Decision::Confirmed;
        match finishing.role {
            Role::EarlyFinisher => self.server().step = Step::Record { attempt: finishing.attempt, sent_before: false },
            Role::Finisher => self.reply(confirmed),
            Role::Recovery if self.index == self.protocol.scenario.scripts.len() => {}
            // A client's request found an attempt of another server, or its own earlier one.
            Role::Recovery if confirmed => self.confirmed(finishing.hold),
            Role::Recovery => self.reply(false),
        }
    }

    fn confirmed(&mut self, id: HoldId) {
        self.world.observed.confirmed[id] = true;
        self.next_op();
    }

    fn hold_to_confirm(&self) -> HoldId {
        let Op::Confirm(id) = self.op() else { unreachable!("the operation is a confirm") };
        id
    }
}

fn hold_and_tally(live: &Live, id: HoldId, hold: Hold, tally: Tally) -> Write {
    Write {
        epoch: live.epoch,
        tally: Some(live.tally.becomes(tally)),
        hold: Some((id, live.holds[id].becomes(Some(hold)))),
        ..Write::default()
    }
}
