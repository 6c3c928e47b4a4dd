//! Runs one history of a room on a store of any profile and stops at the first thing that is not as it must be. Everything follows
//! from the seed and the number of steps.

use std::collections::BTreeSet;

use holdfast_core::calendar::{RoomId, RoomReservationId};
use holdfast_core::time::Span;
use holdfast_core::{Context, Limits};
use holdfast_engine::Batch;
use holdfast_testkit::Profile;

use super::call::{Call, Reply};
use super::look::View;
use super::model::Model;
use super::workload::Workload;
use crate::disk::{Crash, Disk, ROOM_CANCELLED, ROOM_RESERVED, SLOTS_BLOCKED};
use crate::plan::Plan;
use crate::report::{Summary, first_word, rejection_name};
use crate::{Finding, guarded, must};

/// Which history to run. The same one is always the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    pub profile: Profile,
    pub seed: u64,
    pub steps: u32,
}

impl History {
    /// Each line of what happens is given to `tell`.
    pub fn run(self, tell: &mut dyn FnMut(String)) -> Result<Summary, Finding> {
        guarded(|| self.run_steps(tell))
    }

    fn run_steps(self, tell: &mut dyn FnMut(String)) -> Result<Summary, Finding> {
        let mut workload = Workload::new(self.seed);
        let mut run = Run::open(self.profile, &workload)?;
        for _ in 0..self.steps {
            let plan = workload.next(&run.model, run.room, run.disk.now());
            tell(format!("{plan:?}"));
            run.carry_out(plan, tell)?;
            run.inspect()?;
        }
        run.disk.pass(Span::from_secs(3_600));
        run.inspect()?;
        run.disk.restart()?;
        run.inspect()?;
        run.disk.check_file()?;
        Ok(run.summary)
    }
}

/// A history on its way.
struct Run {
    limits: Limits,
    disk: Disk,
    room: RoomId,
    model: Model,
    summary: Summary,
}

impl Run {
    fn open(profile: Profile, workload: &Workload) -> Result<Self, Finding> {
        let limits = workload.limits();
        let disk = Disk::new(profile, limits.clone(), workload.starts_at())?;
        let room = disk.done(workload.room())?.id;
        disk.done(workload.hours(room))?;
        Ok(Self { limits, disk, room, model: workload.opening(), summary: Summary::default() })
    }

    fn carry_out(&mut self, plan: Plan<Call>, tell: &mut dyn FnMut(String)) -> Result<(), Finding> {
        match plan {
            Plan::Batch { calls, crash } => self.run_batch(&calls, crash, tell),
            Plan::Pass(span) => {
                self.summary.count("time passes");
                self.disk.pass(span);
                Ok(())
            }
            Plan::Tidy => {
                self.summary.count("tidied");
                self.disk.tidy()
            }
            Plan::Restart => {
                self.summary.count("restarted");
                self.disk.restart()
            }
        }
    }

    /// All of a batch has happened or nothing of it, and whoever was told of it was told the truth. Whoever was told nothing,
    /// because the process was killed, looks at what is there.
    fn run_batch(&mut self, calls: &[Call], crash: Option<Crash>, tell: &mut dyn FnMut(String)) -> Result<(), Finding> {
        let join = |batch: &mut Batch| calls.iter().map(|call| call.join(batch)).collect::<Vec<_>>();
        let (waiting, crashed) = self.disk.run_batch_until(crash.filter(|_| self.disk.can_crash()), join);
        let mut heard = Vec::new();
        for (call, answer) in calls.iter().zip(waiting) {
            let reply = match answer() {
                Ok(reply) => Some(reply),
                Err(_) if crashed.is_some() => None,
                Err(refused) => return Err(Finding(format!("{call:?}: {refused}"))),
            };
            tell(format!("  → {reply:?}"));
            self.summary.count(&reply.as_ref().map_or("no answer".into(), name));
            heard.push(reply);
        }
        if let Some(step) = crashed {
            tell(format!("  crashed when {step:?}"));
            self.summary.count(&format!("crashed when {step:?}"));
            self.disk.restart()?;
        }
        if crashed.is_none_or(Crash::is_on_disk) {
            let new = self.unknown_reservations()?;
            let explained = self.explain(&self.model, calls, &heard, &new, &mut vec![false; calls.len()])?;
            self.model =
                explained.ok_or_else(|| Finding("no order of these calls explains what was heard and found".into()))?;
            return Ok(());
        }
        let is_told = |reply: &Option<Reply>| reply.as_ref().is_some_and(|it| !matches!(it, Reply::Rejected(_)));
        must(!heard.iter().any(is_told), || format!("{heard:?}: answered, but not on disk after a crash"))
    }

