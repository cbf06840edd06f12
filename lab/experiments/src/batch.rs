//! The core of all experiments, wherever they run: a plan of runs and a judgement of them, and batches of
//! experiments, whose runs are done side by side.
//!
//! A [`Backend`] defines what a run is and what its result is: this crate's are jobs of this process, the
//! lab's for hypervisors are boots. A [`Batch`] takes experiments of one backend, does their runs, the
//! longest first, and has each experiment judge.
//!
//! Invariants: a run's key names everything on which its result depends, so that runs with the same key are
//! done once, however many experiments need them; runs do not depend on each other. Results of runs are
//! reported on the calling thread only.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use paceline_report::{Check, Finding, RanOn};

use crate::{Calibration, Given};
use paceline_machine_scenarios::side_by_side;

/// How experiments are run.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Smaller sizes, shorter horizons, fewer repetitions: the same claims in a fraction of the time.
    pub quick: bool,
    /// The parameters of one experiment, in place of its built-in ones. [`Given::setup`] makes the set-up
    /// that goes with them.
    pub given: Option<Given>,
    /// Runs that are repeated with other values of what a source does not state are left out.
    pub without_sweeps: bool,
    /// The costs on simulated machines. Real runs do not use it.
    pub calibration: Calibration,
}

/// A place where experiments run.
pub trait Backend {
    /// A run of this place, with the key by which its result is found.
    type Cell: Run;
    /// The results of the runs, by their keys.
    type Results;
    /// Why a judge has no finding.
    type Error: fmt::Display;
}

/// One run of an experiment.
pub trait Run: Send {
    /// Names everything on which its result depends.
    fn key(&self) -> &str;

    /// How long it takes compared with others: long runs begin first.
    fn weight(&self) -> f64 {
        1.0
    }

    /// Whether nothing else may run meanwhile: it measures real time.
    fn is_alone(&self) -> bool {
        false
    }
}

/// Judges what the runs of a plan show.
pub type Judge<B> =
    Box<dyn FnOnce(&<B as Backend>::Results) -> Result<Finding, <B as Backend>::Error> + Send>;

/// An experiment that is ready to run.
pub struct Plan<B: Backend> {
    /// Its runs, each under the key by which `judge` finds its result.
    pub cells: Vec<B::Cell>,
    /// What they show: name, title and wall time of the finding are filled in afterwards.
    pub judge: Judge<B>,
}

impl<B: Backend> Plan<B> {
    /// Of these runs, and what `judge` says of their results.
    pub fn new(
        cells: Vec<B::Cell>,
        judge: impl FnOnce(&B::Results) -> Result<Finding, B::Error> + Send + 'static,
    ) -> Self {
        Self { cells, judge: Box::new(judge) }
    }
}

/// Something to be shown by runs.
#[derive(Clone, Copy, Debug)]
pub struct Experiment<B: Backend> {
    /// Its name, which no other one has.
    pub name: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// What its runs are.
    pub ran_on: RanOn,
    /// Plans its runs.
    pub plan: fn(&Setup) -> Plan<B>,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Ran<T> {
    /// The key of the run ([`Run::key`]).
    pub key: String,
    /// What the run has measured or printed.
    pub output: T,
    /// How long it took on this machine.
    pub wall: Duration,
}

/// The result of an experiment.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What its runs show.
    pub finding: Finding,
    /// The keys of its runs.
    pub keys: Vec<String>,
}

/// Experiments whose runs are done together.
pub struct Batch<B: Backend> {
    cells: Vec<B::Cell>,
    planned: Vec<Planned<B>>,
    walls: BTreeMap<String, Duration>,
}

/// What is said of an experiment whatever its runs show: its name, its title, and what it runs on.
pub type Head = (&'static str, &'static str, RanOn);

struct Planned<B: Backend> {
    head: Head,
    keys: Vec<String>,
    judge: Judge<B>,
}

impl<B: Backend> Batch<B> {
    /// Plans all of `experiments` under `setup`; nothing runs yet.
    pub fn new(experiments: &[&Experiment<B>], setup: &Setup) -> Self {
        let plan = |experiment: &&Experiment<B>| {
            let Experiment { name, title, ran_on, plan } = **experiment;
            ((name, title, ran_on), plan(setup))
        };
        Self::of(experiments.iter().map(plan))
    }

