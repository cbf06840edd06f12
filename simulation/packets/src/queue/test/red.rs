//! RED against the formulas of its paper, and the threshold of DCTCP.

use super::*;
use crate::queue::red::PLACES;

const WEIGHT: f64 = 0.002;

/// The settings of the paper's simulations, in packets.
fn settings() -> RedSettings {
    RedSettings {
        limit: Limit::Packets(1000),
        low: 5,
        high: 15,
        probability: Share::new(0.02).unwrap(),
        weight: Share::new(WEIGHT).unwrap(),
        is_gentle: false,
        marks: false,
        marks_only: false,
        packet_time: Time::micros(10),
        packet_bytes: None,
    }
}

fn red(settings: RedSettings) -> Red {
    Red::new(settings, Draws::new(1, 1)).unwrap()
}

fn backlog(packets: usize) -> Backlog {
    Backlog { packets, bytes: 1000 * packets as u64, idle_since: None }
}

/// The verdicts on `arrivals` packets that find `packets` waiting.
fn verdicts(red: &mut Red, packets: usize, arrivals: usize, ecn: Ecn) -> Vec<Verdict> {
    (0..arrivals).map(|_| red.admit(Time::ZERO, &backlog(packets), 1000, ecn)).collect()
}

/// A RED whose mean is `packets` exactly: its first samples count whole.
fn settled(settings: RedSettings, packets: usize) -> Red {
    let mut red = red(RedSettings { weight: Share::ONE, ..settings });
    red.admit(Time::ZERO, &backlog(packets), 1000, Ecn::NotCapable);
    assert_eq!(red.mean(), packets as f64);
    red
}

/// Section 4 of the paper, equation 2: what a constant queue makes of the mean.
#[test]
fn the_mean_follows_the_queue_by_its_formula() {
    let mut red = red(settings());
    for arrivals in 1..=2000 {
        red.admit(Time::ZERO, &backlog(4), 1000, Ecn::NotCapable);
        let expected = 4.0 * (1.0 - (1.0 - WEIGHT).powi(arrivals));
        assert!((red.mean() - expected).abs() < 1e-6, "{arrivals}: {} for {expected}", red.mean());
    }
    // Equation 2: a burst of `burst` arrivals at an empty queue that fill it one by one.
    let mut red = self::red(settings());
    for burst in 1..=50 {
        red.admit(Time::ZERO, &backlog(burst), 1000, Ecn::NotCapable);
        let packets = burst as f64;
        let expected = packets + 1.0 + ((1.0 - WEIGHT).powi(burst as i32 + 1) - 1.0) / WEIGHT;
        assert!((red.mean() - expected).abs() < 1e-6, "{burst}: {} for {expected}", red.mean());
    }
    assert!(red.mean() < 5.0, "a burst of 50 is let through (figure 5 of the paper)");
}

#[test]
fn an_idle_link_counts_as_arrivals_at_an_empty_queue() {
    let mut red = settled(settings(), 12);
    red.settings.weight = Share::new(WEIGHT).unwrap();
    let idle = Backlog { packets: 0, bytes: 0, idle_since: Some(Time::millis(1)) };
    let verdict = red.admit(Time::micros(1000 + 3456), &idle, 1000, Ecn::NotCapable);
    let expected = 12.0 * (1.0 - WEIGHT).powi(345);
    assert!((red.mean() - expected).abs() < 1e-6, "{} for {expected}", red.mean());
    assert_eq!((verdict, red.since), (Verdict::Accepted, 2), "still above the lower threshold");
    red.admit(Time::secs(9), &idle, 1000, Ecn::NotCapable);
    assert!(red.mean() < 1e-9 && red.since == 0, "{red:?}");
}

/// Section 8 of the paper, method 2: at a constant mean the distance between two drops is uniform.
#[test]
fn distances_between_drops_are_uniform() {
    // p_b = 0.2 x (10 - 5) / (15 - 5) = 1 / 10; after a drop, the distances are 1 to 9.
    let mut red = settled(RedSettings { probability: Share::new(0.2).unwrap(), ..settings() }, 10);
    let verdicts = verdicts(&mut red, 10, 100_000, Ecn::NotCapable);
    let drops: Vec<usize> = (0..verdicts.len()).filter(|n| verdicts[*n] != Verdict::Accepted).collect();
    let mut counts = [0u32; 12];
    for pair in drops.windows(2) {
        counts[(pair[1] - pair[0]).min(11)] += 1;
    }
    let expected = (drops.len() - 1) as f64 / 9.0;
    let chi: f64 = counts[1..=9].iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
    assert!(chi < 8.0 + 5.0 * 4.0, "chi-square {chi} of 8 degrees of freedom: {counts:?}");
    assert_eq!((counts[0], counts[10], counts[11]), (0, 0, 0));
}

/// The share of packets that are dropped is the one that the mean asks for: 2 / (1 / p_b).
#[test]
fn the_probability_grows_between_the_thresholds() {
    for (packets, is_gentle, expected) in [
        (4, false, 0.0),
        (10, false, 0.1),
        (13, false, 0.16),
        (15, false, 1.0),
        (15, true, 0.2),
        (18, true, 0.2 + 0.8 * 3.0 / 15.0),
        (30, true, 1.0),
    ] {
        let settings = RedSettings { probability: Share::new(0.2).unwrap(), is_gentle, ..settings() };
        let found = settings.probability(packets << PLACES, 1000).map_or(0.0, Share::as_f64);
        assert!((found - expected).abs() < 1e-9, "{packets} {is_gentle}: {found} for {expected}");
    }
    let in_proportion = RedSettings { packet_bytes: Some(500), ..settings() };
    let found = in_proportion.probability(10 << PLACES, 1250).unwrap().as_f64();
    assert!((found - 0.01 * 2.5).abs() < 1e-9, "{found}");
}

