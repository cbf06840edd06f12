//! The part of a run that one of several processes has: some federates of the partition, each whole.
//!
//! A federate whose LPs are in another process is *absent* here: it keeps its number and its place in the
//! list, and has no LPs and no events. Parts of all processes make a [`World`], and a world can be dealt out
//! in parts again.
//!
//! Invariants: every federate is present in exactly one process; what was committed is in the [`Past`] of one
//! process.

use serde::{Deserialize, Serialize};

use crate::waiting::Waiting;
use crate::world::Lp;
use crate::{
    Event, EventQueue, Federate, LpId, Model, Outbox, Outputs, Partition, Past, RuleError, Settings, World,
};

/// Some federates of a run at a moment when nothing is speculative, as they travel to another process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "M::State: Serialize, M::Event: Serialize, M::Output: Serialize",
    deserialize = "M::State: Deserialize<'de>, M::Event: Deserialize<'de>, M::Output: Deserialize<'de>"
))]
pub struct Part<M: Model> {
    /// By federate: its LPs in the order of their numbers.
    pub(crate) federates: Vec<(u32, Vec<Lp<M::State>>)>,
    pub(crate) pending: Waiting<M::Event>,
    pub(crate) past: Past<M::Output>,
}

impl<M: Model> Part<M> {
    /// Takes apart those of `federates` that are present, of which there is at least one LP each. `past` is
    /// what this process had committed before they were dealt.
    pub fn gather<Q: EventQueue<M::Event>>(
        federates: Vec<Federate<M, Q>>,
        mut past: Past<M::Output>,
    ) -> Self {
        let (mut parts, mut pending) = (Vec::new(), Waiting::default());
        for federate in federates {
            // Those of other processes are there without LPs.
            if federate.members().next().is_some() {
                let id = federate.id();
                parts.push((id, federate.take_apart(&mut pending, &mut past)));
            }
        }
        Self { federates: parts, pending, past }
    }

    /// How many messages each LP has sent since the run began, federate by federate of `partition`.
    pub(crate) fn sent(&self, partition: &Partition) -> impl Iterator<Item = (LpId, u64)> {
        self.federates.iter().flat_map(|(id, lps)| {
            partition.members(*id).into_iter().zip(lps).map(|(lp, content)| (lp, content.core.sent))
        })
    }

    /// The events waiting, in any order.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Event<M::Event>> {
        self.pending.events.iter()
    }

    /// Whether it is what a process has that `owns` some federates of `partition`: always, unless it was read
    /// from somewhere.
    pub fn fits(&self, partition: &Partition, owns: impl Fn(u32) -> bool) -> bool {
        let mut seen = vec![false; partition.federates() as usize];
        // A federate of the partition, not seen before, owned by the process, and with all of its LPs.
        let is_right = |(id, lps): &(u32, Vec<Lp<M::State>>)| {
            seen.get_mut(*id as usize).is_some_and(|before| !std::mem::replace(before, true))
                && owns(*id)
                && lps.len() == partition.members(*id).len()
        };
        // After the first pass has noted which are here, the second looks for one that is missing.
        self.federates.iter().all(is_right)
            && (0..partition.federates()).zip(seen).all(|(id, is_here)| is_here == owns(id))
            && self.pending.all_are(|lp| lp.0 < partition.lps())
    }

    /// The federates again; those of other processes are absent. What was committed is not in them.
    pub fn deal<Q: EventQueue<M::Event>>(
        self,
        model: &M,
        partition: &Partition,
        settings: Settings,
    ) -> Vec<Federate<M, Q>> {
        let mut federates: Vec<Federate<M, Q>> =
            (0..partition.federates()).map(|id| Federate::absent(model, settings, id)).collect();
        for (id, lps) in self.federates {
            let queue = Q::with_window(settings.window);
            federates[id as usize] = Federate::with_lps(model, partition, settings, id, lps, queue);
        }
        for event in self.pending.events {
            federates[partition.place(event.to()).0 as usize].receive([event]);
        }
        for entry in self.pending.withdrawn {
            federates[partition.place(entry.0).0 as usize].receive_withdrawn(partition, entry);
        }
        federates
    }
}

impl<M: Model> World<M> {
    /// Joins the parts of all processes. None if they are not those of `partition`: a federate is missing,
    /// has other LPs, or is there twice.
    pub fn join(parts: Vec<Part<M>>, partition: &Partition) -> Option<Self> {
        let count = partition.federates() as usize;
        let mut lists: Vec<Option<Vec<Lp<M::State>>>> = (0..count).map(|_| None).collect();
        let (mut pending, mut past, mut outputs) = (Waiting::default(), Past::default(), Vec::new());
        for mut part in parts {
            outputs.push((part.federates.len(), std::mem::take(&mut part.past.outputs)));
            for (id, lps) in part.federates {
                let place = lists.get_mut(id as usize).filter(|place| place.is_none())?;
                *place = Some(lps);
            }
            pending.join(part.pending);
            past.join(part.past);
        }
        // Not as they come: the order of outputs is that of one process, whatever the number of processes.
        past.outputs = Outputs::in_order(outputs).0;
        let mut lists: Vec<_> =
            lists.into_iter().map(|lps| lps.map(Vec::into_iter)).collect::<Option<_>>()?;
        let mut next = |lp| lists[partition.place(LpId(lp)).0 as usize].next();
        let lps = (0..partition.lps()).map(&mut next).collect::<Option<Vec<_>>>()?;
        // A list with LPs left over is of another partition.
        let whole = lists.iter().all(|rest| rest.len() == 0);
        let world = Self::from_parts(lps, pending, past);
        (whole && world.is_sound()).then_some(world)
    }
}

impl<O> Past<O> {
    /// Adds what another process has committed, but for its outputs, whose order depends on those of all
    /// ([`Outputs::in_order`]).
    fn join(&mut self, other: Self) {
        self.digest.join(other.digest);
        self.events += other.events;
        self.last = self.last.max(other.last);
        // All processes are sent the same events from outside.
        self.injected = self.injected.max(other.injected);
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// Federate `id` of the partition, where its LPs are in another process.
    pub fn absent(model: &M, settings: Settings, id: u32) -> Self {
        Self::with_members(model, settings, id, &[], Vec::new(), Q::with_window(settings.window))
    }

    /// All federates of `partition`, those present here with the messages that LPs of any process send at the
    /// start delivered. Every LP is initialized, so that no message has to travel; absent federates are
    /// forgotten one after the other. Fails with the first rule that an `init` broke.
    pub fn build_part(
        model: &M,
        partition: &Partition,
        settings: Settings,
        is_present: impl Fn(u32) -> bool,
    ) -> Result<Vec<Self>, RuleError> {
        let mut outbox = Outbox::new(partition.federates());
        let mut federates: Vec<Self> =
            (0..partition.federates()).map(|id| Self::absent(model, settings, id)).collect();
        for id in 0..partition.federates() {
            let federate = Self::start(model, partition, settings, id, &mut outbox)?;
            if is_present(id) {
                // Federates before this one may have sent it messages: the absent federate holds them.
                let early = std::mem::replace(&mut federates[id as usize], federate);
                early.into_events(|event| federates[id as usize].receive([event]));
            }
            outbox.flush(|to, events, _| {
                if is_present(to) {
                    federates[to as usize].receive(events.drain(..));
                }
            });
        }
        Ok(federates)
    }

    /// Gives out the events of a federate that has no LPs.
    fn into_events(mut self, take: impl FnMut(Event<M::Event>)) {
        self.drain_events(take);
    }
}
