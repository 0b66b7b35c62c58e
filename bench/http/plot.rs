//! The plot: horizontal bars, a panel for each scenario and figure, as SVG written by hand.

use crate::{
    figures::{Spread, thousands},
    servers::Who,
};
use std::fmt::Write as _;

pub struct Panel {
    pub title: String,
    pub unit: &'static str,
    pub bars: Vec<Bar>,
}

pub struct Bar {
    pub who: Who,
    pub spread: Spread,
}

const COLUMNS: usize = 2;
const PANEL: (f64, f64) = (500.0, 190.0);
/// From the panel's corner to the plotted field, and the field's width.
const FIELD: (f64, f64, f64) = (80.0, 36.0, 320.0);
const BAR: (f64, f64) = (22.0, 32.0);
pub const MARGIN: f64 = 16.0;
pub const HEAD: f64 = 40.0;

/// Draws the panels, row by row. Its title stands above them; `about` is read out in its place.
pub fn draw((title, about): (&str, &str), panels: &[Panel]) -> String {
    let rows = panels.len().div_ceil(COLUMNS);
    let width = PANEL.0 * COLUMNS as f64 + 2.0 * MARGIN;
    let height = PANEL.1 * rows as f64 + 2.0 * MARGIN + HEAD;
    let title = format!("{title}: medians of rounds; thin lines from the least round to the most");
    let mut svg = begin((width, height), &title, about);
    for (index, panel) in panels.iter().enumerate() {
        let x = MARGIN + (index % COLUMNS) as f64 * PANEL.0;
        let y = MARGIN + HEAD + (index / COLUMNS) as f64 * PANEL.1;
        let _ = writeln!(svg, r#"<g transform="translate({x} {y})">"#);
        panel.draw(&mut svg);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

/// Begins a picture with its title.
pub fn begin((width, height): (f64, f64), title: &str, about: &str) -> String {
    let line = MARGIN + 16.0;
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{about}" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="12" fill="#1f2328">
<rect width="{width}" height="{height}" fill="#ffffff"/>
<text x="{MARGIN}" y="{line}" font-size="16" font-weight="600">{title}</text>
"##
    )
}

impl Panel {
    fn draw(&self, svg: &mut String) {
        let (left, top, width) = FIELD;
        let bottom = top + self.bars.len() as f64 * BAR.1;
        let most = self.bars.iter().map(|bar| bar.spread.most).fold(0.0, f64::max);
        let step = step(most);
        let end = (most / step).ceil().max(1.0) * step;
        let place = |value: f64| left + value / end * width;
        let Self { title, unit, .. } = self;
        let _ = writeln!(svg, r#"<text x="0" y="14" font-weight="600">{title}</text>"#);
        let mut tick = 0.0;
        while tick <= end + step / 2.0 {
            let x = place(tick);
            let (label, under) = (number(tick), bottom + 16.0);
            let _ = writeln!(
                svg,
                r##"<line x1="{x:.1}" y1="{top}" x2="{x:.1}" y2="{bottom}" stroke="#d1d9e0"/><text x="{x:.1}" y="{under}" text-anchor="middle" fill="#59636e">{label}</text>"##
            );
            tick += step;
        }
        let (middle, under) = (left + width / 2.0, bottom + 33.0);
        let _ = writeln!(
            svg,
            r##"<text x="{middle}" y="{under}" text-anchor="middle" fill="#59636e">{unit}</text>"##
        );
        for (index, bar) in self.bars.iter().enumerate() {
            let y = top + index as f64 * BAR.1 + (BAR.1 - BAR.0) / 2.0;
            bar.draw(svg, y, place);
        }
    }
}

impl Bar {
    fn draw(&self, svg: &mut String, y: f64, place: impl Fn(f64) -> f64) {
        let left = FIELD.0;
        let Spread { median, least, most } = self.spread;
        let (end, from, to) = (place(median), place(least), place(most));
        let (middle, text) = (y + BAR.0 / 2.0, y + BAR.0 / 2.0 + 4.0);
        let (name, colour, label) = (self.who.name(), colour(self.who), number(median));
        let _ = writeln!(
            svg,
            r##"<text x="{before}" y="{text}" text-anchor="end">{name}</text>
<rect x="{left}" y="{y}" width="{length:.1}" height="{height}" fill="{colour}"/>
<line x1="{from:.1}" y1="{middle}" x2="{to:.1}" y2="{middle}" stroke="#1f2328" stroke-width="1.5"/>
<text x="{after:.1}" y="{text}" font-weight="600">{label}</text>"##,
            before = left - 8.0,
            length = end - left,
            height = BAR.0,
            after = end.max(to) + 6.0,
        );
    }
}

/// Told apart also by those who see few colours, and on paper.
fn colour(who: Who) -> &'static str {
    match who {
        Who::Porteiro => "#0072b2",
        Who::Former => "#56b4e9",
        Who::Limit => "#9aa4ae",
        Who::Peer => "#e69f00",
    }
}

/// One, two or five of a power of ten, so that at most six of them reach `most`.
fn step(most: f64) -> f64 {
    let rough = most.max(f64::MIN_POSITIVE) / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let times = [1.0, 2.0, 5.0].into_iter().find(|times| times * power >= rough);
    times.unwrap_or(10.0) * power
}

/// Writes a number with three digits, or as many as it has before the point; without zeros after it.
fn number(value: f64) -> String {
    let digits = match value {
        value if value < 10.0 => 2,
        value if value < 100.0 => 1,
        _ => return thousands(&format!("{value:.0}")),
    };
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
