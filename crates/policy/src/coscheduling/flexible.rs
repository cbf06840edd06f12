//! Flexible co-scheduling: gang scheduling for VCPUs that need it; the others fill the gaps.
//!
//! Source: co-scheduling thesis, section 2.1.1.2 (Frachtenberg et al., 2003): the processes of a gang scheduler are classed by
//! what they are seen to do, and a node refuses a switch that would not help.
//! - CS (co-scheduling): communicate much and use their time: gang-scheduled. In its slot such a VCPU has its PCPU, even
//!   while it spins or yields, for its partners run too.
//! - F (frustrated): communicate much but cannot use their time, for the load is not balanced. In their slot they are first,
//!   and they are the first to fill other gaps. One that yields is set aside until the slot ends, one that says that it only
//!   waits until it says otherwise, and both no longer than until a message comes: the scheduler's side of spin-block.
//! - DC (don't care): communicate rarely. They fill the gaps after the F; they are set aside likewise.
//!
//! What is measured, per VCPU: over its last `evaluate` (4) slots, those in which its row had the turn,
//! - messages: how many came for its domain meanwhile (every rise of the number pending counts by how much it rose), per
//!   slot and per VCPU of the domain;
//! - use: how much of the time of these slots it ran without having put on its page that it only waits.
//!
//! Fewer messages than `messages` (10) is DC, else less use than `use` percent (50) is F, else CS. Every VCPU begins as CS.
//!
//! A gap is a cell of the row of the slot that is empty, or whose VCPU sleeps or is set aside. It is filled from its column:
//! F first, then DC, then CS of other rows, and in the end those set aside: work-conserving on each PCPU. Within a class who
//! has not run for longest is first. No VCPU starves: each has the slots of its row. Settings: those of [`gang`](crate::gang)
//! and the three above.

use super::gang::Gang;
use crate::{Host, PolicyError, Settings};

/// What a VCPU is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Class {
    /// Gang-scheduled.
    #[default]
    CoScheduled,
    /// Would be, but cannot use its time.
    Frustrated,
    /// Needs no partner.
    DontCare,
}

/// Where the classes part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Slots of its own after which a VCPU is classed.
    pub evaluate: u64,
    messages: u64,
    use_percent: u64,
}

/// What was seen of a VCPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Slots of its own.
    pub slots: u64,
    /// How long it ran in them to some use.
    pub used_ns: u64,
    /// How many messages had come for its domain, ever, when it was last classed.
    pub messages_before: u64,
}

impl Bounds {
    /// The class of a VCPU of which this was seen, of a domain that has got so many messages, ever, for so many VCPUs.
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
    /// The order in which gaps are filled.
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
