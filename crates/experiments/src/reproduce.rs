//! Runs the cells of experiments in this process, and gives each experiment its results.
//!
//! Invariant: the results of simulated machines do not depend on the number of workers.

use std::convert::Infallible;

use paceline_report::Finding;

use crate::Experiment;
use crate::batch::{Batch, Ran, Setup};
use crate::papers::introduction;
use crate::plan::{Cell, Results};

/// The progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Cells that are done.
    pub done: usize,
    /// Cells in all.
    pub cells: usize,
    /// The cell that was done last.
    pub last: String,
}

/// Runs `experiments` on `workers` threads. Returns a finding for each, in their order; if one could not be run, a check that
/// does not hold says why. Each begins with its source.
pub fn reproduce(
    experiments: &[&Experiment],
    setup: &Setup,
    workers: usize,
    progress: &mut dyn FnMut(Progress),
) -> Vec<Finding> {
    let mut batch = Batch::new(experiments, setup);
    let cells = batch.cells().len();
    let mut results = Results::default();
    let job = |cell: Cell| -> Result<_, Infallible> { Ok((cell.job)()) };
    let Ok(()) = batch.run(workers, &job, &mut |Ran { key, output, .. }| {
        results.measures.insert(key.clone(), output);
        progress(Progress { done: results.measures.len(), cells, last: key });
    });
    let introduced = |mut finding: Finding| {
        finding.about.splice(0..0, introduction(&finding.name));
        finding
    };
    batch.judge(&results).into_iter().map(|judged| introduced(judged.finding)).collect()
}

#[cfg(test)]
mod test {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::plan::{CellError, Measure, Plan};

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
