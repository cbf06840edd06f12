//! Chord as a model of processes that a program runs, and what it reports.

use std::sync::Arc;

use paceline_network::Network;
use paceline_processes::{ProcessModel, Report, Simulation};
use paceline_results::Summary;

use super::{Chord, Message, Outcome};

impl ProcessModel for Chord {
    type Message = Message;
    type Outcome = Arc<Outcome>;

    fn hosts(&self) -> u32 {
        self.peers
    }

    fn needs_horizon(&self) -> bool {
        // Peers stabilize as long as they are on the ring.
        true
    }

    fn spawn<N: Network>(&self, simulation: &mut Simulation<Message, N>, seed: u64) -> Arc<Outcome> {
        let hosts = simulation.hosts();
        Self::spawn(self, simulation, hosts, seed)
    }

    fn results(&self, outcome: Arc<Outcome>, _: &Report) -> Result<Summary, String> {
        let mut summary = Summary::default();
        summary.line("lookups", outcome.lookups());
        summary.line("lookups_answered", outcome.answered());
        summary.line("mean_hops", outcome.mean_hops());
        Ok(summary)
    }
}
