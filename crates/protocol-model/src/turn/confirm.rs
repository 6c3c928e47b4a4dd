//! Confirming: pin the hold in the live tier, let the durable tier decide, tell the live tier. And resolving, which is
//! what anybody may do who finds a hold pinned: make sure that the durable tier has decided, then tell the live tier.

use super::Turn;
use crate::durable::{Decision, Outcome};
use crate::live::{Hold, HoldId, HoldState, Live, Tally, Time, Write};
use crate::safeguard::Safeguard;
use crate::scenario::Op;
use crate::world::{Role, Settling, Step, Then, Transaction};

impl Turn<'_> {
    pub(super) fn confirm(&mut self, id: HoldId) {
        let now = self.now();
        let Some(hold) = self.world.live.holds[id].value.clone() else { return self.answer(false) };
        match hold.state {
            HoldState::Held if now < hold.expires_at => self.me().step = self.pin(id, &hold, now),
            HoldState::Held | HoldState::Cancelled => self.answer(false),
            HoldState::Confirming => self.me().step = Step::Resolve { hold: id, attempt: hold.attempt },
            HoldState::Confirmed => self.confirmed(id),
        }
    }

    fn pin(&self, id: HoldId, hold: &Hold, now: Time) -> Step {
        let mut tally = self.world.live.tally.value.at(now);
        if self.rules().keep(Safeguard::PinWhileConfirming) {
            tally = tally.without_line(hold.expires_at);
            tally.pinned += 1;
        }
        let attempt = hold.attempt + 1;
        let pinned = Hold { state: HoldState::Confirming, attempt, ..hold.clone() };
        let mut write = hold_and_tally(&self.world.live, id, pinned, tally);
        // Others may have counted on its end, and not have written the tally.
        write.not_from = self.rules().keep(Safeguard::PinBeforeEnd).then_some(hold.expires_at);
        Step::Apply { write, then: Then::Pinned { attempt, expires_at: hold.expires_at } }
    }

    pub(super) fn pinned(&mut self, attempt: u8, expires_at: Time) {
        self.world.told.revived |= self.world.clock >= expires_at;
        self.me().step = if self.rules().keep(Safeguard::RecordBeforeFinish) {
            Step::Record { attempt, sent_before: false }
        } else {
            let hold = self.hold_to_confirm();
            Step::Settle(Settling { hold, attempt, decision: Decision::Confirmed, role: Role::Hasty })
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

    /// The server knows how this transaction ended. Sent once and rolled back, it is as if it never was. Sent twice, the
    /// first may be what it lost to, or may still be on its way: then it is resolved like anybody's.
    pub(super) fn recorded(&mut self, attempt: u8, sent_before: bool, decision: Decision) {
        let hold = self.hold_to_confirm();
        let confirmed = decision == Decision::Confirmed;
        self.world.told.confirmed[hold] |= confirmed;
        if !self.rules().keep(Safeguard::RecordBeforeFinish) {
            self.answer(confirmed);
        } else if !confirmed && sent_before && self.rules().keep(Safeguard::DoubtIsResolved) {
            self.me().step = Step::Resolve { hold, attempt };
        } else {
            self.me().step = Step::Settle(Settling { hold, attempt, decision, role: Role::Finisher });
        }
    }

    pub(super) fn send_confirm(&mut self, attempt: u8) {
        let hold = self.hold_to_confirm();
        self.world.in_flight.push(Transaction::Confirm { hold, attempt });
    }

    pub(super) fn resolve(&mut self, hold: HoldId, attempt: u8) {
        let decision = self.world.durable.abort_unless_decided(hold, attempt, self.protocol.rules);
        self.me().step = Step::Settle(Settling { hold, attempt, decision, role: Role::Resolver });
    }

    /// Reads the live rows and prepares what the decision makes of them. If the hold is no longer in this attempt,
    /// somebody else was here.
    pub(super) fn settle(&mut self, settling: Settling) {
        let (now, live) = (self.now(), &self.world.live);
        let id = settling.hold;
        let hold = live.holds[id].value.clone().filter(|hold| {
            let this_attempt = hold.attempt == settling.attempt || !self.rules().keep(Safeguard::AttemptCompared);
            hold.state == HoldState::Confirming && this_attempt
        });
        let Some(hold) = hold else { return self.settled(&settling) };

        let mut tally = live.tally.value.at(now);
        if self.rules().keep(Safeguard::PinWhileConfirming) {
            tally.pinned = tally.pinned.saturating_sub(1);
            if settling.decision == Decision::Aborted && now < hold.expires_at {
                tally = tally.with_line(hold.expires_at);
            }
        } else if settling.decision == Decision::Confirmed {
            tally = tally.without_line(hold.expires_at);
        }
        let state = match settling.decision {
            Decision::Confirmed => HoldState::Confirmed,
            // One whose time is over is held no more than any other ended hold.
            Decision::Aborted => HoldState::Held,
        };
        let write = hold_and_tally(live, id, Hold { state, ..hold }, tally);
        self.me().step = Step::Apply { write, then: Then::Settled(settling) };
    }

    pub(super) fn settled(&mut self, settling: &Settling) {
        let confirmed = settling.decision == Decision::Confirmed;
        match settling.role {
            Role::Hasty => self.me().step = Step::Record { attempt: settling.attempt, sent_before: false },
            Role::Finisher => self.answer(confirmed),
            Role::Resolver if self.who == self.protocol.scenario.scripts.len() => {}
            // A client asked, and found the confirm of somebody else, or its own earlier one.
            Role::Resolver if confirmed => self.confirmed(settling.hold),
            Role::Resolver => self.answer(false),
        }
    }

    fn confirmed(&mut self, id: HoldId) {
        self.world.told.confirmed[id] = true;
        self.next_op();
    }

    fn hold_to_confirm(&self) -> HoldId {
        let Op::Confirm(id) = self.op() else { unreachable!("only confirming confirms") };
        id
    }
}

fn hold_and_tally(live: &Live, id: HoldId, hold: Hold, tally: Tally) -> Write {
    Write {
        incarnation: live.incarnation,
        tally: Some(live.tally.becomes(tally)),
        hold: Some((id, live.holds[id].becomes(Some(hold)))),
        ..Write::default()
    }
}
