//! Random numbers that belong to one LP, count their draws and therefore run backwards as well as forwards.
//!
//! A draw is a pure function of (seed, LP, number of the draw): the mixing function of wyhash (Wang Yi, 2019), two
//! 64 x 64 -> 128 bit multiplications. Streams of different LPs do not depend on each other, and nothing depends on
//! which thread or federate runs the LP. To undo `n` draws is to subtract `n` from the counter.
//!
//! Logarithms come from `libm`, which computes the same bits on every machine.

/// Multiplies to 128 bits and folds the halves together.
#[inline(always)]
pub(crate) const fn fold(a: u64, b: u64) -> u64 {
    let wide = (a as u128).wrapping_mul(b as u128);
    (wide as u64) ^ ((wide >> 64) as u64)
}

const K0: u64 = 0xa076_1d64_78bd_642f;
const K1: u64 = 0xe703_7ed1_a0b4_28db;

/// One well-mixed word out of two.
#[inline(always)]
pub(crate) const fn mix(a: u64, b: u64) -> u64 {
    let wide = ((a ^ K0) as u128).wrapping_mul((b ^ K1) as u128);
    fold((wide as u64) ^ K0, ((wide >> 64) as u64) ^ K1)
}

/// A counter-based random stream.
///
/// ```
/// use paceline_kernel::Rng;
/// let mut rng = Rng::new(42, 7);
/// let first = rng.u64();
/// rng.rewind(1);
/// assert_eq!(rng.u64(), first);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rng {
    key: u64,
    draws: u64,
}

