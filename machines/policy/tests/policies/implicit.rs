//! Time sharing with boosts: schedules computed by hand, and its properties.

use crate::lab::{Act, Lab, ran};
use crate::mix::mixes;
use paceline_policy::{MILLISECOND as MS, PolicyError, Setting, Settings, VcpuId};
use proptest::prelude::*;

const REACTIONS: [&str; 3] = ["none", "immediate-boost", "periodic-boost"];

fn settings(reaction: &str, boost_period_ms: u64) -> Settings {
    let settings = Settings::default().with("slice", Setting::Nanos(4 * MS));
    let settings = settings.with("reaction", Setting::Word(reaction.into()));
    match reaction {
        "periodic-boost" => settings.with("boost-period", Setting::Nanos(boost_period_ms * MS)),
        _ => settings,
    }
}

fn hogs(reaction: &str, boost_period_ms: u64, number: u32) -> Lab {
    let mut lab = Lab::new("implicit", settings(reaction, boost_period_ms), 1);
    lab.hogs(number);
    lab
}

/// From this microsecond on, this many messages are pending for a domain.
fn report_pending(lab: &mut Lab, at_us: u64, dom: u32, messages: u32) {
    lab.run(at_us * 1_000);
    lab.pending(dom, messages);
}

#[test]
fn without_a_reaction_messages_change_nothing() {
    let mut lab = hogs("none", 0, 3);
    report_pending(&mut lab, 1_000, 2, 5);
    lab.run(12 * MS);
    lab.assert_ran(MS, "0: 0-4, 1: 4-8, 2: 8-12");
}

#[test]
fn an_immediate_boost_preempts_and_the_preempted_keeps_the_rest_of_its_slice() {
    let mut lab = hogs("immediate-boost", 0, 3);
    report_pending(&mut lab, 1_000, 2, 1);
    // A pending count that falls or stays equal means no new message; one that rises does.
    report_pending(&mut lab, 6_000, 2, 1);
    report_pending(&mut lab, 6_500, 2, 0);
    report_pending(&mut lab, 7_000, 2, 1);
    lab.run(20 * MS);
    let expected = [
        ran(0, 0, 0, MS),
        ran(0, 2, MS, 5 * MS),
        // The rest of 4 ms, of which 1 ms and then another 2 ms are gone at 7; the boosted has a new slice.
        ran(0, 0, 5 * MS, 7 * MS),
        ran(0, 2, 7 * MS, 11 * MS),
        ran(0, 0, 11 * MS, 12 * MS),
        ran(0, 1, 12 * MS, 16 * MS),
        ran(0, 2, 16 * MS, 20 * MS),
    ];
    assert_eq!(lab.stretches(), expected);
}

#[test]
fn the_periodic_boost_takes_those_with_messages_in_turn() {
    let mut lab = hogs("periodic-boost", 3, 4);
    report_pending(&mut lab, 500, 2, 1);
    report_pending(&mut lab, 600, 3, 9);
    lab.run(12 * MS);
    // At 3, 6 and 9 the boost finds 2, then 3 (2 runs), then 2, which was preempted at 6.
    let expected = [
        ran(0, 0, 0, 3 * MS),
        ran(0, 2, 3 * MS, 6 * MS),
        ran(0, 3, 6 * MS, 9 * MS),
        ran(0, 2, 9 * MS, 10 * MS),
        // The preempted have their rests, the last one first: 3 has 1 ms left, 0 likewise.
        ran(0, 3, 10 * MS, 11 * MS),
        ran(0, 0, 11 * MS, 12 * MS),
    ];
    assert_eq!(lab.stretches(), expected);
}

