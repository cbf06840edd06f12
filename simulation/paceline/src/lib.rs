//! Parallel discrete-event simulation in which the process furthest behind in simulated time runs first.
//!
//! This is the crate that a model author depends on: one trait to implement, one builder to run it with. It
//! only re-exports; the kernel holds the meaning (time, order, federates, protocols), the engine the worker
//! threads.
//!
//! # A first model
//!
//! ```
#![doc = include_str!("../examples/first_model.rs")]
//! ```
//!
//! # What to know before writing one
//!
//! - A [`Model`] is parameters and behaviour; what changes lives in its `State`, one value per logical
//!   process (LP).
//! - LPs meet only through events. A message to another LP takes at least [`Model::lookahead`]: the larger it
//!   is, the more can run in parallel. A message to oneself may take any time, zero included.
//! - What an LP has scheduled for itself it may cancel ([`Context::cancel`]), under every protocol: a
//!   timeout, when the answer comes.
//! - Randomness comes from [`Context::rng`], or [`Context::draw`] within the arguments of a send, and belongs
//!   to the LP. Clocks, globals and hash-ordered maps do not belong into a model: they would make its result
//!   depend on who runs it when.
//! - The same model gives the same [`Report::digest`] under every [`Protocol`], partition and number of
//!   threads. Where two runs differ, the model looked at something it should not: [`determinism::compare`]
//!   says where.
//! - A run can be written down while it goes on ([`Simulation::checkpoint`]) and resumed later
//!   ([`Simulation::resume`]), if the model's state, event and output can be serialized with serde.
//! - A send that breaks a rule ends the run with [`RunError::Rule`], which names the LP, both times and the
//!   event.
//!
//! # The life of a run
//!
//! 1. [`Simulation::new`] takes the model, the other methods of [`Simulation`] the settings. Nothing runs
//!    yet.
//! 2. [`Simulation::run`] or [`Simulation::start`] checks the settings against the model and refuses what
//!    does not fit with a [`RunError`]. Then [`Model::init`] is called for every LP, in the order of their
//!    numbers.
//! 3. The LPs are dealt to federates ([`Model::partition`]), the federates to threads. Every event goes to
//!    [`Model::handle`] of its LP, in the order of time; the order of simultaneous events is fixed, see
//!    [`TieBreak`].
//! 4. An event that can no longer be taken back is *committed*: [`Model::commit`] and observers get it, and
//!    it enters the digest. In a run that never rolls back this is at once. [`Model::commit_state`] sees the
//!    LP's state after the event, too.
//! 5. Now and then the run pauses: for a checkpoint, for other threads, to move LPs, or to try another
//!    protocol. What runs between two pauses is a *leg*. No pause changes the result.
//! 6. At the horizon ([`Simulation::until`]), when no events are left, or when somebody stops it
//!    ([`Monitor`]), the run ends. [`Model::finish`] sees every state, [`Model::left_over`] every event that
//!    did not happen, and the [`Report`] is made.
//!
//! # What deadlocks
//!
//! No model that runs here does: a run in which nothing can happen has no events, and ends. What looks like a
//! deadlock elsewhere is an error that is reported before the run, or by name while it runs:
//!
//! - Federates that wait for each other need a lookahead. Without one, windows and null messages are refused
//!   ([`RunError::NoLookahead`], [`RunError::Link`] for a channel); sequential and optimistic runs need none.
//! - A federate outside that does not answer holds up those who wait for its promise, and after
//!   [`Outside::limit`] ends the run or is dropped ([`RunError::Outside`] names it).
//! - An endless chain of events without delay never lets time pass. It is the model's; [`Run::run_event`]
//!   shows it.
//!
//! # What costs what
//!
//! - **Lookahead** is worth more than anything else: a window, and all waiting, is paid once for all events
//!   of one lookahead. With tens of events a federate in each, threads pay; with fewer, optimistic or
//!   sequential runs are faster, and [`Protocol::Auto`] finds out.
//! - **States** of optimistic runs are copied, unless there is an [`Undo`]: keep them small, or say what they
//!   own ([`Model::state_bytes`]). Words given to [`Context::keep`] cost a word each.
//! - **Messages to other federates** cost more than those within one. [`Model::partition`] should keep
//!   neighbours together, and [`Model::channels`] declare who they are.
//! - **Payloads** are moved, and copied for a rollback only. Put large ones behind an `Arc`; what does not
//!   change may be shared.
//! - **Observers**, traces and [`Model::commit`] are paid where they are used, and nowhere else.
//!
//! # What is compiled
//!
//! Everything beyond a model and its runs is a feature of this crate, and those marked * are on unless
//! `default-features = false` is said: `json`* ([`JsonFederate`]), `lvt`* (threads publish how far they are,
//! for `paceline pace`), `results`* (the modules `results` and `statistics`), `net` (runs of several
//! processes), `app` (a program of one's own, with `net`), `live` (its page `--live`), `processes` (models
//! written as processes), `picoseconds`.
//!
//! # A program of one's own
//!
//! With the feature `app`, `paceline::app!(MyModel);` is the whole `main` of a program that has for this
//! model what `paceline run` has for others: scenarios, `--set`, progress, checkpoints,
//! `check --determinism`, traces, logs, replications, several processes. The model derives `Debug` and
//! serde's `Deserialize`, which reads its parameters, and implements [`Results`](results::Results); its
//! state, event and output are serialized with serde. A parameter that is a file has the type
//! `paceline::scenario::InputFile`. `examples/program.rs` is such a program, and `examples/` in the
//! repository has three more.
//!
//! With the feature `processes` as well, `paceline::app!(processes: MyModel);` does the same for a model
//! whose parts are processes ([`processes::ProcessModel`](processes)); `examples/rumour` in the repository is
//! such a program.
//!
//! # Shorter than a nanosecond
//!
//! Time is counted in nanoseconds, which lasts for 584 years. With the feature `picoseconds` it is counted in
//! picoseconds, for 213 days: the unit is one for all that is built together, and so for a whole run.
//! Scenarios have `ps` as a unit; checkpoints are for the unit with which they were written.
//!
//! # A run as a value
//!
//! [`Simulation::run`] runs to the end. [`Simulation::start`] gives a [`Run`] instead, which its owner moves
//! on: to a time, by a window, or by one event. In between, states can be read and events can be sent in from
//! outside. However a run is cut, its result is the same. An [`Observer`] gets every event when it is final;
//! with [`Simulation::pace`] simulated time follows the clock on the wall, times a factor.
//! ```
#![doc = include_str!("../examples/stepping.rs")]
//! ```
//!
//! # Who joins a run from outside
//!
//! The LPs of a federate may be run by somebody else ([`Simulation::outside`]): on a thread
//! ([`ThreadFederate`]), by a program in any language that speaks lines of JSON ([`JsonFederate`]), or by
//! what implements [`OutsideFederate`]. It may come late and leave early, and under an optimistic protocol it
//! may run ahead and roll back ([`ThreadFederate::optimistic`]).
//! ```
#![cfg_attr(feature = "json", doc = include_str!("../examples/outside.rs"))]
//! ```
//!
//! # Running ahead
//!
//! Under [`Protocol::Optimistic`] federates do not wait for each other: they run ahead, and roll back where a
//! message arrives in their past (Time Warp). Every model can be run so; one that implements [`Undo`] brings
//! its states back without copies. [`Report::rollbacks`] counts what was undone.
//! ```
#![doc = include_str!("../examples/optimistic.rs")]
//! ```
//!
//! # Stopping and resuming
//! ```
#![doc = include_str!("../examples/checkpoint.rs")]
//! ```
//!
//! # Parameters and random numbers
//!
//! A model is a value: its parameters are its fields. [`scenario`] reads them by serde from a file, and
//! reports mistakes with their places. [`Rng`] has the usual distributions, and is a `rand_core` generator
//! for all others.
//! ```
#![doc = include_str!("../examples/epidemic.rs")]
//! ```
//!
//! # Checking against theory
//! ```
#![doc = include_str!("../examples/queue.rs")]
//! ```
//!
//! # Statistics
//!
//! Means, deviations, averages over time, quantiles and time series, gathered at commit: [`statistics`]. They
//! are the same to the last bit however a run is divided.
//! ```
#![cfg_attr(feature = "results", doc = include_str!("../examples/statistics.rs"))]
//! ```

