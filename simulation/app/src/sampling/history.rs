//! The course of some numbers, in bounded memory: when it is full, every second moment is forgotten.

/// As many as a curve of that width can show.
const MOMENTS_MAX: usize = 240;

/// Moments, each with a place on the axis to the right and some numbers.
#[derive(Clone, Debug)]
pub(crate) struct History<const N: usize> {
    moments: Vec<(f64, [f64; N])>,
    /// One of so many moments that come is kept.
    stride: u64,
    seen: u64,
}

impl<const N: usize> Default for History<N> {
    fn default() -> Self {
        Self { moments: Vec::new(), stride: 1, seen: 0 }
    }
}

impl<const N: usize> History<N> {
    /// Adds a moment, to the right of all others.
    pub(crate) fn push(&mut self, at: f64, numbers: [f64; N]) {
        if self.seen.is_multiple_of(self.stride) {
            self.moments.push((at, numbers));
        }
        self.seen += 1;
        if self.moments.len() >= MOMENTS_MAX {
            let mut place = 0;
            self.moments.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// The course of one number.
    pub(crate) fn of(&self, number: usize) -> Vec<(f64, f64)> {
        self.moments.iter().map(|(at, numbers)| (*at, numbers[number])).collect()
    }

    /// The rise of one number by each unit of the axis, between each two moments.
    pub(crate) fn rates_of(&self, number: usize) -> Vec<(f64, f64)> {
        let rate = |pair: &[(f64, [f64; N])]| {
            let ((then, before), (now, after)) = (pair[0], pair[1]);
            (now, (after[number] - before[number]) / (now - then).max(1e-9))
        };
        self.moments.windows(2).map(rate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_stays_small_and_whole() {
        let mut history = History::<1>::default();
        for moment in 0..100_000 {
            history.push(f64::from(moment), [2.0 * f64::from(moment)]);
            assert!(history.of(0).len() < MOMENTS_MAX);
        }
        let course = history.of(0);
        assert!(
            course.len() > MOMENTS_MAX / 3 && course[0].0 == 0.0 && course[course.len() - 1].0 > 99_000.0
        );
        assert!(history.rates_of(0).iter().all(|(_, rate)| (rate - 2.0).abs() < 1e-9));
    }
}
