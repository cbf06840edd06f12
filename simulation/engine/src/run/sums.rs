//! What the legs of a run add up to.

use std::time::{Duration, Instant};

use paceline_kernel::{Model, Rollbacks};

use super::processes::Results;
use crate::protocols::outcome::Outcome;
use crate::{CheckpointError, RunError, Simulation};

/// What the legs of a run add up to.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Real time spent in the run; not what passed between the calls of its owner.
    pub(super) wall: Duration,
    pub(super) legs: u64,
    pub(super) threads: u32,
    pub(super) windows: u64,
    pub(super) null_messages: u64,
    pub(super) rollbacks: Option<Rollbacks>,
    pub(super) gvt_rounds: u64,
    pub(super) gvt_steps: u64,
    pub(super) gvt_lag_ticks: u128,
    pub(super) checkpoints: u64,
    pub(super) checkpoints_wall: Duration,
    pub(super) checkpoints_failed: u64,
}

impl Sums {
    /// What this process adds to the counts of all.
    pub(super) fn results(&self) -> Results {
        let Self { null_messages, threads, ref rollbacks, .. } = *self;
        Results { null_messages, threads, rollbacks: rollbacks.clone(), ..Results::default() }
    }

    /// Adds what a leg of so many workers came to.
    pub(super) fn add_leg<M: Model>(&mut self, workers: u32, outcome: &Outcome<M>) {
        self.legs += 1;
        self.threads = self.threads.max(workers);
        self.windows += outcome.windows;
        self.null_messages += outcome.null_messages;
        if let Some(rollbacks) = &outcome.rollbacks {
            self.rollbacks.get_or_insert_default().then(rollbacks);
        }
        self.gvt_rounds += outcome.gvt_rounds;
        self.gvt_steps += outcome.gvt_steps;
        self.gvt_lag_ticks += outcome.gvt_lag_ticks;
    }

    /// Replaces what each process counts for itself by what all have counted.
    pub(super) fn take(&mut self, all: Results) {
        (self.null_messages, self.threads, self.rollbacks) = (all.null_messages, all.threads, all.rollbacks);
    }

    /// Passes over the failure of a checkpoint, with `None`, where the owner of the run only wants to hear of
    /// it.
    pub(super) fn overcome<M: Model, T>(
        &mut self,
        simulation: &Simulation<M>,
        outcome: Result<T, CheckpointError>,
    ) -> Result<Option<T>, RunError> {
        match (outcome, &simulation.checkpoint_failed) {
            (Ok(outcome), _) => Ok(Some(outcome)),
            (Err(error), None) => Err(error.into()),
            (Err(error), Some(listener)) => {
                self.checkpoints_failed += 1;
                listener(&error);
                Ok(None)
            }
        }
    }

    /// Counts a checkpoint that was begun at `start`, and says whether it was handed over to the disk.
    pub(super) fn published<M: Model>(
        &mut self,
        simulation: &Simulation<M>,
        published: Result<(), CheckpointError>,
        start: Instant,
    ) -> Result<bool, RunError> {
        let done = self.overcome(simulation, published)?.is_some();
        if done {
            self.checkpoints += 1;
            self.checkpoints_wall += start.elapsed();
        }
        Ok(done)
    }

    /// Of a run that has been built since `start`.
    pub(super) fn since(start: Instant) -> Self {
        Self { wall: start.elapsed(), ..Self::default() }
    }
}
