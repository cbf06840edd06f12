//! Times that something took, and what is said of them.
//!
//! Invariant: means are quotients of sums of integers; quantiles are within 0.4 % of a value.

use paceline_results::Summary;
use paceline_results::statistics::Distribution;

/// Times, and what is said of them.
#[derive(Default)]
pub(super) struct Times {
    count: u64,
    sum_ps: u128,
    spread: Distribution,
}

impl Times {
    pub(super) fn of(all: impl IntoIterator<Item = u64>) -> Self {
        let mut times = Self::default();
        for ps in all {
            times.count += 1;
            times.sum_ps += u128::from(ps);
            times.spread.add(ps as f64);
        }
        times
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Count, mean, median and the 99th percentile, in seconds; nothing but the count without times.
    fn numbers(&self) -> (u64, Option<[f64; 3]>) {
        let part = |part| self.spread.quantile(part).unwrap_or(0.0) / 1e12;
        let mean = || self.sum_ps as f64 / self.count as f64 / 1e12;
        (self.count, (self.count > 0).then(|| [mean(), part(0.5), part(0.99)]))
    }

    pub(super) fn tell(&self, [count, mean, p50, p99]: [&'static str; 4], summary: &mut Summary) {
        let (number, times) = self.numbers();
        summary.line(count, number);
        if let Some(values) = times {
            [mean, p50, p99].into_iter().zip(values).for_each(|(name, value)| summary.line(name, value));
        }
    }

    pub(super) fn fields(&self) -> String {
        match self.numbers() {
            (count, Some([mean, p50, p99])) => format!("{count},{mean:.9},{p50:.9},{p99:.9}"),
            (count, None) => format!("{count},,,"),
        }
    }
}
