//! The VCPUs that wait on a host: one run queue of those that may run anywhere, and a queue for each PCPU of
//! those that may run only there or prefer it.
//!
//! Equal keys are served first come, first served, except that those put back come first.
//!
//! Invariants: a VCPU waits once; it is in the queues that its [`Place`] names, under the key and arrival
//! noted for it.

use super::RunQueue;
use crate::per_id::PerVcpu;
use crate::{PcpuId, VcpuId};

/// Which PCPUs may take a VCPU from its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Anywhere,
    /// Every PCPU, but this one prefers it.
    Near(PcpuId),
    Only(PcpuId),
}

impl Place {
    /// The place of a VCPU with this pin.
    pub(crate) fn of(pin: Option<PcpuId>) -> Self {
        pin.map_or(Self::Anywhere, Self::Only)
    }

    /// The place of a VCPU that prefers `home` unless it has a pin.
    pub(crate) fn near(home: PcpuId, pin: Option<PcpuId>) -> Self {
        pin.map_or(Self::Near(home), Self::Only)
    }

    /// The PCPU in whose local queue it is.
    fn pcpu(self) -> Option<PcpuId> {
        match self {
            Self::Anywhere => None,
            Self::Near(pcpu) | Self::Only(pcpu) => Some(pcpu),
        }
    }

    /// Whether it is in the queue that all PCPUs share.
    fn is_shared(self) -> bool {
        !matches!(self, Self::Only(_))
    }
}

/// When a VCPU's turn comes: by key, then by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn<K> {
    /// What the policy orders by.
    pub key: K,
    /// The number of its arrival.
    arrival: u64,
}

/// Arrivals count up from here, returns count down.
const MIDDLE: u64 = 1 << 63;

/// The VCPUs that wait on a host.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<K> {
    shared: RunQueue<Turn<K>>,
    /// By PCPU: those that may run only there or prefer it.
    local: Vec<RunQueue<Turn<K>>>,
    /// Under what each VCPU waits.
    noted: PerVcpu<(Turn<K>, Place)>,
    arrivals: u64,
    /// The arrival number of the VCPU that was put back last; these numbers count down.
    returns: u64,
}

impl<K: Copy + Ord> Waiting<K> {
    pub(crate) fn new(pcpus: u32) -> Self {
        Self {
            shared: RunQueue::default(),
            local: (0..pcpus).map(|_| RunQueue::default()).collect(),
            noted: PerVcpu::default(),
            arrivals: MIDDLE,
            returns: MIDDLE,
        }
    }

    /// `vcpu` waits from now on, behind its equals.
    pub(crate) fn wait(&mut self, vcpu: VcpuId, key: K, place: Place) {
        self.arrivals += 1;
        self.insert(vcpu, Turn { key, arrival: self.arrivals }, place);
    }

    /// `vcpu` was interrupted and waits from now on, before its equals.
    pub(crate) fn put_back(&mut self, vcpu: VcpuId, key: K, place: Place) {
        self.returns -= 1;
        self.insert(vcpu, Turn { key, arrival: self.returns }, place);
    }

    fn insert(&mut self, vcpu: VcpuId, turn: Turn<K>, place: Place) {
        assert!(!self.noted.contains(vcpu), "a VCPU waits once");
        self.noted.insert(vcpu, (turn, place));
        if let Some(pcpu) = place.pcpu() {
            self.local[pcpu.index()].insert(turn, vcpu);
        }
        if place.is_shared() {
            self.shared.insert(turn, vcpu);
        }
    }

    /// Removes `vcpu` if it waits; returns its key and place.
    pub(crate) fn leave(&mut self, vcpu: VcpuId) -> Option<(K, Place)> {
        self.take(vcpu).map(|(turn, place)| (turn.key, place))
    }

    fn take(&mut self, vcpu: VcpuId) -> Option<(Turn<K>, Place)> {
        let (turn, place) = self.noted.remove(vcpu)?;
        let was_local = place.pcpu().is_none_or(|pcpu| self.local[pcpu.index()].remove(turn, vcpu));
        let was_shared = !place.is_shared() || self.shared.remove(turn, vcpu);
        assert!(was_local && was_shared, "a VCPU that waits is in the queues of its place");
        Some((turn, place))
    }

    /// If `vcpu` waits, gives it another key, as if it had come with that one.
    pub(crate) fn rekey(&mut self, vcpu: VcpuId, key: K) {
        if let Some((turn, place)) = self.take(vcpu) {
            self.insert(vcpu, Turn { key, ..turn }, place);
        }
    }

    /// When the turn of `vcpu` comes, if it waits.
    pub(crate) fn turn(&self, vcpu: VcpuId) -> Option<Turn<K>> {
        self.noted.get(vcpu).map(|(turn, _)| *turn)
    }

    /// The first of those that may run anywhere.
    pub(crate) fn first_anywhere(&self) -> Option<(Turn<K>, VcpuId)> {
        self.shared.first()
    }

    /// The first in the local queue of `pcpu`.
    pub(crate) fn first_at(&self, pcpu: PcpuId) -> Option<(Turn<K>, VcpuId)> {
        self.local[pcpu.index()].first()
    }

    /// The first that may run on `pcpu`: the least key, then the earliest arrival.
    pub(crate) fn first(&self, pcpu: PcpuId) -> Option<(K, VcpuId)> {
        let heads = [self.first_anywhere(), self.first_at(pcpu)];
        heads.into_iter().flatten().min().map(|(turn, vcpu)| (turn.key, vcpu))
    }

    /// The same, but among equal keys those of the PCPU's local queue come first.
    pub(crate) fn first_near(&self, pcpu: PcpuId) -> Option<(K, VcpuId)> {
        let heads = [self.first_at(pcpu), self.first_anywhere()];
        heads.into_iter().flatten().min_by_key(|(turn, _)| turn.key).map(|(turn, vcpu)| (turn.key, vcpu))
    }
}
