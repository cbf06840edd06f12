//! A simulated machine: multi-core hosts with a hypervisor whose scheduling policy is one of
//! `paceline-policy`, a privileged domain that carries the network, guests with small schedulers of their
//! own, and links between hosts.
//!
//! Guests run [`Program`]s: they compute, send, receive (and wait in one of four ways), yield, and report
//! their LVT to the hypervisor. Policies differ most in chains: a process that polls burns its slice; a
//! message needs the sender's VCPU, a VCPU of the privileged domain and the receiver's VCPU in turn. Nothing
//! here knows which policy runs.
//!
//! Invariants: the same spec gives the same run, to the last decision ([`Report::digest`]); simulated real
//! time is an integer count of nanoseconds; nothing that a guest does takes time other than on a PCPU or on a
//! link.
//!
//! ```
//! use paceline_machine::{DomainSpec, Guest, HostSpec, MachineSpec, Op, Program, run};
//!
//! #[derive(Debug)]
//! struct Once(bool);
//! impl Program for Once {
//!     fn next(&mut self, _guest: &mut Guest<'_>) -> Op {
//!         if std::mem::replace(&mut self.0, true) { Op::Done } else { Op::Compute(5_000_000) }
//!     }
//!     fn waits_for(&self) -> String {
//!         "nothing".into()
//!     }
//! }
//!
//! let mut spec = MachineSpec::default();
//! spec.hosts.push(HostSpec::new("host", 1, "round-robin"));
//! for name in ["one", "two"] {
//!     spec.domains.push(DomainSpec::new(name, 0, vec![Box::new(Once(false))]));
//! }
//! let ran = run(spec)?;
//! // Two domains share one PCPU.
//! assert!(ran.report.at_ns >= 10_000_000);
//! # Ok::<(), paceline_machine::MachineError>(())
//! ```

#![forbid(unsafe_code)]

mod calendar;
mod costs;
mod error;
pub mod guests;
mod ids;
mod machine;
mod observer;
mod packets;
mod process;
mod program;
mod progress;
mod report;
mod spec;
mod state;

pub use costs::Costs;
pub use error::{MachineError, Waiting};
pub use ids::{DomId, PcpuId, VcpuId};
pub use machine::{Ran, run, run_observed};
pub use observer::Observer;
pub use program::{Guest, Message, Op, Outgoing, ProcessId, Program, Wait};
pub use report::{DomainReport, Ended, HostReport, Report};
pub use spec::{DomainSpec, HostSpec, LinkSpec, MachineSpec, PolicySpec, Siblings};