#[test]
fn capable_packets_are_marked_up_to_the_hard_threshold() {
    let drop = Verdict::Dropped(DropReason::Early);
    for (packets, is_gentle, ecn, expected) in [
        (10, false, Ecn::Capable0, Verdict::Marked),
        (10, false, Ecn::Congested, Verdict::Marked),
        (10, false, Ecn::NotCapable, drop),
        (15, false, Ecn::Capable0, drop),
        (20, true, Ecn::Capable1, Verdict::Marked),
        (30, true, Ecn::Capable1, drop),
    ] {
        let settings =
            RedSettings { is_gentle, marks: true, probability: Share::new(0.2).unwrap(), ..settings() };
        let found = verdicts(&mut settled(settings, packets), packets, 50, ecn);
        let others: Vec<&Verdict> =
            found.iter().filter(|found| **found != Verdict::Accepted && **found != expected).collect();
        assert!(found.contains(&expected) && others.is_empty(), "{packets} {is_gentle} {ecn:?}: {found:?}");
    }
    let mut full = settled(RedSettings { limit: Limit::Packets(4), ..settings() }, 4);
    let found = verdicts(&mut full, 4, 1, Ecn::Capable0);
    assert_eq!(found, [Verdict::Dropped(DropReason::Full)]);
}

/// The queue and a port that keeps the packets itself take the same decisions.
#[test]
fn a_fifo_of_red_tells_its_admission_the_backlog_and_the_idle_time() {
    let settings = QueueSettings::Red(RedSettings { low: 1, high: 3, weight: Share::ONE, ..settings() });
    let mut admission = settings.admission(3, 4).unwrap().unwrap();
    let (mut queue, mut losses) = (Queue::new(&settings, 3, 4).unwrap(), Vec::new());
    let (mut waiting, mut idle_since, mut rng) = (0, Some(Time::ZERO), Draws::new(8, 8));
    for step in 0..5000 {
        let now = Time::micros(7 * step);
        if rng.u64() % 100 < 52 {
            let backlog = Backlog { packets: waiting, bytes: 1000 * waiting as u64, idle_since };
            let expected = admission.admit(now, &backlog, 1000, Ecn::NotCapable);
            assert_eq!(queue.enqueue(now, Sample::new(0), &mut losses), expected, "step {step}");
            if expected == Verdict::Accepted {
                (waiting, idle_since) = (waiting + 1, None);
            }
        } else if queue.dequeue(now, Classes::NONE, &mut losses).is_some() {
            waiting -= 1;
        } else {
            idle_since = idle_since.or(Some(now));
        }
    }
    assert!(losses.len() > 100 && queue.len() == waiting);
}

#[test]
fn settings_of_red_that_make_no_sense_are_refused() {
    let sound = settings();
    for (wrong, named) in [
        (RedSettings { low: 15, ..sound }, "the thresholds 15 and 15"),
        (RedSettings { high: 1 << 31, ..sound }, "2147483648"),
        (RedSettings { limit: Limit::Bytes(1 << 32), ..sound }, "Bytes(4294967296)"),
        (RedSettings { weight: Share::ZERO, ..sound }, "a weight"),
        (RedSettings { packet_time: Time::ZERO, ..sound }, "a packet time of 0"),
        (RedSettings { packet_bytes: Some(0), ..sound }, "0 bytes"),
    ] {
        let error = Queue::<Sample>::new(&QueueSettings::Red(wrong), 1, 1).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }
}

#[test]
fn nothing_is_dropped_where_red_only_marks() {
    let marking = RedSettings { marks: true, marks_only: true, ..settings() };
    for (ecn, expected) in [(Ecn::Capable0, Verdict::Marked), (Ecn::NotCapable, Verdict::Accepted)] {
        let found = verdicts(&mut settled(marking, 40), 40, 50, ecn);
        assert!(found.iter().all(|verdict| *verdict == expected), "{ecn:?}: {found:?}");
    }
}

#[test]
fn a_threshold_marks_what_it_is_exceeded_with() {
    let marked = |drops_incapable, ecn| {
        let settings = Threshold { limit: Limit::Packets(6), mark: Limit::Bytes(3000), drops_incapable };
        let (mut queue, mut losses) =
            (Queue::new(&QueueSettings::Threshold(settings), 1, 1).unwrap(), Vec::new());
        let verdicts: Vec<Verdict> = (0..8)
            .map(|number| queue.enqueue(Time::ZERO, Sample { ecn, ..Sample::new(number) }, &mut losses))
            .collect();
        let out = std::iter::from_fn(|| queue.dequeue(Time::ZERO, Classes::NONE, &mut losses));
        (verdicts, out.filter(|packet| packet.ecn == Ecn::Congested).count())
    };
    let (accepted, mark) = ([Verdict::Accepted; 3], [Verdict::Marked; 3]);
    let (full, early) = (Verdict::Dropped(DropReason::Full), Verdict::Dropped(DropReason::Early));
    assert_eq!(marked(false, Ecn::Capable0), ([&accepted[..], &mark, &[full; 2]].concat(), 3));
    assert_eq!(marked(false, Ecn::NotCapable), ([&[Verdict::Accepted; 6][..], &[full; 2]].concat(), 0));
    assert_eq!(marked(true, Ecn::NotCapable), ([&accepted[..], &[early; 5]].concat(), 0));
}
