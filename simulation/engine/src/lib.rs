//! Paceline on real cores: worker threads that run the federate furthest behind in simulated time first.

#![forbid(unsafe_code)]

mod auto;
mod balance;
mod channelled;
mod chaos;
mod checkpoint;
mod cores;
mod crowd;
pub mod determinism;
mod idle;
mod kinds;
mod leg;
mod lvt;
mod monitor;
mod observer;
mod optimistic;
mod outcome;
mod outside;
mod panics;
#[cfg_attr(
    not(feature = "net"),
    allow(dead_code, reason = "without other processes, nothing that they say is ever made or read")
)]
mod peers;
mod pool;
mod ready;
mod report;
mod run;
mod scaffold;
mod seat;
mod simulation;
mod speculation;
mod steward;
mod sync;
mod trace;
mod windowed;

pub use auto::Tried;
pub use balance::Balancing;
pub use checkpoint::{CheckpointError, CheckpointFile, Checkpoints};
pub use kinds::Protocol;
pub use monitor::{MOST_THREADS, Monitor, ThreadsError};
pub use observer::{Observer, Pause, WindowOpened};
#[cfg(all(feature = "json", not(feature = "picoseconds")))]
pub use outside::JsonFederate;
pub use outside::{
    Door, Failure, HandOver, IfLate, Outside, OutsideError, OutsideErrorKind, OutsideFederate, OutsideLps,
    Permit, Standing, ThreadFederate,
};
pub use panics::tell_panics_once;
#[cfg(feature = "net")]
pub use peers::{Link, PeersError, PeersErrorKind, Silence};
pub use report::{EndedBy, Report, RunError};
pub use run::{Lateness, Reached, Run, SendError, Sender, Sent, Stepped, default_federates};
pub use simulation::Simulation;
pub use speculation::{Optimistic, Speculation};
pub use trace::{Record, RecordKind, TraceSink};
