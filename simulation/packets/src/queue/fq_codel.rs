//! FQ-CoDel (RFC 8290): packets are dealt to queues by a hash of their flow, the queues are served in turn by
//! a deficit of bytes, those of new flows first, and each is under CoDel.
//!
//! Only queues that hold packets, stand in a list or have a control loop in use are kept: of the 1024 queues
//! of a port most are empty most of the time, and a state is copied often.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use paceline_kernel::{Rng, Time};
use serde::{Deserialize, Serialize};

use super::codel::Controlled;
use super::{Classes, CodelSettings, Discipline, DropReason, Loss, MOST_BYTES, Packet, QueueError, Verdict};

/// The parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FqCodelSettings {
    /// CoDel in each queue.
    pub codel: CodelSettings,
    /// How many packets may wait in all queues; 10,240 by the RFC (section 5.2.3).
    pub limit: u32,
    /// How many bytes may wait in all queues; Linux has 32 MB.
    pub memory: u64,
    /// The number of queues; 1024 by the RFC (section 5.2.4).
    pub queues: u32,
    /// The bytes a queue may send in its turn; 1514 by the RFC (section 5.2.2).
    pub quantum: u32,
}

impl FqCodelSettings {
    pub(super) fn check(&self) -> Result<(), QueueError> {
        self.codel.check()?;
        for (name, value) in [
            ("a limit", u64::from(self.limit)),
            ("a memory", self.memory),
            ("a number of queues", u64::from(self.queues)),
            ("a quantum", u64::from(self.quantum)),
        ] {
            if value == 0 {
                return Err(QueueError { what: format!("FQ-CoDel with {name} of 0"), allowed: "1 or more" });
            }
        }
        Ok(())
    }
}

/// The most packets that are dropped at once where the queues are full (section 4.1.2 of the RFC).
const EVICTED_MAX: usize = 64;

/// One of the queues.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct FlowQueue<P> {
    pub(super) queue: Controlled<P>,
    /// The bytes it may still send in its turn; below zero after a packet that was longer.
    deficit: i64,
    is_listed: bool,
}

impl<P> Default for FlowQueue<P> {
    fn default() -> Self {
        Self { queue: Controlled::default(), deficit: 0, is_listed: false }
    }
}

/// The queues of a port under FQ-CoDel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FqCodel<P> {
    settings: FqCodelSettings,
    /// Makes the hash of this port another one than that of others.
    key: u64,
    pub(super) queues: BTreeMap<u32, FlowQueue<P>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: usize,
    bytes: u64,
}

impl<P: Packet> FqCodel<P> {
    /// Empty queues; the hash of flows depends on `seed` and `stream`.
    ///
    /// # Errors
    ///
    /// A setting makes no sense.
    pub fn new(settings: FqCodelSettings, seed: u64, stream: u64) -> Result<Self, QueueError> {
        settings.check()?;
        let key = Rng::new(seed, stream).u64();
        let (queues, new, old) = (BTreeMap::new(), VecDeque::new(), VecDeque::new());
        Ok(Self { settings, key, queues, new, old, packets: 0, bytes: 0 })
    }

    /// The number of the queue of a flow, from 0.
    pub fn queue_of(&self, flow_hash: u64) -> u32 {
        Rng::new(self.key, flow_hash).below(u64::from(self.settings.queues)) as u32
    }

    /// Whether its numbers fit each other, and the settings are those of `fresh`, in a state at `latest`.
    pub(super) fn is_consistent(&self, fresh: &Self, latest: Time) -> bool {
        let most = i64::from(self.settings.quantum);
        let listed: BTreeSet<&u32> = self.new.iter().chain(&self.old).collect();
        let is_sound = |(number, of_flow): (&u32, &FlowQueue<P>)| {
            *number < self.settings.queues
                && of_flow.queue.is_consistent(latest)
                && of_flow.is_listed == listed.contains(number)
                && (of_flow.is_listed || of_flow.queue.len() == 0)
                && (-i64::from(MOST_BYTES)..=most).contains(&of_flow.deficit)
        };
        let queues = || self.queues.values().map(|of_flow| &of_flow.queue);
        (self.settings, self.key) == (fresh.settings, fresh.key)
            && self.queues.iter().all(is_sound)
            && listed.len() == self.new.len() + self.old.len()
            && listed.iter().all(|number| self.queues.contains_key(number))
            && self.packets == queues().map(Controlled::len).sum::<usize>()
            && u128::from(self.bytes) == queues().map(|queue| u128::from(queue.bytes())).sum::<u128>()
    }

