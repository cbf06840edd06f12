//! An interval tree whose leaves are blocks of intervals, for regions that move.
//!
//! Pieces are in sorted blocks; a binary tree over the blocks holds the greatest high end on the first axis below each node (an
//! augmented search tree, as in interval tree matching: Marzolla, D'Angelo and Mandrioli, 2013). A query opens the blocks that
//! begin before its high end and in which a piece ends after its low end: on the first axis, each of them except the last contains
//! a result. So a query takes O(log n + results) steps of one block each. A change affects one block and the nodes above it. When a
//! block is added or removed the tree is rebuilt, which happens once for many changes; the tree has one node for tens of pieces.
//!
//! Invariants: no block is empty or longer than [`LENGTH_MAX`]; all pieces are in the order of [`Piece::order`]; the length of
//! `tops` is twice the least power of two that is not below the number of blocks; leaves without a block hold `i64::MIN`.

use crate::keys::Piece;
use crate::tiled::List;

/// The most pieces in a block. Moving this many in memory is as fast as following one or two pointers.
const LENGTH_MAX: usize = 64;

/// Blocks of pieces, and the tree over them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks<const D: usize> {
    blocks: Vec<Vec<Piece<D>>>,
    /// The order of the first piece of each block: searched instead of the blocks, which are scattered in memory.
    firsts: Vec<(i64, u32, u16)>,
    /// The greatest high end below each node. The root is node 1, the children of node n are 2n and 2n + 1, and the second half are
    /// the blocks.
    tops: Vec<i64>,
}

fn top<const D: usize>(block: &[Piece<D>]) -> i64 {
    block.iter().map(|piece| piece.high[0]).max().unwrap_or(i64::MIN)
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

    /// Updates what is stored about a block, after a piece was added or removed.
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

    /// The block that contains a piece, or where it should be inserted.
    fn block_of(&self, piece: &Piece<D>) -> usize {
        self.firsts.partition_point(|first| *first <= piece.order()).saturating_sub(1)
    }
}

impl<const D: usize> List<D> for Blocks<D> {
    fn fill(&mut self, pieces: &[Piece<D>]) {
        // Half full, to leave room for insertions.
        self.blocks = pieces.chunks(LENGTH_MAX / 2).map(<[Piece<D>]>::to_vec).collect();
        self.grow_tree();
    }

    fn insert(&mut self, piece: Piece<D>) {
        if self.blocks.is_empty() {
            return self.fill(&[piece]);
        }
        let at = self.block_of(&piece);
        let block = &mut self.blocks[at];
        let place = block.partition_point(|other| other.order() < piece.order());
        block.insert(place, piece);
        if block.len() > LENGTH_MAX {
            let later = block.split_off(LENGTH_MAX / 2);
            self.blocks.insert(at + 1, later);
            self.grow_tree();
        } else {
            self.climb(at);
        }
    }

    fn remove(&mut self, piece: &Piece<D>) {
        let at = self.block_of(piece);
        let block = &mut self.blocks[at];
        let place = block.partition_point(|other| other.order() < piece.order());
        assert_eq!(block[place].order(), piece.order(), "a piece stands in each of its tiles");
        block.remove(place);
        if block.is_empty() {
            self.blocks.remove(at);
            self.grow_tree();
        } else {
            self.climb(at);
        }
    }

    fn overlapping(&self, query: &Piece<D>, mut each: impl FnMut(&Piece<D>)) {
        let end = self.firsts.partition_point(|first| first.0 < query.high[0]);
        let mut block = 0;
        while let Some(next) = self.next_above(block, end, query.low[0]) {
            let begins = |piece: &&Piece<D>| piece.low[0] < query.high[0];
            self.blocks[next]
                .iter()
                .take_while(begins)
                .filter(|piece| query.overlaps(piece))
                .for_each(&mut each);
            block = next + 1;
        }
    }
}

impl<const D: usize> Blocks<D> {
    /// The first block from `from` on and before `end` in which a piece ends above `low`.
    fn next_above(&self, from: usize, end: usize, low: i64) -> Option<usize> {
        if from >= end {
            return None;
        }
        let leaves = self.tops.len() / 2;
        let mut node = if from == 0 { 1 } else { leaves + from };
        // Go up to a subtree that begins here or later and contains such a piece.
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
