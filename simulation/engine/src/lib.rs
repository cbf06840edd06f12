//! The engine: runs the federates of a model on worker threads, the one furthest behind in simulated time
//! first.
//!
//! - `simulation` has the settings of a run, `run` the run itself: it goes leg by leg, and ends in a
//!   `report`.
//! - `protocols` is what a leg of each protocol does, `workers` the threads that do it, `adapt` what changes
//!   between legs.
//! - `peers` are other processes of the run, `outside` federates that are run elsewhere.
//! - `watch` shows a run while it goes on; `checkpoint` writes and reads it.

#![allow(clippy::drop_non_drop, reason = "the pulse and the publisher have a Drop only with their features")]
#![forbid(unsafe_code)]

mod adapt;
mod checkpoint;
mod kinds;
mod outside;
mod panics;
#[cfg_attr(
    not(feature = "net"),
    allow(dead_code, reason = "without other processes, nothing that they say is ever made or read")
)]
mod peers;
mod protocols;
mod report;
mod run;
mod simulation;
mod speculation;
mod sync;
mod watch;
mod workers;

pub use adapt::auto::Tried;
pub use adapt::balance::Balancing;
pub use checkpoint::{CheckpointError, CheckpointFile, Checkpoints};
pub use kinds::Protocol;
#[cfg(all(feature = "json", not(feature = "picoseconds")))]
pub use outside::JsonFederate;
pub use outside::{
    Door, FederateError, HandOver, IfLate, Outside, OutsideError, OutsideErrorKind, OutsideFederate,
    OutsideLps, Permit, Standing, ThreadFederate,
};
pub use panics::tell_panics_once;
#[cfg(feature = "net")]
pub use peers::{Link, PeersError, PeersErrorKind, Silence};
pub use report::{EndedBy, Report, RunError};
pub use run::{Lateness, Reached, Run, SendError, Sender, Sent, Stepped, default_federates};
pub use simulation::Simulation;
pub use speculation::{Optimistic, Speculation};
pub use watch::determinism;
pub use watch::gauges::{Gauge, Gauges, Messages};
pub use watch::monitor::{MOST_THREADS, Monitor, ThreadsError};
pub use watch::observer::{Observer, Pause, WindowOpened};
pub use watch::trace::{Record, RecordKind, TraceSink};
