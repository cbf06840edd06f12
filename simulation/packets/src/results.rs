//! What a run leaves behind: of each flow, of each link, and in all.
//!
//! Invariant: sums and lists do not depend on how nodes were divided among federates.
//!
//! `summary` makes lines and files of it. What is counted in a port or a node is part of its state, whose
//! hash is in the digest (`model/state.rs`).

use serde::{Deserialize, Serialize};

use crate::application::{ApplicationOutput, ClientResult};
use crate::capture::Log;
use crate::flow::{Flow, Flows};
use crate::frame::FrameCounts;
use crate::host::{Arrivals, Endpoint, HostState, Sending};
use crate::port::Port;
use crate::rdma::{Rdma, RdmaReceiver, RdmaSender, Traffic};
use crate::sample::QueueSample;
use crate::switch::results::SwitchResults;
use crate::tcp::{Counters, State};
use crate::web::{WebCounts, WebOutput, WebResult};

/// What a federate leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetOutput {
    /// By flow: what was sent of it.
    sending: Vec<(u32, Sending)>,
    /// By flow: what was received of it.
    arrivals: Vec<(u32, Arrivals)>,
    /// By flow: the end of its connection that sends, or that receives.
    connections: Vec<(u32, bool, TcpResult)>,
    links: Vec<LinkResult>,
    pub(crate) switches: SwitchResults,
    /// Packets that had not come to the next node when the run ended.
    pub(crate) in_flight: u64,
    /// Packets that nodes dropped since there was no way for them.
    pub(crate) without_route: u64,
    pub(crate) applications: ApplicationOutput,
    pub(crate) samples: Vec<QueueSample>,
    /// The run ended before all was over.
    pub(crate) is_cut: bool,
    /// By node and port: what was sent, where that is captured.
    pub(crate) logs: Vec<(u32, u32, Log)>,
    /// By node: the frames of the machine there, of those that sent or received any.
    frames: Vec<(u32, FrameCounts)>,
    pub(crate) web: WebOutput,
}

impl NetOutput {
    /// Whether nothing is in it that comes at the end of a run.
    pub(crate) fn is_unfinished(&self) -> bool {
        let ended = Self { samples: Vec::new(), ..Self::default() };
        Self { samples: Vec::new(), ..self.clone() } == ended
    }

    /// Takes in the final state of a node.
    pub(crate) fn add_node(&mut self, flows: &Flows, node: u32, ports: &[Port], host: Option<&HostState>) {
        for (number, port) in (0..).zip(ports) {
            self.in_flight += port.queued() as u64;
            self.links.push(LinkResult::new(node, number, port));
            if !port.log().is_empty() {
                self.logs.push((node, number, port.log().clone()));
            }
        }
        let Some(host) = host else { return };
        if !host.frames.is_zero() {
            self.frames.push((node, host.frames));
        }
        self.sending.extend(flows.sending(node).iter().copied().zip(host.sending.iter().cloned()));
        self.arrivals.extend(flows.arriving(node).iter().copied().zip(host.arrivals.iter().cloned()));
        for (flow, endpoint) in flows.connections(node).iter().zip(&host.connections) {
            let is_sender = flows.ends[*flow as usize].from == node;
            if let Some(endpoint) = endpoint {
                self.connections.push((*flow, is_sender, TcpResult::new(endpoint)));
            }
        }
        for (flow, sender) in flows.rdma_sending(node).iter().zip(&host.rdma_senders) {
            let result = sender.as_ref().map(|sender| TcpResult::of_sender(flows.rdma(*flow), sender));
            self.connections.extend(result.map(|result| (*flow, true, result)));
        }
        for (flow, receiver) in flows.rdma_arriving(node).iter().zip(&host.rdma_receivers) {
            let result = TcpResult::of_receiver(flows.rdma(*flow), receiver);
            self.connections.push((*flow, false, result));
        }
    }
}

/// What one direction of a link has carried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LinkResult {
    /// The node that sends.
    pub node: u32,
    /// The port of that node by which it sends.
    pub port: u32,
    /// Packets taken to be sent.
    pub sent: u64,
    /// The bytes on the wire of these packets.
    pub sent_bytes: u64,
    /// Packets that the queue dropped.
    pub dropped: u64,
    /// Packets lost on the link.
    pub lost: u64,
    /// Packets marked at their arrival.
    pub marked: u64,
    /// The most packets that waited at one time.
    pub most_waiting: u32,
}

