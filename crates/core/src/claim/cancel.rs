//! Cancelling claims: live ones, and the records of confirmed ones.

use super::refund::LineRefund;
use super::{check_lines, check_version, find, find_live, processed};
use crate::actor::Actor;
use crate::command::{Command, Context, Decision, Stop, writes};
use crate::event::Event;
use crate::hold::{self, Hold, Line, LineState, Origin, Status, cancel, place};
use crate::id::HoldId;
use crate::rejection::ClaimRejection;
use crate::shop::{OrderId, order};
use crate::working_set::WorkingSet;

/// Cancels a live claim, or releases some of its lines.
#[derive(Clone, Debug)]
pub struct CancelClaim {
    pub id: HoldId,
    pub actor: Actor,
    /// Indexes of the lines; all without any.
    pub lines: Option<Vec<u16>>,
    /// Expected version.
    pub version: Option<u32>,
}

impl Command for CancelClaim {
    type Outcome = Hold;
    const NAME: &'static str = "claim.cancel";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Hold> {
        let hold = find_live(rows, self.id, &self.actor, self.version, at.now)?;
        place::request_indexes(rows, &hold);
        let Some(chosen) = &self.lines else {
            cancel::cancel(rows, &hold, at.now)?;
            return find(rows, self.id, &self.actor);
        };
        if hold.origin != Origin::Claim {
            return Err(ClaimRejection::ClaimNotChangeable.into());
        }
        check_lines(&hold, chosen, "lines", |state| state == LineState::Held)?;
        let after = hold.with_lines_released(chosen);
        if after.held_lines().next().is_none() {
            cancel::cancel(rows, &hold, at.now)?;
            return find(rows, self.id, &self.actor);
        }
        place::remove(rows, &hold, at.now)?;
        place::index(rows, &after, at.now)?;
        rows.holds.put(after.id, after.clone());
        rows.emit(Event::ClaimChanged(after.clone()));
        Ok(after)
    }
}

/// Cancels the records of a confirmed claim, all or some.
#[derive(Clone, Debug)]
pub struct CancelConfirmedClaim {
    pub id: HoldId,
    pub actor: Actor,
    /// Indexes of the lines; all without any.
    pub lines: Option<Vec<u16>>,
    /// Expected version.
    pub version: Option<u32>,
}

/// A confirmed claim with cancelled records, and what is refunded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelledClaim {
    pub hold: Hold,
    pub refunds: Vec<LineRefund>,
    /// Sum of the refunds.
    pub amount: i64,
}

impl Command for CancelConfirmedClaim {
    type Outcome = CancelledClaim;
    const NAME: &'static str = "claim.cancel_confirmed";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<CancelledClaim> {
        let hold = find(rows, self.id, &self.actor)?;
        check_version(&hold, self.version)?;
        match hold.status(at.now) {
            Status::Confirmed if !hold.is_cancelled_after_confirm() => {}
            // Decided again by the command for live claims, or once the attempt to confirm is finished.
            Status::Held | Status::Prepared => return Err(Stop::Retry),
            Status::Expired | Status::Replaced => return Err(ClaimRejection::ClaimExpired.into()),
            Status::Confirmed | Status::Cancelled => return Err(processed(&hold).into()),
        }
        if let Some(chosen) = &self.lines {
            check_lines(&hold, chosen, "lines", |state| matches!(state, LineState::Confirmed { .. }))?;
        }
        if hold.origin == Origin::Cart {
            return self.cancel_order(rows, at, &hold);
        }
        let is_chosen = |line: &Line| self.lines.as_ref().is_none_or(|chosen| chosen.contains(&line.index));
        let tiers = hold.refund_tiers();
        let (mut refunds, mut needs_rows) = (Vec::new(), false);
        for line in hold.lines.iter().filter(|line| is_chosen(line)) {
            let LineState::Confirmed { record } = line.state else { continue };
            let cancelled = line.item.begins_at(rows).and_then(|begins_at| {
                line.item.cancel(record, &self.actor, rows, at)?;
                Ok(tiers.refund(line, begins_at, at.now))
            });
            match cancelled {
                Ok(refund) => refunds.push(refund),
                // The rows of all lines are requested for one load.
                Err(Stop::NeedRows) => needs_rows = true,
                Err(stop) => return Err(stop),
            }
        }
        if needs_rows {
            return Err(Stop::NeedRows);
        }
        let hold = hold.with_lines_cancelled(|index| refunds.iter().any(|refund| refund.line == index));
        hold::put_confirmed(rows, hold.clone())?;
        rows.emit(Event::ClaimCancelled(hold.clone()));
        let amount = refunds.iter().map(|refund| refund.amount).sum();
        Ok(CancelledClaim { hold, refunds, amount })
    }

    fn weight(&self) -> usize {
        4
    }
}

impl CancelConfirmedClaim {
    /// Cancels the order of a cart, which returns the paid amount to the balance.
    fn cancel_order(&self, rows: &mut WorkingSet, at: &Context<'_>, hold: &Hold) -> Decision<CancelledClaim> {
        if self.lines.is_some() {
            return Err(ClaimRejection::ClaimNotChangeable.into());
        }
        let number = hold.record().expect("a paid cart has an order");
        let id = OrderId::new(number).expect("a record number is an order id");
        let order = order::cancel(rows, id, &self.actor, at.now)?;
        let share = |line: &Line| LineRefund {
            line: line.index,
            percent: 100,
            // A discount is spread over the lines. Amounts are at most 10^15, which needs 128 bits for the product.
            amount: if order.total == 0 {
                0
            } else {
                (i128::from(line.price) * i128::from(order.paid) / i128::from(order.total)) as i64
            },
            rule: None,
        };
        let refunds = hold.lines.iter().map(share).collect();
        let hold = hold.with_lines_cancelled(|_| true);
        hold::put_confirmed(rows, hold.clone())?;
        rows.emit(Event::ClaimCancelled(hold.clone()));
        Ok(CancelledClaim { hold, refunds, amount: order.paid })
    }
}
