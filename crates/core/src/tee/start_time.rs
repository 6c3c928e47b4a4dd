//! Start times, in the local time of a course.

use jiff::civil::Date;

use crate::time::{Timestamp, Zone};

/// A time of day in minutes, 00:00 to 23:59.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StartTime(u16);

impl StartTime {
    pub(super) const FIRST: Self = Self(0);
    pub(super) const LAST: Self = Self(24 * 60 - 1);

    pub fn from_minutes(minutes: u16) -> Option<Self> {
        (minutes <= Self::LAST.0).then_some(Self(minutes))
    }

    pub fn minutes(self) -> u16 {
        self.0
    }

    /// Parses `HH:MM`.
    pub fn parse(text: &str) -> Option<Self> {
        let [h1, h2, b':', m1, m2] = *text.as_bytes() else { return None };
        if ![h1, h2, m1, m2].iter().all(u8::is_ascii_digit) {
            return None;
        }
        let two_digits = |tens: u8, ones: u8| u16::from(tens - b'0') * 10 + u16::from(ones - b'0');
        let (hours, minutes) = (two_digits(h1, h2), two_digits(m1, m2));
        if minutes > 59 { None } else { Self::from_minutes(hours * 60 + minutes) }
    }

    /// Returns the instant of tee-off. If clocks skip the local time, it is the jump; if they show it twice, the first
    /// time.
    pub fn tee_off(self, date: Date, zone: &Zone) -> Timestamp {
        zone.moment_of(date.at((self.0 / 60) as i8, (self.0 % 60) as i8, 0, 0)).reached()
    }
}

impl std::fmt::Display for StartTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}