    const fn is_over(&self) -> bool {
        self.packets > self.settings.limit as usize || self.bytes > self.settings.memory
    }

    /// Drops packets from the head of the queue with most bytes, the first of equals: half of its bytes, at
    /// most [`EVICTED_MAX`] packets (section 4.1.2 of the RFC).
    fn evict(&mut self, losses: &mut Vec<Loss<P>>) {
        // Of equals the last one counts as the greatest: from behind, that is the first.
        let longest = self.queues.values_mut().rev().max_by_key(|of_flow| of_flow.queue.bytes());
        let queue = &mut longest.expect("queues that are over a limit hold packets").queue;
        let enough = queue.bytes().div_ceil(2);
        let mut dropped = 0;
        for _ in 0..EVICTED_MAX {
            let Some((_, packet)) = queue.pop() else { break };
            dropped += u64::from(packet.wire_bytes());
            self.packets -= 1;
            losses.push(Loss { packet, reason: DropReason::Evicted });
            if dropped >= enough {
                break;
            }
        }
        self.bytes -= dropped;
    }

    /// Takes the first of the list that is served now out of it: its number, and whether the list is that of
    /// new flows.
    fn next_listed(&mut self) -> Option<(u32, bool)> {
        let new = self.new.pop_front();
        new.map(|number| (number, true)).or_else(|| self.old.pop_front().map(|number| (number, false)))
    }
}

impl<P: Packet> Discipline<P> for FqCodel<P> {
    fn enqueue(&mut self, now: Time, packet: P, losses: &mut Vec<Loss<P>>) -> Verdict {
        let number = self.queue_of(packet.flow_hash());
        let of_flow = self.queues.entry(number).or_default();
        self.packets += 1;
        self.bytes += u64::from(packet.wire_bytes());
        of_flow.queue.push(now, packet);
        if !of_flow.is_listed {
            (of_flow.is_listed, of_flow.deficit) = (true, i64::from(self.settings.quantum));
            self.new.push_back(number);
        }
        while self.is_over() {
            self.evict(losses);
        }
        // It came last: it is lost where nothing of its queue is left.
        match self.queues.get(&number).is_some_and(|of_flow| of_flow.queue.len() > 0) {
            true => Verdict::Accepted,
            false => Verdict::Dropped(DropReason::Evicted),
        }
    }

    fn dequeue(&mut self, now: Time, paused: Classes, losses: &mut Vec<Loss<P>>) -> Option<P> {
        if !paused.is_empty() {
            return None;
        }
        while let Some((number, is_new)) = self.next_listed() {
            let of_flow = self.queues.get_mut(&number).expect("a listed queue is kept");
            if of_flow.deficit <= 0 {
                of_flow.deficit += i64::from(self.settings.quantum);
                self.old.push_back(number);
                continue;
            }
            let before = (of_flow.queue.len(), of_flow.queue.bytes());
            let packet = of_flow.queue.dequeue(&self.settings.codel, now, losses);
            self.packets -= before.0 - of_flow.queue.len();
            self.bytes -= before.1 - of_flow.queue.bytes();
            if let Some(packet) = packet {
                of_flow.deficit -= i64::from(packet.wire_bytes());
                if is_new {
                    self.new.push_front(number)
                } else {
                    self.old.push_front(number)
                }
                return Some(packet);
            }
            // A flow that sends one packet at a time would else be new each time, and others would starve
            // (section 4.2 of the RFC).
            if is_new {
                self.old.push_back(number);
                continue;
            }
            of_flow.is_listed = false;
            if of_flow.queue.is_fresh() {
                self.queues.remove(&number);
            }
        }
        None
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn head_bytes(&self) -> Option<u32> {
        // Queues whose deficit is used up come after all others, as in `dequeue`.
        let listed = || self.new.iter().chain(&self.old).filter_map(|number| self.queues.get(number));
        let ready = listed().filter(|of_flow| of_flow.deficit > 0);
        ready.chain(listed()).find_map(|of_flow| of_flow.queue.head_bytes())
    }

    fn look(&self, show: &mut dyn FnMut(&P)) {
        self.queues.values().for_each(|of_flow| of_flow.queue.look(show));
    }
}
