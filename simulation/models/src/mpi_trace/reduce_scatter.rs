//! Reductions of which each rank gets a part, as SimGrid 3.32 does them where no algorithm is chosen.
//!
//! Parts of equal size are reduced at rank 0 and scattered from there; of unequal ones MPICH's algorithms are
//! taken: in pairs if there are many elements, else by recursive doubling. Invariant as of all collective
//! actions.

use paceline_processes::RequestError;

use super::replay::{Collective, Rank};

/// More elements than this are reduced in pairs.
const FEW_ELEMENTS: f64 = 524_288.0;

const KIND: Collective = Collective::ReduceScatter;

impl Rank<'_> {
    /// A reduction of `counts` elements for each rank, of `element` bytes each.
    pub(super) async fn reduce_scatter(&self, counts: &[f64], element: f64) -> Result<(), RequestError> {
        let bytes = |rank: u32| counts[rank as usize] * element;
        let total: f64 = counts.iter().sum();
        if counts.iter().all(|count| *count == counts[0]) {
            self.gather(Collective::Reduce, total * element, 0).await?;
            return self.scatter(Collective::Scatter, bytes, 0).await;
        }
        if total > FEW_ELEMENTS {
            for step in 1..self.ranks {
                let to = (self.rank + step) % self.ranks;
                let from = (self.rank + self.ranks - step) % self.ranks;
                self.swap(KIND, to, from, bytes(to)).await?;
            }
            return Ok(());
        }
        self.double_and_part(counts, element).await
    }

    /// In step `bit`, a rank exchanges with the one whose number differs in that bit all parts but those that
    /// its group of ranks has reduced already. Where a group has no partner, because the number of ranks
    /// is no power of two, the ranks of the other group that had one pass on what they got, along a tree.
    async fn double_and_part(&self, counts: &[f64], element: f64) -> Result<(), RequestError> {
        let (rank, ranks) = (self.rank, self.ranks);
        // What lies outside of the group of `size` ranks that begins at `first`.
        let outside = |first: u32, size: u32| {
            let after = (first + size).min(ranks) as usize;
            let (before, after) = (&counts[..(first as usize).min(counts.len())], &counts[after..]);
            before.iter().chain(after).sum::<f64>() * element
        };
        let mut level = 0;
        while 1 << level < ranks {
            let bit = 1 << level;
            let other = rank ^ bit;
            let (group, partners) = (rank >> level << level, other >> level << level);
            if other < ranks {
                self.swap(KIND, other, other, outside(group, bit)).await?;
            }
            if partners + bit > ranks {
                // How many ranks of this group have a partner.
                let served = ranks.saturating_sub(group + bit);
                self.pass_on(level, served, outside(partners, bit)).await?;
            }
            level += 1;
        }
        Ok(())
    }

    /// Within a group of `1 << level` ranks, the first `served` of which have something: passes it on.
    async fn pass_on(&self, level: u32, served: u32, bytes: f64) -> Result<(), RequestError> {
        for part in (0..level).rev() {
            let other = self.rank ^ (1 << part);
            let first = self.rank >> (part + 1) << (part + 1);
            let has = |rank: u32| rank < first + served;
            if other > self.rank && has(self.rank) && !has(other) && other < self.ranks {
                self.send_part(KIND, other, bytes).await?;
            } else if other < self.rank && has(other) && !has(self.rank) {
                self.receive_part(KIND, other).await?;
            }
        }
        Ok(())
    }
}