impl LinkResult {
    fn new(node: u32, number: u32, port: &Port) -> Self {
        let &Port { sent, sent_bytes, dropped, lost, marked, most_waiting, .. } = port;
        Self { node, port: number, sent, sent_bytes, dropped, lost, marked, most_waiting }
    }
}

/// What one end of a connection came to: of TCP, and of RDMA what it has of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpResult {
    /// The state of the connection.
    pub state: State,
    /// What it counted.
    pub counters: Counters,
    /// Packets that this end has sent.
    pub sent: u64,
    /// Packets that arrived here.
    pub arrived: u64,
    /// The sum of their delays, in picoseconds.
    pub delay_sum_ps: u128,
    /// When all bytes had been delivered in order, in picoseconds: at the receiver.
    pub done_ps: Option<u64>,
    /// The window of the peer is closed, and keeps back what this end has to send.
    pub is_window_closed: bool,
}

impl TcpResult {
    fn new(endpoint: &Endpoint) -> Self {
        Self {
            state: endpoint.connection.state(),
            counters: *endpoint.connection.counters(),
            sent: endpoint.sent,
            arrived: endpoint.arrived,
            delay_sum_ps: endpoint.delay_sum_ps,
            done_ps: endpoint.done_ps,
            is_window_closed: endpoint.connection.is_held_by_peer(),
        }
    }

    fn of_rdma(traffic: &Traffic, is_done: bool, counters: Counters, done_ps: Option<u64>) -> Self {
        let &Traffic { sent, arrived, delay_sum_ps } = traffic;
        let state = if is_done { State::Closed } else { State::Established };
        let sent = u64::from(sent);
        Self { state, counters, sent, arrived, delay_sum_ps, done_ps, is_window_closed: false }
    }

    fn of_sender(rdma: &Rdma, sender: &RdmaSender) -> Self {
        let counters = Counters {
            acknowledged: sender.acknowledged_bytes(rdma),
            retransmissions: sender.retransmissions,
            timeouts: sender.timeouts,
            echoes_received: sender.notifications,
            ..Counters::default()
        };
        Self::of_rdma(&sender.traffic, sender.deadline_ps(rdma).is_none(), counters, None)
    }

    fn of_receiver(rdma: &Rdma, receiver: &RdmaReceiver) -> Self {
        let counters = Counters {
            delivered: receiver.delivered(rdma),
            marks_received: receiver.marks,
            ..Counters::default()
        };
        Self::of_rdma(&receiver.traffic, receiver.done_ps.is_some(), counters, receiver.done_ps)
    }
}

/// What became of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowResult {
    /// At the source of a UDP flow.
    pub sending: Sending,
    /// At the destination of a UDP flow.
    pub arrivals: Arrivals,
    /// The end of a TCP or RDMA flow that sends, once it has begun.
    pub sender: Option<TcpResult>,
    /// The end that receives: of a TCP flow once a segment has come.
    pub receiver: Option<TcpResult>,
    /// When it began, in picoseconds, if it waited for other flows.
    pub opened_ps: Option<u64>,
}

impl FlowResult {
    /// Bytes delivered in order: of TCP the streams of both ends, of UDP whole packets.
    pub fn delivered(&self) -> u64 {
        self.arrivals.bytes + self.ends().map(|end| end.counters.delivered).sum::<u64>()
    }

    /// When it began, in picoseconds: at its own time, or when what it waited for had been delivered.
    pub(crate) fn start_ps(&self, flow: &Flow) -> u64 {
        self.opened_ps.unwrap_or(flow.start_ps)
    }

    /// The ends of a TCP flow that there are.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &TcpResult> {
        self.sender.iter().chain(&self.receiver)
    }
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct NetResults {
    /// What became of each flow, by flow.
    pub flows: Vec<FlowResult>,
    /// By node and port.
    pub links: Vec<LinkResult>,
    /// What switches with a shared buffer counted.
    pub switches: SwitchResults,
    /// Samples of queues in the order of time.
    pub queues: Vec<QueueSample>,
    /// Packets that hosts sent.
    pub packets_sent: u64,
    /// Packets that came to the host that they were for.
    pub packets_arrived: u64,
    /// Packets that queues dropped and links lost, and those without a route.
    pub packets_dropped: u64,
    /// Packets that nodes dropped since there was no way for them when they came.
    pub packets_without_route: u64,
    /// Packets that were under way when the run ended.
    pub packets_in_flight: u64,
    /// The mean delay of packets that arrived, in seconds; nothing where none did.
    pub mean_delay_s: Option<f64>,
    /// TCP and RDMA flows of which all has arrived.
    pub flows_done: u64,
    /// The mean time that these took, in seconds; nothing where there are none.
    pub mean_completion_s: Option<f64>,
    /// By node: the frames of the real machine there, of those that sent or received any.
    pub frames: Vec<(u32, FrameCounts)>,
    /// What clients have done, by number.
    pub clients: Vec<ClientResult>,
    /// What web clients have done, by number of their entry.
    pub web: Vec<WebResult>,
    /// What came to web clients and servers and was no segment of a connection.
    pub web_counts: WebCounts,
    /// By group, its rounds.
    rounds: Vec<Vec<(u64, u64)>>,
}

