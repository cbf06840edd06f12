//! LPs on their way to another process, with the events that wait for them.
//!
//! Where LPs are dealt anew, each process divides its part of the run by the process that each LP goes to
//! ([`Part::divide`]); those that stay are migrants to the process itself. What a process then has of all of
//! them it deals to its federates ([`Migrants::deal`]). What was committed does not travel.
//!
//! Invariants: LPs are in the order of their numbers; every event is for one of them.

use serde::{Deserialize, Serialize};

use crate::waiting::Waiting;
use crate::world::Lp;
use crate::{EventQueue, Federate, LpId, Model, Part, Partition, Past, Settings};

/// The LPs of one process that go to another one, or stay.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "M::State: Serialize, M::Event: Serialize",
    deserialize = "M::State: Deserialize<'de>, M::Event: Deserialize<'de>"
))]
pub struct Migrants<M: Model> {
    lps: Vec<(LpId, Lp<M::State>)>,
    pending: Waiting<M::Event>,
}

impl<M: Model> Default for Migrants<M> {
    fn default() -> Self {
        Self { lps: Vec::new(), pending: Waiting::default() }
    }
}

impl<M: Model> Part<M> {
    /// Divides a part of `before` by the process that each LP has in the partition `next`: `processes[i]`,
    /// below `count`, has federate `i` in both. Gives the migrants by process, and what was committed.
    pub fn divide(
        self,
        before: &Partition,
        next: &Partition,
        processes: &[u32],
        count: u32,
    ) -> (Vec<Migrants<M>>, Past<M::Output>) {
        let mut all: Vec<Migrants<M>> = (0..count).map(|_| Migrants::default()).collect();
        let to = |lp| processes[next.place(lp).0 as usize] as usize;
        for (id, lps) in self.federates {
            for (lp, content) in before.members(id).into_iter().zip(lps) {
                all[to(lp)].lps.push((lp, content));
            }
        }
        for event in self.pending.events {
            all[to(event.to())].pending.events.push(event);
        }
        for entry in self.pending.withdrawn {
            all[to(entry.0)].pending.withdrawn.push(entry);
        }
        // Federates were gone through one by one: their LPs may be interleaved.
        all.iter_mut().for_each(|migrants| migrants.lps.sort_unstable_by_key(|(lp, _)| *lp));
        (all, self.past)
    }
}

impl<M: Model> Migrants<M> {
    /// Whether they are those that go from the process `from` to the process `to` where `next` follows on
    /// `before`: always, unless they were read from somewhere. `processes[i]` has federate `i` in both.
    pub fn fits(&self, before: &Partition, next: &Partition, processes: &[u32], from: u32, to: u32) -> bool {
        let has = |partition: &Partition, lp, rank| processes[partition.place(lp).0 as usize] == rank;
        let goes = |lp: &LpId| has(before, *lp, from) && has(next, *lp, to);
        let expected = (0..before.lps()).map(LpId).filter(goes);
        // Both processes know who moves where: what has come must be exactly that, in that order.
        expected.eq(self.lps.iter().map(|(lp, _)| *lp))
            && self.lps.iter().all(|(_, content)| content.is_sound())
            && self.pending.all_are(|lp| lp.0 < before.lps() && goes(&lp))
    }

    /// The federates of `partition` of which these are all LPs of those that the process `owns`; the others
    /// are absent.
    pub fn deal<Q: EventQueue<M::Event>>(
        all: Vec<Self>,
        model: &M,
        partition: &Partition,
        settings: Settings,
        owns: impl Fn(u32) -> bool,
    ) -> Vec<Federate<M, Q>> {
        let (mut lists, mut pending) = (Vec::new(), Waiting::default());
        for migrants in all {
            lists.push(migrants.lps);
            pending.join(migrants.pending);
        }
        // From several processes, each sorted by itself: a federate has its LPs in the order of their
        // numbers.
        let mut lps: Vec<_> = lists.into_iter().flatten().collect();
        lps.sort_unstable_by_key(|(lp, _)| *lp);
        let mut dealt: Vec<Vec<Lp<M::State>>> = (0..partition.federates()).map(|_| Vec::new()).collect();
        for (lp, content) in lps {
            dealt[partition.place(lp).0 as usize].push(content);
        }
        let deal = |(id, lps)| {
            let queue = Q::with_window(settings.window);
            if owns(id) {
                Federate::with_lps(model, partition, settings, id, lps, queue)
            } else {
                Federate::absent(model, settings, id)
            }
        };
        let mut federates: Vec<Federate<M, Q>> = (0..).zip(dealt).map(deal).collect();
        for event in pending.events {
            federates[partition.place(event.to()).0 as usize].receive([event]);
        }
        for entry in pending.withdrawn {
            federates[partition.place(entry.0).0 as usize].receive_withdrawn(partition, entry);
        }
        federates
    }
}
