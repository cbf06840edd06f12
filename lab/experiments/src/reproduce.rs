//! Runs the cells of experiments in this process, and gives each experiment its results.
//!
//! Invariant: the results of simulated machines do not depend on the number of workers.

use std::convert::Infallible;

use paceline_report::Finding;
use paceline_scenario::ScenarioError;

use crate::Experiment;
use crate::batch::{Batch, Ran, Setup};
use crate::memory::Memory;
use crate::papers::introduction;
use crate::plan::{Cell, Found, Measure, Results};
use crate::vectors;

/// How far all experiments together have come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Cells that are done.
    pub done: usize,
    /// Cells in all.
    pub cells: usize,
    /// The cell that was done last.
    pub last: String,
}

/// Runs `experiments` on `workers` threads. Returns a finding for each, in their order; if one could not be
/// run, a check that has failed says why. Each begins with its source, and says which parameters it had if
/// these are not the built-in ones. Fails before anything runs if there is a mistake in parameters.
pub fn reproduce(
    experiments: &[&Experiment],
    setup: &Setup,
    workers: usize,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Finding>, ScenarioError> {
    let job = |cell: Cell| (cell.job)();
    judge(experiments, setup, workers, &job, progress)
}

/// The same, but runs whose results are in `memory` are not done again. Nothing may measure real time.
pub(crate) fn reproduce_again(
    experiments: &[&Experiment],
    setup: &Setup,
    workers: usize,
    memory: &Memory,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Finding>, ScenarioError> {
    let setup = Setup { calibration: memory.noting(&setup.calibration), ..setup.clone() };
    let job = |Cell { key, job, .. }: Cell| memory.of(&key, &setup.calibration, job);
    judge(experiments, &setup, workers, &job, progress)
}

fn judge(
    experiments: &[&Experiment],
    setup: &Setup,
    workers: usize,
    job: &(dyn Fn(Cell) -> Found<Measure> + Sync),
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Finding>, ScenarioError> {
    let plan = |experiment: &&Experiment| {
        Ok(((experiment.name, experiment.title, experiment.ran_on), experiment.plan(setup)?))
    };
    let mut batch = Batch::of(experiments.iter().map(plan).collect::<Result<Vec<_>, ScenarioError>>()?);
    let other = match &setup.given {
        Some(given) => Some((given.experiment(), given.differences()?)),
        None => None,
    };
    let other = other.filter(|(_, differences)| !differences.is_empty());
    let cells = batch.cells().len();
    let mut results = Results::default();
    let job = &|cell: Cell| -> Result<_, Infallible> { Ok(job(cell)) };
    let Ok(()) = batch.run(workers, job, &mut |Ran { key, output, .. }| {
        results.measures.insert(key.clone(), output);
        progress(Progress { done: results.measures.len(), cells, last: key });
    });
    let introduced = |mut finding: Finding| {
        finding.about.splice(0..0, introduction(&finding.name));
        let value = |name: &str| setup.calibration.get(name);
        finding.fit = vectors::of(&finding.name).and_then(|open| open.fit_of(&finding, value));
        if let Some((_, differences)) = other.as_ref().filter(|(name, _)| *name == finding.name) {
            finding.notes.insert(0, differences.clone());
            finding.parameters.clone_from(differences);
        }
        finding
    };
    Ok(batch.judge(&results).into_iter().map(|judged| introduced(judged.finding)).collect())
}

#[cfg(test)]
mod test {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use paceline_report::RanOn;

    use super::*;
    use crate::parameters::Parameters;
    use crate::plan::{CellError, Plan};

    const NOTHING: &str = "[experiment]\nname = \"own\"\n";

    #[test]
    fn cells_that_measure_real_time_run_one_at_a_time_after_all_others() {
        fn plan(_: &Setup, _: &mut Parameters) -> Result<Plan, ScenarioError> {
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
            Ok(Plan { cells: (0..20).map(cell).collect(), judge: Box::new(judge) })
        }
        let experiment = Experiment {
            name: "own",
            title: "",
            ran_on: RanOn::RealThreads,
            parameters: NOTHING,
            planner: plan,
        };
        let findings = reproduce(&[&experiment], &Setup::default(), 4, &mut |_| {}).expect("all is sound");
        assert_eq!(findings[0].notes, ["0 disturbed"]);
    }
}
