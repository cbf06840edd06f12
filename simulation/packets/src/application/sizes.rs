//! How long responses are: fixed, by a file, or by a formula.
//!
//! Invariant: a size is at least a byte, and the same draws give the same size on every machine.

use std::sync::Arc;

use paceline_kernel::Rng;

use crate::files::Cdf;
use crate::udp::Span;

/// How often a size beyond the greatest is drawn again before the greatest is taken.
const TRIES: u32 = 100;

/// Sizes of responses, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All are one.
    Fixed(u64),
    /// Points of a distribution.
    Cdf(Arc<Cdf>),
    /// A few large ones among many small ones.
    Pareto(Pareto),
    /// The exponential of a normal variate.
    LogNormal(LogNormal),
}

/// A Pareto distribution: the share of sizes above x is (`least` / x) ^ `shape`. What is beyond `most` is
/// drawn again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// The least size.
    pub least: u64,
    /// The shape, above 0; up to 1 the mean is that of what `most` leaves alone.
    pub shape: f64,
    /// The greatest size.
    pub most: u64,
}

/// A log-normal distribution. What is not between `least` and `most` is drawn again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    /// The mean of the distribution without bounds.
    pub mean: f64,
    /// Its standard deviation.
    pub deviation: f64,
    /// The least size.
    pub least: u64,
    /// The greatest size.
    pub most: u64,
}

impl Sizes {
    /// Draws the size of one object, in bytes.
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Cdf(cdf) => cdf.draw(rng),
            Self::Pareto(pareto) => pareto.draw(rng),
            Self::LogNormal(normal) => normal.draw(rng),
        }
    }

    /// What is wrong with it, and what is allowed.
    pub(crate) fn mistake(&self) -> Option<(String, &'static str)> {
        let (least, most) = match self {
            Self::Fixed(bytes) => (*bytes, *bytes),
            Self::Cdf(_) => return None,
            Self::Pareto(Pareto { least, shape, most }) => {
                if !(shape.is_finite() && *shape > 0.0) {
                    return Some((format!("a shape of {shape}"), "a number above 0"));
                }
                (*least, *most)
            }
            Self::LogNormal(LogNormal { mean, deviation, least, most }) => {
                if ![mean, deviation].iter().all(|value| value.is_finite() && **value > 0.0) {
                    let problem = format!("a mean of {mean} and a deviation of {deviation}");
                    return Some((problem, "numbers above 0"));
                }
                (*least, *most)
            }
        };
        let is_range = least > 0 && least <= most && most <= 1 << 60;
        (!is_range).then(|| (format!("sizes from {least} to {most}"), "from 1 byte to 2^60, the least first"))
    }
}

impl Pareto {
    /// A number of this distribution, rounded down.
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        within(self.least, self.most, || self.least as f64 / libm::pow(1.0 - rng.unit(), 1.0 / self.shape))
    }
}

impl LogNormal {
    fn draw(&self, rng: &mut Rng) -> u64 {
        let variance = libm::log(1.0 + (self.deviation / self.mean) * (self.deviation / self.mean));
        let mu = libm::log(self.mean) - variance / 2.0;
        within(self.least, self.most, || libm::exp(rng.normal(mu, libm::sqrt(variance))))
    }
}

/// Draws until the value lies between the two. Bounds that almost nothing lies between would have it draw for
/// ever, hence the greatest after so many.
fn within(least: u64, most: u64, mut draw: impl FnMut() -> f64) -> u64 {
    (0..TRIES).map(|_| draw() as u64).find(|value| (least..=most).contains(value)).unwrap_or(most)
}

/// A length of time that is fixed or drawn.
pub(crate) fn length_ps(span: Span, rng: &mut Rng) -> u64 {
    match span {
        Span::Fixed(ps) => ps,
        Span::Exponential(mean_ps) => rng.exponential(mean_ps as f64) as u64,
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn mean(sizes: &Sizes) -> f64 {
        let mut rng = Rng::new(7, 0);
        (0..200_000).map(|_| sizes.draw(&mut rng) as f64).sum::<f64>() / 200_000.0
    }

    /// Pareto with shape 2.5: the mean is shape / (shape - 1) of the least size. Log-normal with bounds far
    /// out: its own mean. Both less half a byte of rounding down, within five standard errors.
    #[test]
    fn sizes_have_their_means() {
        let pareto = Sizes::Pareto(Pareto { least: 3_000, shape: 2.5, most: 1 << 40 });
        assert!((mean(&pareto) / 5_000.0 - 1.0).abs() < 0.01, "{}", mean(&pareto));
        let normal = LogNormal { mean: 10_000.0, deviation: 5_000.0, least: 1, most: 1 << 40 };
        let found = mean(&Sizes::LogNormal(normal));
        assert!((found / 10_000.0 - 1.0).abs() < 0.006, "{found}");
    }

    #[test]
    fn sizes_stay_within_their_bounds() {
        let mut rng = Rng::new(1, 2);
        let pareto = Pareto { least: 2, shape: 1.1, most: 55 };
        let normal = LogNormal { mean: 7_758.0, deviation: 126_168.0, least: 50, most: 2_000_000 };
        for _ in 0..10_000 {
            assert!((2..=55).contains(&pareto.draw(&mut rng)));
            assert!((50..=2_000_000).contains(&normal.draw(&mut rng)));
        }
        // Nothing of this distribution is that large.
        assert_eq!(LogNormal { mean: 10.0, deviation: 0.1, least: 90, most: 95 }.draw(&mut rng), 95);
    }

    #[test]
    fn what_is_no_distribution_is_told() {
        let says = |sizes: Sizes| sizes.mistake().map(|(problem, _)| problem);
        assert_eq!(says(Sizes::Fixed(0)).unwrap(), "sizes from 0 to 0");
        assert_eq!(says(Sizes::Pareto(Pareto { least: 1, shape: 0.0, most: 2 })).unwrap(), "a shape of 0");
        let least = Pareto { least: 3, shape: 1.0, most: 2 };
        assert_eq!(says(Sizes::Pareto(least)).unwrap(), "sizes from 3 to 2");
        assert_eq!(says(Sizes::Pareto(Pareto { most: 3, ..least })), None);
    }
}
