//! Who waits to run, ordered by what a policy orders by: all who may run anywhere in one set, and beside it a set for each PCPU
//! of those that a policy wants to find there, such as the ones that are pinned to it.

use std::collections::BTreeSet;

use crate::{PcpuId, VcpuId};

/// A queue for the whole host, least key first.
#[derive(Debug)]
pub(crate) struct Waiting<K> {
    anywhere: BTreeSet<(K, VcpuId)>,
    at: Vec<BTreeSet<(K, VcpuId)>>,
}

impl<K: Ord + Copy> Waiting<K> {
    /// Nobody.
    pub(crate) fn new(pcpus: u32) -> Self {
        Self { anywhere: BTreeSet::new(), at: (0..pcpus).map(|_| BTreeSet::new()).collect() }
    }

    /// `vcpu` waits to run `anywhere`, and in the set of the PCPU `at`.
    pub(crate) fn insert(&mut self, key: K, vcpu: VcpuId, anywhere: bool, at: Option<PcpuId>) {
        if anywhere {
            self.anywhere.insert((key, vcpu));
        }
        if let Some(pcpu) = at {
            self.at[pcpu.index()].insert((key, vcpu));
        }
    }

    /// Undoes the insertion with the same arguments.
    pub(crate) fn remove(&mut self, key: K, vcpu: VcpuId, anywhere: bool, at: Option<PcpuId>) {
        let was_anywhere = !anywhere || self.anywhere.remove(&(key, vcpu));
        let was_at = at.is_none_or(|pcpu| self.at[pcpu.index()].remove(&(key, vcpu)));
        assert!(was_anywhere && was_at, "who is taken out of a queue is in it");
    }

    /// The first of all who may run anywhere.
    pub(crate) fn first_anywhere(&self) -> Option<(K, VcpuId)> {
        self.anywhere.first().copied()
    }

    /// The first in the set of `pcpu`.
    pub(crate) fn first_at(&self, pcpu: PcpuId) -> Option<(K, VcpuId)> {
        self.at[pcpu.index()].first().copied()
    }

    /// The first who may run on `pcpu`: anybody who may run anywhere, or is in its set.
    pub(crate) fn first(&self, pcpu: PcpuId) -> Option<(K, VcpuId)> {
        self.first_anywhere().into_iter().chain(self.first_at(pcpu)).min()
    }
}
