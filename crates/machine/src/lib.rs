//! A simulated machine: multi-core hosts with a hypervisor whose scheduling policy is one of `paceline-policy`, a privileged
//! domain that carries the network, guests with small schedulers of their own, and links between hosts.
//!
//! Guests run [`Program`]s: they compute, send, receive (and wait in one of four ways), yield, and tell the hypervisor their
//! LVT. What policies are worth shows in chains: a process that polls burns its slice; a message needs the sender's VCPU, a
//! VCPU of the privileged domain and the receiver's VCPU in turn. Nothing here knows which policy runs.
//!
//! Invariants: the same spec gives the same run, to the last decision ([`Report::digest`]); simulated real time is an
//! integer count of nanoseconds; nothing that a guest does takes time other than on a PCPU or on a link.

#![forbid(unsafe_code)]

mod costs;
mod error;
pub mod guests;
mod observer;
mod program;
mod report;
mod spec;

pub use costs::Costs;
pub use error::{MachineError, Waiting};
pub use observer::Observer;
pub use program::{Guest, Message, Op, Outgoing, ProcessId, Program, Wait};
pub use report::{DomainReport, Ended, HostReport, Report};
pub use spec::{DomainSpec, HostSpec, LinkSpec, MachineSpec, PolicySpec};
