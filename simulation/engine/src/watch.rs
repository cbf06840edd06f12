//! Looking at a run while it goes on: progress, records of what workers do, gauges of federates, local
//! virtual times, and a second run beside the first.
//!
//! Invariant: who looks changes no result.

pub mod determinism;
pub(crate) mod gauges;
pub(crate) mod lvt;
pub(crate) mod monitor;
pub(crate) mod observer;
pub(crate) mod trace;
