//! Master and workers as a model of processes that a program runs, and what it reports.

use std::sync::Arc;

use paceline_network::Network;
use paceline_processes::{ProcessModel, Report, Simulation};
use paceline_results::Summary;

use super::{MasterWorkers, Outcome, Task};

impl ProcessModel for MasterWorkers {
    type Message = Task;
    type Outcome = Arc<Outcome>;

    fn hosts(&self) -> u32 {
        self.actors()
    }

    fn spawn<N: Network>(&self, simulation: &mut Simulation<Task, N>, _: u64) -> Arc<Outcome> {
        Self::spawn(self, simulation)
    }

    fn results(&self, outcome: Arc<Outcome>, _: &Report) -> Result<Summary, String> {
        let mut summary = Summary::default();
        summary.line("tasks_done", outcome.done());
        summary.line("tasks_lost", outcome.lost());
        Ok(summary)
    }
}
