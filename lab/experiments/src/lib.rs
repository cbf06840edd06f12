//! Experiments: the published experiments on scheduling simulations, each with the claims that it has to
//! show. Most of them run on simulated machines, those of the SimGrid report on real threads.
//!
//! An [`Experiment`] reads its parameters ([`Given`] ones, or its built-in file) and plans its runs
//! ([`Plan`]: cells, and a judgement); [`reproduce`] runs the cells of all of them side by side. All costs
//! are in one table, [`CONSTANTS`]. Code that is shared with experiments that run elsewhere, for example in a
//! hypervisor, is in [`batch`].
//!
//! Invariants: no constant depends on the policy under test; an experiment that does not show what it should
//! is reported as such, with the reason.

#![forbid(unsafe_code)]

mod artis;
mod calibration;
mod catalogue;
mod claims;
mod cluster;
mod constants;
mod cs;
mod experiment;
mod fit;
mod memory;
mod net;
mod netwarp;
mod nsx;
mod papers;
mod parameters;
mod plan;
mod prelude;
mod psx;
mod reproduce;
mod sensitivity;
mod sg;
mod sweep;
mod turns;
mod vectors;

pub use batch::Setup;
pub use calibration::Calibration;
pub use catalogue::experiments;
pub use constants::{CONSTANTS, Constant};
pub use experiment::Experiment;
pub use fit::{CalibrateError, Tried, calibrate, overview};
pub use parameters::Given;
pub use plan::{Cell, CellError, InProcess, Job, Measure, Plan, Results};
pub use reproduce::{Progress, reproduce};
pub use sensitivity::{Sensitivity, sensitivity};

pub mod batch;
pub use paceline_results::statistics::sample;