    /// Of experiments that are planned.
    pub fn of(plans: impl IntoIterator<Item = (Head, Plan<B>)>) -> Self {
        let (mut cells, mut known): (Vec<B::Cell>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
        let planned = plans.into_iter().map(|(head, Plan { cells: planned_cells, judge })| {
            let keys: Vec<_> = planned_cells.iter().map(|cell| cell.key().to_owned()).collect();
            cells.extend(planned_cells.into_iter().filter(|cell| known.insert(cell.key().to_owned())));
            Planned { head, keys, judge }
        });
        let planned = planned.collect();
        Self { cells, planned, walls: BTreeMap::new() }
    }

    /// The runs that are to be done, each key once.
    pub fn cells(&self) -> &[B::Cell] {
        &self.cells
    }

    /// Does the runs by `job`, `workers` of them at once, the longest first, and then one at a time those
    /// that must be alone. `done` is called with each result as runs end. After the first failure of
    /// `job` no further run begins, and it is returned.
    pub fn run<T: Send, E: Send + Sync>(
        &mut self,
        workers: usize,
        job: &(impl Fn(B::Cell) -> Result<T, E> + Sync),
        done: &mut dyn FnMut(Ran<T>),
    ) -> Result<(), E> {
        let mut cells = std::mem::take(&mut self.cells);
        cells.sort_by(|one, other| other.weight().total_cmp(&one.weight()));
        let timed = |cell: B::Cell| {
            let (key, start) = (cell.key().to_owned(), Instant::now());
            job(cell).map(|output| Ran { key, output, wall: start.elapsed() })
        };
        let (alone, together): (Vec<_>, Vec<_>) = cells.into_iter().partition(Run::is_alone);
        for (cells, workers) in [(together, workers), (alone, 1)] {
            side_by_side(cells, workers, &timed, &mut |ran: Ran<T>| {
                self.walls.insert(ran.key.clone(), ran.wall);
                done(ran);
            })?;
        }
        Ok(())
    }

    /// Has all experiments judge the results of the runs, in their order. If one has no finding, a check that
    /// has failed says why. The wall time of a finding is that of all its runs, even if other
    /// experiments share them.
    pub fn judge(self, results: &B::Results) -> Vec<Judged> {
        let walls = self.walls;
        let judged = self.planned.into_iter().map(|Planned { head: (name, title, ran_on), keys, judge }| {
            let mut finding = judge(results).unwrap_or_else(|error| failed(&error));
            finding.name = name.into();
            finding.title = title.into();
            finding.ran_on = ran_on;
            finding.wall_seconds =
                keys.iter().filter_map(|key| walls.get(key)).map(Duration::as_secs_f64).sum();
            Judged { finding, keys }
        });
        judged.collect()
    }
}

fn failed(error: &impl fmt::Display) -> Finding {
    let check = Check::failed("it can be run", error.to_string());
    Finding { checks: vec![check], ..Finding::default() }
}

impl<B: Backend<Cell: fmt::Debug>> fmt::Debug for Plan<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("cells", &self.cells).finish_non_exhaustive()
    }
}

impl<B: Backend<Cell: fmt::Debug>> fmt::Debug for Batch<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("cells", &self.cells).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use paceline_report::Verdict;

    use super::*;

    /// Runs whose result is their key.
    #[derive(Clone, Copy, Debug)]
    struct Echo;

    impl Backend for Echo {
        type Cell = &'static str;
        type Results = Vec<String>;
        type Error = &'static str;
    }

    impl Run for &'static str {
        fn key(&self) -> &str {
            self
        }

        fn weight(&self) -> f64 {
            self.len() as f64
        }
    }

    const FIRST: Experiment<Echo> = Experiment {
        name: "first",
        title: "has runs of its own",
        ran_on: RanOn::SimulatedMachine,
        plan: |_| Plan {
            cells: vec!["own", "shared"],
            judge: Box::new(|seen| Ok(Finding { notes: seen.clone(), ..Finding::default() })),
        },
    };
    const SECOND: Experiment<Echo> = Experiment {
        name: "second",
        title: "cannot be judged",
        ran_on: RanOn::SimulatedMachine,
        plan: |_| Plan { cells: vec!["shared"], judge: Box::new(|_| Err("no idea")) },
    };

    fn run(fails: &str) -> (Result<(), String>, Vec<String>, Vec<Judged>) {
        let mut batch = Batch::new(&[&FIRST, &SECOND], &Setup::default());
        assert_eq!(batch.cells(), ["own", "shared"]);
        let job = |key: &'static str| if key == fails { Err(key.to_owned()) } else { Ok(key) };
        let mut seen = Vec::new();
        let result = batch.run(1, &job, &mut |ran: Ran<&str>| {
            assert_eq!(ran.key, ran.output);
            seen.push(ran.key);
        });
        let judged = batch.judge(&seen);
        (result, seen, judged)
    }

    #[test]
    fn a_key_is_run_once_the_longest_first_and_all_experiments_judge() {
        let (result, seen, judged) = run("");
        assert_eq!((result, seen), (Ok(()), vec!["shared".to_owned(), "own".to_owned()]));
        let [first, second] = &judged[..] else { panic!("{judged:?}") };
        assert_eq!((first.finding.name.as_str(), first.finding.notes.len()), ("first", 2));
        assert_eq!(
            (&first.keys[..], &second.keys[..]),
            (&["own".into(), "shared".into()][..], &["shared".into()][..])
        );
        let check = &second.finding.checks[0];
        assert_eq!(
            (second.finding.title.as_str(), check.ours(), check.verdict()),
            ("cannot be judged", "no idea".to_owned(), Verdict::Differs)
        );
    }

    #[test]
    fn a_run_that_fails_ends_the_batch() {
        let (result, seen, _) = run("shared");
        assert_eq!((result, seen), (Err("shared".to_owned()), Vec::new()));
    }
}
