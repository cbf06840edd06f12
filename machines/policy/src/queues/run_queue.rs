//! The run queue of all policies: VCPUs in the order of a key, the least first.
//!
//! Invariants: a VCPU is in a queue once, under the key that it was inserted with, which the caller must give
//! to remove it; equal keys are in the order of the VCPUs' numbers. Every operation takes logarithmic time in
//! the length.

use std::collections::BTreeSet;

use crate::VcpuId;

/// VCPUs that wait, least key first.
#[derive(Clone, Debug)]
pub(crate) struct RunQueue<K>(BTreeSet<(K, VcpuId)>);

impl<K> Default for RunQueue<K> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<K: Copy + Ord> RunQueue<K> {
    pub(crate) fn insert(&mut self, key: K, vcpu: VcpuId) {
        self.0.insert((key, vcpu));
    }

    /// Removes `vcpu` if it waits under `key`; returns whether it did.
    pub(crate) fn remove(&mut self, key: K, vcpu: VcpuId) -> bool {
        self.0.remove(&(key, vcpu))
    }

    pub(crate) fn first(&self) -> Option<(K, VcpuId)> {
        self.0.first().copied()
    }

    /// The first VCPU whose key is at least `key`.
    pub(crate) fn first_from(&self, key: K) -> Option<(K, VcpuId)> {
        self.0.range((key, VcpuId(0))..).next().copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, VcpuId)> {
        self.0.iter().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
