//! How strongly a frame is received: log-distance path loss with log-normal shadowing (Rappaport, 2002).
//!
//! Invariants: apart from the distance, the loss between two hosts is the same in both directions and
//! throughout the run; its shadowing depends only on the seed and the pair, not on which host computes it
//! first. Powers are whole hundredths of dBm.

use paceline_kernel::Rng;

/// The least distance used, in units; hosts that are nearer have the loss at this distance.
const NEAREST: f64 = 1.0;

/// The radio of all hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radio {
    /// The sending power, in dBm.
    pub power_dbm: f64,
    /// The loss at a distance of one unit, in dB.
    pub loss_db: f64,
    /// The exponent of the distance: 2 in free space.
    pub exponent: f64,
    /// The standard deviation of the shadowing of pairs, in dB.
    pub shadowing_db: f64,
    /// The seed of the shadowing.
    pub seed: u64,
    /// The least power at which a frame can be decoded, in hundredths of dBm.
    pub sensitivity: i32,
    /// The least power at which a frame is detected, in hundredths of dBm.
    pub carrier_sense: i32,
    /// By how much a frame must be stronger than an overlapping one to be decoded, in hundredths of dB.
    pub capture: i32,
}

impl Radio {
    /// The power at which `receiver` gets a frame of `sender` at this distance, in hundredths of dBm.
    pub fn power(&self, sender: u32, receiver: u32, distance: f64) -> i32 {
        let loss = self.loss_db + 10.0 * self.exponent * libm::log10(distance.max(NEAREST));
        libm::round((self.power_dbm - loss + self.shadowing(sender, receiver)) * 100.0) as i32
    }

    /// The shadowing between two hosts, in dB.
    fn shadowing(&self, one: u32, other: u32) -> f64 {
        let pair = u64::from(one.min(other)) << 32 | u64::from(one.max(other));
        // Each pair has its own stream. LPs use some of the same stream numbers, but with other seeds.
        Rng::new(self.seed ^ 0x5368_6164_6f77, pair).normal(0.0, self.shadowing_db)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const RADIO: Radio = Radio {
        power_dbm: 15.0,
        loss_db: 40.0,
        exponent: 3.0,
        shadowing_db: 6.0,
        seed: 5,
        sensitivity: -8500,
        carrier_sense: -9100,
        capture: 1000,
    };

    #[test]
    fn shadowing_belongs_to_the_pair_and_has_the_deviation_asked_for() {
        let (mut sum, mut squares) = (0.0, 0.0);
        const PAIRS: u32 = 20_000;
        for host in 0..PAIRS {
            let shadowing = RADIO.shadowing(host, host + 7);
            assert_eq!(shadowing, RADIO.shadowing(host + 7, host), "the same both ways");
            sum += shadowing;
            squares += shadowing * shadowing;
        }
        let mean = sum / f64::from(PAIRS);
        let deviation = (squares / f64::from(PAIRS) - mean * mean).sqrt();
        // Limits: five standard deviations of each estimate.
        assert!(mean.abs() < 5.0 * 6.0 / f64::from(PAIRS).sqrt(), "{mean}");
        assert!((deviation - 6.0).abs() < 5.0 * 6.0 / (2.0 * f64::from(PAIRS)).sqrt(), "{deviation}");
    }

    #[test]
    fn ten_times_the_distance_costs_ten_times_the_exponent() {
        let plain = Radio { shadowing_db: 0.0, ..RADIO };
        assert_eq!(plain.power(1, 2, 10.0), -5500);
        assert_eq!(plain.power(1, 2, 100.0), -8500);
        assert_eq!(plain.power(1, 2, 0.0), plain.power(1, 2, 1.0), "no nearer than a unit");
    }
}
