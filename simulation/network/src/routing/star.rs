//! Stars: every member has links up to the centre, and links down from the centre.
//!
//! Flat clusters are stars; their backbone is the last link up and the first link down of every host.
//! Invariant: a link that is both on the way up and on the way down, such as a backbone, is on the route
//! once.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::ids::LinkId;

/// The links of one part of a route: few.
pub(crate) type Part = SmallVec<[LinkId; 4]>;

/// The links of one member.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spoke {
    pub up: Part,
    pub down: Part,
}

/// The spokes by rank; a member without a spoke is in the centre.
#[derive(Clone, Debug, Default)]
pub(crate) struct Star {
    pub spokes: Vec<Spoke>,
    /// The routes from members to themselves, if they are not simply up and down.
    pub loopbacks: BTreeMap<u32, Vec<LinkId>>,
}

impl Star {
    pub(crate) fn spoke(&mut self, rank: u32) -> &mut Spoke {
        let rank = rank as usize;
        if self.spokes.len() <= rank {
            self.spokes.resize(rank + 1, Spoke::default());
        }
        &mut self.spokes[rank]
    }

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
