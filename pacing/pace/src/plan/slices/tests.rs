//! Properties of the choice of a slice, on a simulated program whose rate of progress depends on the slice.

use proptest::prelude::*;

use super::{LENGTHS_NS, Slices};

const TICK_NS: u64 = 250_000;
const SECOND_NS: u64 = 1_000_000_000;
/// The length that is used before anything was compared.
const USUAL: usize = 1;

/// Simulates a program that makes progress at `rates` in a tick, by length; returns its progress, and the
/// index of the last length. `noise` changes the rate of each tick by so many per cent at most; in the part
/// of every second that `disturbed` gives, in thousandths, nothing is comparable.
fn play(rates: [u64; 3], noise: u64, disturbed: u64, ns: u64) -> (u64, usize) {
    let (mut slices, mut progress, mut last, mut state) = (Slices::new(0), 0, USUAL, 1u64);
    for tick in 0..ns / TICK_NS {
        let now_ns = tick * TICK_NS;
        let comparable = now_ns % SECOND_NS >= disturbed * 1_000_000;
        let length = slices.decide(now_ns, progress, comparable);
        last = length.map_or(USUAL, |length| {
            LENGTHS_NS.iter().position(|known| *known == length).expect("it is a known length")
        });
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        progress += rates[last] * (100 + (state >> 33) % (noise + 1)) / 100;
    }
    (progress, last)
}

#[test]
fn the_best_length_is_found_in_a_quarter_of_a_second() {
    for (rates, best) in
        [([2000, 1000, 500], 0), ([900, 1000, 1200], 2), ([900, 1000, 900], 1), ([1000, 1000, 1000], 1)]
    {
        assert_eq!(play(rates, 0, 0, SECOND_NS / 4).1, best, "{rates:?}");
        assert_eq!(play(rates, 30, 0, 20 * SECOND_NS).1, best, "{rates:?} with noise");
        assert_eq!(play(rates, 0, 300, 3 * SECOND_NS).1, best, "{rates:?}, disturbed");
    }
}

#[test]
fn a_shorter_one_must_be_worth_its_decisions() {
    assert_eq!(play([1030, 1000, 900], 0, 0, 10 * SECOND_NS).1, 1);
    assert_eq!(play([900, 1000, 1030], 0, 0, 10 * SECOND_NS).1, 2);
}

#[test]
fn without_progress_nothing_is_chosen() {
    let mut slices = Slices::new(0);
    for tick in 0..100_000 {
        let length = slices.decide(tick * TICK_NS, tick / 1_000_000, true);
        let is_known = length.is_some();
        assert!(length.is_none_or(|length| length == LENGTHS_NS[USUAL]), "it is left as it is");
        assert!(!is_known || tick * TICK_NS < SECOND_NS, "and the governor uses its rule");
    }
}

#[test]
fn a_program_that_changes_is_followed() {
    let (mut slices, mut progress, mut last) = (Slices::new(0), 0, 0);
    for tick in 0..40 * SECOND_NS / TICK_NS {
        let length = slices.decide(tick * TICK_NS, progress, true).unwrap_or(LENGTHS_NS[USUAL]);
        let wants_short = tick < 4 * SECOND_NS / TICK_NS;
        progress += if (length == LENGTHS_NS[0]) == wants_short { 1000 } else { 600 };
        last = length;
        assert!(!wants_short || tick < SECOND_NS / TICK_NS || length != LENGTHS_NS[2]);
    }
    assert_ne!(last, LENGTHS_NS[0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Comparisons cost little: in a second the program comes as far as with the best length throughout, but
    /// for a tenth.
    #[test]
    fn a_second_is_nearly_as_good_as_with_the_best_length(first in 100u64..2000, second in 100u64..2000) {
        // Rates rise to the best length and fall behind it, or are monotonous.
        for rates in [[first, u64::midpoint(first, second), second], [first.min(second) / 2, first, second.min(first)]] {
            let (progress, _) = play(rates, 0, 0, SECOND_NS);
            let best = rates.iter().max().expect("there are three") * (SECOND_NS / TICK_NS);
            prop_assert!(progress * 100 >= best * 86, "{} of {} with {:?}", progress, best, rates);
        }
    }
}