impl NetResults {
    /// The rounds of a group of which every transfer was delivered: when the first of them began, and when
    /// the last one was there, in picoseconds.
    pub fn collective(&self, group: u32) -> &[(u64, u64)] {
        self.rounds.get(group as usize).map_or(&[], Vec::as_slice)
    }

    /// Joins what federates have left behind of a model with these flows, in any order.
    pub fn new(of: &[Flow], outputs: &[NetOutput]) -> Self {
        let mut flows = vec![FlowResult::default(); of.len()];
        let (mut links, mut switches) = (Vec::new(), SwitchResults::default());
        for output in outputs {
            switches.join(&output.switches);
            for (flow, sending) in &output.sending {
                flows[*flow as usize].sending = sending.clone();
            }
            for (flow, arrivals) in &output.arrivals {
                flows[*flow as usize].arrivals = arrivals.clone();
            }
            for (flow, is_sender, result) in &output.connections {
                let flow = &mut flows[*flow as usize];
                *(if *is_sender { &mut flow.sender } else { &mut flow.receiver }) = Some(*result);
            }
            for (flow, opened_ps) in &output.applications.starts {
                flows[*flow as usize].opened_ps = Some(*opened_ps);
            }
            links.extend_from_slice(&output.links);
        }
        links.sort_unstable();
        let mut frames: Vec<_> = outputs.iter().flat_map(|output| output.frames.iter().copied()).collect();
        frames.sort_unstable_by_key(|(node, _)| *node);
        let (web, web_counts) = WebOutput::join(outputs.iter().map(|output| &output.web));
        let mut queues: Vec<_> = outputs.iter().flat_map(|output| output.samples.iter().cloned()).collect();
        queues.sort_unstable();
        let without_route = outputs.iter().map(|output| output.without_route).sum();
        let ends = || flows.iter().flat_map(FlowResult::ends);
        let arrived = flows.iter().map(|flow| flow.arrivals.packets).sum::<u64>()
            + ends().map(|end| end.arrived).sum::<u64>()
            + frames.iter().map(|(_, counts)| counts.arrived).sum::<u64>();
        let delays = flows.iter().map(|flow| flow.arrivals.delay_sum_ps).sum::<u128>()
            + ends().map(|end| end.delay_sum_ps).sum::<u128>()
            + frames.iter().map(|(_, counts)| counts.delay_sum_ps).sum::<u128>();
        let took = |(flow, result): (&Flow, &FlowResult)| {
            let done_ps = result.receiver.and_then(|receiver| receiver.done_ps)?;
            Some(u128::from(done_ps - result.start_ps(flow)))
        };
        let completions: Vec<u128> = of.iter().zip(&flows).filter_map(took).collect();
        // One division of exact sums: the same whatever the partition.
        let mean_s = |sum_ps: u128, count: u64| (count > 0).then(|| sum_ps as f64 / count as f64 / 1e12);
        Self {
            packets_sent: flows.iter().map(|flow| flow.sending.packets).sum::<u64>()
                + ends().map(|end| end.sent).sum::<u64>()
                + frames.iter().map(|(_, counts)| counts.sent).sum::<u64>(),
            packets_arrived: arrived,
            packets_dropped: links.iter().map(|link| link.dropped + link.lost).sum::<u64>() + without_route,
            packets_without_route: without_route,
            packets_in_flight: outputs.iter().map(|output| output.in_flight).sum(),
            mean_delay_s: mean_s(delays, arrived),
            flows_done: completions.len() as u64,
            mean_completion_s: mean_s(completions.iter().sum(), completions.len() as u64),
            clients: ApplicationOutput::clients(outputs.iter().map(|output| &output.applications)),
            rounds: ApplicationOutput::rounds(outputs.iter().map(|output| &output.applications)),
            web,
            web_counts,
            flows,
            frames,
            links,
            switches,
            queues,
        }
    }
}
