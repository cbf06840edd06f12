//! Runs the cells of experiments side by side, the longest first, and hands each experiment its results. Cells that measure real time
//! run after all others, one at a time.
//!
//! Invariant: what comes out of simulated machines does not depend on the number of workers.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::time::{Duration, Instant};

use paceline_report::Finding;

use crate::Experiment;
use crate::plan::{Cell, CellError, Measure, Plan, Results, Setup};
use crate::queue::side_by_side;

/// How far it has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Cells that are done.
    pub done: usize,
    /// Cells in all.
    pub cells: usize,
    /// The cell that was done last.
    pub last: String,
}

/// Runs `experiments` on `workers` threads. Gives out a finding for each, in their order; one that could not be run says why
/// in a check that does not hold.
pub fn reproduce(
    experiments: &[&Experiment],
    setup: &Setup,
    workers: usize,
    progress: &mut dyn FnMut(Progress),
) -> Vec<Finding> {
    let mut plans = Vec::new();
    let (mut cells, mut known): (Vec<Cell>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
    for experiment in experiments {
        let Plan { cells: own, judge } = (experiment.plan)(setup);
        let keys: Vec<_> = own.iter().map(|cell| cell.key.clone()).collect();
        cells.extend(own.into_iter().filter(|cell| known.insert(cell.key.clone())));
        plans.push((*experiment, keys, judge));
    }
    cells.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    let count = cells.len();
    let (mut results, mut walls) = (Results::default(), BTreeMap::new());
    let (alone, together): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(|cell| cell.alone);
    let job = |Cell { key, job, .. }: Cell| -> Result<_, Infallible> {
        let start = Instant::now();
        let measure = job();
        Ok((key, measure, start.elapsed()))
    };
    for (cells, workers) in [(together, workers), (alone, 1)] {
        let Ok(()) = side_by_side(cells, workers, &job, &mut |(key, measure, wall): (String, _, _)| {
            walls.insert(key.clone(), wall);
            results.measures.insert(key.clone(), measure);
            progress(Progress { done: results.measures.len(), cells: count, last: key });
        });
    }
    let findings = plans.into_iter().map(|(experiment, keys, judge)| {
        let mut finding = judge(&results).unwrap_or_else(|error| failed(&error));
        finding.name = experiment.name.into();
        finding.title = experiment.title.into();
        finding.wall_seconds = keys.iter().filter_map(|key| walls.get(key)).map(Duration::as_secs_f64).sum();
        finding
    });
    findings.collect()
}

fn failed(error: &CellError) -> Finding {
    let mut finding = Finding::default();
    finding.checks.push(paceline_report::Check {
        what: "it can be run".into(),
        published: String::new(),
        ours: error.to_string(),
        must: "no error".into(),
        holds: false,
    });
    finding
}

#[cfg(test)]
mod test {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn cells_that_measure_real_time_run_one_at_a_time_after_all_others() {
        fn plan(_: &Setup) -> Plan {
            let (running, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let cell = |number: usize| {
                let (running, done) = (Arc::clone(&running), Arc::clone(&done));
                let alone = number.is_multiple_of(2);
                let job = move || {
                    let others = running.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    let before = done.load(Ordering::SeqCst);
                    running.fetch_sub(1, Ordering::SeqCst);
                    done.fetch_add(1, Ordering::SeqCst);
                    let disturbed = alone && (others > 0 || before < 10);
                    Ok(Measure { seconds: f64::from(u8::from(disturbed)), ..Measure::default() })
                };
                Cell { key: number.to_string(), weight: number as f64, alone, job: Box::new(job) }
            };
            let judge = |results: &Results| {
                let seconds = (0..20).map(|number| results.seconds(&number.to_string()));
                let disturbed = seconds.sum::<Result<f64, CellError>>()?;
                Ok(Finding { notes: vec![format!("{disturbed} disturbed")], ..Finding::default() })
            };
            Plan { cells: (0..20).map(cell).collect(), judge: Box::new(judge) }
        }
        let experiment = Experiment { name: "own", title: "", plan };
        let findings = reproduce(&[&experiment], &Setup::default(), 4, &mut |_| {});
        assert_eq!(findings[0].notes, ["0 disturbed"]);
    }
}
