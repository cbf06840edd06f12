//! What cannot be a flow of a network.

use super::{Flow, Transport};
use crate::PacketError;
use crate::link::{MOST_BYTES, MOST_RATE};
use crate::network::{Network, NodeKind};
use crate::tcp::{Connection, SettingsError};

/// The most bytes of headers below TCP.
const MOST_BELOW: u32 = 1_000;

/// Refuses what cannot be a flow of this network.
pub fn check(network: &Network, number: usize, flow: &Flow) -> Result<(), PacketError> {
    for node in [flow.from, flow.to] {
        if node >= network.nodes() {
            let allowed = format!("nodes from 0 to {}", network.nodes().saturating_sub(1));
            return Err(PacketError::UnknownNode { pattern: format!("node {node}"), allowed });
        }
        if network.kind(node) != NodeKind::Host {
            let (node, kind) = (network.name(node).to_owned(), network.kind(node).name());
            return Err(PacketError::NotAHost { flow: number, node, kind });
        }
    }
    if flow.from == flow.to {
        return Err(PacketError::FlowToItself { flow: number, host: network.name(flow.from).to_owned() });
    }
    if !network.has_route(flow.from, flow.to) {
        let (from, to) = (network.name(flow.from).to_owned(), network.name(flow.to).to_owned());
        return Err(PacketError::NoRoute { from, to });
    }
    let refuse = |key, value: u64, allowed| {
        Err(PacketError::FlowNumber { flow: number, key, value: value.to_string(), allowed })
    };
    match &flow.transport {
        Transport::Udp(udp) if udp.rate == 0 || udp.rate > MOST_RATE => {
            return refuse("rate", udp.rate, "from 1 to 10^15 bit/s");
        }
        Transport::Udp(udp) if udp.wire_bytes == 0 || udp.wire_bytes > MOST_BYTES => {
            return refuse("wire_bytes", u64::from(udp.wire_bytes), "from 1 to 1,000,000");
        }
        Transport::Tcp(tcp) if tcp.below_bytes > MOST_BELOW => {
            return refuse("below_bytes", u64::from(tcp.below_bytes), "from 0 to 1,000");
        }
        Transport::Rdma(rdma) => {
            if let Some((key, value, allowed)) = rdma.mistake() {
                return refuse(key, value, allowed);
            }
        }
        Transport::Tcp(tcp) if tcp.bytes == Some(0) => return refuse("bytes", 0, "at least 1"),
        // That many bytes stand for a flow without end.
        Transport::Tcp(tcp) if tcp.bytes.is_some_and(|bytes| bytes > Connection::ENDLESS) => {
            return refuse("bytes", tcp.bytes.unwrap_or(0), "at most 2^62");
        }
        Transport::Tcp(tcp) => {
            for settings in [&tcp.sender, &tcp.receiver] {
                let refused = |SettingsError { key, value, allowed }| PacketError::FlowNumber {
                    flow: number,
                    key,
                    value,
                    allowed,
                };
                settings.check().map_err(refused)?;
            }
        }
        Transport::Udp(_) | Transport::Trace(_) => {}
    }
    if flow.class > 7 {
        return refuse("class", u64::from(flow.class), "from 0 to 7");
    }
    if flow.start_ps > crate::link::MOST_LATENCY_PS {
        return refuse("start", flow.start_ps, "at most 10^18 ps, 11 days");
    }
    Ok(())
}
