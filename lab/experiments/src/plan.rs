//! Experiments whose runs (cells) are jobs of this process: what a cell is, and what it measures. Most are
//! runs of simulated machines; those of the SimGrid report take real time, and have the machine to
//! themselves.
//!
//! Invariants: those of batches ([`crate::batch`]).
//!
//! To add an experiment, plan and judge it in a file beside those of its paper, name it in the paper's list,
//! and give it a file in `lab/experiments/parameters`. `catalogue/made_up.rs` lists all names, and the
//! numbers that runs may measure.

use std::collections::BTreeMap;

use paceline_machine::MachineError;
use thiserror::Error;

pub use crate::batch::Setup;
use crate::batch::{self, Backend, Run};

/// Experiments whose runs are jobs of this process.
#[derive(Clone, Copy, Debug)]
pub struct InProcess;

impl Backend for InProcess {
    type Cell = Cell;
    type Results = Results;
    type Error = CellError;
}

/// An experiment that is ready to run.
pub type Plan = batch::Plan<InProcess>;

/// What a cell measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measure {
    /// Run time on the machine, in seconds of its time.
    pub seconds: f64,
    /// Other numbers by name.
    pub values: BTreeMap<&'static str, f64>,
    /// Points over time, by federate or domain.
    pub series: Vec<Vec<(f64, f64)>>,
    /// The digest of the simulation that ran in the guests, if there was one.
    pub digest: Option<u64>,
}

/// Why a cell has no result.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CellError {
    /// The machine could not continue.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A simulation of processes could not continue.
    #[error(transparent)]
    Processes(#[from] paceline_processes::RunError),
    /// A packet network could not be simulated.
    #[error("{0}")]
    Network(String),
    /// There is no such run: no plan has asked for it.
    #[error("there is no run {0:?}")]
    NotRun(String),
    /// What it runs on is not installed.
    #[error("skipped: {0}")]
    Skipped(String),
    /// The guests did not do their task.
    #[error("{0}")]
    Guests(String),
}

/// What a judgement finds in the results, unless a run that it needs has none.
pub(crate) type Found<T> = Result<T, CellError>;

/// Runs a cell.
pub type Job = Box<dyn FnOnce() -> Result<Measure, CellError> + Send>;

/// One run of a machine, or several that are compared in real time.
pub struct Cell {
    /// Names everything on which its result depends.
    pub key: String,
    /// How long it takes compared with others: long cells begin first.
    pub weight: f64,
    /// Whether nothing else may run meanwhile: it measures real time.
    pub alone: bool,
    /// Builds and runs it, on the thread that takes the cell.
    pub job: Job,
}

/// What the cells of a plan have measured.
#[derive(Clone, Debug, Default)]
pub struct Results {
    pub(crate) measures: BTreeMap<String, Result<Measure, CellError>>,
}

impl Run for Cell {
    fn key(&self) -> &str {
        &self.key
    }

    fn weight(&self) -> f64 {
        self.weight
    }

    fn is_alone(&self) -> bool {
        self.alone
    }
}

impl Results {
    /// What the cell with `key` measured.
    pub fn get(&self, key: &str) -> Result<&Measure, CellError> {
        match self.measures.get(key) {
            Some(Ok(measure)) => Ok(measure),
            Some(Err(error)) => Err(error.clone()),
            None => Err(CellError::NotRun(key.to_owned())),
        }
    }

    /// The run time of the cell with `key`, in seconds.
    pub fn seconds(&self, key: &str) -> Result<f64, CellError> {
        Ok(self.get(key)?.seconds)
    }

    /// The same, but where there is a cell whose key ends with `suffix`, its result is that of the cell
    /// without it.
    pub(crate) fn with(&self, suffix: &str) -> Result<Self, CellError> {
        let changed = self
            .measures
            .iter()
            .filter_map(|(key, measure)| Some((key.strip_suffix(suffix)?.to_owned(), measure.clone())));
        let changed: Vec<_> = changed.collect();
        if changed.is_empty() {
            return Err(CellError::NotRun(format!("...{suffix}")));
        }
        let mut measures = self.measures.clone();
        measures.extend(changed);
        Ok(Self { measures })
    }

    /// Another number of the cell with `key`.
    pub fn value(&self, key: &str, name: &str) -> Result<f64, CellError> {
        let found = self.get(key)?.values.get(name).copied();
        found.ok_or_else(|| CellError::Guests(format!("the run {key:?} has no {name:?}")))
    }
}

impl std::fmt::Debug for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cell").field("key", &self.key).field("weight", &self.weight).finish_non_exhaustive()
    }
}
