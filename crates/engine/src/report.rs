//! What a run says when it is over, and what can keep it from starting or finishing.

use std::time::Duration;

use paceline_kernel::{Digest, Fault, LinkError, Time};
use thiserror::Error;

use crate::Sync;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// The next event is at or after the horizon (`until`).
    Horizon,
    /// There are no events left.
    NoEvents,
    /// Somebody asked it to stop ([`crate::Monitor::stop`]).
    Interrupted,
}

impl EndedBy {
    /// The word for it in summaries.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Horizon => "horizon",
            Self::NoEvents => "no-events",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Report<O> {
    /// The protocol that kept the federates in step.
    pub sync: Sync,
    /// Federates that ran.
    pub federates: u32,
    /// Worker threads that ran.
    pub threads: u32,
    /// LPs of the model.
    pub lps: u32,
    /// Events committed.
    pub events: u64,
    /// Time the run took, without building the model.
    pub wall: Duration,
    /// The digest over committed events and final states.
    pub digest: Digest,
    /// The simulated time reached: the horizon, the last event, or how far everybody had come when interrupted.
    pub end_time: Time,
    /// Why it ended.
    pub ended_by: EndedBy,
    /// Windows or time steps opened.
    pub windows: u64,
    /// Null messages sent.
    pub null_messages: u64,
    /// What the model left behind, one value a federate.
    pub outputs: Vec<O>,
}

/// Why a run could not start, or did not finish.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// The model broke a rule of the simulation.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The protocol needs lookahead and the model declares none.
    #[error("protocol {protocol} needs a lookahead above zero, and the model declares none")]
    NoLookahead {
        /// Which protocol.
        protocol: &'static str,
    },
    /// A channel that an LP declares has a lookahead below the model's.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// More federates were asked for than there are LPs.
    #[error("{federates} federates are more than the model's {lps} LPs")]
    TooManyFederates {
        /// Asked for.
        federates: u32,
        /// LPs of the model.
        lps: u32,
    },
    /// The model has no LPs, or zero federates or threads were asked for.
    #[error("{what} must be at least 1")]
    Zero {
        /// Which number.
        what: &'static str,
    },
    /// The time step is zero or above the lookahead.
    #[error("a time step of {step} is not above zero and at most the model's lookahead of {lookahead}")]
    Step {
        /// The step asked for.
        step: Time,
        /// The model's lookahead.
        lookahead: Time,
    },
    /// A worker thread could not be started or pinned.
    #[error("{0}")]
    Threads(String),
}
