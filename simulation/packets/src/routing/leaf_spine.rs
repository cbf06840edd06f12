//! Routes of leaf and spine, computed from numbers of nodes.

use crate::hash::pick;

/// Hosts, leaves, spines. Ports of a leaf: its hosts, then the spines; of a spine: the leaves.
#[derive(Clone, Debug)]
pub(crate) struct LeafSpine {
    pub leaves: u32,
    pub spines: u32,
    pub hosts: u32,
}

impl LeafSpine {
    #[inline(always)]
    pub fn port(&self, node: u32, to: u32, hash: u64) -> u32 {
        let all = self.leaves * self.hosts;
        if node < all {
            return 0;
        }
        let leaf = to / self.hosts;
        if node >= all + self.leaves {
            leaf
        } else if node - all == leaf {
            to % self.hosts
        } else {
            self.hosts + pick(hash as u32, self.spines)
        }
    }
}
