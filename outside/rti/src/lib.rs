//! The run-time infrastructure (RTI) of HLA 4 (IEEE 1516-2025), as a state machine: a call of a federate goes
//! in, one answer and any callbacks come out.
//!
//! Nothing in here uses a thread, a clock, a socket or a file: the same calls in the same order give the same
//! answers and callbacks. A host brings sessions of federates, opens the modules that they name and carries
//! bytes; [`Rti`] decides.
//!
//! A service that is not there yet is answered with RTIinternalError and "not yet: NAME".

#![forbid(unsafe_code)]

mod client;
mod digest;
mod evolved;
mod exception;
mod federation;
pub mod fom;
mod handles;
mod limits;
mod rti;
mod time;

pub use client::Client;
pub use digest::{Digests, FederateDigest};
pub use exception::{CallError, Exception};
pub use federation::status::{FederateStatus, FederateTimes, FederationStatus};
pub use limits::RtiLimits;
pub use rti::Rti;
pub use time::LogicalTime;
