//! Which federate owns which LP.
//!
//! A model deals its LPs ([`Model::partition`](crate::Model::partition)) when the engine asks it for so many
//! federates; the engine merges neighbours where it wants fewer (`run/build.rs`). Which LPs move later is
//! decided in `balance`.
//!
//! Invariant: every LP belongs to exactly one federate, every federate has at least one LP, and within a
//! federate LPs keep the order of their numbers. The partition changes where an LP runs, never what it
//! computes.

use std::cmp::Ordering;

use thiserror::Error;

use crate::LpId;

/// A partition that is not one of its model: see [`Model::partition`](crate::Model::partition).
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum PartitionError {
    /// Some LPs are in no federate.
    #[error("the model's partition has no place for {lp}: it is one of {dealt} LPs, and the model has {lps}")]
    Missing { lp: LpId, dealt: u32, lps: u32 },
    /// It has LPs that the model has not.
    #[error(
        "the model's partition has a place for {lp}, which does not exist: it is one of {dealt} LPs, and the model has {lps}"
    )]
    UnknownLp { lp: LpId, dealt: u32, lps: u32 },
}

crate::debug_tells!(PartitionError);

/// LPs divided among federates.
///
/// ```
/// use paceline_kernel::{LpId, Partition};
/// let runs = Partition::runs(10, 3);
/// assert_eq!(runs.members(0), [0, 1, 2, 3].map(LpId));
/// assert_eq!(runs.place(LpId(9)), (2, 2));
/// let table = Partition::table(&[1, 0, 1]);
/// assert_eq!(table.members(1), [0, 2].map(LpId));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    federates: u32,
    lps: u32,
    layout: Layout,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Layout {
    /// Equal runs of LP numbers: places are computed, and need no memory.
    Runs,
    /// By LP: its federate, and its place among the LPs of that.
    Table { owner: Vec<u32>, local: Vec<u32> },
}

impl Partition {
    /// Equal runs of LP numbers: the first federates get one LP more where the division leaves a rest.
    /// More federates than LPs become as many as there are LPs; zero becomes one.
    pub fn runs(lps: u32, federates: u32) -> Self {
        Self { federates: federates.clamp(1, lps.max(1)), lps, layout: Layout::Runs }
    }

    /// Entry `i` is the federate that owns LP `i`. Numbers that no LP uses are closed up.
    pub fn table(owner: &[u32]) -> Self {
        let mut used: Vec<u32> = owner.to_vec();
        used.sort_unstable();
        used.dedup();
        let lps = u32::try_from(owner.len()).expect("LP numbers fit 32 bits");
        let mut sizes = vec![0u32; used.len()];
        let (mut owners, mut local) = (Vec::with_capacity(owner.len()), Vec::with_capacity(owner.len()));
        for federate in owner {
            let dense = used.binary_search(federate).expect("every owner was listed");
            owners.push(dense as u32);
            local.push(sizes[dense]);
            sizes[dense] += 1;
        }
        Self { federates: used.len().max(1) as u32, lps, layout: Layout::Table { owner: owners, local } }
    }

    /// This partition with neighbouring federates merged, so that as many as `groups` are left, if there are
    /// more. Merged runs are runs, whose borders may differ.
    ///
    /// ```
    /// use paceline_kernel::Partition;
    /// assert_eq!(Partition::runs(100, 64).merged(2), Partition::runs(100, 2));
    /// assert_eq!(Partition::table(&[2, 0, 1, 3]).merged(2), Partition::table(&[1, 0, 0, 1]));
    /// ```
    pub fn merged(&self, groups: u32) -> Self {
        if groups >= self.federates {
            return self.clone();
        }
        match &self.layout {
            Layout::Runs => Self::runs(self.lps, groups),
            Layout::Table { owner, .. } => {
                let group = |owner: &u32| {
                    (u64::from(*owner) * u64::from(groups.max(1)) / u64::from(self.federates)) as u32
                };
                Self::table(&owner.iter().map(group).collect::<Vec<_>>())
            }
        }
    }

