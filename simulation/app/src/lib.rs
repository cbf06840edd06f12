//! The program of a model: what `paceline run` is for the models that come with Paceline, for a model of
//! one's own.
//!
//! [`app!`](crate::app) writes `main`. The program has the commands `run`, `check`, `replicate`, `study`,
//! `report`, `resume`, `join`, `ctl` and `list`; parameters come from a scenario file or `--set`, read by
//! serde, and every mistake is reported with its place.
//!
//! ```
//! use paceline_kernel::{Context, LpId, Model, Time};
//! use paceline_results::Results;
//! use serde::Deserialize;
//!
//! /// A token that walks round a ring of LPs.
//! #[derive(Debug, Deserialize)]
//! struct Ring {
//!     lps: u32,
//!     #[serde(with = "paceline_scenario::time")]
//!     step: Time,
//! }
//!
//! impl Model for Ring {
//!     type State = u64;
//!     type Event = ();
//!     type Output = ();
//!
//!     # fn lps(&self) -> u32 { self.lps }
//!     # fn lookahead(&self) -> Time { self.step }
//!     # fn init(&self, lp: LpId, cx: &mut Context<Self>) -> u64 {
//!     #     if lp == LpId(0) { cx.schedule(Time::ZERO, ()); }
//!     #     0
//!     # }
//!     fn handle(&self, seen: &mut u64, _token: &(), cx: &mut Context<Self>) {
//!         *seen += 1;
//!         cx.send(LpId((cx.lp().0 + 1) % self.lps), self.step, ());
//!     }
//! }
//!
//! impl Results for Ring {}
//!
//! paceline_app::app!(Ring);
//! ```
//!
//! A scenario of it, to be run by `ring run ring.toml --set run.threads=2`:
//!
//! ```toml
//! [model]
//! lps = 8
//! step = "10ms"
//!
//! [run]
//! until = "1h"
//! ```
//!
//! A parameter that is a file has the type [`InputFile`](paceline_scenario::InputFile): its path is seen from
//! the scenario's folder, and `resume` refuses a run of which it has changed.
//!
//! The program `paceline` is built of the same parts: it has more models, and more commands.
//!
//! Invariants: nothing here knows a model; what a run computes does not depend on how it is watched.

#![forbid(unsafe_code)]

pub mod args;
mod check;
mod checkpoint_watch;
mod checkpoints;
pub mod commands;
pub mod ctl;
mod determinism;
pub mod duration;
mod entry;
mod executable;
pub mod failure;
mod finish;
mod hanging;
#[cfg(target_os = "linux")]
pub mod join;
pub mod keys;
pub mod list;
#[cfg(feature = "live")]
pub mod live;
pub mod loaded;
mod log;
mod lp_model;
pub mod memory;
pub mod output;
mod panics;

#[cfg(feature = "processes")]
pub mod process_model;
#[cfg(feature = "processes")]
mod processes;
mod program;
pub mod progress;
pub mod provenance;
pub mod replicate;
pub mod resume;
mod run;
pub mod run_report;
mod sampling;
mod settings;
pub mod signals;
pub mod stdout;
mod steer;
pub mod study;
pub mod summary;
pub mod tables;
pub mod terminal;
pub mod text;
#[cfg(target_os = "linux")]
pub mod together;
pub mod trace;
mod words;

pub use entry::{conclude, main, misspelt};
pub use lp_model::{AnyModel, How, by_serde, execute_joined};
#[cfg(feature = "processes")]
pub use process_model::{AnyProcessModel, processes_by_serde};
pub use program::{Build, Kind, Program};
#[cfg(feature = "live")]
pub use sampling::OutsideFederate;
pub use settings::RunSettings;
pub use settings::changes::ScheduledChange;
