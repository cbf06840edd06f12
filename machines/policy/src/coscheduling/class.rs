//! The classes of flexible co-scheduling, and what is measured to tell them apart
//! (co-scheduling thesis, section 2.1.1.2).

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
    /// With fewer messages a slot and VCPU a VCPU is `DontCare`.
    pub messages: u64,
    /// With less use, in percent, it is `Frustrated`.
    pub use_percent: u64,
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
