//! Samples of queues: the events that take them, and what becomes a result.

use paceline_kernel::{Context, LpId, Time};

use super::{NodeState, Packets};
use crate::PacketError;
use crate::clock::exact;
use crate::packet::NetEvent;
use crate::results::NetOutput;
use crate::sample::{QueueSample, Sampling};

/// What an event says that comes before the first sample.
const NOTHING_SEEN: u32 = u32::MAX;

impl Packets {
    /// The same with the queues at some ports, each a node and its port, sampled from time zero on and then
    /// after each `every`. Samples are events: the run has another digest, and its packets are the same. A
    /// run with samples needs a horizon.
    ///
    /// # Errors
    ///
    /// [`PacketError::SampledEvery`] for a time of zero.
    pub fn sample(mut self, mut ports: Vec<(u32, u32)>, every: Time) -> Result<Self, PacketError> {
        if every == Time::ZERO {
            return Err(PacketError::SampledEvery { every });
        }
        ports.sort_unstable();
        ports.dedup();
        self.sampling = Sampling { ports, every };
        Ok(self)
    }

    /// Asks for the first samples of a node.
    pub(super) fn begin_samples(&self, node: u32, cx: &mut Context<'_, Self>) {
        for port in self.sampling.ports(node) {
            cx.schedule(Time::ZERO, NetEvent::Sample { port, packets: NOTHING_SEEN, bytes: 0 });
        }
    }

    /// Looks at a queue, and asks for the next sample.
    pub(super) fn take_sample(&self, state: &NodeState, port: u32, cx: &mut Context<'_, Self>) {
        let (packets, bytes) = state.ports[port as usize].waiting_at(exact(cx.now(), 0));
        cx.schedule(self.sampling.every, NetEvent::Sample { port, packets, bytes });
    }

    /// What the sample before an event at `at` has seen is final.
    pub(super) fn note_sample(&self, lp: LpId, at: Time, event: &NetEvent, output: &mut NetOutput) {
        if let NetEvent::Sample { port, packets, bytes } = *event
            && packets != NOTHING_SEEN
        {
            let at = at.saturating_sub(self.sampling.every);
            output.samples.push(QueueSample { at, node: lp.0, port, packets, bytes });
        }
    }
}
