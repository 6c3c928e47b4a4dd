//! Refunds, by the time left until tee-off and by the initiator of the cancellation.

use super::booking::{Booking, BookingState, BookingStatus, By};
use crate::rejection::TeeRejection;
use crate::time::{Span, Timestamp};

/// Maximum number of tiers of a policy, including the last day.
pub const REFUND_TIERS_MAX: usize = 8;
/// Maximum number of days before tee-off of the first tier.
pub const REFUND_DAYS_MAX: u16 = 3_650;

/// Percentage that is refunded at least this number of full days before tee-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefundTier {
    pub days: u16,
    pub percent: u8,
}

/// Tiers from the earliest to the last day, whose `days` are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefundPolicy {
    /// Unused tiers after the last day are zero.
    tiers: [RefundTier; REFUND_TIERS_MAX],
    len: u8,
}

/// A refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refund {
    pub percent: u8,
    pub amount: i64,
    pub rule: RefundRule,
}

/// Rule that determines a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundRule {
    /// The booking was not confirmed yet.
    Pending,
    Admin,
    System,
    /// Cancelled at least this number of full days before tee-off.
    AtLeastDays(u16),
    LastDay,
    NoShow,
}

impl RefundPolicy {
    /// 100 % until seven days before tee-off, 80 % until three days, 50 % until one day, then nothing.
    pub const DEFAULT: Self = {
        let mut tiers = [RefundTier { days: 0, percent: 0 }; REFUND_TIERS_MAX];
        tiers[0] = RefundTier { days: 7, percent: 100 };
        tiers[1] = RefundTier { days: 3, percent: 80 };
        tiers[2] = RefundTier { days: 1, percent: 50 };
        Self { tiers, len: 4 }
    };

    /// Returns `None` unless days decrease from tier to tier down to 0, and percentages are at most 100.
    pub fn new(given: &[RefundTier]) -> Option<Self> {
        let is_decreasing = given.windows(2).all(|pair| pair[0].days > pair[1].days);
        let has_last_day = given.last()?.days == 0;
        let is_in_range = given.iter().all(|tier| tier.percent <= 100 && tier.days <= REFUND_DAYS_MAX);
        let mut tiers = [RefundTier { days: 0, percent: 0 }; REFUND_TIERS_MAX];
        tiers.get_mut(..given.len())?.copy_from_slice(given);
        (is_decreasing && has_last_day && is_in_range).then_some(Self { tiers, len: given.len() as u8 })
    }

    /// Returns the policy with this percentage on the last day; `None` above 100.
    pub fn with_last_day(mut self, percent: u8) -> Option<Self> {
        self.tiers[usize::from(self.len) - 1].percent = percent;
        Self::new(self.tiers())
    }

    pub fn tiers(&self) -> &[RefundTier] {
        &self.tiers[..usize::from(self.len)]
    }

    /// Parses the output of [`Display`](std::fmt::Display).
    pub fn parse(text: &str) -> Option<Self> {
        let tier = |part: &str| {
            let (days, percent) = part.split_once(':')?;
            Some(RefundTier { days: days.parse().ok()?, percent: percent.parse().ok()? })
        };
        Self::new(&text.split(' ').map(tier).collect::<Option<Vec<_>>>()?)
    }

    fn tier(&self, now: Timestamp, tee_off: Timestamp) -> RefundTier {
        let tiers = self.tiers();
        let applies = |tier: &&RefundTier| now + Span::from_hours(24 * i64::from(tier.days)) <= tee_off;
        *tiers.iter().find(applies).unwrap_or(&tiers[tiers.len() - 1])
    }
}

/// Formats as `7:100 3:80 1:50 0:0`.
impl std::fmt::Display for RefundPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, RefundTier { days, percent }) in self.tiers().iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{days}:{percent}")?;
        }
        Ok(())
    }
}

impl RefundRule {
    pub fn parse(text: &str) -> Option<Self> {
        let days = text.strip_prefix("AT_LEAST_").and_then(|rest| rest.strip_suffix("_DAYS"));
        match (text, days) {
            (_, Some(days)) => days.parse().ok().map(Self::AtLeastDays),
            ("PENDING", _) => Some(Self::Pending),
            ("ADMIN", _) => Some(Self::Admin),
            ("SYSTEM", _) => Some(Self::System),
            ("LAST_DAY", _) => Some(Self::LastDay),
            ("NO_SHOW", _) => Some(Self::NoShow),
            _ => None,
        }
    }
}

impl std::fmt::Display for RefundRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pending => f.write_str("PENDING"),
            Self::Admin => f.write_str("ADMIN"),
            Self::System => f.write_str("SYSTEM"),
            Self::AtLeastDays(days) => write!(f, "AT_LEAST_{days}_DAYS"),
            Self::LastDay => f.write_str("LAST_DAY"),
            Self::NoShow => f.write_str("NO_SHOW"),
        }
    }
}

/// Returns the refund of cancelling the booking now, or the rejection.
pub(super) fn on_cancelling(booking: &Booking, by: &By, now: Timestamp) -> Result<Refund, TeeRejection> {
    let is_pending = match booking.state {
        BookingState::Pending => true,
        BookingState::Confirmed { .. } => false,
        BookingState::Completed { .. }
        | BookingState::Cancelled { .. }
        | BookingState::NoShow { .. }
        | BookingState::Failed { .. } => return Err(not_cancellable(Some(booking.status()))),
    };
    let (percent, rule) = match by {
        By::Admin => (100, RefundRule::Admin),
        By::System => (100, RefundRule::System),
        By::User(_) if now >= booking.tee_off => return Err(not_cancellable(None)),
        By::User(_) if is_pending => (100, RefundRule::Pending),
        By::User(_) => match booking.policy.tier(now, booking.tee_off) {
            RefundTier { days: 0, percent } => (percent, RefundRule::LastDay),
            RefundTier { days, percent } => (percent, RefundRule::AtLeastDays(days)),
        },
    };
    Ok(refund(booking, percent, rule))
}

/// Returns the refund of a no-show.
pub(super) fn on_no_show(booking: &Booking) -> Refund {
    refund(booking, 0, RefundRule::NoShow)
}

fn refund(booking: &Booking, percent: u8, rule: RefundRule) -> Refund {
    Refund { percent, amount: booking.total * i64::from(percent) / 100, rule }
}

fn not_cancellable(ended_as: Option<BookingStatus>) -> TeeRejection {
    TeeRejection::BookingNotCancellable { ended_as }
}
