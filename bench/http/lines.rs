//! A plot of lines: a panel for each scenario, its figure over sizes that grow tenfold, as SVG written by hand.

use crate::{
    figures::thousands,
    plot::{HEAD, MARGIN, begin},
};
use std::fmt::Write as _;

/// A figure at each size, in the order of the sizes.
pub struct Line {
    pub title: &'static str,
    pub points: Vec<(u32, f64)>,
}

const COLUMNS: usize = 2;
const PANEL: (f64, f64) = (500.0, 210.0);
/// From the panel's corner to the plotted field, and how large that is.
const FIELD: (f64, f64) = (48.0, 30.0);
const SIZE: (f64, f64) = (400.0, 130.0);
const STEP: f64 = 0.5;

/// Draws the panels, row by row, all on the same axes, with the most that is wanted.
pub fn draw((title, about): (&str, &str), lines: &[Line], wanted: f64) -> String {
    let rows = lines.len().div_ceil(COLUMNS);
    let width = PANEL.0 * COLUMNS as f64 + 2.0 * MARGIN;
    let height = PANEL.1 * rows as f64 + 2.0 * MARGIN + HEAD;
    let figures = lines.iter().flat_map(|line| line.points.iter().map(|(_, figure)| *figure));
    let most = figures.fold(wanted, f64::max);
    let top = (most / STEP).ceil() * STEP;
    let mut svg = begin((width, height), title, about);
    for (index, line) in lines.iter().enumerate() {
        let x = MARGIN + (index % COLUMNS) as f64 * PANEL.0;
        let y = MARGIN + HEAD + (index / COLUMNS) as f64 * PANEL.1;
        let _ = writeln!(svg, r#"<g transform="translate({x} {y})">"#);
        line.draw(&mut svg, top, wanted);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

impl Line {
    fn draw(&self, svg: &mut String, top: f64, wanted: f64) {
        let (left, upper) = FIELD;
        let (right, lower) = (left + SIZE.0, upper + SIZE.1);
        let height = |figure: f64| lower - figure / top * SIZE.1;
        let _ = writeln!(svg, r#"<text x="0" y="14" font-weight="600">{}</text>"#, self.title);
        let mut tick = 0.0;
        while tick <= top + STEP / 2.0 {
            let (y, before) = (height(tick), left - 6.0);
            let _ = writeln!(
                svg,
                r##"<line x1="{left}" y1="{y:.1}" x2="{right}" y2="{y:.1}" stroke="#d1d9e0"/><text x="{before}" y="{text:.1}" text-anchor="end" fill="#59636e">{tick:.1}</text>"##,
                text = y + 4.0,
            );
            tick += STEP;
        }
        let y = height(wanted);
        let _ = writeln!(
            svg,
            r##"<line x1="{left}" y1="{y:.1}" x2="{right}" y2="{y:.1}" stroke="#d55e00" stroke-dasharray="6 4"/>"##
        );
        self.draw_points(svg, height);
    }

    fn draw_points(&self, svg: &mut String, height: impl Fn(f64) -> f64) {
        let lower = FIELD.1 + SIZE.1;
        let mut path = String::new();
        for (size, figure) in &self.points {
            let (x, y) = (self.place(*size), height(*figure));
            let _ = write!(path, "{x:.1},{y:.1} ");
            let _ = writeln!(
                svg,
                r##"<circle cx="{x:.1}" cy="{y:.1}" r="3.5" fill="#0072b2"/><text x="{x:.1}" y="{above:.1}" text-anchor="middle" font-weight="600">{figure:.2}</text><text x="{x:.1}" y="{under}" text-anchor="middle" fill="#59636e">{label}</text>"##,
                above = y - 8.0,
                under = lower + 16.0,
                label = thousands(&size.to_string()),
            );
        }
        let path = path.trim_end();
        let _ = writeln!(
            svg,
            r##"<polyline points="{path}" fill="none" stroke="#0072b2" stroke-width="2"/>"##
        );
    }

    /// Tenfold sizes lie equally far apart.
    fn place(&self, size: u32) -> f64 {
        let digits = |size: u32| f64::from(size).log10();
        let ends = self.points.first().zip(self.points.last());
        let (least, most) =
            ends.map_or((0.0, 1.0), |(first, last)| (digits(first.0), digits(last.0)));
        let part = (digits(size) - least) / (most - least).max(1.0);
        // The first and the last label need room beside them.
        FIELD.0 + SIZE.0 * (0.06 + 0.88 * part)
    }
}
