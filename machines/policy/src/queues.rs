//! Queues that the policies share: one ordered run queue and types built from it, and what is due later.
//!
//! - [`RunQueue`]: VCPUs in the order of a key; every policy that orders VCPUs does so with this type.
//! - [`Waiting`]: the VCPUs that wait on a host, each where it may run, least key first and first come first
//!   served.
//! - [`HostQueues`]: the same, and which VCPU runs on which PCPU, for policies in which the least key
//!   preempts the greatest.
//! - [`Seats`]: which VCPU runs on which PCPU, for policies that preempt by rules of their own.
//! - [`Alarms`]: what is due for which VCPU at later times, with one timer.

mod alarms;
mod host;
mod run_queue;
mod seats;
mod waiting;

pub(crate) use alarms::Alarms;
pub(crate) use host::HostQueues;
pub(crate) use run_queue::RunQueue;
pub(crate) use seats::{Seats, next_round};
pub(crate) use waiting::{Place, Turn, Waiting};
