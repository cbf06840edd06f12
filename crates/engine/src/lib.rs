//! Paceline on real cores: worker threads that run the federate furthest behind in simulated time first.

#![forbid(unsafe_code)]

mod channelled;
mod cores;
mod idle;
mod monitor;
mod pool;
mod ready;
mod report;
mod run;
mod seat;
mod simulation;
mod sync;
mod windowed;

pub use monitor::Monitor;
pub use report::{EndedBy, Report, RunError};
pub use simulation::{QueueKind, Simulation, Sync};