#![forbid(unsafe_code)]

#[cfg(feature = "app")]
#[doc(inline)]
pub use paceline_app::{app, trace};
/// Models whose parts are processes, the network between these, and programs of such models: with the feature
/// `processes`.
pub mod processes {
    #[cfg(feature = "processes")]
    #[doc(inline)]
    pub use paceline_network::{Constant, FlowModel, Flows, HostId, Network, Platform, read};
    #[cfg(feature = "processes")]
    #[doc(inline)]
    pub use paceline_processes::*;

    /// Everything that a model of processes and its `main` need: `use paceline::processes::prelude::*`.
    ///
    /// With the feature `app` also serde's `Deserialize`, for parameters: `#[derive(Debug, Deserialize)]`
    /// with `#[serde(crate = "paceline::serde")]` needs no other crate.
    #[cfg(feature = "processes")]
    pub mod prelude {
        pub use crate::results::{Output, Outputs, Summary};
        pub use crate::{Rng, Time};
        pub use paceline_network::{Constant, FlowModel, Flows, HostId, Network, Platform, read};
        pub use paceline_processes::{
            Activity, Barrier, Condition, Container, Event, Held, Mailbox, Measured, Mutex, Process,
            ProcessId, ProcessModel, Queue, Report, RequestError, Resource, RunError, Semaphore, Simulation,
            State, Store, TooFewHosts, Wait, WaitError,
        };
        #[cfg(feature = "app")]
        pub use serde::Deserialize;
    }
}

