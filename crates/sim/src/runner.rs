//! Runs one history: carries out what the workload plans on a store, a pure core and the model, and stops at the first
//! thing that is not as it must be. Everything follows from the seed and the number of steps.

use holdfast_core::time::Span;
use holdfast_core::{Context, Limits, Timestamp};
use holdfast_testkit::Profile;
use jiff::tz::TimeZone;

use crate::auditor::Auditor;
use crate::call::{Call, Heard, Reply};
use crate::disk::{Crash, Disk};
use crate::explain::{Explanation, explain};
use crate::look::{Scope, View};
use crate::model::Model;
use crate::plan::Plan;
use crate::pure::Pure;
use crate::report::{Failure, Summary};
use crate::workload::Workload;
use crate::{Finding, guarded, must};

/// Which history to run. The same one is always the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    pub profile: Profile,
    pub seed: u64,
    pub steps: u32,
}

impl History {
    /// Each line of the trace is also given to `watch` as it is made.
    pub fn run(self, watch: &mut dyn FnMut(&str)) -> Result<Summary, Box<Failure>> {
        let mut trace = Vec::new();
        let mut tell = |line: String| {
            watch(&line);
            trace.push(line);
        };
        let ended = guarded(|| self.run_steps(&mut tell));
        ended.map_err(|finding| Box::new(Failure { history: self, finding, trace }))
    }

    fn run_steps(self, tell: &mut dyn FnMut(String)) -> Result<Summary, Finding> {
        let mut workload = Workload::new(self.seed);
        let mut run = Run::new(self.profile, &workload)?;
        tell(format!("{:?} at {:?}", workload.limits(), workload.starts_at()));
        let opening = Plan::Batch { calls: workload.opening(), crash: None };
        run.carry_out(opening, &mut workload, tell)?;
        for _ in 0..self.steps {
            let plan = workload.next(&run.model, run.disk.now());
            run.carry_out(plan, &mut workload, tell)?;
        }
        run.finish(tell)?;
        Ok(run.summary)
    }
}

