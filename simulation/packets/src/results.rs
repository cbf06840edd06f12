//! What a run leaves behind: of each flow, of each link, and in all.
//!
//! Invariant: sums and lists do not depend on how nodes were divided among federates.

use serde::{Deserialize, Serialize};

use crate::Packets;
use crate::host::{Arrivals, Sending};

/// What a federate leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetOutput {
    /// By flow: what was sent of it.
    pub(crate) sending: Vec<(u32, Sending)>,
    /// By flow: what was received of it.
    pub(crate) arrivals: Vec<(u32, Arrivals)>,
    pub(crate) links: Vec<LinkResult>,
    /// Packets that had not come to the next node when the run ended.
    pub(crate) in_flight: u64,
}

/// What one direction of a link has carried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LinkResult {
    /// The node that sends.
    pub node: u32,
    /// Its port.
    pub port: u32,
    /// Packets taken to be sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that found no room.
    pub dropped: u64,
    /// The most packets that waited at one time.
    pub most_waiting: u32,
}

/// What became of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowResult {
    /// At its source.
    pub sending: Sending,
    /// At its destination.
    pub arrivals: Arrivals,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct NetResults {
    /// By flow.
    pub flows: Vec<FlowResult>,
    /// By node and port.
    pub links: Vec<LinkResult>,
    /// Packets that hosts sent.
    pub packets_sent: u64,
    /// Packets that came to the host that they were for.
    pub packets_arrived: u64,
    /// Packets that were dropped on their way.
    pub packets_dropped: u64,
    /// Packets that were under way when the run ended.
    pub packets_in_flight: u64,
    /// The mean delay of packets that arrived, in seconds; nothing where none did.
    pub mean_delay_s: Option<f64>,
}

impl NetResults {
    /// Joins what federates have left behind, in any order.
    pub fn new(model: &Packets, outputs: &[NetOutput]) -> Self {
        let mut flows = vec![FlowResult::default(); model.flows().len()];
        let mut links = Vec::new();
        for output in outputs {
            for (flow, sending) in &output.sending {
                flows[*flow as usize].sending = sending.clone();
            }
            for (flow, arrivals) in &output.arrivals {
                flows[*flow as usize].arrivals = arrivals.clone();
            }
            links.extend_from_slice(&output.links);
        }
        links.sort_unstable();
        let arrived = flows.iter().map(|flow| flow.arrivals.packets).sum();
        let delays: u128 = flows.iter().map(|flow| flow.arrivals.delay_sum_ps).sum();
        Self {
            packets_sent: flows.iter().map(|flow| flow.sending.packets).sum(),
            packets_arrived: arrived,
            packets_dropped: links.iter().map(|link| link.dropped).sum(),
            packets_in_flight: outputs.iter().map(|output| output.in_flight).sum(),
            // One division of exact sums: the same whatever the partition.
            mean_delay_s: (arrived > 0).then(|| delays as f64 / arrived as f64 / 1e12),
            flows,
            links,
        }
    }
}