/// The results of a finished run: lines for the summary, and files for users that ask for them.
#[cfg(feature = "results")]
pub mod results {
    #[doc(inline)]
    pub use paceline_results::*;
}

#[cfg(feature = "app")]
#[doc(no_inline)]
pub use serde;

/// Scenario files, and the parameters of a model in them: with the feature `app`.
///
/// Of durations: `#[serde(with = "paceline::scenario::time")]`. `cargo doc --no-deps -p paceline --features
/// app` shows what there is.
pub mod scenario {
    #[cfg(feature = "app")]
    #[doc(inline)]
    pub use paceline_scenario::*;
}

/// What models measure: exact sums, tallies, levels over time, quantiles, time series and means of repeated
/// runs; the same to the last bit in whatever parts they are gathered.
#[cfg(feature = "results")]
pub mod statistics {
    #[doc(inline)]
    pub use paceline_results::statistics::*;
}

/// Runs of several processes: the transports that join them ([`Simulation::join`]), and what can go wrong
/// between them.
#[cfg(feature = "net")]
pub mod net {
    #[doc(inline)]
    pub use paceline_engine::{Link, PeersError, PeersErrorKind, Silence};
    #[doc(inline)]
    pub use paceline_transport::*;
}

#[cfg(all(feature = "json", not(feature = "picoseconds")))]
#[doc(inline)]
pub use paceline_engine::JsonFederate;
#[doc(inline)]
pub use paceline_engine::{
    Balancing, CheckpointError, CheckpointFile, Checkpoints, Door, EndedBy, FederateError, HandOver, IfLate,
    Lateness, MOST_THREADS, Monitor, Observer, Optimistic, Outside, OutsideError, OutsideErrorKind,
    OutsideFederate, OutsideLps, Pause, Permit, Protocol, Reached, Record, RecordKind, Report, Run, RunError,
    SendError, Sender, Sent, Simulation, Speculation, Standing, Stepped, ThreadFederate, ThreadsError,
    TraceSink, Tried, WindowOpened, default_federates, determinism, tell_panics_once,
};
#[doc(inline)]
pub use paceline_kernel::{
    Balance, Bits, Bounds, BucketQueue, Cancellation, Change, ChangeError, Changing, Channels, Context,
    Depths, Digest, Draw, Effort, Event, EventError, EventErrorKind, EventId, Federate, GvtKind, Kept,
    LinkError, LpId, Mail, Model, Optimism, Origin, Outbox, PanicError, PanicNote, Parameter, ParameterValue,
    Partition, PartitionError, Rng, Rollbacks, RuleError, RuleErrorKind, Saving, TieBreak, Time, TimeError,
    Undo, UndoFn, Warp, WarpTurn, World,
};

/// Everything a model and its `main` need: `use paceline::prelude::*`.
///
/// [`Protocol`] in here is the choice of protocol; where the marker trait is meant, write `Sync`.
pub mod prelude {
    pub use crate::{
        Bits, Changing, Channels, CheckpointFile, Checkpoints, Context, Digest, EndedBy, EventId, Kept, LpId,
        Model, Monitor, Observer, Parameter, ParameterValue, Partition, Protocol, Reached, Report, Rng,
        RuleError, RuleErrorKind, Run, RunError, Saving, Simulation, Speculation, TieBreak, Time, Undo,
        UndoFn,
    };
}
