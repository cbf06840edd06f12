//! What cannot be simulated: which part of the network or which flow, and what is allowed.

use paceline_kernel::Time;
use thiserror::Error;

use crate::queue::QueueError;

/// A network or a flow that cannot be simulated.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum PacketError {
    /// Two nodes have one name.
    #[error("the node {name:?} is given twice; allowed: each name once")]
    NodeTwice { name: String },
    /// Nothing has such a name.
    #[error("no node of the network is called {pattern:?}; allowed: {allowed}")]
    UnknownNode { pattern: String, allowed: String },
    /// Two links join the same nodes.
    #[error("the link from {from:?} to {to:?} is given twice; allowed: one link between two nodes")]
    LinkTwice { from: String, to: String },
    /// A link from a node to itself.
    #[error("the link from {node:?} leads to {node:?} itself; allowed: a link between two nodes")]
    LinkToItself { node: String },
    /// Nodes that no link joins.
    #[error("no link joins {from:?} and {to:?}; allowed: the two ends of a link")]
    NoLink { from: String, to: String },
    /// A link of no or of a nonsensical rate.
    #[error("the link from {from:?} to {to:?} has a rate of {rate} bit/s; allowed: from 1 to 10^15")]
    LinkRate { from: String, to: String, rate: u64 },
    /// A link whose latency leaves no room on the clock.
    #[error(
        "the link from {from:?} to {to:?} has a latency of {latency_ps} ps; allowed: at most 10^18, 11 days"
    )]
    LinkLatency { from: String, to: String, latency_ps: u64 },
    /// A number of a link that routes cannot be computed with.
    #[error("the link from {from:?} to {to:?} has a {key} of {value}; allowed: from 1 to {most}")]
    LinkCost { from: String, to: String, key: &'static str, value: u32, most: u32 },
    /// Messages round such a loop would take no time.
    #[error(
        "the link from {from:?} to {to:?} closes a loop of links with a latency of 0; allowed: a latency above 0 \
         on one link of each loop"
    )]
    ZeroLatencyLoop { from: String, to: String },
    /// A link that is too fast for the clock.
    #[error(
        "the link from {from:?} to {to:?} has a latency of {latency_ps} ps, and takes {packet_ps} ps for the least \
         packet of {bytes} bytes; allowed: together at least a tick of the clock, {tick_ps} ps"
    )]
    NoDelay { from: String, to: String, latency_ps: u64, packet_ps: u64, bytes: u32, tick_ps: u64 },
    /// A queue that cannot be.
    #[error("the link from {from:?} to {to:?} has {error}")]
    Queue { from: String, to: String, error: QueueError },
    /// A switch that cannot be.
    #[error("the switch {node:?} has {error}")]
    Switch { node: String, error: QueueError },
    /// A flow that cannot get where it is to go.
    #[error("there is no route from {from:?} to {to:?}; allowed: flows between nodes that links join")]
    NoRoute { from: String, to: String },
    /// A flow to the host that sends it.
    #[error("flow {flow} goes from {host:?} to itself; allowed: a flow between two hosts")]
    FlowToItself { flow: usize, host: String },
    /// A flow that begins or ends at a switch.
    #[error("flow {flow} has {node:?} as an end, a {kind}; allowed: hosts")]
    NotAHost { flow: usize, node: String, kind: &'static str },
    /// A machine in the place of a switch.
    #[error("a machine is to be at {node:?}, a {kind}; allowed: hosts")]
    MachineNotAHost { node: String, kind: &'static str },
    /// Two machines in one place.
    #[error("two machines are to be at the host {node:?}; allowed: one")]
    MachineTwice { node: String },
    /// An address that no host can have.
    #[error("the host {node:?} is to have the address {address}; allowed: an IPv4 address of one host")]
    Address { node: String, address: std::net::Ipv4Addr },
    /// Two hosts have one address.
    #[error("the hosts {first:?} and {second:?} have the address {address}; allowed: each address once")]
    AddressTwice { address: std::net::Ipv4Addr, first: String, second: String },
    /// A number of a flow that makes no sense.
    #[error("flow {flow} has a {key} of {value}; allowed: {allowed}")]
    FlowNumber { flow: usize, key: &'static str, value: String, allowed: &'static str },
    /// A flow cannot know when it may begin.
    #[error(
        "flow {flow} waits for flow {before}, which does not end at the host where flow {flow} begins; allowed: flows \
         that end there"
    )]
    WaitElsewhere { flow: u32, before: u32 },
    /// A packet of a trace that cannot be sent; the first has number 1.
    #[error("packet {packet} of the trace {problem}; allowed: {allowed}")]
    Trace { packet: usize, problem: String, allowed: &'static str },
    /// Flows that wait for each other never begin.
    #[error(
        "flow {flow} waits for flow {before}, which waits for flow {flow} in turn, directly or by way of others; \
         allowed: no circles"
    )]
    WaitInCircle { flow: u32, before: u32 },
    /// An application that cannot be.
    #[error("{application} has {problem}; allowed: {allowed}")]
    Application { application: String, problem: String, allowed: &'static str },
    /// Senders and receivers that cannot be paired.
    #[error(
        "{from_pattern:?} are {from} hosts and {to_pattern:?} are {to}: they cannot be paired by number; allowed: \
         as many senders as receivers, or one of either"
    )]
    Pairs { from_pattern: String, from: usize, to_pattern: String, to: usize },
    /// A parameter of a topology out of its range.
    #[error("a {topology} cannot have {key} = {value}; allowed: {allowed}")]
    Parameter { topology: &'static str, key: &'static str, value: String, allowed: String },
    /// Samples without a time between them.
    #[error("queues are sampled every {every}; allowed: a time above 0")]
    SampledEvery { every: Time },
    /// A pattern of what to capture that names no link.
    #[error("the capture {pattern:?} {problem}; allowed: {allowed}")]
    Capture { pattern: String, problem: &'static str, allowed: String },
    /// Too few or too many bytes of packets that are captured.
    #[error("{snap} bytes of each captured packet; allowed: from {least} to {most}")]
    Snap { snap: u32, least: u32, most: u32 },
    /// More than the numbers of nodes, ports or flows can hold.
    #[error("the network has {count} {what}; allowed: at most {most}")]
    TooMany { what: &'static str, count: usize, most: usize },
}

paceline_kernel::debug_tells!(PacketError);