impl Rng {
    /// The stream `stream` (an LP, or anything else that has a number) of the run seeded with `seed`.
    #[inline]
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self { key: fold(seed ^ K0, stream ^ K1), draws: 0 }
    }

    /// The same stream after `draws` draws.
    #[inline]
    pub(crate) const fn at(seed: u64, stream: u64, draws: u64) -> Self {
        let mut rng = Self::new(seed, stream);
        rng.draws = draws;
        rng
    }

    /// How many numbers were drawn so far.
    #[inline]
    pub const fn draws(&self) -> u64 {
        self.draws
    }

    /// Takes back the last `draws` draws. Panics if there were fewer.
    #[inline]
    pub const fn rewind(&mut self, draws: u64) {
        self.draws = self.draws.checked_sub(draws).expect("no more draws are taken back than were made");
    }

    /// 64 uniform bits.
    #[inline]
    pub const fn u64(&mut self) -> u64 {
        self.draws += 1;
        mix(self.key, self.draws.wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    /// A uniform number in [0, 1), with 53 bits.
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        (self.u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A uniform integer below `n` (by multiplication; the bias is below n / 2^64). Zero where `n` is zero.
    #[inline]
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.u64() as u128 * n as u128) >> 64) as u64
    }

    /// True with the given probability.
    #[inline]
    pub const fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// An exponential variate with the given mean, in the mean's unit.
    #[inline(always)]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// A normal variate with the given mean and standard deviation, both in one unit (Box and Muller, 1958). Always two
    /// draws: the second variate is not kept, so that rewinding has nothing to forget.
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        mean + deviation * radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// How many trials fail before the first that succeeds, each with `probability`, by inversion: one draw. `u64::MAX` at
    /// most. Panics unless the probability is above 0 and at most 1.
    pub fn geometric(&mut self, probability: f64) -> u64 {
        assert!(
            probability > 0.0 && probability <= 1.0,
            "a probability above 0 and at most 1: {probability}"
        );
        let survival = libm::log(1.0 - self.unit());
        if probability == 1.0 { 0 } else { (survival / libm::log1p(-probability)) as u64 }
    }

    /// Puts `items` in an order drawn from all their orders alike (Fisher and Yates), with one draw for each item but one.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// Chi-square of `counts` against equal shares, less its mean, in standard deviations.
    fn excess(counts: &[u32]) -> f64 {
        let expected = counts.iter().sum::<u32>() as f64 / counts.len() as f64;
        let chi: f64 = counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        let freedom = counts.len() as f64 - 1.0;
        (chi - freedom) / (2.0 * freedom).sqrt()
    }

    #[test]
    fn draws_are_uniform_along_a_stream_and_across_streams() {
        for shift in [0, 28, 56] {
            let (mut along, mut across, mut pairs) = ([0; 256], [0; 256], [0; 256]);
            let mut rng = Rng::new(9, 4);
            for stream in 0..100_000 {
                along[(rng.u64() >> shift) as usize & 255] += 1;
                let (mut own, mut next) = (Rng::new(9, stream), Rng::new(9, stream + 1));
                let (own, next) = (own.u64() >> shift, next.u64() >> shift);
                across[own as usize & 255] += 1;
                pairs[((own & 15) << 4 | (next & 15)) as usize] += 1;
            }
            for (what, counts) in [("along", &along), ("across", &across), ("neighbours", &pairs)] {
                assert!(excess(counts).abs() < 5.0, "{what}, bits from {shift}: {:.1}", excess(counts));
            }
        }
    }

    #[test]
    fn exponential_variates_have_the_mean_and_the_tail() {
        let mut rng = Rng::new(3, 3);
        const DRAWS: u32 = 200_000;
        let (mut sum, mut tail) = (0.0, 0);
        for _ in 0..DRAWS {
            let variate = rng.exponential(2.0);
            assert!(variate >= 0.0 && variate.is_finite());
            sum += variate;
            tail += u32::from(variate > 4.0);
        }
        let (mean, share) = (sum / f64::from(DRAWS), f64::from(tail) / f64::from(DRAWS));
        assert!((mean - 2.0).abs() < 5.0 * 2.0 / f64::from(DRAWS).sqrt(), "mean {mean}");
        let expected = (-2.0f64).exp();
        let deviation = (expected * (1.0 - expected) / f64::from(DRAWS)).sqrt();
        assert!((share - expected).abs() < 5.0 * deviation, "share beyond twice the mean {share}");
    }

    /// Computed by another implementation, out of the definition. They change only with every digest there is.
    #[test]
    fn draws_are_those_of_the_definition() {
        let vectors = [
            ((0, 0), [0x1f23_e129_8776_27bb, 0xc375_1511_ea33_ab68, 0xb2ad_b3d8_a96c_9f1a]),
            ((1, 0), [0x092d_f0f4_f930_17cd, 0x1029_796a_7ec8_e1db, 0xe721_c39a_77fd_37aa]),
            ((42, 7), [0x5b56_01ab_9ec3_46e9, 0x65c5_827f_9fee_dad3, 0x4f9e_6048_5702_b908]),
            ((u64::MAX, 0xffff_ffff), [0x7f84_627f_b99c_2502, 0x4755_f6fb_1717_dab3, 0xc694_d37a_234c_ca90]),
        ];
        for ((seed, stream), expected) in vectors {
            let mut rng = Rng::new(seed, stream);
            assert_eq!([rng.u64(), rng.u64(), rng.u64()], expected, "seed {seed}, stream {stream}");
        }
    }

    #[test]
    fn normal_variates_have_mean_variance_and_tail() {
        let mut rng = Rng::new(7, 1);
        const DRAWS: f64 = 200_000.0;
        let (mut sum, mut squares, mut tail) = (0.0, 0.0, 0.0);
        for _ in 0..DRAWS as u32 {
            let unit = (rng.normal(10.0, 3.0) - 10.0) / 3.0;
            sum += unit;
            squares += unit * unit;
            tail += f64::from(u32::from(unit > 2.0));
        }
        assert_eq!(rng.draws(), 400_000, "two draws for each");
        assert!((sum / DRAWS).abs() < 5.0 / DRAWS.sqrt(), "mean {}", sum / DRAWS);
        assert!((squares / DRAWS - 1.0).abs() < 5.0 * (2.0 / DRAWS).sqrt(), "variance {}", squares / DRAWS);
        let expected: f64 = 0.022_750_131_948;
        let deviation = (expected * (1.0 - expected) / DRAWS).sqrt();
        assert!((tail / DRAWS - expected).abs() < 5.0 * deviation, "beyond two deviations {}", tail / DRAWS);
    }

    #[test]
    fn geometric_variates_have_the_mean_and_the_share_of_zeros() {
        const DRAWS: f64 = 200_000.0;
        for probability in [0.01, 0.3, 0.9] {
            let mut rng = Rng::new(8, 2);
            let (mut sum, mut zeros) = (0.0, 0.0);
            for _ in 0..DRAWS as u32 {
                let variate = rng.geometric(probability);
                sum += variate as f64;
                zeros += f64::from(u32::from(variate == 0));
            }
            let (mean, deviation) =
                ((1.0 - probability) / probability, (1.0 - probability).sqrt() / probability);
            assert!(
                (sum / DRAWS - mean).abs() < 5.0 * deviation / DRAWS.sqrt(),
                "{probability}: {}",
                sum / DRAWS
            );
            let deviation = (probability * (1.0 - probability) / DRAWS).sqrt();
            assert!(
                (zeros / DRAWS - probability).abs() < 5.0 * deviation,
                "{probability}: {}",
                zeros / DRAWS
            );
        }
        assert_eq!(Rng::new(8, 2).geometric(1.0), 0);
    }

    #[test]
    fn every_order_of_a_shuffle_is_as_likely() {
        let mut rng = Rng::new(9, 3);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..48_000 {
            let mut items = [0, 1, 2, 3];
            rng.shuffle(&mut items);
            *counts.entry(items).or_insert(0) += 1;
        }
        let counts: Vec<u32> = counts.into_values().collect();
        assert_eq!((counts.len(), rng.draws()), (24, 3 * 48_000));
        assert!(excess(&counts).abs() < 5.0, "{:.1}", excess(&counts));
        rng.shuffle::<u8>(&mut []);
    }

    /// Computed by another implementation, as above.
    #[test]
    fn variates_are_those_of_the_definition() {
        assert_eq!(Rng::new(42, 7).normal(0.0, 1.0), -0.751_412_203_451_030_8);
        let mut rng = Rng::new(42, 7);
        assert_eq!([8, 9, 7, 33], [(); 4].map(|()| rng.geometric(0.05)));
        let mut items = [0, 1, 2, 3, 4, 5];
        Rng::new(42, 7).shuffle(&mut items);
        assert_eq!(items, [0, 3, 5, 4, 1, 2]);
    }

    #[test]
    fn rewinding_repeats_the_draws() {
        let mut rng = Rng::new(5, 6);
        rng.u64();
        let draws: Vec<u64> = (0..10).map(|_| rng.u64()).collect();
        rng.rewind(10);
        assert_eq!(rng.draws(), 1);
        assert_eq!(draws, (0..10).map(|_| rng.u64()).collect::<Vec<_>>());
    }
}
