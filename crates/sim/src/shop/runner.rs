//! Runs one history of the shop on a store of any profile and stops at the first thing that is not as it must be.
//! Everything follows from the seed and the number of steps.

use std::collections::BTreeMap;

use holdfast_core::shop::OrderId;
use holdfast_core::shop::user::CreateUser;
use holdfast_core::time::Span;
use holdfast_core::{Context, Limits};
use holdfast_engine::Batch;
use holdfast_testkit::Profile;

use super::call::{Call, Line, Reply};
use super::look::View;
use super::model::Model;
use super::workload::Workload;
use crate::disk::{Crash, Disk, ORDER_CANCELLED, ORDER_PAID};
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
            let plan = workload.next(&run.model, run.disk.now());
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
    model: Model,
    summary: Summary,
}

impl Run {
    fn open(profile: Profile, workload: &Workload) -> Result<Self, Finding> {
        let limits = workload.limits();
        let disk = Disk::new(profile, limits.clone(), workload.starts_at())?;
        let mut users = Vec::new();
        for _ in 0..workload.users() {
            users.push(disk.done(CreateUser { name: "somebody".into(), currency: None })?.id);
        }
        let options = disk.done(workload.product())?.options.iter().map(|view| view.option.id).collect();
        for coupon in workload.coupons() {
            disk.done(coupon.clone())?;
        }
        Ok(Self { limits, disk, model: workload.opening(users, options), summary: Summary::default() })
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
            let new = self.unknown_orders()?;
            let explained = self.explain(&self.model, calls, &heard, &new, &mut vec![false; calls.len()])?;
            self.model =
                explained.ok_or_else(|| Finding("no order of these calls explains what was heard and found".into()))?;
            return Ok(());
        }
        let is_told = |reply: &Option<Reply>| reply.as_ref().is_some_and(|it| !matches!(it, Reply::Rejected(_)));
        must(!heard.iter().any(is_told), || format!("{heard:?}: answered, but not on disk after a crash"))
    }

    /// Orders that were made and that nobody was told of yet.
    fn unknown_orders(&self) -> Result<Vec<OrderId>, Finding> {
        let paid = self.disk.outbox()?.into_iter().filter(|record| record.event_type == ORDER_PAID);
        let numbers = paid.filter_map(|record| record.data.parse().ok().and_then(OrderId::new));
        Ok(numbers.filter(|number| !self.model.orders.contains_key(number)).collect())
    }

    /// A batch is as good as its calls done one after another, but nobody says in which order: the model must find one that
    /// gives every answer that was heard and ends in the state that was found.
    fn explain(
        &self,
        model: &Model,
        calls: &[Call],
        heard: &[Option<Reply>],
        new: &[OrderId],
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
                let is_possible = heard[index].as_ref().map_or(expected != Reply::Unnumbered, |heard| {
                    expected == *heard || differ_in_what_is_left(&expected, heard, calls)
                });
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
        View::of(&self.disk, &Context { now: self.disk.now(), limits: &self.limits }, model)
    }

    /// After every step: the store is as the model says, nothing is lost or made, and every change of an order was told once.
    fn inspect(&self) -> Result<(), Finding> {
        let (seen, expected) = (self.look(&self.model)?, View::expected(&self.model, self.disk.now()));
        must(seen == expected, || format!("the store is not as it must be:\n{seen:?}\nexpected:\n{expected:?}"))?;
        seen.inspect(&self.model)?;
        let findings = self.disk.audit()?;
        must(findings.is_empty(), || format!("the audit says: {}", findings.join("; ")))?;
        let mut told: BTreeMap<(String, String), usize> = BTreeMap::new();
        for record in self.disk.outbox()? {
            *told.entry((record.event_type, record.data)).or_default() += 1;
        }
        let mut owed = BTreeMap::new();
        for (id, order) in &self.model.orders {
            owed.insert((ORDER_PAID.to_owned(), id.to_string()), 1);
            if order.is_cancelled {
                owed.insert((ORDER_CANCELLED.to_owned(), id.to_string()), 1);
            }
        }
        // Events older than a day are cleared away.
        let is_owed = told.iter().all(|(event, times)| owed.get(event) == Some(times));
        must(is_owed && told.len() <= owed.len(), || format!("told {told:?}, owed {owed:?}"))
    }
}

/// Which numbers an order that comes of this call can have: the one that was told, or, if nothing was, any that is new.
fn numbers(call: &Call, heard: Option<&Reply>, new: &[OrderId]) -> Vec<Option<OrderId>> {
    match (call, heard) {
        (_, Some(Reply::Paid(paid))) => vec![Some(paid.order)],
        (Call::Pay(_), None) => new.iter().copied().map(Some).chain([None]).collect(),
        _ => vec![None],
    }
}

/// Where live rows lie in a store of their own, less stock binds everybody a moment before it is recorded. So who reserves at the
/// same time may be told that less is left than there was, although they still got the old price.
fn differ_in_what_is_left(expected: &Reply, heard: &Reply, calls: &[Call]) -> bool {
    let is_changed = |line: &Line| {
        calls
            .iter()
            .any(|call| matches!(call, Call::Change(change) if change.id == line.option && change.stock.is_some()))
    };
    match (expected, heard) {
        (Reply::Reserved(lines, expected), Reply::Reserved(reserved, heard)) if lines == reserved => {
            let left = lines.iter().zip(expected.iter().zip(heard));
            left.into_iter()
                .all(|(line, (expected, heard))| expected == heard || (heard < expected && is_changed(line)))
        }
        _ => false,
    }
}

/// What a reply is counted as.
fn name(reply: &Reply) -> String {
    match reply {
        Reply::Rejected(rejection) => rejection_name(rejection),
        other => first_word(&format!("{other:?}")),
    }
}
