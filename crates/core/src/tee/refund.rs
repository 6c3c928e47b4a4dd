//! How much of the price comes back, by the time that is left until tee-off and by who cancels.

use super::booking::{Booking, BookingState, BookingStatus, By};
use crate::rejection::TeeRejection;
use crate::time::{Span, Timestamp};

/// How many tiers a policy may have, the last day included.
pub const REFUND_TIERS_MAX: usize = 8;
/// How many days before tee-off the first tier may be.
pub const REFUND_DAYS_MAX: u16 = 3_650;

/// So many full days before tee-off or earlier, so much comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefundTier {
    pub days: u16,
    pub percent: u8,
}

/// Tiers from the earliest to the last day, whose `days` are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefundPolicy {
    /// Behind the last day nothing but zeros.
    tiers: [RefundTier; REFUND_TIERS_MAX],
    len: u8,
}

/// Money that comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refund {
    pub percent: u8,
    pub amount: i64,
    pub rule: RefundRule,
}

/// Why so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundRule {
    /// Nothing was confirmed yet.
    Pending,
    Admin,
    System,
    /// So many days before tee-off.
    AtLeastDays(u16),
    LastDay,
    NoShow,
}

impl RefundPolicy {
    /// Seven days 100 %, three days 80 %, one day 50 %, then nothing.
    pub const DEFAULT: Self = {
        let mut tiers = [RefundTier { days: 0, percent: 0 }; REFUND_TIERS_MAX];
        tiers[0] = RefundTier { days: 7, percent: 100 };
        tiers[1] = RefundTier { days: 3, percent: 80 };
        tiers[2] = RefundTier { days: 1, percent: 50 };
        Self { tiers, len: 4 }
    };

    /// `None` unless days fall from tier to tier down to 0, and no more than all comes back.
    pub fn new(given: &[RefundTier]) -> Option<Self> {
        let falls = given.windows(2).all(|pair| pair[0].days > pair[1].days);
        let ends = given.last()?.days == 0;
        let sane = given.iter().all(|tier| tier.percent <= 100 && tier.days <= REFUND_DAYS_MAX);
        let mut tiers = [RefundTier { days: 0, percent: 0 }; REFUND_TIERS_MAX];
        tiers.get_mut(..given.len())?.copy_from_slice(given);
        (falls && ends && sane).then_some(Self { tiers, len: given.len() as u8 })
    }

    /// The same, with so much on the last day; `None` for more than all.
    pub fn with_last_day(mut self, percent: u8) -> Option<Self> {
        self.tiers[usize::from(self.len) - 1].percent = percent;
        Self::new(self.tiers())
    }

    pub fn tiers(&self) -> &[RefundTier] {
        &self.tiers[..usize::from(self.len)]
    }

    /// What [`Display`](std::fmt::Display) wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let tier = |part: &str| {
            let (days, percent) = part.split_once(':')?;
            Some(RefundTier { days: days.parse().ok()?, percent: percent.parse().ok()? })
        };
        Self::new(&text.split(' ').map(tier).collect::<Option<Vec<_>>>()?)
    }

    fn tier(&self, now: Timestamp, tee_off: Timestamp) -> RefundTier {
        let tiers = self.tiers();
        let reached = |tier: &&RefundTier| now + Span::from_hours(24 * i64::from(tier.days)) <= tee_off;
        *tiers.iter().find(reached).unwrap_or(&tiers[tiers.len() - 1])
    }
}

/// `7:100 3:80 1:50 0:0`.
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

/// What comes back if the booking is cancelled now, or why it cannot be.
pub(super) fn on_cancelling(booking: &Booking, by: By, now: Timestamp) -> Result<Refund, TeeRejection> {
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

/// What those get who did not come.
pub(super) fn on_no_show(booking: &Booking) -> Refund {
    refund(booking, 0, RefundRule::NoShow)
}

fn refund(booking: &Booking, percent: u8, rule: RefundRule) -> Refund {
    Refund { percent, amount: booking.total * i64::from(percent) / 100, rule }
}

fn not_cancellable(ended_as: Option<BookingStatus>) -> TeeRejection {
    TeeRejection::BookingNotCancellable { ended_as }
}
