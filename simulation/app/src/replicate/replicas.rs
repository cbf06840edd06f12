//! What is replicated: runs of one kind, each with a handle by which it is watched and ended.

use std::fmt::Debug;

use paceline_engine::{Monitor, Protocol};
use paceline_kernel::{LpId, Time};
use paceline_results::ResultFile;

use crate::failure::CommandError;
use crate::loaded::Source;
use crate::program::Program;
use crate::provenance::Provenance;
use crate::run::beside_others;
use crate::summary::Outcome;

/// What is known of all replications of a scenario before they run.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name of the model.
    pub model: &'static str,
    /// The seed of the first.
    pub first_seed: u64,
    /// The horizon of each run; none if it ends by itself.
    pub until: Option<Time>,
    /// Whether each has one thread, whatever the scenario says.
    pub is_sequential: bool,
    /// What their results come from.
    pub provenance: Provenance,
    /// What the work of a run is counted in: a name, and that of the speed.
    pub units: [&'static str; 2],
}

/// Models that can be replicated.
pub trait Replicas: Sync {
    /// Reads a scenario to its last key.
    fn subject(&self, source: &Source) -> Result<Series, CommandError>;

    /// A replication, before it runs.
    fn replica(&self) -> Box<dyn Replica>;
}

/// A replication, which is run on one thread and may be stopped from another.
pub trait Replica: Debug + Send + Sync {
    /// Runs what `source` says, once.
    fn run(&self, source: &Source) -> Result<(Outcome, Vec<ResultFile>), CommandError>;

    /// Ends it, whether it runs or not.
    fn stop(&self);

    /// The LPs that are at an event, if it is known.
    fn at_work(&self) -> Vec<(LpId, Time)> {
        Vec::new()
    }

    /// How far it has come.
    fn time(&self) -> Time;

    /// Its work so far.
    fn work(&self) -> u64;
}

impl Replicas for Program {
    fn subject(&self, source: &Source) -> Result<Series, CommandError> {
        let loaded = source.load(self)?;
        let settings = loaded.settings;
        Ok(Series {
            model: loaded.kind.name,
            first_seed: settings.seed,
            until: settings.until,
            provenance: loaded.provenance,
            is_sequential: settings.protocol == Protocol::Sequential,
            units: ["events", "events/s"],
        })
    }

    fn replica(&self) -> Box<dyn Replica> {
        Box::new(OfLps { program: *self, monitor: Monitor::new() })
    }
}

#[derive(Debug)]
struct OfLps {
    program: Program,
    monitor: Monitor,
}

impl Replica for OfLps {
    fn run(&self, source: &Source) -> Result<(Outcome, Vec<ResultFile>), CommandError> {
        let (finished, files) = beside_others(source.load(&self.program)?, self.monitor.clone())?;
        Ok((finished.outcome(), files))
    }

    fn stop(&self) {
        self.monitor.stop();
    }

    fn at_work(&self) -> Vec<(LpId, Time)> {
        self.monitor.at_work()
    }

    fn time(&self) -> Time {
        self.monitor.time()
    }

    fn work(&self) -> u64 {
        self.monitor.events()
    }
}
