//! Runs one history on a store, the pure core and the model, and stops at the first violation. The history is
//! determined by the seed and the number of steps.

use holdfast_core::time::Span;
use holdfast_core::{Context, Limits, Timestamp};
use holdfast_testkit::Profile;
use jiff::tz::TimeZone;

use super::auditor::Auditor;
use super::call::{Call, CallResult, Reply};
use super::explain::{Explanation, explain};
use super::model::Model;
use super::pure::Pure;
use super::view::{Scope, View};
use super::workload::Workload;
use crate::disk::{Crash, Disk};
use crate::plan::Plan;
use crate::report::{Failure, Summary};
use crate::{Finding, catch_panics, ensure};

/// Identity of a history; the same one is reproducible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    pub profile: Profile,
    pub seed: u64,
    pub steps: u32,
}

impl History {
    /// Runs the history. Each line of the trace is also passed to `watch` at once.
    pub fn run(self, watch: &mut dyn FnMut(&str)) -> Result<Summary, Box<Failure>> {
        let mut trace = Vec::new();
        let mut log = |line: String| {
            watch(&line);
            trace.push(line);
        };
        let result = catch_panics(|| self.run_steps(&mut log));
        result.map_err(|finding| Box::new(Failure { history: self, finding, trace }))
    }

    fn run_steps(self, log: &mut dyn FnMut(String)) -> Result<Summary, Finding> {
        let mut workload = Workload::new(self.seed);
        let mut run = Run::new(self.profile, &workload)?;
        log(format!("{:?} at {:?}", workload.limits(), workload.starts_at()));
        let opening = Plan::Batch { calls: workload.opening(), crash: None };
        run.execute(opening, &mut workload, log)?;
        for _ in 0..self.steps {
            let plan = workload.next(&run.model, run.disk.now());
            run.execute(plan, &mut workload, log)?;
        }
        run.finish(log)?;
        Ok(run.summary)
    }
}

/// A history in progress.
struct Run {
    limits: Limits,
    disk: Disk,
    pure: Pure,
    model: Model,
    auditor: Auditor,
    scope: Scope,
    summary: Summary,
}

impl Run {
    fn new(profile: Profile, workload: &Workload) -> Result<Self, Finding> {
        let limits = workload.limits();
        Ok(Self {
            limits: limits.clone(),
            disk: Disk::new(profile, limits.clone(), workload.starts_at())?,
            pure: Pure::new(limits.clone()),
            model: Model::new(limits.clone()),
            auditor: Auditor::default(),
            scope: Scope::prefetch(workload.starts_at().to_jiff().to_zoned(TimeZone::UTC).date()),
            summary: Summary::default(),
        })
    }

    fn execute(
        &mut self,
        plan: Plan<Call>,
        workload: &mut Workload,
        log: &mut dyn FnMut(String),
    ) -> Result<(), Finding> {
        match plan {
            Plan::Batch { calls, crash } => {
                let crash = crash.filter(|_| self.disk.can_crash());
                self.run_batch(&calls, crash, workload, log)
            }
            Plan::AdvanceClock(span) => {
                log(format!("clock advanced by {} ms", span.as_millis()));
                self.summary.count("clock advanced");
                self.disk.advance(span);
                self.inspect(&self.read_view()?)
            }
            Plan::Purge => {
                log("purge".into());
                self.summary.count("purged");
                self.purge()
            }
            Plan::Restart => {
                log("restart".into());
                self.summary.count("restarted");
                self.restart()
            }
        }
    }

    fn run_batch(
        &mut self,
        calls: &[Call],
        crash: Option<Crash>,
        workload: &mut Workload,
        log: &mut dyn FnMut(String),
    ) -> Result<(), Finding> {
        let now = self.disk.now();
        for call in calls {
            self.scope.add(call, now);
        }
        let (results, crashed) = self.disk.run(calls, crash);
        for (call, results) in calls.iter().zip(&results) {
            log(format!("  {call} → {results}"));
            self.summary.count_result(results);
        }
        let replies = replies(calls, results, crashed.is_some())?;
        if let Some(step) = crashed {
            log(format!("  crashed when {step:?}"));
            self.summary.count(&format!("crashed when {step:?}"));
            self.disk.restart()?;
        }
        let stored = self.read_view()?;
        self.remove_purged_holds(&stored);
        // A committed batch has taken effect, with or without replies; any other has not.
        let is_effective = crashed.is_none_or(Crash::is_durable);
        let order = if is_effective {
            let explanation = self.explain(calls, &replies, &stored)?;
            self.apply_explanation(calls, explanation, now)?
        } else {
            let is_success = |(_, reply): &(&Call, &Option<Reply>)| matches!(reply, Some(Reply::Done(_)));
            if let Some((call, _)) = calls.iter().zip(&replies).find(is_success) {
                return Err(Finding(format!("{call}: acknowledged, but lost in a crash")));
            }
            (0..calls.len()).collect()
        };
        for index in order {
            let call = &calls[index];
            if let Some(reply) = &replies[index] {
                self.auditor.record_reply(call, reply, now)?;
            } else {
                self.auditor.record_no_reply(call, now);
                workload.record_no_reply(call);
            }
        }
        if crashed.is_some() {
            self.pure.restart(now);
        }
        self.inspect(&stored)?;
        self.auditor.inspect_outbox(&self.disk.outbox()?, &stored, now)
    }

