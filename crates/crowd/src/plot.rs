//! Small plots as SVG: frame, axes, lines, bars, dots. Colours are CSS classes, which the page defines.

use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 34.0;
const STEPS: f64 = 5.0;

pub(crate) struct Plot {
    x_max: f64,
    y_max: f64,
    body: String,
}

impl Plot {
    /// Both axes start at 0 and end at or after these values.
    pub(crate) fn new(x_max: f64, y_max: f64) -> Self {
        let (x_step, y_step) = (round_step(x_max), round_step(y_max));
        let end = |max: f64, step: f64| (max / step).ceil().max(1.0) * step;
        let mut plot = Self { x_max: end(x_max, x_step), y_max: end(y_max, y_step), body: String::new() };
        plot.draw_y_axis(y_step);
        plot.draw_x_axis(x_step);
        plot
    }

    /// Creates a plot without numbers on the x axis, whose range is exact.
    pub(crate) fn new_unmarked(x_max: f64, y_max: f64) -> Self {
        let y_step = round_step(y_max).max(1.0);
        let y_max = (y_max / y_step).ceil().max(1.0) * y_step;
        let mut plot = Self { x_max: x_max.max(1.0), y_max, body: String::new() };
        plot.draw_y_axis(y_step);
        plot
    }

    pub(crate) fn line(mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = self.path(points);
        write!(self.body, r#"<polyline class="line {class}" points="{points}"/>"#).expect(STRING);
        self
    }

    /// Adds a line that keeps each value until the next point.
    pub(crate) fn steps(self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut before = 0.0;
        let corners: Vec<(f64, f64)> = points
            .into_iter()
            .flat_map(|(x, y)| {
                let corner = (x, before);
                before = y;
                [corner, (x, y)]
            })
            .collect();
        let end = (self.x_max, before);
        self.line(class, corners.into_iter().chain([end]))
    }

    /// Adds a filled shape.
    pub(crate) fn area(mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = self.path(points);
        write!(self.body, r#"<polygon class="{class}" points="{points}"/>"#).expect(STRING);
        self
    }

    pub(crate) fn dots(mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        for (x, y) in points {
            let (x, y) = (self.x(x), self.y(y));
            write!(self.body, r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="2.6"/>"#).expect(STRING);
        }
        self
    }

    pub(crate) fn bar(mut self, class: &str, from: f64, to: f64, height: f64) -> Self {
        let (left, right, top, bottom) = (self.x(from), self.x(to), self.y(height), self.y(0.0));
        write!(
            self.body,
            r#"<rect class="{class}" x="{left:.1}" y="{top:.1}" width="{:.1}" height="{:.1}" rx="3"/>"#,
            right - left,
            bottom - top
        )
        .expect(STRING);
        self
    }

    /// Adds a vertical mark with a label.
    pub(crate) fn mark(mut self, at: f64, word: &str) -> Self {
        let (x, bottom) = (self.x(at), HEIGHT - BOTTOM);
        let word = escape(word);
        write!(
            self.body,
            r#"<line class="mark" x1="{x:.1}" y1="{TOP}" x2="{x:.1}" y2="{bottom}"/><text class="tick" x="{:.1}" y="{:.1}">{word}</text>"#,
            x + 5.0,
            TOP + 11.0
        )
        .expect(STRING);
        self
    }

    /// Adds a label below a position of the axis.
    pub(crate) fn below(mut self, at: f64, word: &str) -> Self {
        let (x, y, word) = (self.x(at), HEIGHT - BOTTOM + 16.0, escape(word));
        write!(self.body, r#"<text class="tick middle" x="{x:.1}" y="{y:.1}">{word}</text>"#).expect(STRING);
        self
    }

    /// Returns the drawing; `label` describes it for screen readers.
    pub(crate) fn svg(self, label: &str, x_word: &str, y_word: &str) -> String {
        let (label, x_word, y_word, body) = (escape(label), escape(x_word), escape(y_word), self.body);
        format!(
            r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{body}<text class="tick end" x="{}" y="{}">{x_word}</text><text class="tick" x="4" y="{}">{y_word}</text></svg>"#,
            WIDTH - RIGHT,
            HEIGHT - 4.0,
            HEIGHT - 4.0,
        )
    }

    fn draw_y_axis(&mut self, y_step: f64) {
        for step in 0..=(self.y_max / y_step).round() as u32 {
            let value = f64::from(step) * y_step;
            let (y, right) = (self.y(value), WIDTH - RIGHT);
            write!(self.body, r#"<line class="grid" x1="{LEFT}" y1="{y:.1}" x2="{right}" y2="{y:.1}"/>"#)
                .expect(STRING);
            let (x, y) = (LEFT - 7.0, y + 4.0);
            write!(self.body, r#"<text class="tick end" x="{x:.1}" y="{y:.1}">{}</text>"#, number(value))
                .expect(STRING);
        }
    }

    fn draw_x_axis(&mut self, x_step: f64) {
        for step in 0..=(self.x_max / x_step).round() as u32 {
            let value = f64::from(step) * x_step;
            let (x, y) = (self.x(value), HEIGHT - BOTTOM + 16.0);
            write!(self.body, r#"<text class="tick middle" x="{x:.1}" y="{y:.1}">{}</text>"#, number(value))
                .expect(STRING);
        }
    }

    fn path(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let place = |(x, y): (f64, f64)| format!("{:.1},{:.1}", self.x(x), self.y(y));
        points.into_iter().map(place).collect::<Vec<_>>().join(" ")
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + (value / self.x_max).clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (value / self.y_max).clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    }
}

const STRING: &str = "writing to a string cannot fail";

/// Returns 1, 2 or 5 times a power of ten, so that about five steps reach `max`.
fn round_step(max: f64) -> f64 {
    let rough = (max / STEPS).max(1e-6);
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    factor.unwrap_or(10.0) * power
}

pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_numbers() {
        for (max, step) in [(104.0, 50.0), (100.0, 20.0), (7.0, 2.0), (1.0, 0.2), (0.3, 0.1), (2_345.0, 500.0)] {
            assert!((round_step(max) - step).abs() < 1e-9, "{max}: {}", round_step(max));
        }
        assert_eq!((number(0.20), number(100.0), number(2.5)), ("0.2".into(), "100".into(), "2.5".into()));
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape(r#"<b a="1">&"#), "&lt;b a=&quot;1&quot;&gt;&amp;");
    }
}
