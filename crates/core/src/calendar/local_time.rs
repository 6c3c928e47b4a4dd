//! Local dates and times of a room.

use jiff::civil::{Date, DateTime, Weekday, date};

use crate::rejection::{Fault, Rejection};
use crate::time::{Timestamp, Zone};

pub const DAY_MINUTES: u16 = 1_440;

const FIRST_DAY: Date = date(1970, 1, 1);

/// A time of day in minutes, 00:00 to 24:00. Only the end of an interval may be 24:00.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalTime(u16);

impl LocalTime {
    /// End of a day, 24:00.
    pub const MIDNIGHT_AFTER: Self = Self(DAY_MINUTES);

    pub fn from_minutes(minutes: u16) -> Option<Self> {
        (minutes <= DAY_MINUTES).then_some(Self(minutes))
    }

    pub fn minutes(self) -> u16 {
        self.0
    }

    /// Parses `HH:MM`, 00:00 to 23:59, as a start.
    pub fn parse_start(text: &str) -> Option<Self> {
        Self::parse_end(text).filter(|time| *time < Self::MIDNIGHT_AFTER)
    }

    /// Parses `HH:MM`, 00:00 to 24:00, as an end.
    pub fn parse_end(text: &str) -> Option<Self> {
        let [h1, h2, b':', m1, m2] = *text.as_bytes() else { return None };
        if ![h1, h2, m1, m2].iter().all(u8::is_ascii_digit) {
            return None;
        }
        let two_digits = |tens: u8, ones: u8| u16::from(tens - b'0') * 10 + u16::from(ones - b'0');
        let (hours, minutes) = (two_digits(h1, h2), two_digits(m1, m2));
        if minutes > 59 { None } else { Self::from_minutes(hours * 60 + minutes) }
    }
}

impl std::fmt::Display for LocalTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

/// Start of a slot in minutes since 1970-01-01T00:00 local time. Each local time occurs once per date, so it identifies
/// a slot within its room. Ordered by date and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotStart(u32);

impl SlotStart {
    /// Returns `None` before 1970, and for 24:00, which is the next day's 00:00.
    pub fn new(date: Date, time: LocalTime) -> Option<Self> {
        let days = u32::try_from((date - FIRST_DAY).get_days()).ok()?;
        (time < LocalTime::MIDNIGHT_AFTER).then(|| Self(days * u32::from(DAY_MINUTES) + u32::from(time.minutes())))
    }

    /// Returns the start of a stored number; `None` if it is out of range.
    pub fn from_minutes(minutes: u32) -> Option<Self> {
        (minutes <= Self::last_of(Date::MAX).0).then_some(Self(minutes))
    }

    pub fn minutes(self) -> u32 {
        self.0
    }

    pub fn date(self) -> Date {
        let days = jiff::Span::new().days(self.0 / u32::from(DAY_MINUTES));
        FIRST_DAY.checked_add(days).expect("a start has a date")
    }

    pub fn time(self) -> LocalTime {
        LocalTime((self.0 % u32::from(DAY_MINUTES)) as u16)
    }

    /// Returns the first possible start on a date, or the first in 1970 if that is later.
    pub fn first_of(date: Date) -> Self {
        Self::new(date, LocalTime(0)).unwrap_or(Self(0))
    }

    /// Returns the last possible start on a date.
    pub fn last_of(date: Date) -> Self {
        Self(Self::first_of(date).0 + u32::from(DAY_MINUTES) - 1)
    }

    /// Returns the instant at which a slot generated for this start begins.
    pub fn begins_at(self, zone: &Zone) -> Timestamp {
        zone.moment_of(local_datetime(self.date(), self.time())).reached()
    }
}

impl std::fmt::Display for SlotStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.date(), self.time())
    }
}

/// Returns the local date and time; 24:00 is the next day's 00:00.
pub(super) fn local_datetime(date: Date, time: LocalTime) -> DateTime {
    let (date, minutes) = if time == LocalTime::MIDNIGHT_AFTER { (day_after(date), 0) } else { (date, time.0) };
    date.at((minutes / 60) as i8, (minutes % 60) as i8, 0, 0)
}

pub(super) fn day_after(date: Date) -> Date {
    date.tomorrow().unwrap_or(Date::MAX)
}

pub(super) fn day_before(date: Date) -> Date {
    date.yesterday().unwrap_or(Date::MIN)
}

pub(super) fn days_after(date: Date, days: u32) -> Date {
    date.saturating_add(jiff::Span::new().days(days))
}

/// A set of weekdays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Weekdays(u8);

impl Weekdays {
    /// Monday is the lowest of seven bits; `None` if other bits are set.
    pub fn from_bits(bits: u8) -> Option<Self> {
        (bits < 1 << 7).then_some(Self(bits))
    }

    pub fn bits(self) -> u8 {
        self.0
    }

