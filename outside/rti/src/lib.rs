//! The run-time infrastructure (RTI) of HLA 4 (IEEE 1516-2025), as a state machine: a call of a federate goes
//! in, one answer and any callbacks come out.
//!
//! Nothing in here uses a thread, a clock, a socket or a file: the same calls in the same order give the same
//! answers and callbacks.

#![forbid(unsafe_code)]

pub mod fom;
