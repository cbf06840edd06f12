//! Paceline on real cores: worker threads that run the federate furthest behind in simulated time first.

#![forbid(unsafe_code)]

mod monitor;
mod report;
mod run;
mod simulation;

pub use monitor::Monitor;
pub use report::{EndedBy, Report, RunError};
pub use simulation::{QueueKind, Simulation, Sync};
