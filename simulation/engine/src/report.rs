//! What a run says when it is over, and what can keep it from starting or finishing.
//!
//! To report more, add it here and to the fields of [`Report::split`], fill it in `run/end.rs`, and show it
//! in `simulation/app/src/summary/events.rs`; to refuse more settings, add a [`RunError`] and find it in
//! `run/build.rs`.

use std::fmt;
use std::time::Duration;

use paceline_kernel::{
    Change, ChangeError, Digest, EventError, EventErrorKind, LinkError, PanicError, PartitionError,
    Rollbacks, RuleError, Time,
};
use thiserror::Error;

use crate::peers::{Link, PeersError};
use crate::{Balancing, CheckpointError, Lateness, OutsideError, Protocol, ThreadsError, Tried};

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndedBy {
    /// The next event is at or after the horizon (`until`).
    Horizon,
    /// No event is left in any federate, whatever the horizon.
    NoEvents,
    /// All processes have ended, but for daemons: in a model of processes, which has this in place of
    /// [`NoEvents`](Self::NoEvents).
    Processes,
    /// Somebody asked it to stop ([`crate::Monitor::stop`]).
    Interrupted,
}

impl EndedBy {
    /// The word for it in summaries, for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Horizon => "horizon",
            Self::NoEvents => "no-events",
            Self::Processes => "processes",
            Self::Interrupted => "interrupted",
        }
    }

    /// The same for people, with the simulated time at which it ended.
    pub fn at(self, time: impl fmt::Display) -> String {
        match self {
            Self::Horizon => format!("at the horizon, {time}"),
            Self::NoEvents => format!("without further events, after {time}"),
            Self::Processes => format!("with the last process, after {time}"),
            Self::Interrupted => format!("interrupted at {time}"),
        }
    }
}

/// What a run has computed, and what that took.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<O> {
    /// The protocol that kept the federates in step.
    pub protocol: Protocol,
    /// Federates that the model's LPs were dealt to, in all processes together.
    pub federates: u32,
    /// The groups that these were merged into at last, for running ahead; else as many as there are
    /// federates.
    pub groups: u32,
    /// Under [`Protocol::Auto`], and where federates run ahead, the ways to run that could be tried; else
    /// nothing.
    pub tried: Vec<Tried>,
    /// Worker threads that ran, in all processes together; where their number changed, the largest.
    pub threads: u32,
    /// Processes that ran it, this one included.
    pub processes: u32,
    /// How the others were reached from this one, by rank.
    pub links: Vec<Link>,
    /// LPs of the model, in all processes together.
    pub lps: u32,
    /// Events committed, in all processes together and since the start, not the last resumption.
    pub events: u64,
    /// Those of them that had been committed before the run was resumed; zero where it was not. All times
    /// and counts below are those since then.
    pub resumed_events: u64,
    /// Real time of starting it, in which LPs are dealt and initialised, of running it, waits for real time
    /// included, and of finishing it. Single events ([`Run::run_event`](crate::Run::run_event)) are not
    /// timed.
    pub wall: Duration,
    /// The digest over committed events and final states.
    pub digest: Digest,
    /// The simulated time reached: the horizon, the last event, or how far all federates had come when
    /// interrupted.
    pub end_time: Time,
    /// Why it ended.
    pub ended_by: EndedBy,
    /// Windows or time steps opened.
    pub windows: u64,
    /// Null messages sent between federates, under the protocols that have them.
    pub null_messages: u64,
    /// What running ahead came to, in optimistic and mixed runs.
    pub rollbacks: Option<Rollbacks>,
    /// Rounds after which GVT was computed anew, in optimistic and mixed runs.
    pub gvt_rounds: u64,
    /// Minima of two floors taken for them.
    pub gvt_steps: u64,
    /// How far the front, the farthest that any federate had been, was ahead of GVT in simulated time, on
    /// average over the rounds.
    pub gvt_lag: Time,
    /// Legs: one more than the run has paused.
    pub legs: u64,
    /// Checkpoints written completely.
    pub checkpoints: u64,
    /// Time that the run stood still for them.
    pub checkpoints_wall: Duration,
    /// Checkpoints that could not be written, where
    /// [`Simulation::on_checkpoint_failure`](crate::Simulation::on_checkpoint_failure) lets the run go
    /// on.
    pub checkpoints_failed: u64,
    /// What moving LPs between federates came to, where that was asked for and there are federates to move
    /// between.
    pub balancing: Option<Balancing>,
    /// How the run kept up with real time, where it was tied to it.
    pub lateness: Option<Lateness>,
    /// Outside federates that were dropped, as they did not answer in time.
    pub dropped: Vec<u32>,
    /// Why not all threads could publish their LVT, though the environment names a page for it.
    pub unpaced: Option<String>,
    /// Changes of parameters that were made while the run went on, before it was resumed too, in their order
    /// ([`Run::change`](crate::Run::change)).
    pub changes: Vec<Change>,
    /// What the model left behind, in parts: one value a federate, each time the LPs were dealt to
    /// federates. What an LP has committed is in order within each part, and from part to part, wherever
    /// it has moved.
    pub outputs: Vec<O>,
}

