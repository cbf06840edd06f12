//! Variates of the distributions that models need most.
//!
//! Invariants: a variate depends on nothing but its arguments and the draws it takes, so that taking back the
//! draws takes back the variate; nothing is kept for the next one. The computation is the same on every
//! machine.

use super::Rng;

impl Rng {
    /// An exponential variate with the given mean, in the mean's unit.
    #[inline(always)]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // `unit` may be 0 and is never 1: the logarithm is finite.
        -mean * libm::log(1.0 - self.unit())
    }

    /// A normal variate with the given mean and standard deviation, both in one unit (Box and Muller, 1958).
    /// Always two draws: the second variate is not kept, so that rewinding has nothing to forget.
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        mean + deviation * radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// How many trials fail before the first that succeeds, each with `probability`, by inversion: one draw.
    /// `u64::MAX` at most. Panics unless the probability is above 0 and at most 1.
    pub fn geometric(&mut self, probability: f64) -> u64 {
        assert!(
            probability > 0.0 && probability <= 1.0,
            "a probability above 0 and at most 1: {probability}"
        );
        let survival = libm::log(1.0 - self.unit());
        if probability == 1.0 { 0 } else { (survival / libm::log1p(-probability)) as u64 }
    }

    /// Puts `items` in an order drawn from all their orders alike (Fisher and Yates), with one draw for each
    /// item but one.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// How many events happen in a span in which `mean` are expected (Poisson). Below a mean of 10 by
    /// inversion, with one draw; above by transformed rejection (algorithm PTRS; Hörmann, 1993), with two
    /// draws or, seldom, more. Panics unless the mean is from 0 to 2^32.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        assert!((0.0..=4_294_967_296.0).contains(&mean), "a mean from 0 to 2^32: {mean}");
        if mean < 10.0 { self.poisson_by_inversion(mean) } else { self.poisson_by_rejection(mean) }
    }

    fn poisson_by_inversion(&mut self, mean: f64) -> u64 {
        let (mut left, mut share, mut events) = (self.unit(), libm::exp(-mean), 0);
        // Where rounding leaves something beyond the last share that counts, that share has it. A draw has 53
        // bits: shares below 1e-18 do not count.
        while left >= share && share > 1e-18 {
            left -= share;
            events += 1;
            share *= mean / events as f64;
        }
        events
    }

    /// The constants are those of the algorithm, which holds for means of 10 and more.
    fn poisson_by_rejection(&mut self, mean: f64) -> u64 {
        let b = 0.931 + 2.53 * libm::sqrt(mean);
        let a = -0.059 + 0.024_83 * b;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let sure = 0.9277 - 3.6224 / (b - 2.0);
        let log_mean = libm::log(mean);
        loop {
            let (u, v) = (self.unit() - 0.5, self.unit());
            let edge = 0.5 - u.abs();
            let events = libm::floor((2.0 * a / edge + b) * u + mean + 0.43);
            // Most draws are accepted here, and some are rejected below, without a logarithm.
            if edge >= 0.07 && v <= sure {
                return events as u64;
            }
            if events < 0.0 || edge < 0.013 && v > edge {
                continue;
            }
            let hat = libm::log(v) + libm::log(inverse_alpha) - libm::log(a / (edge * edge) + b);
            if hat <= events * log_mean - mean - libm::lgamma(events + 1.0) {
                return events as u64;
            }
        }
    }

    /// A rank from 1 to `ranks`, where rank `r` is as likely as `r` to the power of `-exponent` (Zipf), by
    /// rejection and inversion (Hörmann and Derflinger, 1996): most often one draw, whatever the number
    /// of ranks. Panics unless there are from 1 to 2^52 ranks and the exponent is finite and not
    /// negative.
    pub fn zipf(&mut self, ranks: u64, exponent: f64) -> u64 {
        assert!((1..=1 << 52).contains(&ranks), "from 1 to 2^52 ranks: {ranks}");
        assert!(
            exponent >= 0.0 && exponent.is_finite(),
            "an exponent that is finite and not negative: {exponent}"
        );
        let power = Power(exponent);
        let (first, last) = (power.integral(1.5) - 1.0, power.integral(ranks as f64 + 0.5));
        let sure = 2.0 - power.inverse(power.integral(2.5) - power.at(2.0));
        loop {
            let area = last + self.unit() * (first - last);
            let place = power.inverse(area);
            let rank = libm::floor(place + 0.5).clamp(1.0, ranks as f64);
            // So near to its rank a place is always accepted, and the area need not be computed.
            if rank - place <= sure || area >= power.integral(rank + 0.5) - power.at(rank) {
                return rank as u64;
            }
        }
    }

    /// One of the places of `weights`, each as likely as its weight says: one draw. Panics unless all weights
    /// are finite and not negative, and one is above 0.
    pub fn weighted(&mut self, weights: &[f64]) -> usize {
        let sum: f64 = weights.iter().sum();
        let sound = weights.iter().all(|weight| *weight >= 0.0) && sum > 0.0 && sum.is_finite();
        assert!(sound, "weights that are finite and not negative, one above 0: {weights:?}");
        let mut left = self.unit() * sum;
        let mut chosen = 0;
        for (place, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            // Before the comparison: where rounding leaves something beyond all weights, the last has it.
            chosen = place;
            if left < *weight {
                break;
            }
            left -= weight;
        }
        chosen
    }
}

/// The function x to the power of minus this, its integral from 1 and the inverse of that, also where they
/// come near 0 / 0.
struct Power(f64);

impl Power {
    fn at(&self, x: f64) -> f64 {
        libm::exp(-self.0 * libm::log(x))
    }

    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.0) * log;
        let ratio = if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t / 2.0 * (1.0 + t / 3.0) };
        ratio * log
    }

    fn inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.0)).max(-1.0);
        let ratio = if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t * (0.5 - t / 3.0) };
        libm::exp(ratio * area)
    }
}
