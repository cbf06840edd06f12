//! Stars: every member has links up to the centre and links down from it.
//!
//! Flat clusters are stars, their backbone the last link up and the first down of every host. Invariant: a link that is
//! both on the way up and on the way down is on the route once, as a backbone is.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::platform::LinkId;

/// The links of one part of a route: few.
pub(crate) type Part = SmallVec<[LinkId; 4]>;

/// The links of one member.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spoke {
    pub up: Part,
    pub down: Part,
}

/// The spokes by rank; members without one are in the centre.
#[derive(Clone, Debug, Default)]
pub(crate) struct Star {
    pub spokes: Vec<Spoke>,
    /// The routes of members to themselves, where these are not up and down.
    pub loopbacks: BTreeMap<u32, Vec<LinkId>>,
}

impl Star {
    /// The spoke of a member.
    pub(crate) fn spoke(&mut self, rank: u32) -> &mut Spoke {
        let rank = rank as usize;
        if self.spokes.len() <= rank {
            self.spokes.resize(rank + 1, Spoke::default());
        }
        &mut self.spokes[rank]
    }

    /// Appends the links from one member to another.
    pub(crate) fn append(&self, from: u32, to: u32, links: &mut Vec<LinkId>) {
        if from == to
            && let Some(loopback) = self.loopbacks.get(&from)
        {
            return links.extend_from_slice(loopback);
        }
        let spoke = |rank: u32| self.spokes.get(rank as usize);
        let up = spoke(from).map_or(&[][..], |spoke| &spoke.up);
        let down = spoke(to).map_or(&[][..], |spoke| &spoke.down);
        let start = links.len();
        for link in up.iter().chain(down) {
            if !links[start..].contains(link) {
                links.push(*link);
            }
        }
    }
}