/// A history on its way.
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
            scope: Scope::around(workload.starts_at().to_jiff().to_zoned(TimeZone::UTC).date()),
            summary: Summary::default(),
        })
    }

    fn carry_out(
        &mut self,
        plan: Plan<Call>,
        workload: &mut Workload,
        tell: &mut dyn FnMut(String),
    ) -> Result<(), Finding> {
        match plan {
            Plan::Batch { calls, crash } => {
                let crash = crash.filter(|_| self.disk.can_crash());
                self.run_batch(&calls, crash, workload, tell)
            }
            Plan::Pass(span) => {
                tell(format!("{} ms pass", span.as_millis()));
                self.summary.count("time passes");
                self.disk.pass(span);
                self.inspect(&self.look()?)
            }
            Plan::Tidy => {
                tell("tidy".into());
                self.summary.count("tidied");
                self.tidy()
            }
            Plan::Restart => {
                tell("restart".into());
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
        tell: &mut dyn FnMut(String),
    ) -> Result<(), Finding> {
        let now = self.disk.now();
        for call in calls {
            self.scope.add(call, now);
        }
        let (heard, crashed) = self.disk.run(calls, crash);
        for (call, heard) in calls.iter().zip(&heard) {
            tell(format!("  {call} → {heard}"));
            self.summary.count_heard(heard);
        }
        let replies = replies(calls, heard, crashed.is_some())?;
        if let Some(step) = crashed {
            tell(format!("  crashed when {step:?}"));
            self.summary.count(&format!("crashed when {step:?}"));
            self.disk.restart()?;
        }
        let seen = self.look()?;
        self.forget_what_is_gone(&seen);
        // What is on disk has happened, whether anybody was told or not; what is not has not.
        let happened = crashed.is_none_or(Crash::is_on_disk);
        let order = if happened {
            let explanation = self.explain(calls, &replies, crashed.is_some(), &seen)?;
            self.follow(calls, explanation, now)?
        } else {
            let is_told = |(_, reply): &(&Call, &Option<Reply>)| matches!(reply, Some(Reply::Done(_)));
            if let Some((call, _)) = calls.iter().zip(&replies).find(is_told) {
                return Err(Finding(format!("{call}: answered, but not on disk after a crash")));
            }
            (0..calls.len()).collect()
        };
        for index in order {
            let call = &calls[index];
            if let Some(reply) = &replies[index] {
                self.auditor.hear(call, reply, now)?;
            } else {
                self.auditor.hear_nothing(call, now);
                workload.hear_nothing(call);
            }
        }
        if crashed.is_some() {
            self.model.restart(now);
            self.pure.restart(now);
        }
        self.inspect(&seen)?;
        self.auditor.inspect_outbox(&self.disk.outbox()?, &seen, now)
    }

    /// All of a batch or nothing of it: the model has to end exactly where the store did.
    fn explain(
        &self,
        calls: &[Call],
        replies: &[Option<Reply>],
        crashed: bool,
        seen: &View,
    ) -> Result<Explanation, Finding> {
        let now = self.disk.now();
        let mut differences = None;
        let found = explain(&self.model, calls, replies, now, &mut |model| {
            let mut model = model.clone();
            if crashed {
                model.restart(now);
            }
            let expected = model.view(&self.scope, now);
            let is_found = expected == *seen;
            if !is_found {
                differences.get_or_insert_with(|| expected.differences(seen));
            }
            is_found
        });
        found.ok_or_else(|| {
            if let Some(differences) = differences {
                return Finding(format!("the answers are right, the state is not:\n{differences}"));
            }
            let mut model = self.model.clone();
            let expected: Vec<_> = calls.iter().map(|call| format!("  {}", model.apply(call, now))).collect();
            Finding(format!("no order of these calls explains the answers; expected:\n{}", expected.join("\n")))
        })
    }

    /// The pure core does the same calls one after another, must say the same, and must end with the same. Says in which
    /// order that was.
    fn follow(&mut self, calls: &[Call], explanation: Explanation, now: Timestamp) -> Result<Vec<usize>, Finding> {
        let Explanation { order, replies, model } = explanation;
        for index in &order {
            let (call, expected) = (&calls[*index], &replies[*index]);
            let reply = self.pure.run(call, now);
            must(reply == *expected, || format!("{call}: alone in memory {reply}, in the batch {expected}"))?;
        }
        self.model = model;
        Ok(order)
    }

    fn tidy(&mut self) -> Result<(), Finding> {
        self.disk.tidy()?;
        let seen = self.look()?;
        self.forget_what_is_gone(&seen);
        self.inspect(&seen)
    }

    /// Ended holds may be cleared away, at once or when their store is started the next time. Whether they may be gone
    /// already is for the auditor to say.
    fn forget_what_is_gone(&mut self, seen: &View) {
        let known = self.model.holds().iter().map(|held| held.hold.id);
        let gone: Vec<_> = known.filter(|id| !seen.holds.contains_key(id)).collect();
        for id in gone {
            self.summary.count("hold cleared away");
            self.model.forget(id);
            self.pure.forget(id);
        }
    }

    fn restart(&mut self) -> Result<(), Finding> {
        let now = self.disk.now();
        self.disk.restart()?;
        if self.disk.recounts_at_start() {
            self.model.restart(now);
            self.pure.restart(now);
        }
        let seen = self.look()?;
        self.forget_what_is_gone(&seen);
        self.inspect(&seen)
    }

    /// Lets all holds run out and looks once more, also at what a fresh process finds.
    fn finish(&mut self, tell: &mut dyn FnMut(String)) -> Result<(), Finding> {
        tell("all holds run out".into());
        self.disk.pass(Span::from_millis(self.limits.stay.hold_ttl.as_millis() + 1_000));
        let seen = self.look()?;
        self.inspect(&seen)?;
        self.auditor.inspect_end(&seen)?;
        tell("restart".into());
        self.restart()?;
        self.disk.check_file()
    }

    /// After every step: the model, the pure core and the store agree, and the auditor has nothing to say.
    fn inspect(&mut self, seen: &View) -> Result<(), Finding> {
        let at = Context { now: self.disk.now(), limits: &self.limits };
        let expected = self.model.view(&self.scope, at.now);
        must(expected == *seen, || format!("the store is not as it must be:\n{}", expected.differences(seen)))?;
        let pure = View::of(&self.pure, &at, &self.scope)?;
        must(expected == pure, || format!("the pure core is not as it must be:\n{}", expected.differences(&pure)))?;
        self.auditor.inspect(seen, at.now)?;
        self.auditor.inspect_promises(&self.disk, seen, &at)?;
        let findings = self.disk.audit()?;
        must(findings.is_empty(), || format!("the audit says: {}", findings.join("; ")))
    }

    fn look(&self) -> Result<View, Finding> {
        let at = Context { now: self.disk.now(), limits: &self.limits };
        View::of(&self.disk, &at, &self.scope)
    }
}

/// What each caller was told. Only a crash may leave one without an answer.
fn replies(calls: &[Call], heard: Vec<Heard>, crashed: bool) -> Result<Vec<Option<Reply>>, Finding> {
    let told = calls.iter().zip(heard).map(|(call, heard)| match heard {
        Heard::Reply(reply) => Ok(Some(reply)),
        Heard::Nothing(_) if crashed => Ok(None),
        Heard::Nothing(error) => Err(Finding(format!("{call}: the store failed: {error}"))),
        Heard::Broken(refused) => Err(Finding(format!("{call}: {refused}"))),
    });
    told.collect()
}
