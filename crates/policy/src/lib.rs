//! Scheduling policies of hypervisors, as pure state machines: which virtual CPU runs next on which physical CPU.
//!
//! A host - a simulated machine, a test, a real kernel's stand-in - tells a [`Policy`] what happens (a VCPU wakes, sleeps,
//! yields, a timer goes off, a message is pending, a guest reports its LVT) and asks it for decisions with
//! [`Policy::pick`]. The policy answers with [`Orders`]: PCPUs on which it wants to be asked again, and timers.
//! One file holds one policy; [`round_robin`] is the smallest, the one to read first. [`build`] makes a policy from its name
//! and its [`Settings`].
//!
//! Invariants of every policy: a VCPU is picked on one PCPU at a time; only a VCPU that is awake is picked; the same calls
//! give the same answers. There is no clock here: every call says what time it is.
//!
//! ```
//! use paceline_policy::{DomId, Host, NewDomain, Orders, PcpuId, Settings, VcpuId, build};
//!
//! let mut orders = Orders::default();
//! let mut policy = build("round-robin", &mut Settings::default(), Host { pcpus: 1 })?;
//! for number in 0..2 {
//!     let domain = NewDomain { dom: DomId(number), privileged: false, vcpus: vec![VcpuId(number)], pins: vec![None] };
//!     policy.add(0, &domain, &mut Settings::default(), &mut orders)?;
//!     policy.wake(0, VcpuId(number), &mut orders);
//! }
//! let first = policy.pick(0, PcpuId(0), &mut orders);
//! assert_eq!(first.vcpu, Some(VcpuId(0)));
//! let then = policy.pick(first.slice_ns.unwrap(), PcpuId(0), &mut orders);
//! assert_eq!(then.vcpu, Some(VcpuId(1)));
//! # Ok::<(), paceline_policy::PolicyError>(())
//! ```

#![forbid(unsafe_code)]

pub mod arinc653;
pub mod boost;
pub mod bvt;
mod choice;
pub mod credit;
pub mod credit2;
pub mod csde;
pub mod flexible;
pub mod gang;
pub mod govindan;
pub mod implicit;
pub mod nsx;
pub mod nsx_plus;
mod policy;
pub mod psx;
pub mod psx_plus;
mod registry;
pub mod round_robin;
pub mod rt;
mod run_queue;
mod seats;
pub mod sedf;
mod settings;
mod table;
mod waiting;

pub use policy::{DomId, Host, NewDomain, Orders, PcpuId, Pick, Policy, Standing, VcpuId};
pub use registry::{KINDS, build};
pub use settings::{PolicyError, Setting, Settings};

/// A microsecond in nanoseconds.
pub const MICROSECOND: u64 = 1_000;

/// A millisecond in nanoseconds.
pub const MILLISECOND: u64 = 1_000_000;
