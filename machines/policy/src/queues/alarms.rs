//! What is due for VCPUs at later times, such as a replenishment of budget, with one timer of the host for
//! all of them.
//!
//! Invariants: a VCPU has at most one entry for each instant; entries come out by time, and at one instant by
//! VCPU.

use std::collections::BTreeMap;

use crate::{Orders, VcpuId};

/// What is due, and when. A host has one timer for it, which [`Alarms::set_timer`] sets.
#[derive(Clone, Debug)]
pub(crate) struct Alarms<T> {
    timer: u32,
    due: BTreeMap<(u64, VcpuId), T>,
}

impl<T> Alarms<T> {
    /// Nothing is due; the host's timer has this number.
    pub(crate) fn new(timer: u32) -> Self {
        Self { timer, due: BTreeMap::new() }
    }

    pub(crate) fn insert(&mut self, at_ns: u64, vcpu: VcpuId, what: T) {
        self.due.insert((at_ns, vcpu), what);
    }

    /// Adds an entry, or changes the one of that VCPU and instant.
    pub(crate) fn entry(&mut self, at_ns: u64, vcpu: VcpuId) -> &mut T
    where
        T: Default,
    {
        self.due.entry((at_ns, vcpu)).or_default()
    }

    pub(crate) fn remove(&mut self, at_ns: u64, vcpu: VcpuId) {
        self.due.remove(&(at_ns, vcpu));
    }

    /// Keeps the entries of the VCPUs for which `stays` holds.
    pub(crate) fn retain(&mut self, stays: impl Fn(VcpuId) -> bool) {
        self.due.retain(|(_, vcpu), _| stays(*vcpu));
    }

    /// Takes the first entry that is due by now.
    pub(crate) fn pop(&mut self, now_ns: u64) -> Option<(u64, VcpuId, T)> {
        let entry = self.due.first_entry().filter(|entry| entry.key().0 <= now_ns)?;
        let ((at_ns, vcpu), what) = entry.remove_entry();
        Some((at_ns, vcpu, what))
    }

    /// Sets the timer for the first entry; for now, where that is overdue.
    pub(crate) fn set_timer(&self, now_ns: u64, orders: &mut Orders) {
        if let Some(((at_ns, _), _)) = self.due.first_key_value() {
            orders.set_timer(self.timer, (*at_ns).max(now_ns));
        }
    }
}
