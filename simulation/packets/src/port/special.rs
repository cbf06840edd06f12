//! Ports that do more than to send what comes: active queue management, queues that decide at departure,
//! loss, jitter and outages of the link.
//!
//! Nodes send the packets on to where and when [`Sent`] says: `model/special.rs`, and at switches with shared
//! buffers `model/switches.rs`.
//!
//! Invariants: the times that a queue is given never go back; what happens to a packet on the link is drawn
//! in the order in which packets are sent, whether that is computed at arrival or event by event.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::controlled::Controlled;
use super::{Port, Waiting};
use crate::LinkSpec;
use crate::clock::{LATEST_PS, MOST_COUNT, PS_PER_TICK};
use crate::link::Wire;
use crate::loss::{JitterState, LossState};
use crate::packet::Carried;
use crate::queue::{Admission, AnyAdmission, Backlog, Classes, Discipline, Ecn, Loss, Queue, Verdict};

/// What such a port remembers besides.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Special {
    pub(super) queueing: Queueing,
    loss: LossState,
    jitter: JitterState,
    /// The latest moment at which something happened here, in picoseconds.
    latest_ps: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Queueing {
    /// First in, first out, decided at arrival: one event a hop.
    Admission(AnyAdmission),
    /// The queue has the packets, and an event says when the link is free.
    Queue(Queue<Carried>),
    /// The same, and classes may be paused.
    Controlled(Box<Controlled>),
}

impl Queueing {
    /// The queue, and what of it is paused.
    fn queue_mut(&mut self) -> Option<(&mut Queue<Carried>, Classes)> {
        match self {
            Self::Admission(_) => None,
            Self::Queue(queue) => Some((queue, Classes::NONE)),
            Self::Controlled(controlled) => Some((&mut controlled.queue, controlled.paused)),
        }
    }
}

/// A packet that is on the link: when it has been sent, and when it arrives, unless it is lost.
pub(crate) struct Sent {
    pub free_ps: u64,
    pub arrival_ps: Option<u64>,
}

impl Special {
    /// That of the port of number `stream`, in the run with `seed`.
    pub fn new(spec: &LinkSpec, is_controlled: bool, seed: u64, stream: u64) -> Self {
        // Links were checked when they were added.
        let known = "the settings of queues are checked";
        let queue = || Queue::new(&spec.queue, seed, stream).expect(known);
        let queueing = match spec.queue.admission(seed, stream).expect(known) {
            _ if is_controlled => Queueing::Controlled(Box::new(Controlled::new(queue()))),
            Some(admission) => Queueing::Admission(admission),
            None => Queueing::Queue(queue()),
        };
        // Streams of their own: loss, jitter and queue of a link have nothing in common.
        let (loss, jitter) = (LossState::new(seed ^ 1, stream), JitterState::new(seed ^ 2, stream));
        Self { queueing, loss, jitter, latest_ps: 0 }
    }

    /// Whether it needs an event for a departure.
    pub fn is_queue(&self) -> bool {
        matches!(self.queueing, Queueing::Queue(_))
    }

    /// The packets that wait in a queue of its own.
    pub fn waiting(&self) -> usize {
        match &self.queueing {
            Queueing::Admission(_) => 0,
            Queueing::Queue(queue) => queue.len(),
            Queueing::Controlled(controlled) => controlled.queue.len(),
        }
    }

    /// The last moment that the queue was given.
    pub fn latest(&self) -> Time {
        Time::ticks(self.latest_ps / PS_PER_TICK)
    }

    /// Whether its numbers fit each other, and the settings are those of `fresh`.
    pub fn is_consistent(&self, fresh: &Self) -> bool {
        let latest = self.latest();
        let is_queueing = match (&self.queueing, &fresh.queueing) {
            (Queueing::Admission(admission), Queueing::Admission(fresh)) => admission.is_consistent(fresh),
            (Queueing::Queue(queue), Queueing::Queue(fresh)) => queue.is_consistent(fresh, latest),
            (Queueing::Controlled(controlled), Queueing::Controlled(fresh)) => {
                controlled.queue.is_consistent(&fresh.queue, latest) && controlled.pauses <= MOST_COUNT
            }
            _ => false,
        };
        is_queueing && self.latest_ps <= LATEST_PS
    }

    /// Whether all packets in its queue are such.
    pub fn is_all(&self, mut is_such: impl FnMut(&Carried) -> bool) -> bool {
        let mut is_all = true;
        let show = &mut |packet: &Carried| is_all &= is_such(packet);
        match &self.queueing {
            Queueing::Admission(_) => {}
            Queueing::Queue(queue) => queue.look(show),
            Queueing::Controlled(controlled) => controlled.queue.look(show),
        }
        is_all
    }

    /// Packets and bytes that wait in a queue of its own, if it has one.
    pub fn backlog(&self) -> Option<(u32, u64)> {
        match &self.queueing {
            Queueing::Admission(_) => None,
            Queueing::Queue(queue) => Some((queue.len() as u32, queue.bytes())),
            Queueing::Controlled(controlled) => {
                Some((controlled.queue.len() as u32, controlled.queue.bytes()))
            }
        }
    }

