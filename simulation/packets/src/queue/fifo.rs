//! First in, first out, with a decision at arrival.

use std::collections::VecDeque;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::{Admission, AnyAdmission, Backlog, Classes, Discipline, Ecn, Loss, Packet, Verdict};

/// Packets in the order of their arrival, admitted by `A`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fifo<P, A> {
    admission: A,
    packets: VecDeque<P>,
    bytes: u64,
    idle_since: Option<Time>,
}

impl<P, A> Fifo<P, A> {
    /// An empty queue; its link is idle from the start of the simulation.
    pub const fn new(admission: A) -> Self {
        Self { admission, packets: VecDeque::new(), bytes: 0, idle_since: Some(Time::ZERO) }
    }

    /// What decides about arrivals.
    pub const fn admission(&self) -> &A {
        &self.admission
    }
}

impl<P: Packet> Fifo<P, AnyAdmission> {
    /// Whether its numbers fit each other, and the settings are those of `fresh`, in a state at `latest`.
    pub(super) fn is_consistent(&self, fresh: &Self, latest: Time) -> bool {
        let bytes: u128 = self.packets.iter().map(|packet| u128::from(packet.wire_bytes())).sum();
        let is_idle_since = |since: Time| self.packets.is_empty() && since <= latest;
        self.admission.is_consistent(&fresh.admission)
            && u128::from(self.bytes) == bytes
            && self.idle_since.is_none_or(is_idle_since)
    }
}

impl<P: Packet, A: Admission> Discipline<P> for Fifo<P, A> {
    fn enqueue(&mut self, now: Time, mut packet: P, losses: &mut Vec<Loss<P>>) -> Verdict {
        let backlog = Backlog { packets: self.packets.len(), bytes: self.bytes, idle_since: self.idle_since };
        let verdict = self.admission.admit(now, &backlog, packet.wire_bytes(), packet.ecn());
        match verdict {
            Verdict::Dropped(reason) => {
                losses.push(Loss { packet, reason });
                return verdict;
            }
            Verdict::Marked => packet.set_ecn(Ecn::Congested),
            Verdict::Accepted => {}
        }
        self.bytes += u64::from(packet.wire_bytes());
        self.packets.push_back(packet);
        self.idle_since = None;
        verdict
    }

    fn dequeue(&mut self, now: Time, paused: Classes, _losses: &mut Vec<Loss<P>>) -> Option<P> {
        let Some(first) = self.packets.front() else {
            self.idle_since.get_or_insert(now);
            return None;
        };
        if paused.contains(first.class()) {
            return None;
        }
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.wire_bytes());
        Some(packet)
    }

    fn len(&self) -> usize {
        self.packets.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn head_bytes(&self) -> Option<u32> {
        self.packets.front().map(Packet::wire_bytes)
    }

    fn look(&self, show: &mut dyn FnMut(&P)) {
        self.packets.iter().for_each(show);
    }
}
