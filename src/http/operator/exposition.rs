//! The text that Prometheus reads (exposition format 0.0.4).

use crate::histogram::HistogramReport;
use std::fmt::{Display, Write as _};

/// The families of one scrape, one after the other.
#[derive(Default)]
pub struct Exposition(String);

impl Exposition {
    /// Begins a family whose samples only grow.
    pub fn counter(&mut self, name: &'static str, help: &'static str) -> Family<'_> {
        self.family(name, help, "counter")
    }

    /// Begins a family whose samples go up and down.
    pub fn gauge(&mut self, name: &'static str, help: &'static str) -> Family<'_> {
        self.family(name, help, "gauge")
    }

    /// Begins a family of histograms.
    pub fn histogram(&mut self, name: &'static str, help: &'static str) -> Family<'_> {
        self.family(name, help, "histogram")
    }

    fn family(&mut self, name: &'static str, help: &str, sort: &str) -> Family<'_> {
        let text = &mut self.0;
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {sort}\n");
        Family { text, name }
    }

    pub fn into_text(self) -> String {
        self.0
    }
}

/// The samples of one family; labels come from lists of ours and need no escape.
pub struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

type Label<'a> = (&'a str, &'a str);

impl Family<'_> {
    pub fn sample(&mut self, labels: &[Label<'_>], value: u64) -> &mut Self {
        self.line("", labels, None, value);
        self
    }

    /// Writes a histogram of microseconds in seconds.
    pub fn times(&mut self, labels: &[Label<'_>], report: &HistogramReport) {
        self.buckets(labels, report, seconds);
    }

    /// Writes a histogram of plain numbers.
    pub fn sizes(&mut self, labels: &[Label<'_>], report: &HistogramReport) {
        self.buckets(labels, report, |number| number.to_string());
    }

    fn buckets(
        &mut self,
        labels: &[Label<'_>],
        report: &HistogramReport,
        scale: impl Fn(u64) -> String,
    ) {
        let mut below = 0;
        for (at, count) in report.counts.iter().enumerate() {
            below += count;
            let bound = report.bounds.get(at).map(|bound| scale(*bound));
            let bound = bound.unwrap_or_else(|| "+Inf".to_owned());
            self.line("_bucket", labels, Some(("le", &bound)), below);
        }
        self.line("_sum", labels, None, scale(report.sum));
        self.line("_count", labels, None, below);
    }

    fn line(
        &mut self,
        suffix: &str,
        labels: &[Label<'_>],
        last: Option<Label<'_>>,
        value: impl Display,
    ) {
        let _ = write!(self.text, "{}{suffix}", self.name);
        let mut opening = '{';
        for (name, of) in labels.iter().chain(&last) {
            let _ = write!(self.text, "{opening}{name}=\"{of}\"");
            opening = ',';
        }
        if opening == ',' {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

/// Writes microseconds as seconds, exactly.
fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use std::time::Duration;

    #[test]
    fn families_are_written_as_prometheus_reads_them() {
        let mut text = Exposition::default();
        text.counter("a_total", "Things.").sample(&[("kind", "x")], 3).sample(&[], 4);
        let times = Histogram::of_times();
        times.took(Duration::from_micros(60));
        times.took(Duration::from_mins(1));
        text.histogram("b_seconds", "Times.").times(&[("kind", "x")], &times.report());
        let text = text.into_text();
        assert!(text.starts_with(
            "# HELP a_total Things.\n# TYPE a_total counter\na_total{kind=\"x\"} 3\na_total 4\n"
        ));
        for line in [
            "b_seconds_bucket{kind=\"x\",le=\"0.00005\"} 0",
            "b_seconds_bucket{kind=\"x\",le=\"0.0001\"} 1",
            "b_seconds_bucket{kind=\"x\",le=\"+Inf\"} 2",
            "b_seconds_sum{kind=\"x\"} 60.00006",
            "b_seconds_count{kind=\"x\"} 2",
        ] {
            assert!(text.lines().any(|written| written == line), "{line}\n{text}");
        }
    }
}
