//! Runs one history of a room on a store of any profile, and stops at the first violation. The history is determined by
//! the seed and the number of steps.

use std::collections::BTreeSet;

use holdfast_core::calendar::{RoomId, RoomReservationId};
use holdfast_core::time::Span;
use holdfast_core::{Context, Limits};
use holdfast_engine::Batch;
use holdfast_testkit::Profile;

use super::call::{Call, Reply};
use super::model::Model;
use super::view::View;
use super::workload::Workload;
use crate::disk::{Crash, Disk, ROOM_CANCELLED, ROOM_RESERVED, SLOTS_BLOCKED};
use crate::plan::Plan;
use crate::report::{Summary, first_word, rejection_name};
use crate::{Finding, catch_panics, ensure};

/// Identity of a history; the same one is reproducible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    pub profile: Profile,
    pub seed: u64,
    pub steps: u32,
}

impl History {
    /// Runs the history, and passes each line of its trace to `log`.
    pub fn run(self, log: &mut dyn FnMut(String)) -> Result<Summary, Finding> {
        catch_panics(|| self.run_steps(log))
    }

    fn run_steps(self, log: &mut dyn FnMut(String)) -> Result<Summary, Finding> {
        let mut workload = Workload::new(self.seed);
        let mut run = Run::open(self.profile, &workload)?;
        for _ in 0..self.steps {
            let plan = workload.next(&run.model, run.room, run.disk.now());
            log(format!("{plan:?}"));
            run.execute(plan, log)?;
            run.inspect()?;
        }
        run.disk.advance(Span::from_secs(3_600));
        run.inspect()?;
        run.disk.restart()?;
        run.inspect()?;
        run.disk.check_file()?;
        Ok(run.summary)
    }
}

