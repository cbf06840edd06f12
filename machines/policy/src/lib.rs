//! Scheduling policies of hypervisors, as pure state machines: which virtual CPU runs next on which physical
//! CPU.
//!
//! A host (a simulated machine, a test, a stand-in for a real kernel) informs a [`Policy`] of what happens (a
//! VCPU wakes, sleeps or yields, a timer goes off, a message is pending, a guest reports its LVT) and asks it
//! for decisions with [`Policy::pick`]. The policy answers with [`Orders`]: PCPUs on which it wants to be
//! asked again, and timers. One file holds one policy, and one folder a family of policies; [`round_robin`]
//! is the smallest: read it first. [`POLICIES`] is the table of all of them. [`build`] makes a policy from
//! its name and its [`Settings`].
//!
//! | family | orders VCPUs by |
//! |---|---|
//! | proportional share: [`credit`], [`credit2`], [`bvt`] | CPU time used, by weight |
//! | deadlines: [`sedf`], and by messages on top of it: [`csde`], [`boost`], [`govindan`] | the end of the period |
//! | real time: [`rt`], [`rtds`], [`arinc653`] | fixed priorities or deadlines with budgets, or fixed windows |
//! | none: [`null`] | nothing: every VCPU has a PCPU of its own |
//! | co-scheduling: [`gang`], [`flexible`], [`implicit`] | membership in a gang, or messages |
//! | simulated time: [`psx`], [`psx_plus`], [`nsx`], [`nsx_plus`] | LVTs, reported or charged |
//!
//! Invariants of every policy: a VCPU is picked on one PCPU at a time; only a VCPU that is awake is picked;
//! the same calls give the same answers. There is no clock here: every call says what time it is.
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

mod affinity;
mod coscheduling;
mod deadline;
mod ids;
pub mod null;
mod per_id;
mod policy;
mod proportional;
mod queues;
mod real_time;
mod registry;
pub mod round_robin;
mod settings;
mod simulated_time;

pub use coscheduling::{flexible, gang, implicit};
pub use deadline::{boost, csde, govindan, sedf};
pub use ids::{DomId, PcpuId, VcpuId};
pub use policy::{Host, NewDomain, Orders, Pick, Policy, Standing};
pub use proportional::{bvt, credit, credit2};
pub use real_time::{arinc653, rt, rtds};
pub use registry::{POLICIES, PolicyKind, build, names};
pub use settings::{Known, PolicyError, Setting, Settings};
pub use simulated_time::{nsx, nsx_plus, psx, psx_plus};

/// A microsecond in nanoseconds.
pub const MICROSECOND: u64 = 1_000;

/// A millisecond in nanoseconds.
pub const MILLISECOND: u64 = 1_000_000;
