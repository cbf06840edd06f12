//! Changes of links according to their profiles, in the order of time.
//!
//! Invariant: at equal times changes are ordered by link, and those of one link by aspect.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::platform::Link;
use crate::profile::Profile;

/// The property of a link that a profile changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Aspect {
    Bandwidth,
    Latency,
    State,
}

impl Aspect {
    pub(super) const ALL: [Self; 3] = [Self::Bandwidth, Self::Latency, Self::State];

    pub(super) fn profile(self, link: &Link) -> Option<&Profile> {
        match self {
            Self::Bandwidth => link.bandwidth_profile.as_ref(),
            Self::Latency => link.latency_profile.as_ref(),
            Self::State => link.state_profile.as_ref(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    /// Seconds since the simulation began.
    pub at: f64,
    pub link: u32,
    pub aspect: Aspect,
    /// Its number in the profile.
    pub number: u32,
}

impl Eq for Change {}

impl Ord for Change {
    fn cmp(&self, other: &Self) -> Ordering {
        let what = |change: &Self| (change.link, change.aspect, change.number);
        self.at.total_cmp(&other.at).then(what(self).cmp(&what(other)))
    }
}

impl PartialOrd for Change {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The pending changes: the next one of each profile.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(BinaryHeap<Reverse<Change>>);

impl Changes {
    /// Adds change number `number` of a link's profile, if the profile has that many.
    pub(super) fn push(&mut self, links: &[Link], link: u32, aspect: Aspect, number: u32) {
        let profile = aspect.profile(&links[link as usize]);
        if let Some((at, _)) = profile.and_then(|profile| profile.change(number as usize)) {
            self.0.push(Reverse(Change { at, link, aspect, number }));
        }
    }

    /// The time of the first change.
    pub(super) fn first(&self) -> Option<f64> {
        self.0.peek().map(|Reverse(change)| change.at)
    }

    /// Removes the first change if it is not after this time; adds the next one of its profile.
    pub(super) fn pop_at(&mut self, links: &[Link], at: f64) -> Option<(Change, f64)> {
        self.first().filter(|first| *first <= at)?;
        let Reverse(change) = self.0.pop()?;
        let Change { link, aspect, number, .. } = change;
        let (_, value) = aspect.profile(&links[link as usize])?.change(number as usize)?;
        self.push(links, link, aspect, number + 1);
        Some((change, value))
    }
}
