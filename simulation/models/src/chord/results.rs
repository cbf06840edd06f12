//! Chord as a model of processes that a program runs.

use std::sync::Arc;

use paceline_network::Network;
use paceline_processes::{ProcessModel, Simulation};

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
}
