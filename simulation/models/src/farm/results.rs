//! A farm as a model of processes that a program runs, and what it reports.

use std::sync::Arc;

use paceline_kernel::Time;
use paceline_network::Network;
use paceline_processes::{ProcessModel, Report, Simulation, TooFewHosts};
use paceline_results::Summary;

use super::{DONE, DUPLICATES, FAILURES, Farm, FarmError, LOST_NS, Message, Outcome, REASSIGNED};

/// One for the master, and one for workers.
const HOSTS_MIN: u32 = 2;

impl ProcessModel for Farm {
    type Message = Message;
    type Outcome = Arc<Outcome>;

    fn hosts(&self) -> u32 {
        // One for the master, one for each worker.
        1 + self.workers
    }

    fn check(&self, hosts: u32) -> Result<(), TooFewHosts> {
        if hosts < HOSTS_MIN {
            return Err(TooFewHosts { problem: FarmError::Hosts(hosts).to_string(), least: HOSTS_MIN });
        }
        Ok(())
    }

    fn needs_horizon(&self) -> bool {
        // It does not end where hosts fail too often.
        true
    }

    fn acts_at_once(&self) -> Option<&'static str> {
        (!self.permanent_receivers).then_some(
            "learns without delay that a task did not reach a worker, or that its host has failed; with \
             model.permanent_receivers its hosts run apart",
        )
    }

    fn spawn<N: Network>(&self, simulation: &mut Simulation<Message, N>, _: u64) -> Arc<Outcome> {
        let hosts = simulation.hosts();
        Self::spawn(self, simulation, hosts).expect("the number of hosts was checked")
    }

    /// What was done, and what was lost on the way.
    fn results(&self, outcome: Arc<Outcome>, report: &Report) -> Result<Summary, String> {
        let (last, mut summary) = (outcome.results().into_iter().flatten().max(), Summary::default());
        let count = |name| report.outputs.count(name);
        for name in [DONE, REASSIGNED, DUPLICATES, FAILURES] {
            summary.line(name, count(name));
        }
        summary.line("lost_computing_s", Time::nanos(count(LOST_NS)).as_secs_f64());
        if let Some(last) = last {
            summary.line("last_result_s", last.as_secs_f64());
        }
        Ok(summary)
    }
}