impl<O> Report<O> {
    /// The report without the outputs, and the outputs: who prints one need not know what a model leaves
    /// behind.
    pub fn split(self) -> (Report<()>, Vec<O>) {
        // The report, field by field, since its type changes.
        macro_rules! without_outputs {
            ($($field:ident)*) => { Report { $($field: self.$field,)* outputs: Vec::new() } };
        }
        let report = without_outputs! {
            protocol federates groups tried threads processes links lps events resumed_events wall digest
            end_time ended_by windows null_messages rollbacks gvt_rounds gvt_steps gvt_lag legs checkpoints
            checkpoints_wall checkpoints_failed balancing lateness dropped unpaced changes
        };
        (report, self.outputs)
    }
}

/// Why a run could not start, or did not finish. `Debug` is the message, for a `main` that returns it.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum RunError {
    /// The model broke a rule of the simulation.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The model panicked, or its events cannot be taken back.
    #[error(transparent)]
    Event(EventError),
    /// The model panicked outside of an event.
    #[error(transparent)]
    Panic(#[from] PanicError),
    /// States are to be brought back by `undo`, and the model has none.
    #[error(
        "states are to be saved by undo, and the model has no undo; periodic and copy work with every model"
    )]
    NoUndo,
    /// The memory budget does not hold one federate's states.
    #[error(
        "a memory budget of {bytes} bytes does not hold one federate's states, which take {needed} bytes"
    )]
    Memory {
        /// The budget of the whole run ([`crate::Speculation::memory_bytes`]).
        bytes: usize,
        needed: usize,
    },
    /// The LPs named as optimistic are not all LPs of the model.
    #[error("{what} of optimistic LPs; allowed: a share from 0 to 1, or ranges within 0..{lps}")]
    Optimistic { what: String, lps: u32 },
    /// The protocol needs lookahead and the model declares none.
    #[error("protocol {protocol} needs a lookahead above zero, and the model declares none")]
    NoLookahead { protocol: &'static str },
    /// The horizon is later than the model's times reach ([`Model::latest_horizon`]).
    ///
    /// [`Model::latest_horizon`]: paceline_kernel::Model::latest_horizon
    #[error("a horizon of {until} is later than the model's times reach; allowed: at most {latest}")]
    Horizon { until: Time, latest: Time },
    /// The model deals its LPs to federates in a way that leaves some out, or has some that do not exist.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// A channel that an LP declares has a lookahead below the model's, or leads to an LP that does not
    /// exist.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// More federates were asked for than there are LPs.
    #[error("{federates} federates are more than the model's {lps} LPs")]
    TooManyFederates { federates: u32, lps: u32 },
    /// The model has no LPs, or zero federates or threads were asked for.
    #[error("{what} must be at least 1")]
    Zero { what: &'static str },
    /// The time step is zero or above the lookahead.
    #[error("a time step of {step} is not above zero and at most the model's lookahead of {lookahead}")]
    Step { step: Time, lookahead: Time },
    /// More threads were asked for than there may be.
    #[error(transparent)]
    TooManyThreads(#[from] ThreadsError),
    /// The run to be resumed has gone beyond the horizon.
    #[error("the run is at {reached} already, which is not before the horizon, {until}")]
    PastHorizon {
        until: Time,
        /// The time of the latest event committed.
        reached: Time,
    },
    /// The run to be resumed is of another model or seed, or its events have another order of ties: it would
    /// come to another result.
    #[error("the checkpoint is not of this run: {what}")]
    OtherRun { what: String },
    /// A checkpoint could not be written; the one before it stays.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A worker thread could not be started or pinned.
    #[error("{0}")]
    Threads(String),
    /// A run cannot be tied to real time like this.
    #[error("a pace of {factor} simulated seconds a second; allowed: a finite number above 0")]
    Pace { factor: String },
    /// An outside federate broke a rule, or cannot take part like this.
    #[error(transparent)]
    Outside(#[from] OutsideError),
    /// Another process of the run ended it, or the processes cannot run it together.
    #[error(transparent)]
    Peers(#[from] PeersError),
    /// A parameter is not changed: the run can go on, unless it is one that was resumed.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// An error has ended the run before.
    #[error("the run was ended by an error before, and cannot be resumed")]
    Failed,
}

paceline_kernel::debug_tells!(RunError);

impl From<EventError> for RunError {
    fn from(trouble: EventError) -> Self {
        match trouble.kind {
            EventErrorKind::Rule(fault) => Self::Rule(fault),
            _ => Self::Event(trouble),
        }
    }
}
