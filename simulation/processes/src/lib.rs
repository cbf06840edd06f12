//! Processes: programs that live on the hosts of a simulated world, sleep, compute and send each other
//! messages.
//!
//! A process is an `async fn` over its [`Process`] handle, in the terms of SimGrid; a [`Simulation`] runs all
//! of them. Their code acts on the world by requests only, which a sequential [`core`] answers in a fixed
//! order, so that the code of all processes that can run at one instant may run on many threads, with the
//! same digest on any number of them (SimGrid report; Quinson, Rosa and Thiéry, 2012).
//!
//! ```
//! use paceline_processes::{Process, Simulation};
//! use paceline_kernel::Time;
//! use paceline_network::{Constant, HostId};
//!
//! async fn ping(cx: Process<u32>) {
//!     cx.send("pong", 42, 1e6).await.unwrap();
//! }
//!
//! async fn pong(cx: Process<u32>) {
//!     let number = cx.receive("pong").await.unwrap();
//!     assert_eq!((number, cx.now()), (42, Time::secs(1)));
//! }
//!
//! let mut simulation = Simulation::new(Constant::new(1.0), &[(1e9, 1), (1e9, 1)]);
//! simulation.spawn("ping", HostId(0), ping);
//! simulation.spawn("pong", HostId(1), pong);
//! let report = simulation.run()?;
//! assert_eq!((report.end_time, report.counts.messages), (Time::secs(1), 1));
//! # Ok::<(), paceline_processes::RunError>(())
//! ```

mod activity;
mod context;
mod control;
pub mod core;
mod crew;
mod desk;
mod federates;
mod meter;
mod model;
mod process;
mod report;
pub mod resources;
mod round;
mod simulation;
mod standstill;
mod sync;
mod task;
mod watchdog;

pub use core::{
    Counts, Mailbox, Name, ProcessId, Reach, RequestError, RoundCounts, Rounds, Stuck, WaitEnd, WaitReason,
};

pub use activity::Activity;
pub use context::ContextKind;
pub use control::{AskError, Control};
pub use crew::{Coordination, Waiting};
pub use model::{ProcessModel, TooFewHosts};
pub use paceline_engine::EndedBy;
pub use process::{Process, Raised};
pub use report::{Report, RunError, amdahl_bound};
pub use resources::{
    Container, Event, Held, Measured, Resource, State, Store, Wait, WaitError, all_of, any_of, race,
};
pub use round::RoundRecord;
pub use simulation::{OnPanic, Simulation};
pub use sync::{Barrier, Condition, Mutex, MutexGuard, Queue, Semaphore};
pub use watchdog::{ProgramExit, Stall};
