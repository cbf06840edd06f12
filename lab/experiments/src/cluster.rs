//! What a run of up to 1,000 processes would do: our own engine's windows, on a simulated machine whose costs
//! were measured on one node.
//!
//! A process of the machine does what one of the engine does under "window": it computes the events of a
//! window, sends frames to other processes, takes part in the round through the tree, and waits ([`node`]).
//! Nothing here simulates a model: events are CPU time.

mod node;
mod prediction;
mod runs;

use crate::prelude::*;

catalogue! {
    "cluster-prediction": "Windows of 1 to 1,000 processes, predicted from the costs of one node", SimulatedMachine
        => prediction::plan;
}

#[cfg(test)]
mod test;
