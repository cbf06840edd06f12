//! The state that a policy keeps for each VCPU, by number.
//!
//! Invariant: the host names a VCPU only between the arrival and the departure of its domain.

use std::ops::{Index, IndexMut};

use crate::VcpuId;

/// One `T` per VCPU.
#[derive(Clone, Debug)]
pub(crate) struct PerVcpu<T>(Vec<Option<T>>);

impl<T> Default for PerVcpu<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> PerVcpu<T> {
    pub(crate) fn insert(&mut self, vcpu: VcpuId, value: T) {
        if self.0.len() <= vcpu.index() {
            self.0.resize_with(vcpu.index() + 1, || None);
        }
        self.0[vcpu.index()] = Some(value);
    }

    pub(crate) fn remove(&mut self, vcpu: VcpuId) -> Option<T> {
        self.0.get_mut(vcpu.index())?.take()
    }

    pub(crate) fn get(&self, vcpu: VcpuId) -> Option<&T> {
        self.0.get(vcpu.index())?.as_ref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (VcpuId, &T)> {
        let slots = self.0.iter().enumerate();
        slots.filter_map(|(id, slot)| Some((VcpuId(id as u32), slot.as_ref()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (VcpuId, &mut T)> {
        let slots = self.0.iter_mut().enumerate();
        slots.filter_map(|(id, slot)| Some((VcpuId(id as u32), slot.as_mut()?)))
    }
}

impl<T> Index<VcpuId> for PerVcpu<T> {
    type Output = T;

    fn index(&self, vcpu: VcpuId) -> &T {
        self.0[vcpu.index()].as_ref().expect("the host names only VCPUs it has now")
    }
}

impl<T> IndexMut<VcpuId> for PerVcpu<T> {
    fn index_mut(&mut self, vcpu: VcpuId) -> &mut T {
        self.0[vcpu.index()].as_mut().expect("the host names only VCPUs it has now")
    }
}
