//! Runs one history of the shop on a store of any profile, and stops at the first violation. The history is determined
//! by the seed and the number of steps.

use std::collections::BTreeMap;

use holdfast_core::shop::OrderId;
use holdfast_core::shop::user::CreateUser;
use holdfast_core::time::Span;
use holdfast_core::{Context, Limits};
use holdfast_engine::Batch;
use holdfast_testkit::Profile;

use super::call::{Call, Line, Reply};
use super::model::Model;
use super::view::View;
use super::workload::Workload;
use crate::disk::{Crash, Disk, ORDER_CANCELLED, ORDER_PAID};
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
            let plan = workload.next(&run.model, run.disk.now());
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
    model: Model,
    summary: Summary,
}

impl Run {
    fn open(profile: Profile, workload: &Workload) -> Result<Self, Finding> {
        let limits = workload.limits();
        let disk = Disk::new(profile, limits.clone(), workload.starts_at())?;
        let mut users = Vec::new();
        for number in 1..=workload.users() {
            let id = Some(crate::user(number)).filter(|id| id.number().is_none());
            users.push(disk.run_expecting_success(CreateUser { id, name: "user".into(), currency: None })?.id);
        }
        let options =
            disk.run_expecting_success(workload.product())?.options.iter().map(|view| view.option.id).collect();
        for coupon in workload.coupons() {
            disk.run_expecting_success(coupon.clone())?;
        }
        Ok(Self { limits, disk, model: workload.opening(users, options), summary: Summary::default() })
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
            let new = self.unknown_orders()?;
            let explanation = self.explain(&self.model, calls, &received, &new, &mut vec![false; calls.len()])?;
            self.model = explanation
                .ok_or_else(|| Finding("no order of these calls explains the replies and the stored state".into()))?;
            return Ok(());
        }
        let is_success = |reply: &Option<Reply>| reply.as_ref().is_some_and(|it| !matches!(it, Reply::Rejected(_)));
        ensure(!received.iter().any(is_success), || format!("{received:?}: acknowledged, but lost in a crash"))
    }

    /// Returns the new orders that the model does not contain yet.
    fn unknown_orders(&self) -> Result<Vec<OrderId>, Finding> {
        let paid = self.disk.outbox()?.into_iter().filter(|record| record.event_type == ORDER_PAID);
        let numbers = paid.filter_map(|record| record.data.parse().ok().and_then(OrderId::new));
        Ok(numbers.filter(|number| !self.model.orders.contains_key(number)).collect())
    }

    /// A batch is equivalent to its calls in some serial order, which is unknown. Searches an order in which the model
    /// gives every reply and ends in the stored state.
    fn explain(
        &self,
        model: &Model,
        calls: &[Call],
        received: &[Option<Reply>],
        new: &[OrderId],
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
                let is_possible = received[index].as_ref().map_or(expected != Reply::Unnumbered, |received| {
                    expected == *received || differ_in_remaining_stock(&expected, received, calls)
                });
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
        View::of(&self.disk, &Context { now: self.disk.now(), limits: &self.limits }, model)
    }

    /// Runs after every step: the store equals the model, money and pieces are conserved, and every change of an order
    /// was published once.
    fn inspect(&self) -> Result<(), Finding> {
        let (stored, expected) = (self.read_view(&self.model)?, View::expected(&self.model, self.disk.now()));
        ensure(stored == expected, || {
            format!("the store differs from the model:\n{stored:?}\nexpected:\n{expected:?}")
        })?;
        stored.inspect(&self.model)?;
        let findings = self.disk.audit()?;
        ensure(findings.is_empty(), || format!("audit findings: {}", findings.join("; ")))?;
        let mut published: BTreeMap<(String, String), usize> = BTreeMap::new();
        for record in self.disk.outbox()? {
            *published.entry((record.event_type, record.data)).or_default() += 1;
        }
        let mut expected_events = BTreeMap::new();
        for (id, order) in &self.model.orders {
            expected_events.insert((ORDER_PAID.to_owned(), id.to_string()), 1);
            if order.is_cancelled {
                expected_events.insert((ORDER_CANCELLED.to_owned(), id.to_string()), 1);
            }
        }
        // Old events are purged.
        let is_expected = published.iter().all(|(event, times)| expected_events.get(event) == Some(times));
        ensure(is_expected && published.len() <= expected_events.len(), || {
            format!("published {published:?}, expected_events {expected_events:?}")
        })
    }
}

/// Returns the possible numbers of an order that this call makes: that of its reply, or without a reply any new one.
fn numbers(call: &Call, received: Option<&Reply>, new: &[OrderId]) -> Vec<Option<OrderId>> {
    match (call, received) {
        (_, Some(Reply::Paid(paid))) => vec![Some(paid.order)],
        (Call::Pay(_), None) => new.iter().copied().map(Some).chain([None]).collect(),
        _ => vec![None],
    }
}

/// Where live rows have a store of their own, a capacity fence binds before the lower stock is recorded. A concurrent
/// reservation may thus report less remaining stock, although it still has the old price.
fn differ_in_remaining_stock(expected: &Reply, received: &Reply, calls: &[Call]) -> bool {
    let is_changed = |line: &Line| {
        calls
            .iter()
            .any(|call| matches!(call, Call::Change(change) if change.id == line.option && change.stock.is_some()))
    };
    match (expected, received) {
        (Reply::Reserved(lines, expected), Reply::Reserved(reserved, received)) if lines == reserved => {
            let left = lines.iter().zip(expected.iter().zip(received));
            left.into_iter()
                .all(|(line, (expected, received))| expected == received || (received < expected && is_changed(line)))
        }
        _ => false,
    }
}

/// Name under which a reply is counted.
fn counter_name(reply: &Reply) -> String {
    match reply {
        Reply::Rejected(rejection) => rejection_name(rejection),
        other => first_word(&format!("{other:?}")),
    }
}
