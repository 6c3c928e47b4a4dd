//! Time as the rules see it: milliseconds since 1970, told by the store.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(i64);

impl Timestamp {
    /// The last moment that can be written as RFC 3339 (year 9999).
    const MAX_MILLIS: i64 = 253_402_207_200_000;

    /// Moments outside the years 1970 to 9999 are moved to the nearer end: nothing here reaches them.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, Self::MAX_MILLIS))
    }

    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// The first whole second at or after this moment: the bucket in which a hold ending now is counted.
    pub fn second_rounded_up(self) -> i64 {
        self.0.div_euclid(1_000) + i64::from(self.0.rem_euclid(1_000) > 0)
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

    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

/// A time zone with its IANA name.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Knows the zones of the IANA database by name, and no other spelling.
    pub fn parse(name: &str) -> Option<Self> {
        let zone = TimeZone::get(name).ok()?;
        zone.iana_name().is_some().then_some(Self(zone))
    }

    pub fn name(&self) -> &str {
        self.0.iana_name().expect("only named zones are made")
    }

    /// The date there at that moment.
    pub fn today(&self, now: Timestamp) -> Date {
        self.0.to_datetime(now.to_jiff()).date()
    }

    /// When the clocks there show `wall`.
    pub fn moment_of(&self, wall: DateTime) -> WallMoment {
        // Nothing here reaches the end of jiff's time.
        let moment = |offset: Offset| offset.to_timestamp(wall).unwrap_or(jiff::Timestamp::MAX);
        let ours = |moment: jiff::Timestamp| Timestamp::from_millis(moment.as_millisecond());
        match self.0.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
                WallMoment::Shown(ours(moment(offset)))
            }
            AmbiguousOffset::Gap { before, .. } => {
                // Had the clocks not jumped, they would show it now: the jump is the last change up to here.
                let unjumped = moment(before);
                let until = unjumped.saturating_add(jiff::SignedDuration::from_secs(1)).unwrap_or(unjumped);
                let jump = self.0.preceding(until).next().map(|change| change.timestamp());
                WallMoment::Skipped { at: ours(jump.unwrap_or(unjumped)) }
            }
        }
    }
}

/// When the clocks of a place show a certain time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallMoment {
    /// For the first time at this moment. Where clocks are set back, they show it once more later.
    Shown(Timestamp),
    /// Never: they jump over it at this moment.
    Skipped { at: Timestamp },
}

impl WallMoment {
    pub fn shown(self) -> Option<Timestamp> {
        match self {
            Self::Shown(at) => Some(at),
            Self::Skipped { .. } => None,
        }
    }

    /// The first moment at which the clocks show this time or a later one.
    pub fn reached(self) -> Timestamp {
        match self {
            Self::Shown(at) | Self::Skipped { at } => at,
        }
    }
}

/// A date as one number that sorts like the date.
pub fn date_ordinal(date: Date) -> u32 {
    (u32::from(date.year().unsigned_abs()) << 9) | ((date.month() as u32) << 5) | date.day() as u32
}

/// The date of [`date_ordinal`]; `None` for a number no date has.
pub fn date_of_ordinal(ordinal: u32) -> Option<Date> {
    Date::new(i16::try_from(ordinal >> 9).ok()?, ((ordinal >> 5) & 0xf) as i8, (ordinal & 0x1f) as i8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn a_moment_belongs_to_the_second_in_which_it_has_fully_passed() {
        assert_eq!(Timestamp::from_millis(5_000).second_rounded_up(), 5);
        assert_eq!(Timestamp::from_millis(5_001).second_rounded_up(), 6);
        assert_eq!(Timestamp::from_millis(5_999).second_rounded_up(), 6);
    }

    #[test]
    fn ordinals_sort_like_their_dates_and_come_back() {
        let dates = [date(1999, 12, 31), date(2000, 1, 1), date(2000, 1, 31), date(2000, 2, 1), date(9999, 12, 31)];
        for pair in dates.windows(2) {
            assert!(date_ordinal(pair[0]) < date_ordinal(pair[1]));
        }
        for date in dates {
            assert_eq!(date_of_ordinal(date_ordinal(date)), Some(date));
        }
    }

    #[test]
    fn the_date_depends_on_the_zone() {
        let today = |zone, moment| Zone::parse(zone).unwrap().today(moment);
        let evening_in_utc = Timestamp::from_millis(1_767_196_800_000); // 2025-12-31T16:00:00Z
        assert_eq!(today("UTC", evening_in_utc), date(2025, 12, 31));
        assert_eq!(today("Asia/Seoul", evening_in_utc), date(2026, 1, 1));
    }
}