    pub fn contains(self, day: Weekday) -> bool {
        self.0 & (1 << day.to_monday_zero_offset()) != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Weekday> for Weekdays {
    fn from_iter<T: IntoIterator<Item = Weekday>>(days: T) -> Self {
        Self(days.into_iter().fold(0, |bits, day| bits | 1 << day.to_monday_zero_offset()))
    }
}

/// Names of weekdays on the wire, Monday first.
const WEEKDAY_NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

pub fn parse_weekday(text: &str) -> Option<Weekday> {
    let offset = WEEKDAY_NAMES.iter().position(|name| *name == text)?;
    Weekday::from_monday_zero_offset(offset as i8).ok()
}

pub fn weekday_name(day: Weekday) -> &'static str {
    WEEKDAY_NAMES[day.to_monday_zero_offset() as usize]
}

/// The days `first` to `last`, both included; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayRange {
    pub first: Date,
    pub last: Date,
}

impl DayRange {
    /// Validates a range given by a client as `from` and `to`.
    pub fn new(from: Date, to: Date, days_max: u32) -> Result<Self, Rejection> {
        if from > to {
            return Err(Rejection::invalid("to", Fault::EmptyRange));
        }
        if (to - from).get_days().unsigned_abs() >= days_max {
            return Err(Rejection::invalid("to", Fault::TooManyDays { max: days_max }));
        }
        Ok(Self { first: from, last: to })
    }

    pub fn days(self) -> impl Iterator<Item = Date> {
        std::iter::successors(Some(self.first), |date| date.tomorrow().ok()).take_while(move |date| *date <= self.last)
    }

    pub fn contains(self, date: Date) -> bool {
        (self.first..=self.last).contains(&date)
    }

    /// Adds the day before and the day after.
    pub(super) fn widened(self) -> Self {
        Self { first: day_before(self.first), last: day_after(self.last) }
    }

    /// Returns the first days of the range, at most `days_max`.
    pub(super) fn beginning(self, days_max: u32) -> Self {
        Self { last: self.last.min(days_after(self.first, days_max - 1)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_parse_and_24_00_is_an_end_only() {
        for (text, start, end) in [
            ("00:00", Some(0), Some(0)),
            ("09:30", Some(570), Some(570)),
            ("23:59", Some(1_439), Some(1_439)),
            ("24:00", None, Some(1_440)),
            ("24:01", None, None),
            ("12:60", None, None),
            ("9:30", None, None),
            ("09:30:00", None, None),
            ("+9:30", None, None),
            ("", None, None),
        ] {
            assert_eq!(LocalTime::parse_start(text).map(LocalTime::minutes), start, "{text}");
            assert_eq!(LocalTime::parse_end(text).map(LocalTime::minutes), end, "{text}");
        }
        assert_eq!(LocalTime::from_minutes(1_440).unwrap().to_string(), "24:00");
        assert_eq!(LocalTime::from_minutes(1_441), None);
    }

    #[test]
    fn slot_start_round_trips_and_sorts() {
        let time = |text| LocalTime::parse_end(text).unwrap();
        let starts: Vec<SlotStart> = [
            (date(1970, 1, 1), "00:00"),
            (date(2026, 2, 28), "23:59"),
            (date(2026, 3, 1), "00:00"),
            (date(9999, 12, 31), "23:59"),
        ]
        .map(|(date, text)| {
            let start = SlotStart::new(date, time(text)).unwrap();
            assert_eq!((start.date(), start.time()), (date, time(text)));
            assert_eq!(SlotStart::from_minutes(start.minutes()), Some(start));
            start
        })
        .to_vec();
        assert!(starts.is_sorted());
        assert_eq!(SlotStart::new(date(1969, 12, 31), time("12:00")), None);
        assert_eq!(SlotStart::new(date(2026, 1, 1), time("24:00")), None);
        assert_eq!(SlotStart::from_minutes(u32::MAX), None);
    }

    #[test]
    fn weekday_names_parse() {
        let days: Weekdays = ["mon", "sun"].into_iter().filter_map(parse_weekday).collect();
        assert_eq!(days.bits(), 0b100_0001);
        assert!(days.contains(Weekday::Monday) && days.contains(Weekday::Sunday) && !days.contains(Weekday::Friday));
        assert_eq!(parse_weekday("monday"), None);
        assert_eq!(weekday_name(Weekday::Saturday), "sat");
        assert_eq!(Weekdays::from_bits(0x80), None);
    }

    #[test]
    fn day_range_is_bounded() {
        let range = |from, to| DayRange::new(from, to, 92);
        assert_eq!(range(date(2026, 1, 1), date(2026, 1, 1)).unwrap().days().count(), 1);
        assert_eq!(range(date(2026, 1, 1), date(2026, 4, 2)).unwrap().days().count(), 92);
        let rejected = |fault| Err(Rejection::invalid("to", fault));
        assert_eq!(range(date(2026, 1, 1), date(2026, 4, 3)), rejected(Fault::TooManyDays { max: 92 }));
        assert_eq!(range(date(2026, 1, 2), date(2026, 1, 1)), rejected(Fault::EmptyRange));
    }
}
