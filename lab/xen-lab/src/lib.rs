//! The lab for the papers' schedulers in a real hypervisor: builds Xen with the plug-ins of the folder
//! `lab/xen/`, boots it with dom0 and guests under emulation, runs experiments, and reports their results.
//!
//! An [`Experiment`] plans its boots ([`Plan`]: [`Boot`]s, and a judgement). A [`Boot`] names the hypervisor,
//! the scheduler, the possible guests ([`Domain`]), and what dom0 does step by step ([`Step`]). What guests
//! and scheduler print is read into a [`Transcript`], part by part between the steps that are marks; a judge
//! reads numbers from it.
//!
//! Invariants: the machine's time is counted in instructions and does not depend on this machine's speed or
//! load. No process that the lab starts outlives it. The library neither prints nor exits.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod boot;
mod course;
mod emulator;
mod error;
mod experiment;
pub mod experiments;
mod hypervisor;
mod image;
mod kernel;
mod lab;
mod lock;
mod packages;
pub mod prediction;
mod process;
mod script;
pub mod sizes;
mod systems;
mod tools;
mod transcript;

pub use boot::{Boot, Domain, Step};
pub use course::{Course, Progress, course};
pub use error::LabError;
pub use experiment::{Experiment, Plan, XenLab};
pub use lab::{Booted, Lab, Listener};
pub use process::Stop;
pub use transcript::{Entry, Part, Results, Source, Transcript, TranscriptError};