/// A history in progress.
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
        let room = disk.run_expecting_success(workload.room())?.id;
        disk.run_expecting_success(workload.hours(room))?;
        Ok(Self { limits, disk, room, model: workload.opening(), summary: Summary::default() })
    }

    fn execute(&mut self, plan: Plan<Call>, log: &mut dyn FnMut(String)) -> Result<(), Finding> {
        match plan {
            Plan::Batch { calls, crash } => self.run_batch(&calls, crash, log),
            Plan::AdvanceClock(span) => {
                self.summary.count("clock advanced");
                self.disk.advance(span);
                Ok(())
            }
            Plan::Purge => {
                self.summary.count("purged");
                self.disk.purge()
            }
            Plan::Restart => {
                self.summary.count("restarted");
                self.disk.restart()
            }
        }
    }

    /// Runs a batch. It must take effect completely or not at all, and match the replies. Calls without a reply,
    /// because the process was killed, are checked against the stored state.
    fn run_batch(&mut self, calls: &[Call], crash: Option<Crash>, log: &mut dyn FnMut(String)) -> Result<(), Finding> {
        let submit = |batch: &mut Batch| calls.iter().map(|call| call.submit(batch)).collect::<Vec<_>>();
        let (waiting, crashed) = self.disk.run_batch_until(crash.filter(|_| self.disk.can_crash()), submit);
        let mut received = Vec::new();
        for (call, answer) in calls.iter().zip(waiting) {
            let reply = match answer() {
                Ok(reply) => Some(reply),
                Err(_) if crashed.is_some() => None,
                Err(error) => return Err(Finding(format!("{call:?}: {error}"))),
            };
            log(format!("  → {reply:?}"));
            self.summary.count(&reply.as_ref().map_or("no reply".into(), counter_name));
            received.push(reply);
        }
        if let Some(step) = crashed {
            log(format!("  crashed when {step:?}"));
            self.summary.count(&format!("crashed when {step:?}"));
            self.disk.restart()?;
        }
        if crashed.is_none_or(Crash::is_durable) {
            let new = self.unknown_reservations()?;
            let explanation = self.explain(&self.model, calls, &received, &new, &mut vec![false; calls.len()])?;
            self.model = explanation
                .ok_or_else(|| Finding("no order of these calls explains the replies and the stored state".into()))?;
            return Ok(());
        }
        let is_success = |reply: &Option<Reply>| reply.as_ref().is_some_and(|it| !matches!(it, Reply::Rejected(_)));
        ensure(!received.iter().any(is_success), || format!("{received:?}: acknowledged, but lost in a crash"))
    }

    /// Returns the new reservations that the model does not contain yet.
    fn unknown_reservations(&self) -> Result<Vec<RoomReservationId>, Finding> {
        let created = self.disk.outbox()?.into_iter().filter(|record| record.event_type == ROOM_RESERVED);
        let numbers = created.filter_map(|record| record.data.parse().ok().and_then(RoomReservationId::new));
        Ok(numbers.filter(|number| !self.model.reservations.contains_key(number)).collect())
    }

    /// A batch is equivalent to its calls in some serial order, which is unknown. Searches an order in which the model
    /// gives every reply and ends in the stored state.
    fn explain(
        &self,
        model: &Model,
        calls: &[Call],
        received: &[Option<Reply>],
        new: &[RoomReservationId],
        executed: &mut [bool],
    ) -> Result<Option<Model>, Finding> {
        if executed.iter().all(|executed| *executed) {
            let is_found = self.read_view(model)? == View::expected(model, self.disk.now());
            return Ok(is_found.then(|| model.clone()));
        }
        for index in 0..calls.len() {
            if executed[index] {
                continue;
            }
            for number in numbers(&calls[index], received[index].as_ref(), new) {
                let mut next = model.clone();
                let expected = next.apply(&calls[index], number, self.disk.now());
                let is_possible =
                    received[index].as_ref().map_or(expected != Reply::Unnumbered, |received| expected == *received);
                if !is_possible {
                    continue;
                }
                executed[index] = true;
                if let Some(end) = self.explain(&next, calls, received, new, executed)? {
                    return Ok(Some(end));
                }
                executed[index] = false;
            }
        }
        Ok(None)
    }

    fn read_view(&self, model: &Model) -> Result<View, Finding> {
        View::of(&self.disk, &Context { now: self.disk.now(), limits: &self.limits }, self.room, model)
    }

    /// Runs after every step: the store equals the model, its audit has no findings, and every reservation and
    /// cancellation was published once.
    fn inspect(&self) -> Result<(), Finding> {
        let (stored, expected) = (self.read_view(&self.model)?, View::expected(&self.model, self.disk.now()));
        ensure(stored == expected, || {
            format!("the store differs from the model:\n{stored:?}\nexpected:\n{expected:?}")
        })?;
        let findings = self.disk.audit()?;
        ensure(findings.is_empty(), || format!("audit findings: {}", findings.join("; ")))?;
        let (mut published, mut blocked) = (BTreeSet::new(), 0);
        for record in self.disk.outbox()? {
            if record.event_type == SLOTS_BLOCKED {
                blocked += 1;
            } else {
                let event = format!("{} {}", record.event_type, record.data);
                ensure(published.insert(event.clone()), || format!("published twice: {event}"))?;
            }
        }
        let mut expected_events = BTreeSet::new();
        for (id, reservation) in &self.model.reservations {
            expected_events.insert(format!("{ROOM_RESERVED} {id}"));
            if reservation.is_cancelled {
                expected_events.insert(format!("{ROOM_CANCELLED} {id}"));
            }
        }
        // Old events are purged; before a purge none may be missing.
        let is_complete =
            self.summary.0.contains_key("purged") || (published == expected_events && blocked == self.model.blocked);
        ensure(published.is_subset(&expected_events) && blocked <= self.model.blocked && is_complete, || {
            format!(
                "published {published:?} and {blocked} times blocked, expected_events {expected_events:?} and {}",
                self.model.blocked
            )
        })
    }
}

/// Returns the possible numbers of a reservation that this call makes: that of its reply, or without a reply any new
/// one.
fn numbers(call: &Call, received: Option<&Reply>, new: &[RoomReservationId]) -> Vec<Option<RoomReservationId>> {
    match (call, received) {
        (_, Some(Reply::Reserved(number, _))) => vec![Some(*number)],
        (Call::Confirm(_), None) => new.iter().copied().map(Some).chain([None]).collect(),
        _ => vec![None],
    }
}

/// Name under which a reply is counted.
fn counter_name(reply: &Reply) -> String {
    match reply {
        Reply::Rejected(rejection) => rejection_name(rejection),
        other => first_word(&format!("{other:?}")),
    }
}