    /// The moment as queues see it: in ticks, and never back.
    fn time(&mut self, now_ps: u64) -> Time {
        self.latest_ps = self.latest_ps.max(now_ps);
        Time::ticks(self.latest_ps / PS_PER_TICK)
    }

    /// When a packet that is sent from `start_ps` to `free_ps` arrives, unless it is lost.
    fn travel(&mut self, wire: &Wire, start_ps: u64, free_ps: u64) -> Option<u64> {
        // Both are drawn for every packet, lost or not, so that the jitter of the others does not depend on
        // losses.
        let is_lost = wire.loss.as_ref().is_some_and(|loss| self.loss.is_lost(loss));
        let due_ps = free_ps + wire.latency_ps;
        let arrival_ps = match &wire.jitter {
            None => due_ps,
            Some(jitter) => self.jitter.arrival(jitter, Time::ticks(due_ps)).as_ticks(),
        };
        let (start, arrival) = (Time::ticks(start_ps / PS_PER_TICK), Time::ticks(arrival_ps / PS_PER_TICK));
        (!is_lost && wire.outages.is_up_through(start, arrival)).then_some(arrival_ps)
    }
}

impl Port {
    /// As [`Port::send`], at a port that decides at arrival: where the packet is accepted, when it arrives,
    /// unless it is lost, and its ECN field.
    pub(crate) fn send_admitted(
        &mut self,
        wire: &Wire,
        now_ps: u64,
        bytes: u32,
        ecn: Ecn,
    ) -> Option<(Option<u64>, Ecn)> {
        self.release(now_ps);
        let special = self.special.as_mut().expect("ports of such links have it");
        let time = special.time(now_ps);
        let Queueing::Admission(admission) = &mut special.queueing else { return None };
        let is_idle = self.free_ps <= now_ps;
        let idle_since = is_idle.then(|| Time::ticks(self.free_ps / PS_PER_TICK));
        let backlog = Backlog { packets: self.waiting.len(), bytes: self.waiting_bytes, idle_since };
        let ecn = match admission.admit(time, &backlog, bytes, ecn) {
            Verdict::Accepted => ecn,
            Verdict::Marked => {
                self.marked += 1;
                Ecn::Congested
            }
            Verdict::Dropped(_) => {
                self.dropped += 1;
                return None;
            }
        };
        let start_ps = if is_idle {
            self.rest = 0;
            now_ps
        } else {
            self.waiting.push_back(Waiting { start_ps: self.free_ps, bytes });
            self.waiting_bytes += u64::from(bytes);
            self.most_waiting = self.most_waiting.max(self.waiting.len() as u32);
            self.free_ps.min(LATEST_PS)
        };
        Some((self.put_on_link(wire, start_ps, bytes).arrival_ps, ecn))
    }

    /// Puts a packet into the port's queue. True if the link is idle, so that [`Port::serve`] is to follow.
    /// What is lost for it is counted, and appended to `losses`.
    pub(crate) fn enqueue(&mut self, now_ps: u64, packet: Carried, losses: &mut Vec<Loss<Carried>>) -> bool {
        let special = self.special.as_mut().expect("ports of such links have it");
        let time = special.time(now_ps);
        let Some((queue, _)) = special.queueing.queue_mut() else { return false };
        let before = losses.len();
        let verdict = queue.enqueue(time, packet, losses);
        self.marked += u64::from(verdict == Verdict::Marked);
        self.dropped += (losses.len() - before) as u64;
        self.most_waiting = self.most_waiting.max(queue.len() as u32);
        !self.is_busy
    }

    /// Sends the next packet of the queue, at `now_ps` or when the link is free, whichever is later. What the
    /// queue drops is counted, and appended to `losses`.
    pub(crate) fn serve(
        &mut self,
        wire: &Wire,
        now_ps: u64,
        losses: &mut Vec<Loss<Carried>>,
    ) -> Option<(Carried, Sent)> {
        let special = self.special.as_mut().expect("ports of such links have it");
        let start_ps = now_ps.max(self.free_ps.min(LATEST_PS));
        let time = special.time(start_ps);
        let (queue, paused) = special.queueing.queue_mut()?;
        let before = losses.len();
        let next = queue.dequeue(time, paused, losses);
        self.dropped += (losses.len() - before) as u64;
        self.is_busy = next.is_some();
        let packet = next?;
        if let Queueing::Controlled(controlled) = &mut special.queueing {
            controlled.sending = Some(packet.held());
        }
        if start_ps > self.free_ps {
            self.rest = 0;
        }
        let bytes = crate::queue::Packet::wire_bytes(&packet);
        let sent = self.put_on_link(wire, start_ps, bytes);
        Some((packet, sent))
    }

    fn put_on_link(&mut self, wire: &Wire, start_ps: u64, bytes: u32) -> Sent {
        self.sent += 1;
        self.sent_bytes += u64::from(bytes);
        self.free_ps = start_ps + wire.transmission(bytes, &mut self.rest);
        let special = self.special.as_mut().expect("ports of such links have it");
        let arrival_ps = special.travel(wire, start_ps, self.free_ps);
        self.lost += u64::from(arrival_ps.is_none());
        Sent { free_ps: self.free_ps, arrival_ps }
    }
}
