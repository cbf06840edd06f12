//! The experiments of the ARTIS paper: the effect of its runtime, its marshalling and its Enhanced Heap on the wireless model.
//!
//! Figures 1 to 3 and 4 to 5 are runs of simulated machines, whose hosts are the paper's PCs with two hyper-threaded CPUs.
//! Figures 8 to 10 are measured in real time, one run at a time.

mod drive;
mod enhanced_heap;
mod frames;
mod heaps;
mod lp;
mod marshalling;
mod queues;
mod runs;
mod runtimes;
mod threading;
mod turns;

use crate::Experiment;
use crate::catalogue::experiment;
use crate::parameters::kinds::{Kind, count};

/// The experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    experiment!(
        "artis-fig1",
        "Multi-threaded LPs with timed wait: run time over LPs, HT on and off",
        runtimes::fig1
    ),
    experiment!(
        "artis-fig2",
        "Multi-threaded LPs with signals: run time over LPs, HT on and off",
        runtimes::fig2
    ),
    experiment!("artis-fig3", "Single-threaded LPs: run time over LPs, HT on and off", runtimes::fig3),
    experiment!(
        "artis-fig4",
        "Two hosts: run time with and without marshalling over the model's hosts",
        marshalling::fig4
    ),
    experiment!(
        "artis-fig5",
        "Two hosts: run time with and without marshalling over the MTU",
        marshalling::fig5
    ),
    experiment!(
        "artis-fig8",
        "A group of 1000 events in the Enhanced Heap and in a binary heap, over their sizes",
        heaps::plan
    ),
    experiment!(
        "artis-fig9",
        "The standard wireless model with the Enhanced Heap and a binary heap",
        queues::fig9
    ),
    experiment!(
        "artis-fig10",
        "The light wireless model with the Enhanced Heap and a binary heap",
        queues::fig10
    ),
];

/// Hosts of the model.
fn hosts() -> Kind<u32> {
    count(100..=100_000)
}

/// Steps of the model.
fn steps() -> Kind<u32> {
    count(1..=100_000)
}

/// Turns of what is compared in real time.
fn turns() -> Kind<u32> {
    count(1..=1_000)
}

/// The text about figures 1 to 3.
fn about() -> String {
    "The load of the wireless model, 6000 hosts on a torus of 10,000 x 10,000, each heard within 250 in every step: an LP computes, \
     sends pings to others, handles theirs and waits for the end of the step. A host with two CPUs whose threads are scheduled by \
     Linux as of 2005 or by least LVT first (PSX+)."
        .into()
}

#[cfg(test)]
mod test {
    use paceline_report::svg;

    use super::*;
    use crate::catalogue::planned;
    use crate::plan::{Measure, Results, Setup};

    #[test]
    fn runs_in_real_time_have_the_machine_to_themselves_and_others_do_not() {
        for experiment in EXPERIMENTS {
            let real = ["artis-fig8", "artis-fig9", "artis-fig10"].contains(&experiment.name);
            let cells = planned(experiment.name, &Setup::default()).cells;
            assert!(cells.iter().all(|cell| cell.alone == real), "{}", experiment.name);
        }
    }

    #[test]
    fn whatever_was_measured_is_judged_and_can_be_drawn() {
        // More series than any cell has.
        let measure = Measure {
            seconds: 1.0,
            values: [("work", 1.0), ("packets", 6.0)].into(),
            series: vec![vec![(1.0, 1.0), (2.0, 1.5), (5.0, 2.0)]; 40],
            ..Measure::default()
        };
        for experiment in EXPERIMENTS {
            for quick in [false, true] {
                let plan = planned(experiment.name, &Setup { quick, ..Setup::default() });
                let measures = plan.cells.iter().map(|cell| (cell.key.clone(), Ok(measure.clone())));
                let results = Results { measures: measures.collect() };
                let finding = (plan.judge)(&results).expect("all cells have results");
                let name = experiment.name;
                assert!(finding.checks.len() > 1 && !finding.notes.is_empty(), "{name}");
                assert!(!finding.figures.is_empty(), "{name}");
                assert!(finding.figures.iter().all(|figure| svg(figure, name).is_ok()), "{name}");
            }
        }
    }
}
