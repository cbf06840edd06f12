//! Rules that choose by messages among the VCPUs that may run, and the statistics page that they read. CSDE,
//! CSDD, the periodic boosts and the communication-aware scheduler are such rules on top of
//! [`sedf`](crate::sedf).
//!
//! A rule has preferences that are tried one after the other. A preference gives a rank to the VCPUs that it
//! prefers; the least rank wins, then the scheduler's own order. If no preference has a candidate, the
//! scheduler's own order decides alone.
//!
//! Invariants: a rank depends on nothing but the [`Candidate`], so that an index of ranks stays valid until
//! the page changes; a preference that holds for a rank holds for every lesser rank at that time, so only the
//! head of an index has to be tested.

use std::fmt;

/// How many preferences a rule may have.
pub(crate) const PREFERENCES: usize = 2;

/// A place in a preference's order, the least first; compared from left to right.
pub(crate) type Rank = [u64; 3];

/// What is known of the messages of a domain (co-scheduling thesis, section 4.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// Whether the domain is DOM0.
    pub privileged: bool,
    /// How many messages are pending for it.
    pub pending: u32,
    /// When the last one came.
    pub last_ns: u64,
    /// How many have come in this window.
    pub received: u64,
    /// How many it sent when it last ran, if the rule asks for that.
    pub sent: u64,
    /// How many it has sent since it began to run, if the rule asks for that.
    pub sending: u64,
}

impl Page {
    /// Sets the number of pending messages; returns how many of them are new.
    pub fn set_pending(&mut self, now_ns: u64, pending: u32) -> u32 {
        let new = pending.saturating_sub(self.pending);
        if new > 0 {
            self.last_ns = now_ns;
            self.received += u64::from(new);
        }
        self.pending = pending;
        new
    }
}

/// A VCPU that may run, as a rule sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    /// The page of its domain.
    pub page: &'a Page,
    /// When it was last chosen; zero if never.
    pub chosen_ns: u64,
}

/// A rule that chooses among candidates.
pub(crate) trait Rule: fmt::Debug + Send {
    /// The place of a candidate by a preference, if it is among the preferred.
    fn rank(&self, _preference: usize, _candidate: &Candidate<'_>) -> Option<Rank> {
        None
    }

    /// Whether a preference still holds for this rank.
    fn holds(&self, _preference: usize, _rank: Rank, _now_ns: u64) -> bool {
        true
    }

    /// How many entries of a domain's page a scan reads to rank one VCPU.
    fn entries(&self) -> u32 {
        1
    }

    /// The length of the windows in which received messages are counted, if the rule uses the numbers
    /// received and sent.
    fn window_ns(&self) -> Option<u64> {
        None
    }
}

/// A number as part of a rank in which the greatest number comes first.
pub(crate) fn most(number: u64) -> u64 {
    u64::MAX - number
}
