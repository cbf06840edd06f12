//! Parallel discrete-event simulation in which the process furthest behind in simulated time runs first.
//!
//! This is the crate that a model author depends on: one trait to implement, one builder to run it with. It only
//! re-exports; the kernel holds the meaning (time, order, federates, protocols), the engine the worker threads.
//!
//! # A first model
//!
//! ```
#![doc = include_str!("../examples/first_model.rs")]
//! ```
//!
//! # What to know before writing one
//!
//! - A [`Model`] is parameters and behaviour; what changes lives in its `State`, one value per logical process (LP).
//! - LPs meet only through events. A message to another LP takes at least [`Model::lookahead`]: the larger it is, the
//!   more can run in parallel. A message to oneself may take any time, zero included.
//! - Randomness comes from [`Context::rng`] and belongs to the LP. Clocks, globals and hash-ordered maps do not belong
//!   into a model: they would make its result depend on who runs it when.
//! - The same model gives the same [`Report::digest`] under every [`Sync`], partition, queue and number of threads.
//!   Where two runs differ, the model looked at something it should not.
//! - A send that breaks a rule ends the run with [`RunError::Fault`], which names the LP, both times and the event.

#![forbid(unsafe_code)]

pub use paceline_engine::{EndedBy, Monitor, QueueKind, Report, RunError, Simulation, Sync};
pub use paceline_kernel::{
    Bits, Channels, Context, Digest, Fault, FaultKind, LpId, Model, Partition, Rng, TieBreak, Time,
};

/// Everything a model and its `main` need: `use paceline::prelude::*`.
///
/// [`Sync`] in here is the choice of protocol; where the marker trait is meant, write `std::marker::Sync`.
pub mod prelude {
    pub use crate::{
        Bits, Channels, Context, Digest, EndedBy, Fault, FaultKind, LpId, Model, Monitor, Partition,
        QueueKind, Report, Rng, RunError, Simulation, Sync, TieBreak, Time,
    };
}
