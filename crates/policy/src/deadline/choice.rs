//! Rules that choose by messages among the VCPUs that may run, and the statistics page that they look at: what CSDE, CSDD,
//! the periodic boosts and the communication-aware scheduler share on top of [`sedf`](crate::sedf).
//!
//! A rule has preferences that are tried one after the other. A preference gives those it is about a rank; the least rank
//! wins, then the scheduler's own order. Where no preference has anybody, the scheduler's own order decides alone.
//!
//! Invariants: a rank depends on nothing but the [`Candidate`], so that an index of ranks stays true until the page changes;
//! a preference that holds for a rank holds for every lesser one at that time, so that the head of an index tells of all.

use std::fmt;

/// How many preferences a rule may have.
pub(crate) const PREFERENCES: usize = 2;

/// A place by a preference: the smaller, the sooner; compared from left to right.
pub(crate) type Rank = [u64; 3];

/// What is known of the messages of a domain (co-scheduling thesis, section 4.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// Whether the domain is DOM0.
    pub privileged: bool,
    /// How many messages wait for it.
    pub pending: u32,
    /// When the last one came.
    pub last_ns: u64,
    /// How many have come in this window.
    pub received: u64,
    /// How many it sent when it last ran, if the rule asks for that.
    pub sent: u64,
    /// How many it has sent since it runs, likewise.
    pub sending: u64,
}

impl Page {
    /// So many wait from now on; gives how many of them are new.
    pub fn tell(&mut self, now_ns: u64, pending: u32) -> u32 {
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

/// How to choose.
pub(crate) trait Rule: fmt::Debug + Send {
    /// The name of the policy.
    fn name(&self) -> &'static str;

    /// The place of a candidate by a preference, if it is among the preferred.
    fn rank(&self, _preference: usize, _candidate: &Candidate<'_>) -> Option<Rank> {
        None
    }

    /// Whether a preference still holds for one of this rank.
    fn holds(&self, _preference: usize, _rank: Rank, _now_ns: u64) -> bool {
        true
    }

    /// How much of a domain's page a scan has to look at to rank one VCPU.
    fn entries(&self) -> u32 {
        1
    }

    /// How long the windows are in which received messages are counted, where the rule asks for what is received and sent.
    fn window_ns(&self) -> Option<u64> {
        None
    }
}

/// A number as part of a rank, the greatest first.
pub(crate) fn most(number: u64) -> u64 {
    u64::MAX - number
}
