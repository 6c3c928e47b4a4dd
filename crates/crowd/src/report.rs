//! Report of a sale as one self-contained page, without scripts or network access. It starts with the main results:
//! whether the event sold out, without a unit sold twice.

use std::fmt::Write as _;

use crate::plot::{Plot, escape, number};
use crate::sale::Outcome;
use crate::words::ReportTexts;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Korean,
    English,
}

/// The page's only style sheet, for a content security policy.
pub const STYLE: &str = include_str!("report.css");

pub fn html(outcome: &Outcome, language: Language) -> String {
    let words = ReportTexts::of(language);
    let (lang, title, checked) = (words.lang, words.title, words.checked);
    let name = escape(&outcome.concert.name);
    let room = escape(&outcome.room.name);
    let (from, to) = (outcome.room.from, outcome.room.to);
    let (verdict, numbers, plots, calls) =
        (verdict(outcome, words), numbers(outcome, words), plots(outcome, words), calls(outcome, words));
    format!(
        r#"<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast · {title}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="sub">{name} · {room} ({from} – {to})</p>
{verdict}
{numbers}
<div class="plots">
{plots}
</div>
{calls}
<footer>{checked}</footer>
</main>
</body>
</html>
"#
    )
}

fn verdict(outcome: &Outcome, words: &ReportTexts) -> String {
    let is_all_sold = outcome.concert.sold == outcome.concert.capacity && outcome.room.sold == outcome.room.capacity;
    let (class, text) = match (outcome.is_right(), outcome.stopped) {
        (false, _) => ("verdict wrong", words.wrong),
        (true, false) if is_all_sold => ("verdict", words.right),
        (true, false) => ("verdict", words.right_with_rest),
        (true, true) => ("verdict", words.stopped),
    };
    format!(r#"<p class="{class}">{text}</p>"#)
}

fn numbers(outcome: &Outcome, words: &ReportTexts) -> String {
    let mut list = String::from("<dl>\n");
    let mut add = |id: &str, name: &str, class: &str, value: &str| {
        writeln!(list, r#"<div><dt>{name}</dt><dd id="{id}" class="{class}">{value}</dd></div>"#)
            .expect("writing to a string cannot fail");
    };
    let of = |sold: u64, capacity: u64| format!("{sold} <small>{} {capacity}</small>", words.of);
    let must_be_none = |value: u64| if value == 0 { "good" } else { "bad" };
    let (concert, room) = (&outcome.concert, &outcome.room);
    add("seats-sold", words.seats_sold, "", &of(concert.sold, concert.capacity));
    add("nights-sold", words.nights_sold, "", &of(room.sold, room.capacity));
    for (id, name, value) in [
        ("oversold", words.oversold, outcome.oversold()),
        ("lost", words.lost, concert.lost + room.lost),
        ("out-of-order", words.out_of_order, outcome.fairness.error),
    ] {
        add(id, name, must_be_none(value), &value.to_string());
    }
    add("people", words.people, "", &outcome.people.to_string());
    add("seconds", words.seconds, "", &format!("{:.1}", outcome.seconds));
    add("inside-max", words.inside_max, "", &of(outcome.inside_max, u64::from(concert.max_concurrent)));
    for (id, name, value) in [
        ("gave-up", words.gave_up, outcome.gave_up),
        ("let-go", words.let_go, outcome.let_go),
        ("lost-races", words.lost_races, outcome.lost_races),
        ("failures", words.failures, outcome.failures),
    ] {
        add(id, name, "", &value.to_string());
    }
    list.push_str("</dl>");
    list
}

fn plots(outcome: &Outcome, words: &ReportTexts) -> String {
    let plots = [latency(outcome, words), admissions(outcome, words), fairness(outcome, words), nights(outcome, words)];
    plots.join("\n")
}

fn figure(title: &str, keys: &[(&str, &str)], svg: &str, caption: &str) -> String {
    let key = |(class, name): &(&str, &str)| format!(r#"<span><i class="key {class}"></i>{name}</span>"#);
    let keys = keys.iter().map(key).collect::<Vec<_>>().concat();
    let keys = if keys.is_empty() { keys } else { format!(r#"<p class="keys">{keys}</p>"#) };
    format!("<figure><h2>{title}</h2>{keys}{svg}<figcaption>{caption}</figcaption></figure>")
}

fn latency(outcome: &Outcome, words: &ReportTexts) -> String {
    let points = &outcome.latency;
    let highest = points.iter().map(|point| point.p99_ms).fold(0.1, f64::max);
    let plot = Plot::new(outcome.seconds, highest)
        .line("two", points.iter().map(|point| (point.at_seconds, point.p50_ms)))
        .line("one", points.iter().map(|point| (point.at_seconds, point.p99_ms)));
    let svg = with_opening_mark(plot, outcome, words).svg(words.latency, words.seconds_axis, "ms");
    figure(words.latency, &[("two", "50 %"), ("", "99 %")], &svg, words.latency_caption)
}

fn admissions(outcome: &Outcome, words: &ReportTexts) -> String {
    let highest = (outcome.admissions.len() as u64).max(outcome.concert.capacity) as f64;
    let came_in = outcome.admissions.iter().zip(1_u32..).map(|(one, count)| (one.at_seconds, f64::from(count)));
    let sold = outcome.seats_sold.iter().map(|(at, sold)| (*at, *sold as f64));
    let plot = Plot::new(outcome.seconds, highest).steps("one", came_in).steps("two", sold);
    let svg = with_opening_mark(plot, outcome, words).svg(words.admissions, words.seconds_axis, "");
    figure(words.admissions, &[("", words.came_in), ("two", words.sold)], &svg, words.admissions_caption)
}

fn fairness(outcome: &Outcome, words: &ReportTexts) -> String {
    let admitted = &outcome.admissions;
    let last = admitted.len() as f64;
    let highest = admitted.iter().map(|one| one.place as f64).fold(last, f64::max).max(1.0);
    let band = f64::from(outcome.concert.max_concurrent);
    let edge = [(0.0, 0.0), (0.0, band), (last, last + band), (last, (last - band).max(0.0)), (band.min(last), 0.0)];
    let svg = Plot::new(last.max(1.0), highest)
        .area("band", edge)
        .line("two", [(0.0, 0.0), (last, last)])
        .dots("one", admitted.iter().zip(0_u32..).map(|(one, order)| (f64::from(order), one.place as f64)))
        .svg(words.fairness, words.order_axis, "");
    figure(words.fairness, &[], &svg, words.fairness_caption)
}

fn nights(outcome: &Outcome, words: &ReportTexts) -> String {
    let room = &outcome.room;
    let rooms = room.capacity as f64 / room.nights.len().max(1) as f64;
    let mut plot = Plot::new_unmarked(room.nights.len() as f64, rooms);
    for (index, (sold, date)) in room.nights.iter().zip(room.from.series(jiff::Span::new().days(1))).enumerate() {
        let at = index as f64;
        plot = plot.bar("two", at + 0.15, at + 0.85, *sold as f64);
        plot = plot.below(at + 0.5, &format!("{}/{}", date.month(), date.day()));
    }
    figure(words.nights, &[], &plot.svg(words.nights, "", ""), words.nights_caption)
}

fn with_opening_mark(plot: Plot, outcome: &Outcome, words: &ReportTexts) -> Plot {
    match outcome.doors_opened_at_seconds {
        Some(at) => plot.mark(at, words.doors_open),
        None => plot,
    }
}

fn calls(outcome: &Outcome, words: &ReportTexts) -> String {
    let row = |times: &crate::CallTimes| {
        let (name, count) = (words.name_of(times.call), times.count);
        format!(
            "<tr><td>{name}</td><td>{count}</td><td>{}</td><td>{}</td></tr>",
            number(times.p50_ms),
            number(times.p99_ms)
        )
    };
    let rows: String = outcome.calls.iter().map(row).collect();
    format!(
        "<section><h2>{}</h2><table><thead><tr><th scope=\"col\">{}</th><th scope=\"col\">{}</th><th scope=\"col\">{}</th><th scope=\"col\">{}</th></tr></thead><tbody>{rows}</tbody></table></section>",
        words.calls, words.call, words.count, words.middle, words.slowest
    )
}
