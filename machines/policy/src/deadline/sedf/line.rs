//! VCPUs that wait for one PCPU: in the line's own order, and also in the order of each preference of the
//! rule.
//!
//! Invariant: a VCPU is in all sets under the [`Spot`] with which it was inserted; the caller gives the same
//! one to remove it.

use crate::VcpuId;
use crate::deadline::choice::{PREFERENCES, Rank, Rule};
use crate::queues::RunQueue;

/// The key of a line: the line's own criterion, then the order of arrival.
pub(super) type Key = (u64, u64);

/// Where a VCPU is in a line; the least is first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spot {
    /// By the line's own order.
    pub key: Key,
    /// By every preference of the rule, where it is among the preferred.
    pub ranks: [Option<Rank>; PREFERENCES],
}

#[derive(Debug, Default)]
pub(super) struct Line {
    order: RunQueue<Key>,
    preferred: [RunQueue<(Rank, Key)>; PREFERENCES],
}

impl Line {
    pub fn insert(&mut self, vcpu: VcpuId, spot: &Spot) {
        self.order.insert(spot.key, vcpu);
        for (set, rank) in self.preferred.iter_mut().zip(spot.ranks) {
            if let Some(rank) = rank {
                set.insert((rank, spot.key), vcpu);
            }
        }
    }

    pub fn remove(&mut self, vcpu: VcpuId, spot: &Spot) {
        self.order.remove(spot.key, vcpu);
        for (set, rank) in self.preferred.iter_mut().zip(spot.ranks) {
            if let Some(rank) = rank {
                set.remove((rank, spot.key), vcpu);
            }
        }
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The first in the line's own order, with its key.
    pub fn first(&self) -> Option<(u64, VcpuId)> {
        self.order.first().map(|((key, _), vcpu)| (key, vcpu))
    }

    /// The VCPU that `rule` chooses, by the indexes: the first of the first preference that has one, else the
    /// first in order.
    pub fn choose(&self, now_ns: u64, rule: &dyn Rule) -> Option<VcpuId> {
        let heads = self.preferred.iter().enumerate();
        let mut heads = heads.filter_map(|(number, set)| Some((number, set.first()?)));
        let preferred = heads.find(|(number, ((rank, _), _))| rule.holds(*number, *rank, now_ns));
        preferred.map(|(_, (_, vcpu))| vcpu).or(self.first().map(|(_, vcpu)| vcpu))
    }

    /// The same choice by a scan, with the ranks that `ranks` gives: the oracle of `choose`.
    pub fn scan(
        &self,
        now_ns: u64,
        rule: &dyn Rule,
        ranks: impl Fn(VcpuId) -> [Option<Rank>; PREFERENCES],
    ) -> Option<VcpuId> {
        // Among equal ranks the first in order stays.
        let mut best: [Option<(Rank, VcpuId)>; PREFERENCES] = [None; PREFERENCES];
        for (_, vcpu) in self.order.iter() {
            for (number, rank) in ranks(vcpu).into_iter().enumerate() {
                if let Some(rank) = rank
                    && best[number].is_none_or(|(least, _)| rank < least)
                    && rule.holds(number, rank, now_ns)
                {
                    best[number] = Some((rank, vcpu));
                }
            }
        }
        let preferred = best.into_iter().flatten().next();
        preferred.map(|(_, vcpu)| vcpu).or(self.first().map(|(_, vcpu)| vcpu))
    }
}
