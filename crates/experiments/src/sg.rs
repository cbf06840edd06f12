//! The experiments of the SimGrid report: the code of processes in parallel on a sequential core.
//!
//! These are not simulated machines but runs of Chord on real threads of this machine, in real time. So each cell has the machine
//! to itself, the ways that are compared take turns within it, and results are medians with the least and the greatest value. All
//! runs of a cell must have the same digest. There are at most as many threads as cores, but at least two.
//!
//! Chord is that of SimGrid's example: a warm ring, periods of 20 s (stabilize), 120 s (fix fingers, check predecessor) and 10 s
//! (lookup), messages of 10 bytes, and all peers starting at once unless stated otherwise. "Constant": each message takes 50
//! ms. "Precise": LV08 with max-min sharing on a cluster with a backbone, a host for each peer, at most 10,000.

mod binding;
mod coordination;
mod rounds;
mod runs;
mod speedup;
mod threshold;

use std::num::NonZero;

use crate::Experiment;

/// The experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "sg-fig1",
        title: "Chord on many threads: speed-up over the number of peers",
        plan: speedup::plan,
    },
    Experiment { name: "sg-fig2", title: "How many processes the rounds of Chord hold", plan: rounds::sizes },
    Experiment {
        name: "sg-fig3",
        title: "How long rounds of Chord take over their size",
        plan: rounds::times,
    },
    Experiment { name: "sg-bind", title: "Threads bound to cores and not", plan: binding::plan },
    Experiment {
        name: "sg-parmap",
        title: "What the coordinating thread does, and how threads wait",
        plan: coordination::plan,
    },
    Experiment { name: "sg-threshold", title: "When a round runs on many threads", plan: threshold::plan },
];

/// The number of cores, but at least two: the number of threads that is compared with one.
fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, NonZero::get).max(2) as u32
}

/// The numbers of threads that are tried: 2, 4, 8 and so on, and the number of cores.
fn thread_counts() -> Vec<u32> {
    let cores = cores();
    let mut counts: Vec<u32> = (1..).map(|power| 1 << power).take_while(|count| *count < cores).collect();
    counts.push(cores);
    counts
}

/// The text about all of them.
fn about() -> String {
    format!(
        "Chord as in SimGrid's example, on a warm ring, all peers starting at once where nothing else is said, run in real time on {} threads of this machine. \
         What is compared takes turns; medians, with the least and the most in brackets; ratios are medians of ratios within a turn.",
        cores()
    )
}

#[cfg(test)]
mod test {
    use std::collections::BTreeSet;

    use paceline_report::svg;

    use super::*;
    use crate::plan::{Measure, Results, Setup};

    const QUICK: [bool; 2] = [false, true];

    #[test]
    fn cells_have_the_machine_to_themselves_and_are_told_apart() {
        for quick in QUICK {
            let setup = Setup { quick, ..Setup::default() };
            let keys = |experiment: &Experiment| -> Vec<String> {
                let cells = (experiment.plan)(&setup).cells;
                assert!(cells.iter().all(|cell| cell.alone), "{}", experiment.name);
                cells.into_iter().map(|cell| cell.key).collect()
            };
            for experiment in EXPERIMENTS {
                let keys = keys(experiment);
                assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "{}", experiment.name);
            }
            assert_eq!(keys(&EXPERIMENTS[1]), keys(&EXPERIMENTS[2]), "both figures are of the same runs");
        }
    }

    #[test]
    fn whatever_was_measured_is_judged_and_can_be_drawn() {
        // More series than any cell has; each is of three turns, or of three classes of sizes.
        let measure = Measure {
            values: [("steps", 10.0), ("rounds", 6.0)].into(),
            series: vec![vec![(1.0, 1.0), (2.0, 1.5), (5.0, 2.0)]; 40],
            ..Measure::default()
        };
        for experiment in EXPERIMENTS {
            for quick in QUICK {
                let plan = (experiment.plan)(&Setup { quick, ..Setup::default() });
                let measures = plan.cells.iter().map(|cell| (cell.key.clone(), Ok(measure.clone())));
                let results = Results { measures: measures.collect() };
                let finding = (plan.judge)(&results).expect("all cells have results");
                let name = experiment.name;
                assert!(finding.checks.len() > 1 && !finding.notes.is_empty(), "{name}");
                assert!(!finding.tables.is_empty() && !finding.figures.is_empty(), "{name}");
                assert!(finding.figures.iter().all(|figure| svg(figure, name).is_ok()), "{name}");
            }
        }
    }
}
