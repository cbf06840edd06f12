//! The queues of a host for policies that run the least key first: the VCPUs that wait, in order, and the
//! VCPU that runs on each PCPU, with its standing.
//!
//! Invariants: a VCPU waits or runs, never both; a PCPU that may be asked is in `idle` or in `busy`; one that
//! has been asked to decide is in neither until it has decided, so that two VCPUs that wake together ask two
//! PCPUs. Every operation takes at most logarithmic time in the number of VCPUs.

use std::collections::BTreeSet;

use super::{Place, Waiting};
use crate::per_id::PerVcpu;
use crate::{Orders, PcpuId, VcpuId};

/// The VCPUs that wait and that run on a host.
#[derive(Clone, Debug)]
pub(crate) struct HostQueues<K> {
    waiting: Waiting<K>,
    running: Vec<Option<(VcpuId, K)>>,
    /// By VCPU: where it runs.
    runs_on: PerVcpu<PcpuId>,
    idle: BTreeSet<PcpuId>,
    busy: BTreeSet<(K, PcpuId)>,
}

impl<K: Copy + Ord> HostQueues<K> {
    pub(crate) fn new(pcpus: u32) -> Self {
        Self {
            waiting: Waiting::new(pcpus),
            running: vec![None; pcpus as usize],
            runs_on: PerVcpu::default(),
            idle: (0..pcpus).map(PcpuId).collect(),
            busy: BTreeSet::new(),
        }
    }

    /// `vcpu` waits from now on, behind its equals.
    pub(crate) fn wait(&mut self, vcpu: VcpuId, key: K, place: Place) {
        self.waiting.wait(vcpu, key, place);
    }

    /// `vcpu` was interrupted and waits from now on, before its equals.
    pub(crate) fn put_back(&mut self, vcpu: VcpuId, key: K, place: Place) {
        self.waiting.put_back(vcpu, key, place);
    }

    /// Removes `vcpu` if it waits; returns its key and place.
    pub(crate) fn leave(&mut self, vcpu: VcpuId) -> Option<(K, Place)> {
        self.waiting.leave(vcpu)
    }

    /// If `vcpu` waits, gives it another key, as if it had come with that one.
    pub(crate) fn rekey(&mut self, vcpu: VcpuId, key: K) {
        self.waiting.rekey(vcpu, key);
    }

    pub(crate) fn waits(&self, vcpu: VcpuId) -> bool {
        self.waiting.turn(vcpu).is_some()
    }

    /// The VCPU that comes first on `pcpu`: the least key, then the earliest arrival.
    pub(crate) fn least(&self, pcpu: PcpuId) -> Option<(K, VcpuId)> {
        self.waiting.first(pcpu)
    }

    /// The same, but among equal keys those of the PCPU's local queue come first.
    pub(crate) fn least_near(&self, pcpu: PcpuId) -> Option<(K, VcpuId)> {
        self.waiting.first_near(pcpu)
    }

    /// The VCPU that runs on `pcpu`, and its standing.
    pub(crate) fn running(&self, pcpu: PcpuId) -> Option<(VcpuId, K)> {
        self.running[pcpu.index()]
    }

    pub(crate) fn runs_on(&self, vcpu: VcpuId) -> Option<PcpuId> {
        self.runs_on.get(vcpu).copied()
    }

    /// `pcpu` decides: the VCPU that ran there runs no more.
    pub(crate) fn stop(&mut self, pcpu: PcpuId) -> Option<(VcpuId, K)> {
        let before = self.running[pcpu.index()].take();
        self.idle.remove(&pcpu);
        if let Some((vcpu, key)) = before {
            self.busy.remove(&(key, pcpu));
            self.runs_on.remove(vcpu);
        }
        before
    }

    pub(crate) fn run(&mut self, pcpu: PcpuId, decision: Option<(VcpuId, K)>) {
        assert!(self.running[pcpu.index()].is_none(), "a PCPU stops before it runs another VCPU");
        self.running[pcpu.index()] = decision;
        match decision {
            None => {
                self.idle.insert(pcpu);
            }
            Some((vcpu, key)) => {
                self.waiting.leave(vcpu);
                self.busy.insert((key, pcpu));
                self.runs_on.insert(vcpu, pcpu);
            }
        }
    }

    /// Gives the VCPU that runs on `pcpu` another key.
    pub(crate) fn rekey_running(&mut self, pcpu: PcpuId, key: K) {
        if let Some((_, before)) = &mut self.running[pcpu.index()] {
            if self.busy.remove(&(*before, pcpu)) {
                self.busy.insert((key, pcpu));
            }
            *before = key;
        }
    }

    pub(crate) fn ask(&mut self, pcpu: PcpuId, orders: &mut Orders) {
        self.idle.remove(&pcpu);
        if let Some((_, key)) = self.running[pcpu.index()] {
            self.busy.remove(&(key, pcpu));
        }
        orders.reschedule(pcpu);
    }

    /// An idle PCPU that can take a VCPU that waits at `place`, and has not been asked yet.
    pub(crate) fn idle_for(&self, place: Place) -> Option<PcpuId> {
        match place {
            Place::Anywhere => self.idle.first().copied(),
            Place::Near(home) if self.idle.contains(&home) => Some(home),
            Place::Near(_) => self.idle.first().copied(),
            Place::Only(pin) => self.idle.get(&pin).copied(),
        }
    }

    /// Among PCPUs that can take a VCPU that waits at `place` and have not been asked, the one that runs the
    /// greatest standing.
    pub(crate) fn greatest_for(&self, place: Place) -> Option<(K, PcpuId)> {
        match place {
            Place::Anywhere | Place::Near(_) => self.busy.last().copied(),
            Place::Only(pin) => {
                let (_, key) = self.running[pin.index()]?;
                // A PCPU that has been asked already is not in the set.
                self.busy.get(&(key, pin)).copied()
            }
        }
    }

    /// A VCPU waits at `place` with `key`: asks an idle PCPU, or else the one whose VCPU has the greatest
    /// standing if that is greater than `key`.
    pub(crate) fn offer(&mut self, key: K, place: Place, orders: &mut Orders) {
        let greatest = |queues: &Self| {
            let (standing, pcpu) = queues.greatest_for(place)?;
            (standing > key).then_some(pcpu)
        };
        if let Some(pcpu) = self.idle_for(place).or_else(|| greatest(self)) {
            self.ask(pcpu, orders);
        }
    }

    /// `vcpu` has left the host; a PCPU that ran it is asked to decide.
    pub(crate) fn forget(&mut self, vcpu: VcpuId, orders: &mut Orders) {
        self.waiting.leave(vcpu);
        if let Some(pcpu) = self.runs_on(vcpu) {
            self.stop(pcpu);
            orders.reschedule(pcpu);
        }
    }
}
