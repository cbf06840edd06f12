//! Number, mean, deviation, least and greatest of values.

use serde::{Deserialize, Serialize};

use super::{ExactSum, Join};

/// What is known of a number of values.
///
/// ```
/// use paceline_results::statistics::Tally;
///
/// let mut waits = Tally::default();
/// [2.0, 4.0, 4.0, 6.0].into_iter().for_each(|minutes| waits.add(minutes));
/// assert_eq!((waits.count(), waits.sum(), waits.mean()), (4, 16.0, Some(4.0)));
/// assert_eq!((waits.least(), waits.greatest()), (Some(2.0), Some(6.0)));
/// assert_eq!(waits.variance(), Some(8.0 / 3.0));
/// assert_eq!(Tally::default().mean(), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    count: u64,
    sum: ExactSum,
    squares: ExactSum,
    range: Option<(f64, f64)>,
}

impl Tally {
    /// Takes in `value`.
    ///
    /// Panics where it is infinite, not a number, or so great that its square is no number (about 1e154).
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum.add(value);
        self.squares.add_product(value, value);
        self.widen(value, value);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum, rounded once.
    pub fn sum(&self) -> f64 {
        self.sum.value()
    }

    /// Their mean; nothing without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum() / self.count as f64)
    }

    /// Their variance, as an estimate of that of the population they are a sample of: the sum of the squares
    /// of the distances from the mean, by one less than their number. Nothing with fewer than two values.
    pub fn variance(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let count = self.count as f64;
        // The difference of two great numbers, in which little is left where all values are alike: it is
        // taken without rounding from each of them to twice the bits of a number.
        let ((sum, rest), (squares, more)) = (self.sum.parts(), self.squares.parts());
        let mut distances = ExactSum::default();
        distances.add_product(count, squares);
        distances.add_product(count, more);
        distances.add_product(-sum, sum);
        distances.add_product(-2.0 * sum, rest);
        distances.add_product(-rest, rest);
        Some((distances.value() / count / (count - 1.0)).max(0.0))
    }

    /// Their standard deviation: the root of [`Tally::variance`].
    pub fn deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// The least value.
    pub fn least(&self) -> Option<f64> {
        self.range.map(|(least, _)| least)
    }

    /// The greatest value.
    pub fn greatest(&self) -> Option<f64> {
        self.range.map(|(_, greatest)| greatest)
    }

    fn widen(&mut self, least: f64, greatest: f64) {
        let (low, high) = self.range.unwrap_or((least, greatest));
        // Of a zero and its negative the same one, whichever came first.
        self.range = Some((low.min(least) + 0.0, high.max(greatest) + 0.0));
    }
}

impl Join for Tally {
    fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.join(&other.sum);
        self.squares.join(&other.squares);
        if let Some((least, greatest)) = other.range {
            self.widen(least, greatest);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn values_far_from_zero_keep_their_variance() {
        let mut tally = Tally::default();
        [4.0, 7.0, 13.0, 16.0].into_iter().for_each(|value| tally.add(1e9 + value));
        assert_eq!((tally.mean(), tally.variance()), (Some(1e9 + 10.0), Some(30.0)));
        let mut alike = Tally::default();
        (0..1000).for_each(|_| alike.add(0.1));
        assert_eq!((alike.mean(), alike.variance()), (Some(0.1), Some(0.0)));
    }
}