    /// Whether it is one of `lps` LPs, the number of the model's.
    ///
    /// ```
    /// use paceline_kernel::{LpId, Partition, PartitionError};
    /// assert_eq!(Partition::runs(16, 4).check(16), Ok(()));
    /// let error = PartitionError::Missing { lp: LpId(12), dealt: 12, lps: 16 };
    /// assert_eq!(Partition::runs(12, 4).check(16), Err(error));
    /// ```
    pub fn check(&self, lps: u32) -> Result<(), PartitionError> {
        let dealt = self.lps;
        match dealt.cmp(&lps) {
            Ordering::Less => Err(PartitionError::Missing { lp: LpId(dealt), dealt, lps }),
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(PartitionError::UnknownLp { lp: LpId(lps), dealt, lps }),
        }
    }

    /// The number of federates, at least one; each has an LP if there are any.
    pub fn federates(&self) -> u32 {
        self.federates
    }

    /// The number of LPs that are dealt.
    pub fn lps(&self) -> u32 {
        self.lps
    }

    /// The number of LPs of the largest federate.
    pub fn largest(&self) -> u32 {
        match &self.layout {
            Layout::Runs => self.lps.div_ceil(self.federates),
            Layout::Table { local, .. } => local.iter().max().map_or(0, |last| last + 1),
        }
    }

    /// The federate that owns `lp`, and the LP's place within it.
    #[inline(always)]
    pub fn place(&self, lp: LpId) -> (u32, u32) {
        match &self.layout {
            Layout::Runs => {
                let (size, rest) = (self.lps / self.federates, self.lps % self.federates);
                // The first `rest` federates have one LP more; these are all of their LPs. `size` is not
                // zero: there are no more federates than LPs.
                let long = rest * (size + 1);
                if lp.0 < long {
                    (lp.0 / (size + 1), lp.0 % (size + 1))
                } else {
                    (rest + (lp.0 - long) / size, (lp.0 - long) % size)
                }
            }
            Layout::Table { owner, local } => (owner[lp.index()], local[lp.index()]),
        }
    }

    /// The `part`-th of as many equal runs of the LP numbers as there are federates: in a partition made by
    /// [`Partition::runs`], the LPs of that federate.
    #[inline]
    pub fn run(&self, part: u32) -> std::ops::Range<u32> {
        let (size, rest) = (self.lps / self.federates, self.lps % self.federates);
        let start = part * size + part.min(rest);
        start..start + size + u32::from(part < rest)
    }

    /// The federate of each LP: what [`Partition::table`] makes the same partition of.
    pub fn owners(&self) -> Vec<u32> {
        match &self.layout {
            Layout::Runs => (0..self.lps).map(|lp| self.place(LpId(lp)).0).collect(),
            Layout::Table { owner, .. } => owner.clone(),
        }
    }

    /// The LPs of `federate`, ascending.
    pub fn members(&self, federate: u32) -> Vec<LpId> {
        match &self.layout {
            Layout::Runs => self.run(federate).map(LpId).collect(),
            Layout::Table { owner, .. } => {
                let mine = owner.iter().enumerate().filter(|(_, o)| **o == federate);
                mine.map(|(lp, _)| LpId(lp as u32)).collect()
            }
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::Rng;

    #[test]
    fn every_lp_is_in_its_place_and_no_federate_is_empty() {
        let mut rng = Rng::new(11, 0);
        for case in 0..500 {
            let lps = 1 + rng.below(200) as u32;
            let federates = 1 + rng.below(250) as u32;
            let table: Vec<u32> = (0..lps).map(|_| rng.below(u64::from(federates)) as u32).collect();
            for partition in [Partition::runs(lps, federates), Partition::table(&table)] {
                let (mut seen, mut largest) = (0, 0);
                for federate in 0..partition.federates() {
                    let members = partition.members(federate);
                    assert!(!members.is_empty() && members.is_sorted(), "case {case}");
                    for (local, lp) in members.iter().enumerate() {
                        assert_eq!(partition.place(*lp), (federate, local as u32), "case {case}");
                    }
                    seen += members.len();
                    largest = largest.max(members.len());
                }
                assert_eq!(partition.largest() as usize, largest, "case {case}");
                assert_eq!(seen, lps as usize, "case {case}");
                let again = Partition::table(&partition.owners());
                assert!((0..lps).map(LpId).all(|lp| again.place(lp) == partition.place(lp)), "case {case}");
            }
        }
    }
}
