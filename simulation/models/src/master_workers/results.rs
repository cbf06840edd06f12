//! Master and workers as a model of processes that a program runs.

use paceline_network::Network;
use paceline_processes::{ProcessModel, Simulation};

use super::{MasterWorkers, Task};

impl ProcessModel for MasterWorkers {
    type Message = Task;
    type Outcome = ();

    fn hosts(&self) -> u32 {
        self.actors()
    }

    fn acts_at_once(&self) -> Option<&'static str> {
        (!self.permanent_receivers).then_some(
            "has mailboxes that stand at no host: a message flows when its receiver is there too; with \
             model.permanent_receivers its hosts run apart",
        )
    }

    fn spawn<N: Network>(&self, simulation: &mut Simulation<Task, N>, _: u64) {
        Self::spawn(self, simulation);
    }
}
