//! Histograms for operators, cheap enough for every request.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// How many bounds a histogram has; above the last there is one more place.
const BOUNDS: usize = 12;

/// Times in microseconds, from fifty of them to ten seconds.
const MICROS: [u64; BOUNDS] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000, 10_000_000];

/// How many of something came at once.
const SIZES: [u64; BOUNDS] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

/// A histogram that any thread may add to at any time.
pub struct Histogram {
    bounds: &'static [u64; BOUNDS],
    counts: [AtomicU64; BOUNDS + 1],
    sum: AtomicU64,
}

/// What a histogram holds at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramReport {
    pub bounds: &'static [u64; BOUNDS],
    /// How many were at most the bound of the same place, and above the bound before it.
    pub counts: [u64; BOUNDS + 1],
    pub sum: u64,
}

impl Histogram {
    /// For times; add with [`Histogram::took`].
    pub fn of_times() -> Self {
        Self::with(&MICROS)
    }

    /// For numbers of things.
    pub fn of_sizes() -> Self {
        Self::with(&SIZES)
    }

    fn with(bounds: &'static [u64; BOUNDS]) -> Self {
        Self { bounds, counts: Default::default(), sum: AtomicU64::new(0) }
    }

    pub fn add(&self, number: u64) {
        let place = self.bounds.partition_point(|bound| *bound < number);
        self.counts[place].fetch_add(1, Relaxed);
        self.sum.fetch_add(number, Relaxed);
    }

    pub fn took(&self, time: Duration) {
        self.add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    pub fn report(&self) -> HistogramReport {
        let counts = std::array::from_fn(|place| self.counts[place].load(Relaxed));
        HistogramReport { bounds: self.bounds, counts, sum: self.sum.load(Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_at_the_first_bound_that_is_not_below_it() {
        let sizes = Histogram::of_sizes();
        for number in [0, 1, 2, 5, 6, 64, 65] {
            sizes.add(number);
        }
        let report = sizes.report();
        assert_eq!(report.counts, [2, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(report.sum, 143);
        let times = Histogram::of_times();
        times.took(Duration::from_micros(51));
        assert_eq!(times.report().counts[1], 1);
    }
}
