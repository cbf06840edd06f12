//! Flexible co-scheduling: gang scheduling for VCPUs that need it; the others fill the gaps.
//!
//! Source: co-scheduling thesis, section 2.1.1.2 (Frachtenberg et al., 2003): a gang scheduler classifies
//! processes by their observed behaviour, and a node refuses a switch that would not help.
//! - CS (co-scheduling): communicate much and use their time: gang-scheduled. In its slot such a VCPU keeps
//!   its PCPU, even while it spins or yields, because its partners run too.
//! - F (frustrated): communicate much but cannot use their time, because the load is not balanced. In their
//!   slot they run first, and they are the first to fill other gaps. One that yields is set aside until the
//!   slot ends; one that sets its waiting flag is set aside until it unsets the flag. A message ends both:
//!   this is the scheduler's side of spin-block.
//! - DC (don't care): communicate rarely. They fill the gaps that F leave, and are set aside by the same
//!   rule.
//!
//! Measured per VCPU, over the last `evaluate` (4) slots of its row:
//! - messages: how many came for its domain (each increase of the pending count adds its amount), per slot
//!   and per VCPU of the domain;
//! - use: the part of these slots in which it ran with its waiting flag unset.
//!
//! With fewer messages than `messages` (10) a VCPU is DC; otherwise with less use than `use` percent (50) it
//! is F; otherwise CS. Every VCPU begins as CS.
//!
//! A gap is a cell of the row of the slot that is empty, or whose VCPU sleeps or is set aside. It is filled
//! from its column: F first, then DC, then CS of other rows, and last those set aside: work-conserving on
//! each PCPU. Within a class the VCPU that ran least recently is first. No VCPU starves: each has the slots
//! of its row. Settings: those of [`gang`](crate::gang) and the three above.

use super::gang::Gang;
use crate::{Host, PolicyError, Settings};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Class {
    /// Communicates much and uses its time: gang-scheduled.
    #[default]
    CoScheduled,
    /// Communicates as much as a gang-scheduled one, but cannot use its time.
    Frustrated,
    /// Communicates rarely: fills the gaps that `Frustrated` leave.
    DontCare,
}

/// The limits between the classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The number of slots of its row after which a VCPU is classified.
    pub evaluate: u64,
    messages: u64,
    use_percent: u64,
}

/// What was measured of a VCPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Slots of its row.
    pub slots: u64,
    /// How long it ran in them without only waiting.
    pub used_ns: u64,
    /// The total of messages for its domain when it was last classified.
    pub messages_before: u64,
}

impl Bounds {
    /// The class of a VCPU with these measurements, whose domain has `vcpus` VCPUs and has received
    /// `messages` in total.
    pub fn class(&self, seen: &Seen, messages: u64, vcpus: u64, slot_ns: u64) -> Class {
        if messages - seen.messages_before < self.messages * seen.slots * vcpus {
            Class::DontCare
        } else if u128::from(seen.used_ns) * 100
            < u128::from(seen.slots * slot_ns) * u128::from(self.use_percent)
        {
            Class::Frustrated
        } else {
            Class::CoScheduled
        }
    }
}

impl Class {
    /// The class's place in the order in which gaps are filled.
    pub fn rank(self) -> u8 {
        match self {
            Self::Frustrated => 0,
            Self::DontCare => 1,
            Self::CoScheduled => 2,
        }
    }
}

/// Flexible co-scheduling for `host`.
pub fn flexible(settings: &mut Settings, host: Host) -> Result<Gang, PolicyError> {
    let bounds = Bounds {
        evaluate: settings.count("evaluate", 4, 1, 1_000)?,
        messages: settings.count("messages", 10, 1, 1_000_000)?,
        use_percent: settings.count("use", 50, 1, 100)?,
    };
    Gang::with_classes(bounds, settings, host)
}
