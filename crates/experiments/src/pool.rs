//! Runs the cells of experiments side by side, the longest first, and hands each experiment its results.
//!
//! Invariant: what comes out does not depend on the number of workers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use paceline_report::Finding;

use crate::Experiment;
use crate::plan::{Cell, CellError, Measure, Plan, Results, Setup};

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

type Ran = (String, Result<Measure, CellError>, Duration);

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
    cells.sort_by(|one, other| one.weight.total_cmp(&other.weight));
    let count = cells.len();
    let (mut results, mut walls) = (Results::default(), BTreeMap::new());
    let todo = Mutex::new(cells);
    let (done, ready) = channel::<Ran>();
    thread::scope(|scope| {
        for _ in 0..workers.clamp(1, count.max(1)) {
            let (todo, done) = (&todo, done.clone());
            scope.spawn(move || {
                loop {
                    let next = todo.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
                    let Some(Cell { key, job, .. }) = next else { return };
                    let start = Instant::now();
                    let measure = job();
                    if done.send((key, measure, start.elapsed())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        for (key, measure, wall) in ready {
            walls.insert(key.clone(), wall);
            results.measures.insert(key.clone(), measure);
            progress(Progress { done: results.measures.len(), cells: count, last: key });
        }
    });
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
