//! Time as the rules see it: milliseconds since 1970, filled by the store.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// A duration in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(i64);

impl Timestamp {
    /// Last point in time that RFC 3339 can represent (year 9999).
    const MAX_MILLIS: i64 = 253_402_207_200_000;

    /// Clamps to the years 1970 to 9999, which no input exceeds.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, Self::MAX_MILLIS))
    }

    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the first full second at or after this time.
    #[must_use]
    pub fn rounded_up_to_second(self) -> Self {
        Self::from_millis((self.0 + 999) / 1_000 * 1_000)
    }

    /// Seconds since 1970, rounded down.
    pub fn as_secs(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    pub fn is_full_second(self) -> bool {
        self.0 % 1_000 == 0
    }

    pub fn to_jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).expect("a Timestamp is always within jiff's range")
    }
}

impl std::ops::Add<Span> for Timestamp {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self::from_millis(self.0.saturating_add(span.0))
    }
}

impl std::ops::Sub<Span> for Timestamp {
    type Output = Self;

    fn sub(self, span: Span) -> Self {
        Self::from_millis(self.0.saturating_sub(span.0))
    }
}

impl std::ops::Add for Span {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Span {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn from_secs(secs: i64) -> Self {
        Self(secs * 1_000)
    }

    pub const fn from_hours(hours: i64) -> Self {
        Self::from_secs(hours * 3_600)
    }

    pub const fn from_days(days: i64) -> Self {
        Self::from_hours(days * 24)
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

/// A time zone with its IANA name.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Parses a name of the IANA database; no other spelling.
    pub fn parse(name: &str) -> Option<Self> {
        let zone = TimeZone::get(name).ok()?;
        zone.iana_name().is_some().then_some(Self(zone))
    }

    pub fn name(&self) -> &str {
        self.0.iana_name().expect("parsed zones have a name")
    }

    /// Returns the local date at `now`.
    pub fn today(&self, now: Timestamp) -> Date {
        self.0.to_datetime(now.to_jiff()).date()
    }

    /// Returns when local clocks show `local`.
    pub fn moment_of(&self, local: DateTime) -> LocalInstant {
        // No input reaches the end of jiff's range.
        let moment = |offset: Offset| offset.to_timestamp(local).unwrap_or(jiff::Timestamp::MAX);
        let from_jiff = |moment: jiff::Timestamp| Timestamp::from_millis(moment.as_millisecond());
        match self.0.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
                LocalInstant::Shown(from_jiff(moment(offset)))
            }
            AmbiguousOffset::Gap { before, .. } => {
                // Without the jump the clocks would show `local` at `unjumped`, so the jump is the last transition up
                // to then.
                let unjumped = moment(before);
                let until = unjumped.saturating_add(jiff::SignedDuration::from_secs(1)).unwrap_or(unjumped);
                let jump = self.0.preceding(until).next().map(|change| change.timestamp());
                LocalInstant::Skipped { at: from_jiff(jump.unwrap_or(unjumped)) }
            }
        }
    }
}

/// Instant at which clocks in a time zone show a given local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalInstant {
    /// Shown for the first time at this instant. Where clocks are set back, they show it once more later.
    Shown(Timestamp),
    /// Never shown: clocks jump over it at this instant.
    Skipped { at: Timestamp },
}

impl LocalInstant {
    pub fn shown(self) -> Option<Timestamp> {
        match self {
            Self::Shown(at) => Some(at),
            Self::Skipped { .. } => None,
        }
    }

    /// Returns the first instant at which the clocks show this time or a later one.
    pub fn reached(self) -> Timestamp {
        match self {
            Self::Shown(at) | Self::Skipped { at } => at,
        }
    }
}

/// Returns a date as one number with the same order.
pub fn date_ordinal(date: Date) -> u32 {
    (u32::from(date.year().unsigned_abs()) << 9) | ((date.month() as u32) << 5) | date.day() as u32
}

/// Inverts [`date_ordinal`]; `None` for a number that no date has.
pub fn date_of_ordinal(ordinal: u32) -> Option<Date> {
    Date::new(i16::try_from(ordinal >> 9).ok()?, ((ordinal >> 5) & 0xf) as i8, (ordinal & 0x1f) as i8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn seconds_are_rounded_up() {
        let rounded = |millis| Timestamp::from_millis(millis).rounded_up_to_second().as_millis();
        assert_eq!([5_000, 5_001, 5_999].map(rounded), [5_000, 6_000, 6_000]);
    }

    #[test]
    fn date_ordinals_sort_and_round_trip() {
        let dates = [date(1999, 12, 31), date(2000, 1, 1), date(2000, 1, 31), date(2000, 2, 1), date(9999, 12, 31)];
        for pair in dates.windows(2) {
            assert!(date_ordinal(pair[0]) < date_ordinal(pair[1]));
        }
        for date in dates {
            assert_eq!(date_of_ordinal(date_ordinal(date)), Some(date));
        }
    }

    #[test]
    fn date_depends_on_the_zone() {
        let today = |zone, moment| Zone::parse(zone).unwrap().today(moment);
        let evening_in_utc = Timestamp::from_millis(1_767_196_800_000); // 2025-12-31T16:00:00Z
        assert_eq!(today("UTC", evening_in_utc), date(2025, 12, 31));
        assert_eq!(today("Asia/Seoul", evening_in_utc), date(2026, 1, 1));
    }
}