    /// Searches an order of the batch in which the model ends in the stored state.
    fn explain(&self, calls: &[Call], replies: &[Option<Reply>], stored: &View) -> Result<Explanation, Finding> {
        let now = self.disk.now();
        let mut differences = None;
        let found = explain(&self.model, calls, replies, now, &mut |model| {
            let expected = model.view(&self.scope, now);
            let is_found = expected == *stored;
            if !is_found {
                differences.get_or_insert_with(|| expected.differences(stored));
            }
            is_found
        });
        found.ok_or_else(|| {
            if let Some(differences) = differences {
                return Finding(format!("the replies match, the stored state differs:\n{differences}"));
            }
            let mut model = self.model.clone();
            let expected: Vec<_> = calls.iter().map(|call| format!("  {}", model.apply(call, now))).collect();
            Finding(format!("no order of these calls explains the replies; expected:\n{}", expected.join("\n")))
        })
    }

    /// Executes the same calls in the pure core, which must give the same replies. Returns their order.
    fn apply_explanation(
        &mut self,
        calls: &[Call],
        explanation: Explanation,
        now: Timestamp,
    ) -> Result<Vec<usize>, Finding> {
        let Explanation { order, replies, model } = explanation;
        for index in &order {
            let (call, expected) = (&calls[*index], &replies[*index]);
            let reply = self.pure.run(call, now);
            ensure(reply == *expected, || format!("{call}: {reply} in the pure core, {expected} in the batch"))?;
        }
        self.model = model;
        Ok(order)
    }

    fn purge(&mut self) -> Result<(), Finding> {
        self.disk.purge()?;
        let stored = self.read_view()?;
        self.remove_purged_holds(&stored);
        self.inspect(&stored)
    }

    /// Ended holds may be purged at any time. The auditor checks that they are not purged too early.
    fn remove_purged_holds(&mut self, stored: &View) {
        let known = self.model.holds().iter().map(|hold| hold.id);
        let purged: Vec<_> = known.filter(|id| !stored.holds.contains_key(id)).collect();
        for id in purged {
            self.summary.count("hold purged");
            self.model.remove_hold(id);
            self.pure.remove_hold(id);
        }
    }

    fn restart(&mut self) -> Result<(), Finding> {
        let now = self.disk.now();
        self.disk.restart()?;
        if self.disk.recounts_at_start() {
            self.pure.restart(now);
        }
        let stored = self.read_view()?;
        self.remove_purged_holds(&stored);
        self.inspect(&stored)
    }

    /// Lets all holds expire, and checks the state before and after a restart.
    fn finish(&mut self, log: &mut dyn FnMut(String)) -> Result<(), Finding> {
        log("all holds expire".into());
        let now = self.disk.now();
        let last = self.model.holds().iter().map(|hold| hold.expires_at).max().unwrap_or(now).max(now);
        self.disk.advance(Span::from_millis(last.as_millis() - now.as_millis()));
        let stored = self.read_view()?;
        self.inspect(&stored)?;
        self.auditor.inspect_end(&stored)?;
        log("restart".into());
        self.restart()?;
        self.disk.check_file()
    }

    /// Runs after every step: the model, the pure core and the store are equal, and no invariant is violated.
    fn inspect(&mut self, stored: &View) -> Result<(), Finding> {
        let at = Context { now: self.disk.now(), limits: &self.limits };
        let expected = self.model.view(&self.scope, at.now);
        ensure(expected == *stored, || format!("the store differs from the model:\n{}", expected.differences(stored)))?;
        let pure = View::of(&self.pure, &at, &self.scope)?;
        ensure(expected == pure, || format!("the pure core differs from the model:\n{}", expected.differences(&pure)))?;
        self.auditor.inspect(stored, at.now)?;
        self.auditor.inspect_confirmability(&self.disk, stored, &at)?;
        let findings = self.disk.audit()?;
        ensure(findings.is_empty(), || format!("audit findings: {}", findings.join("; ")))
    }

    fn read_view(&self) -> Result<View, Finding> {
        let at = Context { now: self.disk.now(), limits: &self.limits };
        View::of(&self.disk, &at, &self.scope)
    }
}

/// Returns the reply of each call. Only after a crash may one be missing.
fn replies(calls: &[Call], results: Vec<CallResult>, crashed: bool) -> Result<Vec<Option<Reply>>, Finding> {
    let replies = calls.iter().zip(results).map(|(call, results)| match results {
        CallResult::Reply(reply) => Ok(Some(reply)),
        CallResult::NoReply(_) if crashed => Ok(None),
        CallResult::NoReply(error) => Err(Finding(format!("{call}: the store failed: {error}"))),
        CallResult::Unexpected(error) => Err(Finding(format!("{call}: {error}"))),
    });
    replies.collect()
}
