//! Paces real programs on Linux: of the threads that publish their local virtual time (LVT), those furthest
//! behind run first.
//!
//! A [`Pacer`] is one way to do that. [`start`] takes the best one that is permitted, in the order sched-ext,
//! governor with real-time priorities, governor with nice levels, none, and reports for each better one why
//! it was refused. A command is started with the pacer's page in the environment variable `PACELINE_LVT`;
//! threads of it and its children that publish there are paced until it ends.
//!
//! ```
//! use std::process::Command;
//! use paceline_pace::{PaceSettings, run, start};
//!
//! let settings = PaceSettings::default();
//! let started = start(&settings)?;
//! for refusal in &started.refusals {
//!     println!("not taken: {refusal}");
//! }
//! let mut command = Command::new("sh");
//! command.args(["-c", "exit 3"]);
//! let ended = run(command, started.pacer, |notice| println!("{notice:?}"))?;
//! assert_eq!(ended.code(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: the normal scheduler is restored whatever ends the pacer, signal 9 included. A pacer that
//! fails leaves the command running under the normal scheduler. The library neither prints nor exits.

#![cfg(target_os = "linux")]

mod governor;
mod guard;
pub mod mpi;
mod pacer;
pub mod plan;
mod run;
mod sched;
pub mod sched_ext;
mod settings;
mod start;

pub use governor::{run_as_usual, run_before_paced};
pub use pacer::{PaceError, Pacer, UnavailableError};
pub use run::{Ended, PaceNotice, RunError, run};
pub use settings::{PaceSettings, PolicyChoice, SLICE_MAX, SLICE_MIN, SettingError};
pub use start::{Started, start};
