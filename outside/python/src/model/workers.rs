//! The worker processes of a run, which share the federates of a model: they reach each other by shared
//! memory.
//!
//! They are ranks of the engine's runs of several processes, so that every protocol but the sequential one
//! works in them, with one digest. `python/paceline/_model_workers.py` starts them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use paceline_engine::Simulation;
use paceline_kernel::Model;
use paceline_transport::{Group, SharedMemory};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How long a worker may give no sign of life, which a thread of the engine does while a handler computes:
/// only one that the system has stopped is silent.
const SILENCE: Duration = Duration::from_secs(10);

/// The links of a worker to the others.
#[pyclass(frozen, module = "paceline._native")]
pub struct Links(Arc<SharedMemory>);

#[pymethods]
impl Links {
    /// Of the worker `rank` of so many: the first makes them, and the others find its memory at `path`.
    #[new]
    fn new(rank: u32, workers: u32, path: Option<PathBuf>) -> PyResult<Self> {
        let group = Group::all(workers);
        let made = match path {
            None => SharedMemory::create(rank, &group),
            Some(path) => SharedMemory::open(&path, rank, &group),
        };
        made.map(|memory| Self(Arc::new(memory))).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// Where the others find the memory.
    fn path(&self) -> PathBuf {
        self.0.path()
    }
}

impl Links {
    /// Makes this process one of the run's.
    pub fn join<M: Model + 'static>(&self, simulation: Simulation<M>) -> Simulation<M>
    where
        M::State: Serialize + DeserializeOwned,
        M::Event: Serialize + DeserializeOwned,
        M::Output: Serialize + DeserializeOwned,
    {
        simulation.join(self.0.clone()).silence_limit(SILENCE)
    }
}
