//! An interval tree whose leaves are blocks of intervals, for regions that move.
//!
//! Regions are in sorted blocks; a binary tree over the blocks holds the greatest high end on the first axis
//! below each node (an augmented search tree, as in interval tree matching: Marzolla, D'Angelo and Mandrioli,
//! 2013). A query opens the blocks that begin before its high end and in which an entry ends after its low
//! end: on the first axis, each of them except the last contains a result. So a query takes O(log n +
//! results) steps of one block each. A change affects one block and the nodes above it. When a block is added
//! or removed the tree is rebuilt, which happens once for many changes; the tree has one node for tens of
//! entries.
//!
//! Invariants: no block is empty or longer than [`LENGTH_MAX`]; all entries are in the order of
//! [`Entry::order`]; the length of `tops` is twice the least power of two that is not below the number of
//! blocks; leaves without a block hold `i64::MIN`.

use super::stripes::Entry;

/// The most entries in a block. Moving this many in memory is as fast as following one or two pointers.
const LENGTH_MAX: usize = 64;

/// Blocks of entries, and the tree over them.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks<const D: usize> {
    blocks: Vec<Vec<Entry<D>>>,
    /// The order of the first entry of each block: searched instead of the blocks, which are scattered in
    /// memory.
    firsts: Vec<(i64, u32)>,
    /// The greatest high end below each node. The root is node 1, the children of node n are 2n and 2n + 1,
    /// and the second half are the blocks.
    tops: Vec<i64>,
}

fn top<const D: usize>(block: &[Entry<D>]) -> i64 {
    block.iter().map(|entry| entry.region.high[0]).max().unwrap_or(i64::MIN)
}

impl<const D: usize> Blocks<D> {
    /// Rebuilds the tree after a block was added or removed.
    fn grow_tree(&mut self) {
        self.firsts.clear();
        self.firsts.extend(self.blocks.iter().map(|block| block[0].order()));
        let leaves = self.blocks.len().next_power_of_two();
        self.tops.clear();
        self.tops.resize(2 * leaves, i64::MIN);
        self.tops[leaves..].iter_mut().zip(&self.blocks).for_each(|(leaf, block)| *leaf = top(block));
        for node in (1..leaves).rev() {
            self.tops[node] = self.tops[2 * node].max(self.tops[2 * node + 1]);
        }
    }

    /// Updates what is stored about a block, after an entry was added or removed.
    fn climb(&mut self, block: usize) {
        self.firsts[block] = self.blocks[block][0].order();
        let mut node = self.tops.len() / 2 + block;
        self.tops[node] = top(&self.blocks[block]);
        while node > 1 {
            node /= 2;
            let greatest = self.tops[2 * node].max(self.tops[2 * node + 1]);
            if self.tops[node] == greatest {
                return;
            }
            self.tops[node] = greatest;
        }
    }

    /// The block that contains an entry, or where it should be inserted.
    fn block_of(&self, entry: &Entry<D>) -> usize {
        self.firsts.partition_point(|first| *first <= entry.order()).saturating_sub(1)
    }

    /// Blocks of entries that are sorted.
    pub fn new(sorted: &[Entry<D>]) -> Self {
        // Half full, to leave room for insertions.
        let blocks = sorted.chunks(LENGTH_MAX / 2).map(<[Entry<D>]>::to_vec).collect();
        let mut blocks = Self { blocks, ..Self::default() };
        blocks.grow_tree();
        blocks
    }

    pub fn insert(&mut self, entry: Entry<D>) {
        if self.blocks.is_empty() {
            *self = Self::new(&[entry]);
            return;
        }
        let at = self.block_of(&entry);
        let block = &mut self.blocks[at];
        let place = block.partition_point(|other| other.order() < entry.order());
        block.insert(place, entry);
        if block.len() > LENGTH_MAX {
            let later = block.split_off(LENGTH_MAX / 2);
            self.blocks.insert(at + 1, later);
            self.grow_tree();
        } else {
            self.climb(at);
        }
    }

    /// Removes an entry that is in the blocks.
    pub fn remove(&mut self, entry: &Entry<D>) {
        let at = self.block_of(entry);
        let block = &mut self.blocks[at];
        let place = block.partition_point(|other| other.order() < entry.order());
        assert_eq!(block[place].order(), entry.order(), "an entry is in each of its stripes");
        block.remove(place);
        if block.is_empty() {
            self.blocks.remove(at);
            self.grow_tree();
        } else {
            self.climb(at);
        }
    }

    /// Calls `each` with every entry that overlaps `query`.
    pub fn overlapping(&self, query: &Entry<D>, mut each: impl FnMut(&Entry<D>)) {
        let end = self.firsts.partition_point(|first| first.0 < query.region.high[0]);
        let mut block = 0;
        while let Some(next) = self.next_above(block, end, query.region.low[0]) {
            let begins = |entry: &&Entry<D>| entry.region.low[0] < query.region.high[0];
            let meets = |entry: &&Entry<D>| (0..D).all(|axis| query.region.meets(&entry.region, axis));
            self.blocks[next].iter().take_while(begins).filter(meets).for_each(&mut each);
            block = next + 1;
        }
    }

    /// The first block from `from` on and before `end` in which an entry ends above `low`.
    fn next_above(&self, from: usize, end: usize, low: i64) -> Option<usize> {
        if from >= end {
            return None;
        }
        let leaves = self.tops.len() / 2;
        let mut node = if from == 0 { 1 } else { leaves + from };
        // Go up to a subtree that begins here or later and contains such an entry.
        while self.tops[node] <= low {
            while node & 1 == 1 {
                node /= 2;
            }
            // There is no later subtree.
            if node == 0 {
                return None;
            }
            node += 1;
        }
        // Go down to the first such block in it.
        while node < leaves {
            node = 2 * node + usize::from(self.tops[2 * node] <= low);
        }
        Some(node - leaves).filter(|block| *block < end)
    }
}
