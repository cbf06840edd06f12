//! Findings of runs whose results are made up: what holds of plans and judgements whatever a machine does.

use std::collections::BTreeSet;

use paceline_kernel::Rng;
use paceline_report::{Verdict, svg};

use crate::experiments;
use crate::prelude::*;
use crate::vectors::{self, halves::rows};

/// The plan of the experiment `name` with its built-in parameters.
pub fn planned(name: &str, setup: &Setup) -> Plan {
    let all = experiments();
    let found = all.iter().find(|experiment| experiment.name == name).expect("the catalogue has it");
    found.plan(setup).expect("built-in parameters are sound")
}

/// The finding of a plan whose runs measure what `measure` makes of their keys.
pub fn judged(plan: Plan, measure: impl Fn(&str) -> Measure) -> Finding {
    let measures = plan.cells.iter().map(|cell| (cell.key.clone(), Ok(measure(&cell.key))));
    let results = Results { measures: measures.collect() };
    (plan.judge)(&results).expect("all runs have results")
}

/// Numbers that differ from key to key and from seed to seed, and are the same for the same ones.
fn drawn(seed: u64, key: &str) -> Rng {
    Rng::new(seed, key.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())))
}

/// A measure with everything that any judgement asks for, of such numbers.
pub fn whatever(seed: u64) -> impl Fn(&str) -> Measure {
    const VALUES: &str = "error error_half_width time share waiting_share lu lu_half_width lu_polled ep overhead \
                          work packets steps wait delay_ns sent arrived dropped mbps jain median seen done \
                          mean_ms retransmissions timeouts window before detour after slowest \
                          requests whole connections slow used round rtt_us exchanges minutes span drawn \
                          megabytes gigabits \
                          rounds of_one shared_steps shared_seconds code_seconds answer_seconds";
    move |key| {
        let mut rng = drawn(seed, key);
        let mut number = || 0.5 + rng.below(1 << 20) as f64 / f64::from(1 << 18);
        Measure {
            seconds: number(),
            values: VALUES.split(' ').map(|name| (name, number())).collect(),
            series: vec![vec![(1.0, number()), (2.0, number()), (5.0, number())]; 64],
            digest: Some(1),
        }
    }
}

#[test]
fn all_are_there_in_the_order_of_the_papers() {
    let names: Vec<_> = experiments().iter().map(|experiment| experiment.name).collect();
    let expected = "psx-fig6 psx-fig7 psx-fig8 psx-fig9 psx-fig10 psx-fig11 psx-fig12 psx-fig13 psx-fig14 psx-grow psx-threads psx-wait psx-plus \
                    nsx-fig10 nsx-fig11 nsx-fig12 nsx-fig13 nsx-dynamic \
                    sg-fig1 sg-fig2 sg-fig3 sg-bind sg-parmap sg-threshold \
                    cs-table4 cs-table5 cs-table6 cs-table7 cs-table8 cs-table9 \
                    artis-fig1 artis-fig2 artis-fig3 artis-fig4 artis-fig5 artis-threads artis-fig8 artis-fig9 artis-fig10 \
                    net-md1 net-fat-tree net-newreno net-mathis net-dctcp net-cubic-codel net-dctcp-fig17 net-unison \
                    netwarp-tcp netwarp-order netwarp-flows netwarp-web netwarp-crowd netwarp-pair \
                    cluster-prediction";
    assert_eq!(names.join(" "), expected);
}

#[test]
fn runs_are_reported_apart_and_those_in_real_time_have_the_machine_to_themselves() {
    let keys = |name: &str, quick| -> BTreeSet<String> {
        let cells = planned(name, &Setup { quick, ..Setup::default() }).cells;
        let is_real = name.starts_with("sg-") || ["artis-fig8", "artis-fig9", "artis-fig10"].contains(&name);
        // Guests that are left alone race in real time; what a pair of them costs is CPU time. Real threads
        // have simulated ones beside them.
        let among_others = ["netwarp/order/alone", "netwarp/pair", "artis/threads", "psx/threads"];
        let races = |cell: &Cell| is_real || among_others.iter().any(|begin| cell.key.starts_with(begin));
        assert!(cells.iter().all(|cell| cell.alone == races(cell)), "{name}");
        let keys: BTreeSet<_> = cells.iter().map(|cell| cell.key.clone()).collect();
        // Others ask for some runs twice, which are done once.
        let are_unique = !name.starts_with("psx-") && !name.starts_with("cluster-");
        assert!(keys.len() == cells.len() || !are_unique, "{name}");
        keys
    };
    for quick in [false, true] {
        for experiment in experiments() {
            keys(experiment.name, quick);
        }
        assert_eq!(keys("sg-fig2", quick), keys("sg-fig3", quick), "both figures are of the same runs");
    }
}

#[test]
fn whatever_was_measured_is_judged_and_can_be_drawn() {
    for experiment in experiments() {
        for quick in [false, true] {
            let name = experiment.name;
            let finding = judged(planned(name, &Setup { quick, ..Setup::default() }), whatever(0));
            assert!(!finding.checks.is_empty() && !finding.figures.is_empty(), "{name}");
            assert!(finding.figures.iter().all(|figure| svg(figure, name).is_ok()), "{name}");
            let paper = name.split('-').next().expect("a split has a first part");
            let least = match paper {
                "cluster" => 11,
                "sg" | "artis" => 2,
                _ => 1,
            };
            assert!(finding.checks.len() >= least, "{name}");
            assert!(least == 1 || !finding.notes.is_empty(), "{name}");
            assert!(
                paper == "psx" || paper == "nsx" || paper == "artis" || !finding.tables.is_empty(),
                "{name}"
            );
        }
    }
}

