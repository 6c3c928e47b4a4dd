//! Report of a sale as one self-contained page, without scripts or network access. It starts with the main results:
//! whether the event sold out, without a unit sold twice.

use askama::Template;
use holdfast_server::problem::Language;

use super::phases::Outcome;
use crate::texts::Texts;

/// The page's only style sheet, for a content security policy.
pub const STYLE: &str = include_str!("../../templates/sale/report.css");

#[derive(Template)]
#[template(path = "sale/report.html")]
struct Report<'a> {
    t: &'static Texts,
    lang: &'static str,
    style: &'static str,
    outcome: &'a Outcome,
    /// (Seconds, place) of each admitted customer, in order of admission.
    admissions: Vec<(f64, u64)>,
}

/// Renders the page.
pub fn html(outcome: &Outcome, language: Language) -> String {
    let lang = if language == Language::Korean { "ko" } else { "en" };
    let mut admissions: Vec<_> =
        outcome.measured.queue.iter().filter_map(|it| Some((it.entered_at?, it.place))).collect();
    admissions.sort_by(|a, b| a.0.total_cmp(&b.0));
    let report = Report { t: Texts::of(language), lang, style: STYLE, outcome, admissions };
    report.render().expect("writing to a string cannot fail")
}

impl Report<'_> {
    fn verdict(&self) -> &'static str {
        let (it, t) = (self.outcome, self.t);
        let is_all_sold = it.concert.sold == it.concert.capacity && it.room.sold == it.room.capacity;
        match (it.is_correct(), it.stopped) {
            (false, _) => t.sale_wrong,
            (true, true) => t.sale_stopped,
            (true, false) if is_all_sold => t.sale_right,
            (true, false) => t.sale_right_with_rest,
        }
    }

    /// Upper end of the axis of places and counts.
    fn count_max(&self) -> u64 {
        let place_max = self.admissions.iter().map(|(_, place)| place + 1).max().unwrap_or(1);
        place_max.max(self.outcome.concert.capacity)
    }
}
