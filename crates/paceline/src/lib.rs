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
//! - The same model gives the same [`Report::digest`] under every [`Protocol`], partition, queue and number of threads.
//!   Where two runs differ, the model looked at something it should not: [`determinism::compare`] says where.
//! - A run can be written down while it goes on ([`Simulation::checkpoint`]) and resumed later
//!   ([`Simulation::resume`]), if the model's state, event and output can be serialized with serde.
//! - A send that breaks a rule ends the run with [`RunError::Fault`], which names the LP, both times and the event.
//!
//! # A run as a value
//!
//! [`Simulation::run`] runs to the end. [`Simulation::start`] gives a [`Run`] instead, which its owner moves on: to a time, by a
//! window, or by one event. In between, states can be read and events can be sent in from outside. However a run is cut, its
//! result is the same. An [`Observer`] is told of every event when it is final; with [`Simulation::pace`] simulated time goes as
//! fast as the clock on the wall, times a factor.
//!
//! ```
#![doc = include_str!("../examples/stepping.rs")]
//! ```
//!
//! # Who joins a run from outside
//!
//! The LPs of a federate may be run by somebody else ([`Simulation::outside`]): on a thread ([`ThreadFederate`]), by a program in any
//! language that speaks lines of JSON ([`JsonFederate`]), or by what implements [`OutsideFederate`]. It may come late and leave early.
//!
//! ```
#![doc = include_str!("../examples/outside.rs")]
//! ```
//!
//! # Running ahead
//!
//! Under [`Protocol::Optimistic`] federates do not wait for each other: they run ahead and roll back
//! where a message arrives in their past (Time Warp). Every model can be run so; one that implements [`Undo`] brings its states back
//! without copies. What came of it stands in [`Report::rollbacks`].
//!
//! ```
//! use paceline::prelude::*;
//!
//! /// Servers that hand jobs on to each other, and remember the longest.
//! struct Servers(u32);
//!
//! impl Model for Servers {
//!     type State = (u64, u64); // jobs done, the longest of them in nanoseconds
//!     type Event = u64; // a job of this length
//!     type Output = ();
//!     const UNDO: Option<UndoFn<Self>> = Some(Self::undo);
//!
//!     fn lps(&self) -> u32 {
//!         self.0
//!     }
//!     fn lookahead(&self) -> Time {
//!         Time::ZERO // nothing is known of how near a message may be
//!     }
//!     fn init(&self, _server: LpId, cx: &mut Context<Self>) -> (u64, u64) {
//!         cx.schedule(Time::ZERO, 0);
//!         (0, 0)
//!     }
//!     fn handle(&self, (done, longest): &mut (u64, u64), job: &u64, cx: &mut Context<Self>) {
//!         cx.keep(*longest); // what is overwritten is kept for `undo`
//!         *done += 1;
//!         *longest = (*longest).max(*job);
//!         let next = LpId(cx.rng().below(u64::from(self.0)) as u32);
//!         let length = Time::from_secs_f64(cx.rng().exponential(1.0));
//!         cx.send(next, length, length.as_nanos());
//!     }
//! }
//!
//! impl Undo for Servers {
//!     fn undo(&self, (done, longest): &mut (u64, u64), _job: &u64, kept: &mut Kept<'_>) {
//!         *done -= 1;
//!         *longest = kept.word(); // messages and random numbers are taken back by themselves
//!     }
//! }
//!
//! # fn main() -> Result<(), RunError> {
//! let run = || Simulation::new(Servers(100)).until(Time::secs(20));
//! let reference = run().protocol(Protocol::Sequential).run()?;
//! // `check_rollback` undoes every event and compares: for the tests of a model.
//! let speculation = Speculation { saving: Saving::Undo, check_rollback: true, ..Speculation::default() };
//! let ahead = run().protocol(Protocol::Optimistic).speculation(speculation).federates(4).threads(2).run()?;
//! assert_eq!(ahead.digest, reference.digest);
//! let rollbacks = ahead.rollbacks.expect("an optimistic run counts its rollbacks");
//! assert_eq!(rollbacks.processed - rollbacks.undone, ahead.events);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub use paceline_engine::{
    Balancing, CheckpointError, CheckpointFile, Checkpoints, Door, EndedBy, Failure, IfLate, JsonFederate,
    Lateness, MOST_THREADS, Monitor, Observer, Optimistic, Outside, OutsideError, OutsideErrorKind,
    OutsideFederate, OutsideLps, Pause, Protocol, QueueKind, Reached, Record, RecordKind, Report, Run,
    RunError, SendError, Sender, Sent, Simulation, Speculation, Stepped, ThreadFederate, ThreadsError,
    TraceSink, Tried, WindowOpened, determinism,
};
pub use paceline_kernel::{
    Balance, Bits, Cancellation, Channels, Context, Depths, Digest, Event, Fault, FaultKind, Federate,
    GvtKind, Kept, LinkError, LpId, Model, Partition, Rng, Rollbacks, Saving, TieBreak, Time, Trouble,
    TroubleKind, Undo, UndoFn, World,
};

/// Everything a model and its `main` need: `use paceline::prelude::*`.
///
/// [`Protocol`] in here is the choice of protocol; where the marker trait is meant, write `Sync`.
pub mod prelude {
    pub use crate::{
        Bits, Channels, CheckpointFile, Checkpoints, Context, Digest, EndedBy, Fault, FaultKind, Kept, LpId,
        Model, Monitor, Observer, Partition, Protocol, QueueKind, Reached, Report, Rng, Run, RunError,
        Saving, Simulation, Speculation, TieBreak, Time, Undo, UndoFn,
    };
}