#[test]
fn a_check_that_differs_is_swept_and_its_sweep_misses_with_our_own_value() {
    const SWEPT: [&str; 7] =
        ["psx-fig6", "psx-fig7", "psx-fig12", "psx-fig14", "artis-fig1", "artis-fig2", "artis-fig3"];
    for name in SWEPT {
        for quick in [false, true] {
            let mut sweeps = 0;
            for seed in 0..60 {
                let finding = judged(planned(name, &Setup { quick, ..Setup::default() }), whatever(seed));
                for sweep in &finding.sweeps {
                    let misses = |curve: &Curve| {
                        let ours = curve.points.iter().find(|point| point.0 == sweep.ours);
                        ours.is_some_and(|(_, measured)| curve.wanted.miss(*measured) > 0.0)
                    };
                    assert!(finding.misses(&sweep.check), "{name}, seed {seed}: {}", sweep.check);
                    assert!(sweep.curves.iter().any(misses), "{name}, seed {seed}: {}", sweep.check);
                }
                sweeps += finding.sweeps.len();
            }
            assert!(sweeps > 0, "{name}: nothing is swept");
        }
    }
}

#[test]
fn both_forms_have_the_same_numbers_in_the_same_halves() {
    for open in vectors::all() {
        for (place, name) in open.experiments.iter().enumerate() {
            let of = |quick| {
                let finding = judged(planned(name, &Setup { quick, ..Setup::default() }), whatever(0));
                let rows = rows(&finding, place).into_iter();
                rows.map(|row| (row.what, row.half.name())).collect::<Vec<_>>()
            };
            assert_eq!(of(true), of(false), "{name}");
        }
    }
}

#[test]
fn the_file_of_a_vector_is_what_a_search_writes() {
    let known: Vec<_> = experiments().iter().map(|experiment| experiment.name).collect();
    for (paper, text) in vectors::FILES {
        let open = vectors::Open::read(paper, text).expect("it is sound");
        assert_eq!(open.text(), text, "{paper}: written by `paceline reproduce --calibrate {paper}`");
        assert!(open.experiments.iter().all(|name| known.contains(&name.as_str())), "{paper}");
        assert_eq!(open.vectors > 0, !open.rows.is_empty(), "{paper}: a search leaves a record");
        let is_of_the_table = open.quantities.iter().all(|tried| tried.fitted == tried.constant.value);
        assert!(open.vectors > 0 || is_of_the_table, "{paper}: only a search changes a vector");
    }
}

/// Results that are wrong: each number is another key's, and scaled, to nothing and below that too; digests
/// differ from key to key, and some curves run backwards.
fn wrong(seed: u64) -> impl Fn(&str) -> Measure {
    const SCALES: [f64; 5] = [1.0, 1e-3, 1e3, 0.0, -1.0];
    let permuted = whatever(seed);
    // Of some seeds all numbers are scaled alike: only nothing at all is no error anywhere.
    let alike = (seed % 4 == 1).then(|| SCALES[(seed / 4) as usize % SCALES.len()]);
    move |key| {
        let Measure { seconds, values, mut series, .. } = permuted(key);
        let mut rng = drawn(seed + 1_000, key);
        let mut apart =
            || if seed.is_multiple_of(2) { SCALES[rng.below(SCALES.len() as u64) as usize] } else { 1.0 };
        let mut scale = || alike.unwrap_or_else(&mut apart);
        let (seconds, values) =
            (seconds * scale(), values.into_iter().map(|(name, value)| (name, value * scale())).collect());
        let mut sizes = drawn(seed + 3_000, key);
        for points in &mut series {
            let factor = scale() * (0.5 + sizes.below(1 << 10) as f64 / 256.0);
            points.iter_mut().for_each(|point| point.1 *= factor);
            if seed.is_multiple_of(3) {
                points.sort_by(|one, other| other.1.total_cmp(&one.1));
            }
        }
        let digest = Some(drawn(seed + 2_000, key).below(u64::MAX));
        Measure { seconds, values, series, digest }
    }
}

/// A check that no wrong result fails is none.
#[test]
fn every_check_fails_on_wrong_results() {
    const SEEDS: u64 = 24;
    let mut cannot_fail = Vec::new();
    for experiment in experiments() {
        for quick in [false, true] {
            let name = experiment.name;
            let (mut all, mut failed) = (BTreeSet::new(), BTreeSet::new());
            for seed in 0..SEEDS {
                let finding = judged(planned(name, &Setup { quick, ..Setup::default() }), wrong(seed));
                for check in finding.checks {
                    // What is drawn has wide intervals: some checks are mostly undecided.
                    if check.verdict() != Verdict::Reproduced {
                        failed.insert(check.what.clone());
                    }
                    all.insert(check.what);
                }
            }
            assert!(!all.is_empty(), "{name}");
            cannot_fail.extend(all.difference(&failed).map(|what| format!("{name}, quick {quick}: {what}")));
        }
    }
    assert!(cannot_fail.is_empty(), "{cannot_fail:#?}");
}
