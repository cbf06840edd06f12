//! A replayed trace as a model of processes that a program runs, and what it reports.

use std::sync::Arc;

use paceline_network::Network;
use paceline_processes::{ProcessModel, Report, Simulation};
use paceline_results::Summary;

use super::{MpiTrace, Outcome};

impl ProcessModel for MpiTrace {
    type Message = ();
    type Outcome = Arc<Outcome>;

    fn hosts(&self) -> u32 {
        self.ranks()
    }

    fn acts_at_once(&self) -> Option<&'static str> {
        (!self.permanent_receivers).then_some(
            "has ranks that wait for each other, which takes no time: a message flows when it is received too; with \
             model.permanent_receivers its hosts run apart",
        )
    }

    fn spawn<N: Network>(&self, simulation: &mut Simulation<(), N>, _: u64) -> Arc<Outcome> {
        let hosts = simulation.hosts();
        Self::spawn(self, simulation, hosts)
    }

    fn failure(&self, outcome: &Arc<Outcome>) -> Option<String> {
        outcome.failure().map(ToString::to_string)
    }

    /// Which ranks have performed all their actions, and when the last of them had.
    fn results(&self, outcome: Arc<Outcome>, _: &Report) -> Result<Summary, String> {
        let (ends, mut summary) = (outcome.ends(), Summary::default());
        summary.line("ranks", self.ranks());
        summary.line("ranks_at_their_end", ends.iter().flatten().count());
        if let Some(last) = ends.into_iter().flatten().max() {
            summary.line("last_end_s", last.as_secs_f64());
        }
        if self.idle_waits() > 0 {
            summary.line("waits_for_no_request", self.idle_waits());
        }
        Ok(summary)
    }
}
