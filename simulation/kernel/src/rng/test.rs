//! Shares and moments of the variates, and known answers.

use rand_core::Rng as _;

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
            let (mut this, mut next) = (Rng::new(9, stream), Rng::new(9, stream + 1));
            let (this, next) = (this.u64() >> shift, next.u64() >> shift);
            across[this as usize & 255] += 1;
            pairs[((this & 15) << 4 | (next & 15)) as usize] += 1;
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
        let (mean, deviation) = ((1.0 - probability) / probability, (1.0 - probability).sqrt() / probability);
        assert!(
            (sum / DRAWS - mean).abs() < 5.0 * deviation / DRAWS.sqrt(),
            "{probability}: {}",
            sum / DRAWS
        );
        let deviation = (probability * (1.0 - probability) / DRAWS).sqrt();
        assert!((zeros / DRAWS - probability).abs() < 5.0 * deviation, "{probability}: {}", zeros / DRAWS);
    }
    assert_eq!(Rng::new(8, 2).geometric(1.0), 0);
}

#[test]
fn poisson_variates_have_mean_and_variance() {
    const DRAWS: f64 = 100_000.0;
    for mean in [0.0, 0.7, 9.9, 10.0, 45.0, 1e4, 4e9] {
        let mut rng = Rng::new(10, 5);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..DRAWS as u32 {
            let excess = rng.poisson(mean) as f64 - mean;
            sum += excess;
            squares += excess * excess;
        }
        let bound = 5.0 * (mean / DRAWS).sqrt();
        assert!((sum / DRAWS).abs() <= bound, "{mean}: mean off by {}", sum / DRAWS);
        // The fourth central moment is mean + 3 mean^2.
        let bound = 5.0 * ((mean + 2.0 * mean * mean) / DRAWS).sqrt();
        assert!((squares / DRAWS - mean).abs() <= bound, "{mean}: variance {}", squares / DRAWS);
    }
}

#[test]
fn zipf_ranks_have_their_shares() {
    for (ranks, exponent) in [(1, 1.0), (10, 0.0), (20, 0.8), (20, 1.0), (20, 1.000_000_001), (8, 3.0)] {
        let mut rng = Rng::new(11, 6);
        const DRAWS: f64 = 100_000.0;
        let mut counts = vec![0.0; ranks];
        for _ in 0..DRAWS as u32 {
            counts[rng.zipf(ranks as u64, exponent) as usize - 1] += 1.0;
        }
        let weights: Vec<f64> = (1..=ranks).map(|rank| (rank as f64).powf(-exponent)).collect();
        let sum: f64 = weights.iter().sum();
        for (rank, (count, weight)) in counts.iter().zip(&weights).enumerate() {
            let expected = weight / sum;
            let deviation = (expected * (1.0 - expected) / DRAWS).sqrt();
            let share: f64 = count / DRAWS;
            assert!(
                (share - expected).abs() <= 5.0 * deviation,
                "{ranks}, {exponent}, rank {}: {share} for {expected}",
                rank + 1
            );
        }
    }
    let mut rng = Rng::new(11, 7);
    assert!((0..1000).all(|_| (1..=1 << 52).contains(&rng.zipf(1 << 52, 1.1))));
}

#[test]
fn weights_are_shares_and_zero_is_never_chosen() {
    let mut rng = Rng::new(12, 1);
    let mut counts = [0; 5];
    for _ in 0..100_000 {
        counts[rng.weighted(&[0.0, 3.0, 0.0, 1.0, 0.0])] += 1;
    }
    assert_eq!((counts[0], counts[2], counts[4], rng.draws()), (0, 0, 0, 100_000));
    let deviation = (0.25f64 * 0.75 * 100_000.0).sqrt();
    assert!((f64::from(counts[3]) - 25_000.0).abs() < 5.0 * deviation, "{counts:?}");
}

/// Values that no distribution has.
#[test]
fn parameters_that_make_no_sense_are_refused() {
    let refused = |draw: &dyn Fn(&mut Rng)| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| draw(&mut Rng::new(1, 1)))).is_err()
    };
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(&|rng| _ = rng.poisson(wrong)), "Poisson {wrong}");
        assert!(refused(&|rng| _ = rng.zipf(5, wrong)), "Zipf {wrong}");
        assert!(refused(&|rng| _ = rng.weighted(&[1.0, wrong])), "weight {wrong}");
        assert!(refused(&|rng| _ = rng.geometric(wrong)), "geometric {wrong}");
    }
    assert!(refused(&|rng| _ = rng.zipf(0, 1.0)) && refused(&|rng| _ = rng.weighted(&[0.0])));
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
    // The sum of 1,000 variates, and the draws that they took.
    for (mean, sum, draws) in [
        (0.5, 477, 1000),
        (4.0, 3958, 1000),
        (10.0, 9881, 2570),
        (300.0, 299_450, 2246),
        (1e6, 999_970_681, 2212),
    ] {
        let mut rng = Rng::new(42, 7);
        let found: u64 = (0..1000).map(|_| rng.poisson(mean)).sum();
        assert_eq!((found, rng.draws()), (sum, draws), "Poisson {mean}");
    }
    for ((ranks, exponent), sum, draws) in [
        ((10, 0.0), 5504, 1000),
        ((1000, 1.0), 126_644, 1000),
        ((1_000_000, 0.8), 170_009_160, 1000),
        ((50, 2.5), 1630, 1015),
    ] {
        let mut rng = Rng::new(42, 7);
        let found: u64 = (0..1000).map(|_| rng.zipf(ranks, exponent)).sum();
        assert_eq!((found, rng.draws()), (sum, draws), "Zipf {ranks} {exponent}");
    }
    let mut rng = Rng::new(42, 7);
    let chosen = [(); 12].map(|()| rng.weighted(&[1.0, 0.0, 2.5, 0.5]));
    assert_eq!(chosen, [2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 2, 2]);
    let (mut rng, mut bytes) = (Rng::new(42, 7), [0; 12]);
    rng.fill_bytes(&mut bytes);
    assert_eq!(bytes, [0xe9, 0x46, 0xc3, 0x9e, 0xab, 0x01, 0x56, 0x5b, 0xd3, 0xda, 0xee, 0x9f]);
    assert_eq!((rng.draws(), Rng::new(42, 7).next_u32()), (2, 1_532_363_179));
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
