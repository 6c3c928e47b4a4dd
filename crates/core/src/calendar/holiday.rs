//! Holidays by country.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use jiff::civil::Date;

use super::BULK_WEIGHT;
use super::local_time::DayRange;
use crate::command::{Command, Context, Decision, NeedRows, writes};
use crate::rejection::{Fault, Rejection};
use crate::table::{Row, Scan};
use crate::working_set::WorkingSet;

/// Maximum number of holidays per country, enough for decades.
pub const HOLIDAYS_MAX: usize = 1_000;

/// An ISO 3166 code: two capital letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Country([u8; 2]);

impl Country {
    pub const KR: Self = Self(*b"KR");

    pub fn parse(text: &str) -> Option<Self> {
        let code: [u8; 2] = text.as_bytes().try_into().ok()?;
        code.iter().all(u8::is_ascii_uppercase).then_some(Self(code))
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("two ASCII letters")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HolidayId {
    pub country: Country,
    pub date: Date,
}

/// Marks a day as a holiday; without further data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holiday;

impl Row for Holiday {}

/// Scan of the holidays of a country in a range of days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HolidaysOf {
    pub country: Country,
    pub days: DayRange,
}

impl HolidaysOf {
    /// Returns the range of all holidays; years have at most four digits.
    pub fn all(country: Country) -> Self {
        Self { country, days: DayRange { first: jiff::civil::date(0, 1, 1), last: Date::MAX } }
    }
}

impl Scan<HolidayId> for HolidaysOf {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<HolidayId> {
        let id = |date| HolidayId { country: self.country, date };
        id(self.days.first)..=id(self.days.last)
    }
}

/// Replaces the holidays of a country. Prices of generated slots stay unchanged.
#[derive(Clone, Debug)]
pub struct SetHolidays {
    pub country: Country,
    pub dates: Vec<Date>,
}

impl Command for SetHolidays {
    /// The dates, in order, each once.
    type Outcome = Vec<Date>;
    const NAME: &'static str = "calendar.holidays.set";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<Vec<Date>> {
        let new: BTreeSet<Date> = self.dates.iter().copied().collect();
        if new.len() > HOLIDAYS_MAX {
            return Err(Rejection::invalid("dates", Fault::TooManyItems { max: HOLIDAYS_MAX }).into());
        }
        let old = within(rows, &HolidaysOf::all(self.country))?;
        for date in old.difference(&new) {
            rows.calendar.holidays.delete(HolidayId { country: self.country, date: *date });
        }
        for date in new.difference(&old) {
            rows.calendar.holidays.insert(HolidayId { country: self.country, date: *date }, Holiday);
        }
        Ok(new.into_iter().collect())
    }

    fn weight(&self) -> usize {
        BULK_WEIGHT / 4
    }
}

/// Returns the holidays in a range, in order.
pub fn within(rows: &mut WorkingSet, range: &HolidaysOf) -> Result<BTreeSet<Date>, NeedRows> {
    Ok(rows.calendar.holidays.scan(range)?.into_iter().map(|id| id.date).collect())
}
