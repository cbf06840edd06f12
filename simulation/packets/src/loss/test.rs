//! Loss and jitter against what their models have in the long run.

use super::*;

fn share(share: f64) -> Share {
    Share::new(share).unwrap()
}

const PACKETS: u32 = 1_000_000;

/// Whether each of many packets is lost.
fn losses(model: &LossModel) -> Vec<bool> {
    let mut state = LossState::new(11, 5);
    (0..PACKETS).map(|_| state.is_lost(model)).collect()
}

#[test]
fn random_loss_is_the_share_and_independent() {
    for probability in [0.0, 0.001, 0.3, 1.0] {
        let model = LossModel::Random(share(probability));
        assert_eq!(model.long_run_loss(), Some(probability));
        let losses = losses(&model);
        let near = |count: usize, of: u32, probability: f64| {
            let mean = probability * f64::from(of);
            (count as f64 - mean).abs() <= 5.0 * (mean * (1.0 - probability)).sqrt()
        };
        let lost = losses.iter().filter(|lost| **lost).count();
        assert!(near(lost, PACKETS, probability), "{probability}: {lost}");
        let pairs = losses.chunks(2).filter(|pair| pair[0] && pair[1]).count();
        assert!(near(pairs, PACKETS / 2, probability * probability), "{probability}: {pairs} pairs");
    }
}

/// The channel is bad for p / (p + r) of the packets, and bursts of a channel that loses all while bad last
/// 1 / r packets, with a geometric distribution.
#[test]
fn bursts_have_their_share_and_their_length() {
    for (to_bad, to_good, good_loss, bad_loss) in
        [(0.01, 0.2, 0.0, 1.0), (0.1, 0.5, 0.0, 1.0), (0.02, 0.1, 0.001, 0.4)]
    {
        let model = LossModel::GilbertElliott(GilbertElliott {
            to_bad: share(to_bad),
            to_good: share(to_good),
            good_loss: share(good_loss),
            bad_loss: share(bad_loss),
        });
        let bad = to_bad / (to_bad + to_good);
        let expected = bad * bad_loss + (1.0 - bad) * good_loss;
        assert!((model.long_run_loss().unwrap() - expected).abs() < 1e-12);
        let losses = losses(&model);
        let lost = losses.iter().filter(|lost| **lost).count() as f64 / f64::from(PACKETS);
        // Neighbours are alike: the variance is that of 1,000,000 / (2 / (p + r) - 1) free packets at most.
        let free = f64::from(PACKETS) / (2.0 / (to_bad + to_good) - 1.0);
        assert!((lost - expected).abs() < 5.0 * (expected / free).sqrt(), "{lost} for {expected}");
        if bad_loss == 1.0 {
            let bursts: Vec<usize> =
                losses.split(|lost| !lost).map(<[bool]>::len).filter(|length| *length > 0).collect();
            let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
            let deviation = (1.0 - to_good).sqrt() / to_good / (bursts.len() as f64).sqrt();
            assert!((mean - 1.0 / to_good).abs() < 5.0 * deviation, "{mean} for {}", 1.0 / to_good);
            let single = bursts.iter().filter(|length| **length == 1).count() as f64 / bursts.len() as f64;
            let deviation = (to_good * (1.0 - to_good) / bursts.len() as f64).sqrt();
            assert!((single - to_good).abs() < 5.0 * deviation, "{single} for {to_good}");
        }
    }
    let frozen = GilbertElliott {
        to_bad: Share::ZERO,
        to_good: Share::ZERO,
        good_loss: Share::ZERO,
        bad_loss: Share::ONE,
    };
    assert_eq!(LossModel::GilbertElliott(frozen).long_run_loss(), None);
}

#[test]
fn links_lose_by_their_own_stream() {
    let model = LossModel::Random(share(0.5));
    let of = |seed, stream| {
        let mut state = LossState::new(seed, stream);
        (0..64).map(|_| state.is_lost(&model)).collect::<Vec<_>>()
    };
    assert_eq!(of(1, 1), of(1, 1));
    assert!(of(1, 1) != of(1, 2) && of(1, 1) != of(2, 1));
}

#[test]
fn delays_have_their_distribution() {
    for (delay, mean, deviation, most) in [
        (JitterDelay::Uniform(Time::ticks(1000)), 500.0, 1001.0 / 12f64.sqrt(), 1000),
        // Rounded down: half a tick less in the mean.
        (JitterDelay::Exponential(Time::ticks(1000)), 999.5, 1000.0, 20_000),
    ] {
        let (mut state, jitter) = (JitterState::new(2, 2), Jitter { delay, keeps_order: false });
        let at = Time::secs(1);
        let delays: Vec<u64> = (0..PACKETS).map(|_| (state.arrival(&jitter, at) - at).as_ticks()).collect();
        let found = delays.iter().sum::<u64>() as f64 / f64::from(PACKETS);
        assert!((found - mean).abs() < 5.0 * deviation / f64::from(PACKETS).sqrt(), "{found} for {mean}");
        assert!(delays.iter().all(|delay| *delay <= most));
        assert!(delays.contains(&0) && (most > 1000 || delays.contains(&1000)), "both ends included");
    }
}

#[test]
fn packets_overtake_only_where_they_may() {
    for keeps_order in [false, true] {
        let jitter = Jitter { delay: JitterDelay::Uniform(Time::micros(100)), keeps_order };
        let mut state = JitterState::new(3, 3);
        let sent: Vec<Time> = (0..1000).map(|number| Time::micros(10 * number)).collect();
        let arrivals: Vec<Time> = sent.iter().map(|at| state.arrival(&jitter, *at)).collect();
        assert!(arrivals.iter().zip(&sent).all(|(arrival, at)| arrival >= at), "the latency is the least");
        assert_eq!(arrivals.is_sorted(), keeps_order);
    }
    let none = Jitter { delay: JitterDelay::Uniform(Time::ZERO), keeps_order: false };
    assert_eq!(JitterState::new(1, 1).arrival(&none, Time::secs(1)), Time::secs(1));
}

#[test]
fn a_link_is_up_but_between_failure_and_repair() {
    let at = Time::secs;
    let outages = Outages::new(vec![(at(5), true), (at(2), false), (at(9), false)]).unwrap();
    let up: Vec<u64> = (0..12).filter(|second| outages.is_up(at(*second))).collect();
    assert_eq!(up, [0, 1, 5, 6, 7, 8]);
    assert_eq!(outages.next_after(Time::ZERO), Some((at(2), false)));
    assert_eq!(outages.next_after(at(2)), Some((at(5), true)));
    assert_eq!(outages.next_after(at(9)), None);
    assert!(outages.is_up_through(at(5), Time::millis(8999)));
    for (from, until) in [(0, 2), (3, 4), (3, 6), (1, 6), (8, 9)] {
        assert!(!outages.is_up_through(at(from), at(until)), "{from} to {until}");
    }
    assert_eq!(outages.changes().count(), 3);
    assert!(Outages::default().is_up(Time::MAX));
}

#[test]
fn outages_that_make_no_sense_are_refused() {
    let at = Time::secs;
    for (changes, message) in [
        (vec![(at(1), true)], "a link goes up at 1s, where it is so already"),
        (vec![(at(1), false), (at(2), false)], "a link goes down at 2s, where it is so already"),
        (vec![(at(3), false), (at(3), true)], "a link goes up at 3s, where it changes already"),
    ] {
        let error = Outages::new(changes).unwrap_err().to_string();
        assert!(error.starts_with(message) && error.contains("; allowed: failures"), "{error}");
    }
}