#[test]
fn who_wakes_for_a_message_preempts_at_once_only_with_the_immediate_boost() {
    let order = |reaction| {
        let mut lab = Lab::new("implicit", settings(reaction, 100), 1);
        lab.hog(Settings::default());
        let blocks = vec![Act::Sleep(5 * MS), Act::Compute(MS)];
        lab.domain(false, &[(blocks, None)], false, Settings::default()).expect("it is admitted");
        report_pending(&mut lab, 4_999, 1, 1);
        lab.run(10 * MS);
        lab.stretches()
    };
    let waits = [ran(0, 0, 0, 8 * MS), ran(0, 1, 8 * MS, 9 * MS), ran(0, 0, 9 * MS, 10 * MS)];
    assert_eq!(order("none"), waits);
    assert_eq!(order("periodic-boost"), waits);
    let boosted = [ran(0, 0, 0, 5 * MS), ran(0, 1, 5 * MS, 6 * MS), ran(0, 0, 6 * MS, 10 * MS)];
    assert_eq!(order("immediate-boost"), boosted);
}

#[test]
fn a_yield_boosts_the_first_with_messages() {
    for reaction in REACTIONS {
        let mut lab = Lab::new("implicit", settings(reaction, 100), 1);
        let yields = vec![Act::Compute(MS), Act::Yield];
        lab.guest(yields);
        lab.hogs(3);
        let boosted = [ran(0, 0, 0, MS / 2), ran(0, 2, MS / 2, 9 * MS / 2), ran(0, 0, 9 * MS / 2, 5 * MS)];
        let usual = [ran(0, 0, 0, MS), ran(0, 2, MS, 5 * MS)];
        report_pending(&mut lab, 500, 2, 1);
        lab.run(5 * MS);
        match reaction {
            "immediate-boost" => assert_eq!(lab.stretches(), boosted),
            _ => assert_eq!(lab.stretches(), usual),
        }
    }
}

#[test]
fn settings_that_nobody_reads_are_refused() {
    let mut settings = settings("none", 0).with("boost-period", Setting::Nanos(MS));
    let refused = paceline_policy::build("implicit", &mut settings, paceline_policy::Host { pcpus: 1 });
    assert!(
        matches!(refused.map(drop), Err(PolicyError::UnknownSetting { key, .. }) if key == "boost-period")
    );
}

fn no_settings() -> BoxedStrategy<Settings> {
    Just(Settings::default()).boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_pcpu_idles_while_somebody_waits(mix in mixes(no_settings), free in any::<bool>()) {
        let mut mix = mix;
        if free {
            mix.domains.iter_mut().flat_map(|(_, scripts, _)| scripts).for_each(|(_, pin)| *pin = None);
        }
        for reaction in REACTIONS {
            let watch = |lab: &Lab| assert!(lab.wasted().is_empty(), "{reaction}");
            let first = mix.play("implicit", &settings(reaction, 2), watch).stretches();
            prop_assert_eq!(first, mix.play("implicit", &settings(reaction, 2), watch).stretches());
        }
    }

    #[test]
    fn without_boosts_all_have_the_same(pcpus in 1_u32..4, each in 1_u32..5) {
        let mut lab = Lab::new("implicit", settings("none", 0), pcpus);
        lab.hogs(pcpus * each);
        lab.run(u64::from(each) * 40 * MS);
        (0..pcpus * each).for_each(|vcpu| assert_eq!(lab.ran_ns(vcpu), 40 * MS));
    }

    #[test]
    fn periodic_boosts_go_round_among_those_with_messages(with_messages in 2_u32..6, others in 1_u32..4) {
        let mut lab = hogs("periodic-boost", 2, with_messages + others);
        for dom in 0..with_messages {
            report_pending(&mut lab, 0, dom, dom + 1);
        }
        // Every 2 ms the next one, before any slice of 4 ms is over; the first goes on until 2 ms.
        lab.run(u64::from(with_messages) * 20 * MS);
        for turn in 0..u64::from(with_messages) * 10 {
            let now_ns = turn * 2 * MS + MS;
            let stretches = lab.stretches();
            let runs = stretches.iter().find(|stretch| stretch.from_ns <= now_ns && now_ns < stretch.to_ns);
            let due = VcpuId((turn % u64::from(with_messages)) as u32);
            prop_assert_eq!(runs.map(|stretch| VcpuId(stretch.vcpu)), Some(due));
        }
    }
}
