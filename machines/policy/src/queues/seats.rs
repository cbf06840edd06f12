//! Which VCPU runs on which PCPU, and which PCPUs idle.
//!
//! Invariant: a PCPU is in the set of idle ones when its last pick found no VCPU and it has not been asked to
//! decide again since. So two VCPUs that wake at the same instant claim two PCPUs.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::affinity::Affinity;
use crate::{Orders, PcpuId, VcpuId};

/// The PCPUs of a host.
#[derive(Debug)]
pub(crate) struct Seats {
    running: Vec<Option<VcpuId>>,
    idle: BTreeSet<PcpuId>,
}

impl Seats {
    /// `pcpus` PCPUs, all idle.
    pub(crate) fn new(pcpus: u32) -> Self {
        Self { running: vec![None; pcpus as usize], idle: (0..pcpus).map(PcpuId).collect() }
    }

    pub(crate) fn len(&self) -> u32 {
        self.running.len() as u32
    }

    pub(crate) fn on(&self, pcpu: PcpuId) -> Option<VcpuId> {
        self.running[pcpu.index()]
    }

    /// From now on `vcpu` runs on `pcpu`, or no VCPU.
    pub(crate) fn seat(&mut self, pcpu: PcpuId, vcpu: Option<VcpuId>) {
        self.running[pcpu.index()] = vcpu;
        match vcpu {
            Some(_) => self.idle.remove(&pcpu),
            None => self.idle.insert(pcpu),
        };
    }

    /// Asks an idle PCPU to decide again: `pin` if there is one, else `home`, else the next after it, in a
    /// circle. Returns whether there was one.
    pub(crate) fn ask_idle(&mut self, pin: Option<PcpuId>, home: PcpuId, orders: &mut Orders) -> bool {
        let found = match pin {
            Some(pin) => Some(pin),
            None if self.idle.contains(&home) => Some(home),
            None => next_round(&self.idle, home, |_| true),
        };
        self.ask_if_idle(found, orders)
    }

    /// Asks an idle PCPU that a VCPU prefers: `home`, or the next after it, in a circle. Returns whether
    /// there was one.
    pub(crate) fn ask_idle_preferred(
        &mut self,
        affinity: &Affinity,
        home: PcpuId,
        orders: &mut Orders,
    ) -> bool {
        let found = if self.idle.contains(&home) && affinity.prefers(home) {
            Some(home)
        } else {
            next_round(&self.idle, home, |pcpu| affinity.prefers(pcpu))
        };
        self.ask_if_idle(found, orders)
    }

    /// Asks a PCPU to decide again if it idles. It idles no longer for those that look after this, so that
    /// two VCPUs that wake at the same instant ask two PCPUs.
    fn ask_if_idle(&mut self, found: Option<PcpuId>, orders: &mut Orders) -> bool {
        let asked = found.filter(|pcpu| self.idle.remove(pcpu));
        if let Some(pcpu) = asked {
            orders.reschedule(pcpu);
        }
        asked.is_some()
    }

    /// Whether a PCPU that a VCPU prefers idles and has not been asked.
    pub(crate) fn idles_for(&self, affinity: &Affinity) -> bool {
        self.idle.iter().any(|pcpu| affinity.prefers(*pcpu))
    }

    /// Among the PCPUs that a VCPU with this pin may use, the one that runs the greatest key, with that key.
    /// Of equals it is the one with the least number, so that the answer does not depend on the order of
    /// the search. A PCPU without a key is passed over.
    pub(crate) fn greatest<K: Ord>(
        &self,
        pin: Option<PcpuId>,
        key: impl Fn(PcpuId, VcpuId) -> Option<K>,
    ) -> Option<(K, PcpuId)> {
        let keys = self.running(pin).filter_map(|(pcpu, vcpu)| Some((key(pcpu, vcpu)?, Reverse(pcpu))));
        keys.max().map(|(key, Reverse(pcpu))| (key, pcpu))
    }

    /// The PCPUs that a VCPU with this pin may use, and the VCPU that runs on each.
    pub(crate) fn running(&self, pin: Option<PcpuId>) -> impl Iterator<Item = (PcpuId, VcpuId)> {
        let all = (0..).map(PcpuId).zip(&self.running);
        let some = all.filter_map(|(pcpu, vcpu)| Some((pcpu, (*vcpu)?)));
        some.filter(move |(pcpu, _)| pin.is_none_or(|pin| pin == *pcpu))
    }
}

/// The first PCPU of a set after `pcpu`, in a circle and without `pcpu` itself, that `may` be taken.
pub(crate) fn next_round(
    set: &BTreeSet<PcpuId>,
    pcpu: PcpuId,
    may: impl Fn(PcpuId) -> bool,
) -> Option<PcpuId> {
    set.range(PcpuId(pcpu.0 + 1)..).chain(set.range(..pcpu)).copied().find(|peer| may(*peer))
}
