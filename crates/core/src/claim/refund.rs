//! Refunds of cancelled lines, by the time left until the first unit of the line begins.

use crate::hold::Line;
use crate::time::{Span, Timestamp};

/// Maximum number of tiers.
pub const REFUND_TIERS_MAX: usize = 8;
/// Longest time before the beginning of a tier.
pub const REFUND_SPAN_MAX: Span = Span::from_days(3_650);

/// Percentage that is refunded at least this long before the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefundTier {
    pub before: Span,
    pub percent: u8,
}

/// Tiers of a claim, fixed when it is placed; descending by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefundTiers {
    /// Unused tiers are zero.
    tiers: [RefundTier; REFUND_TIERS_MAX],
    len: u8,
}

/// Refund of a cancelled line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRefund {
    /// Index of the line.
    pub line: u16,
    pub percent: u8,
    pub amount: i64,
    /// Tier that applies; `None` below the last.
    pub rule: Option<RefundTier>,
}

impl RefundTiers {
    const UNUSED: RefundTier = RefundTier { before: Span::from_secs(0), percent: 0 };

    /// All of the price until the beginning.
    pub const DEFAULT: Self = {
        let mut tiers = [Self::UNUSED; REFUND_TIERS_MAX];
        tiers[0] = RefundTier { before: Span::from_secs(0), percent: 100 };
        Self { tiers, len: 1 }
    };

    /// Returns `None` unless times decrease from tier to tier, and percentages are at most 100.
    pub fn new(given: &[RefundTier]) -> Option<Self> {
        let is_decreasing = given.windows(2).all(|pair| pair[0].before > pair[1].before);
        let is_in_range = |tier: &RefundTier| {
            let millis = tier.before.as_millis();
            tier.percent <= 100 && millis >= 0 && millis % 1_000 == 0 && tier.before <= REFUND_SPAN_MAX
        };
        let mut tiers = [Self::UNUSED; REFUND_TIERS_MAX];
        tiers.get_mut(..given.len())?.copy_from_slice(given);
        (is_decreasing && given.iter().all(is_in_range)).then_some(Self { tiers, len: given.len() as u8 })
    }

    pub fn tiers(&self) -> &[RefundTier] {
        &self.tiers[..usize::from(self.len)]
    }

    /// Parses the output of [`Display`](std::fmt::Display).
    pub fn parse(text: &str) -> Option<Self> {
        let tier = |part: &str| {
            let (seconds, percent) = part.split_once(':')?;
            Some(RefundTier { before: Span::from_secs(seconds.parse().ok()?), percent: percent.parse().ok()? })
        };
        Self::new(&text.split(' ').filter(|part| !part.is_empty()).map(tier).collect::<Option<Vec<_>>>()?)
    }

    /// Returns the refund of cancelling a line now. A line without a beginning gets the first tier.
    pub fn refund(&self, line: &Line, begins_at: Option<Timestamp>, now: Timestamp) -> LineRefund {
        let applies = |tier: &&RefundTier| begins_at.is_none_or(|begins_at| now + tier.before <= begins_at);
        let rule = self.tiers().iter().find(applies).copied();
        let percent = rule.map_or(0, |tier| tier.percent);
        // Prices are at most 10^15, so that the product fits.
        LineRefund { line: line.index, percent, amount: line.price * i64::from(percent) / 100, rule }
    }
}

/// Formats as `604800:100 0:50`, times in seconds.
impl std::fmt::Display for RefundTiers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, RefundTier { before, percent }) in self.tiers().iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{}:{percent}", before.as_millis() / 1_000)?;
        }
        Ok(())
    }
}

/// Formats as `7d:100`, with the largest unit that divides the time.
impl std::fmt::Display for RefundTier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.before.as_millis() / 1_000;
        let (number, unit) = match seconds {
            0 => (0, "s"),
            _ if seconds % 86_400 == 0 => (seconds / 86_400, "d"),
            _ if seconds % 3_600 == 0 => (seconds / 3_600, "h"),
            _ if seconds % 60 == 0 => (seconds / 60, "m"),
            _ => (seconds, "s"),
        };
        write!(f, "{number}{unit}:{}", self.percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hold::{Item, LineState};
    use crate::shop::{InventoryReservationId, ProductOptionId, StockItem};

    fn tier(days: i64, percent: u8) -> RefundTier {
        RefundTier { before: Span::from_days(days), percent }
    }

    fn line(price: i64) -> Line {
        let item = StockItem {
            reservation: InventoryReservationId::new(1).unwrap(),
            option: ProductOptionId::new(1).unwrap(),
            product_name: "Coffee".into(),
            option_code: "BAG".into(),
            quantity: 1,
            unit_price: price,
        };
        Line { index: 3, state: LineState::Held, price, item: Item::Stock(item) }
    }

    #[test]
    fn tiers_round_trip_as_text() {
        for tiers in [vec![], vec![tier(7, 100), tier(1, 50), tier(0, 0)], vec![tier(0, 100)]] {
            let tiers = RefundTiers::new(&tiers).unwrap();
            assert_eq!(RefundTiers::parse(&tiers.to_string()), Some(tiers));
        }
        assert_eq!([tier(7, 100), tier(0, 5)].map(|tier| tier.to_string()), ["7d:100", "0s:5"]);
    }

    #[test]
    fn invalid_tiers_are_refused() {
        for tiers in [vec![tier(1, 50), tier(1, 40)], vec![tier(1, 50), tier(2, 60)], vec![tier(1, 101)]] {
            assert_eq!(RefundTiers::new(&tiers), None, "{tiers:?}");
        }
        assert_eq!(RefundTiers::new(&[tier(1, 1); REFUND_TIERS_MAX + 1]), None);
    }

    #[test]
    fn refund_follows_time_left() {
        let tiers = RefundTiers::new(&[tier(7, 100), tier(1, 33)]).unwrap();
        let begins_at = Timestamp::from_millis(1_800_000_000_000);
        let percent = |left| tiers.refund(&line(1_000), Some(begins_at), begins_at - left).percent;
        assert_eq!(percent(Span::from_days(7)), 100);
        assert_eq!(percent(Span::from_millis(7 * 86_400_000 - 1)), 33);
        assert_eq!(percent(Span::from_days(1)), 33);
        assert_eq!(percent(Span::from_hours(23)), 0);
        assert_eq!(tiers.refund(&line(1_000), None, begins_at).percent, 100, "stock has no beginning");
    }

    #[test]
    fn refund_rounds_down() {
        let tiers = RefundTiers::new(&[tier(0, 33)]).unwrap();
        let refund = tiers.refund(&line(100_001), None, Timestamp::default());
        assert_eq!((refund.line, refund.amount), (3, 33_000));
    }
}