    /// Reservations that were made and that the model does not know yet.
    fn unknown_reservations(&self) -> Result<Vec<RoomReservationId>, Finding> {
        let made = self.disk.outbox()?.into_iter().filter(|record| record.event_type == ROOM_RESERVED);
        let numbers = made.filter_map(|record| record.data.parse().ok().and_then(RoomReservationId::new));
        Ok(numbers.filter(|number| !self.model.reservations.contains_key(number)).collect())
    }

    /// A batch is as good as its calls done one after another, but nobody says in which order: the model must find one that
    /// gives every answer that was heard and ends in the state that was found.
    fn explain(
        &self,
        model: &Model,
        calls: &[Call],
        heard: &[Option<Reply>],
        new: &[RoomReservationId],
        done: &mut [bool],
    ) -> Result<Option<Model>, Finding> {
        if done.iter().all(|done| *done) {
            let is_found = self.look(model)? == View::expected(model, self.disk.now());
            return Ok(is_found.then(|| model.clone()));
        }
        for index in 0..calls.len() {
            if done[index] {
                continue;
            }
            for number in numbers(&calls[index], heard[index].as_ref(), new) {
                let mut next = model.clone();
                let expected = next.apply(&calls[index], number, self.disk.now());
                let is_possible =
                    heard[index].as_ref().map_or(expected != Reply::Unnumbered, |heard| expected == *heard);
                if !is_possible {
                    continue;
                }
                done[index] = true;
                if let Some(end) = self.explain(&next, calls, heard, new, done)? {
                    return Ok(Some(end));
                }
                done[index] = false;
            }
        }
        Ok(None)
    }

    fn look(&self, model: &Model) -> Result<View, Finding> {
        View::of(&self.disk, &Context { now: self.disk.now(), limits: &self.limits }, self.room, model)
    }

    /// After every step: the store is as the model says, its own audit has nothing to say, and every reservation and every
    /// cancellation was told once.
    fn inspect(&self) -> Result<(), Finding> {
        let (seen, expected) = (self.look(&self.model)?, View::expected(&self.model, self.disk.now()));
        must(seen == expected, || format!("the store is not as it must be:\n{seen:?}\nexpected:\n{expected:?}"))?;
        let findings = self.disk.audit()?;
        must(findings.is_empty(), || format!("the audit says: {}", findings.join("; ")))?;
        let (mut told, mut blocked) = (BTreeSet::new(), 0);
        for record in self.disk.outbox()? {
            if record.event_type == SLOTS_BLOCKED {
                blocked += 1;
            } else {
                let what = format!("{} {}", record.event_type, record.data);
                must(told.insert(what.clone()), || format!("told twice: {what}"))?;
            }
        }
        let mut owed = BTreeSet::new();
        for (id, reservation) in &self.model.reservations {
            owed.insert(format!("{ROOM_RESERVED} {id}"));
            if reservation.is_cancelled {
                owed.insert(format!("{ROOM_CANCELLED} {id}"));
            }
        }
        // Old events are cleared away; before that none is missing.
        let is_complete = self.summary.0.contains_key("tidied") || (told == owed && blocked == self.model.blocked);
        must(told.is_subset(&owed) && blocked <= self.model.blocked && is_complete, || {
            format!("told {told:?} and {blocked} times blocked, owed {owed:?} and {}", self.model.blocked)
        })
    }
}

/// Which numbers a reservation that comes of this call can have: the one that was told, or, if nothing was, any that is new.
fn numbers(call: &Call, heard: Option<&Reply>, new: &[RoomReservationId]) -> Vec<Option<RoomReservationId>> {
    match (call, heard) {
        (_, Some(Reply::Reserved(number, _))) => vec![Some(*number)],
        (Call::Confirm(_), None) => new.iter().copied().map(Some).chain([None]).collect(),
        _ => vec![None],
    }
}

/// What a reply is counted as.
fn name(reply: &Reply) -> String {
    match reply {
        Reply::Rejected(rejection) => rejection_name(rejection),
        other => first_word(&format!("{other:?}")),
    }
}
