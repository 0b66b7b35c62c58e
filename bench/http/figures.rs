//! Medians, how far the rounds lie apart, and what was wanted of them.

/// Bytes.
pub const MIB: f64 = 1024.0 * 1024.0;

/// What several rounds showed of one thing.
#[derive(Clone, Copy)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            0 => f64::midpoint(values[middle - 1], values[middle]),
            _ => values[middle],
        };
        Self { median, least: values[0], most: values[values.len() - 1] }
    }

    pub fn times(self, factor: f64) -> Self {
        let Self { median, least, most } = self;
        Self { median: median * factor, least: least * factor, most: most * factor }
    }

    /// Writes the median and, where rounds differ, from where to where they went.
    pub fn text(self, digits: usize) -> String {
        let write = |value: f64| thousands(&format!("{value:.digits$}"));
        format!("{} ({}–{})", write(self.median), write(self.least), write(self.most))
    }
}

/// A figure beside what was wanted of it.
pub struct Verdict {
    pub what: String,
    pub measured: String,
    pub wanted: String,
    pub holds: bool,
}

/// What is wanted of a figure.
#[derive(Clone, Copy)]
pub enum Bound {
    Floor(f64),
    Ceiling(f64),
}

impl Bound {
    pub fn judge(self, what: String, figure: f64, unit: &str) -> Verdict {
        let (wanted, holds) = match self {
            Self::Floor(bound) => (format!("≥ {bound}{unit}"), figure >= bound),
            Self::Ceiling(bound) => (format!("≤ {bound}{unit}"), figure <= bound),
        };
        Verdict { what, measured: format!("{figure:.2}{unit}"), wanted, holds }
    }
}

/// How slow the slowest of a hundred may be: against half of its kind, or against a bare commit.
pub fn judge_tail(what: &str, (p50, p99): (f64, f64), bare: f64) -> Verdict {
    let (own, others) = (p99 / p50, p99 / bare);
    Verdict {
        what: format!("{what}: p99 ÷ p50, or ÷ p99 of a bare commit"),
        measured: format!("{own:.2}, {others:.2}"),
        wanted: "≤ 10, or ≤ 3".to_owned(),
        holds: own <= 10.0 || others <= 3.0,
    }
}

/// Sets a comma between thousands.
pub fn thousands(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}
