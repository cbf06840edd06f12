//! What had not come to an end when the run did: flows that never can, and queues that never empty.
//!
//! Invariant: only what shows is named: a way that is gone for good, a peer that has not answered, a window
//! that is closed, a queue without a limit to which more comes than its link carries. Flows that were on
//! their way are counted.

use paceline_kernel::Time;
use paceline_results::Summary;

use super::NAMED;
use super::rows::FlowRow;
use crate::clock::{PS_PER_SECOND, PS_PER_TICK};
use crate::hash::mix;
use crate::queue::{Limit, QueueSettings};
use crate::results::NetResults;
use crate::tcp::State;
use crate::{Drive, Flow, Packets, Span, Transport, Udp};

impl Packets {
    /// The lines of flows that have an end and had not come to it at `end`, and of queues that cannot empty.
    pub(super) fn tell_of_unfinished(
        &self,
        all: &NetResults,
        rows: &[FlowRow],
        end: Time,
        summary: &mut Summary,
    ) {
        let open: Vec<usize> =
            (0..rows.len()).filter(|flow| is_open(&self.flows()[*flow], &rows[*flow])).collect();
        if !open.is_empty() {
            summary.line("flows_open", open.len());
        }
        let stuck = open.iter().filter_map(|flow| Some((*flow, self.obstacle(*flow, &rows[*flow], end)?)));
        let named = stuck.map(|(flow, why)| format!("{} ({why})", self.flow_name(flow)));
        summarise(summary, "flows_stuck", named);
        let named = self.overloaded(all, end).into_iter();
        summarise(summary, "queues_never_empty", named);
    }

    fn flow_name(&self, flow: usize) -> String {
        let &Flow { from, to, .. } = &self.flows()[flow];
        format!("{flow} from {:?} to {:?}", self.network().name(from), self.network().name(to))
    }

    /// Why a flow that is open never ends, where it shows.
    fn obstacle(&self, flow: usize, row: &FlowRow, end: Time) -> Option<String> {
        let of = &self.flows()[flow];
        if of.start_ps >= end.as_ticks().saturating_mul(PS_PER_TICK) {
            return None;
        }
        let key = (flow as u64) << 32;
        let way = self.gap(of.from, of.to, key, end);
        if let Some(gap) = way.or_else(|| self.gap(of.to, of.from, !key, end)) {
            return Some(gap);
        }
        let sender = row.result.sender?;
        match sender.state {
            State::SynSent => Some("its peer has never answered".to_owned()),
            _ if sender.is_window_closed => Some("the window of its receiver is closed".to_owned()),
            _ => None,
        }
    }

    /// What is missing for good on the way of a flow: a route, or a link that will not be repaired.
    fn gap(&self, from: u32, to: u32, key: u64, end: Time) -> Option<String> {
        let (network, name) = (self.network(), |node: u32| self.network().name(node));
        let now_ps = end.as_ticks().saturating_mul(PS_PER_TICK);
        let hash = mix(key ^ self.seed);
        let is_gone = |now_ps| network.next_port_at(now_ps, from, to, hash).is_none();
        if is_gone(now_ps) && is_gone(u64::MAX) {
            return Some(format!("no route from {:?} to {:?} is left", name(from), name(to)));
        }
        // Where each packet has its own way, or ways change, one that is down is not in all of them.
        if network.convergence().is_some() || self.spread != 0 {
            return None;
        }
        let mut node = from;
        while node != to {
            let port = network.next_port(node, to, hash);
            let (peer, outages) = (network.peer(node, port), &network.link(node, port).outages);
            if !outages.is_up(end) && outages.next_after(end).is_none() {
                return Some(format!("the link from {:?} to {:?} stays down", name(node), name(peer)));
            }
            node = peer;
        }
        None
    }

    /// Queues without a limit to which UDP flows without an end bring more than their links carry.
    fn overloaded(&self, all: &NetResults, end: Time) -> Vec<String> {
        let network = self.network();
        let now_ps = u128::from(end.as_ticks()) * u128::from(PS_PER_TICK);
        // All that a queue without a limit has taken counts as sent: it takes longer than there was time.
        let is_behind = |node: u32, port: u32, bytes: u64| {
            let link = network.link(node, port);
            link.queue == QueueSettings::DropTail(Limit::Endless)
                && u128::from(bytes) * 8 * u128::from(PS_PER_SECOND) > u128::from(link.rate) * now_ps
        };
        let behind: Vec<(u32, u32)> = all
            .links
            .iter()
            .filter(|link| is_behind(link.node, link.port, link.sent_bytes))
            .map(|link| (link.node, link.port))
            .collect();
        if behind.is_empty() || self.spread != 0 {
            return Vec::new();
        }
        let mut loads: Vec<(u128, Option<usize>)> = vec![(0, None); behind.len()];
        for (flow, of) in self.flows().iter().enumerate() {
            let (rate, is_endless) = match &of.transport {
                Transport::Udp(udp) => (mean_rate(udp), udp.packets.is_none()),
                Transport::Trace(trace) => (trace.mean_rate(), trace.count().is_none()),
                Transport::Tcp(_) | Transport::Rdma(_) => continue,
            };
            let hash = mix((flow as u64) << 32 ^ self.seed);
            let mut node = of.from;
            while node != of.to && is_endless {
                let Some(port) = network.next_port_at(now_ps as u64, node, of.to, hash) else { break };
                if let Ok(place) = behind.binary_search(&(node, port)) {
                    loads[place].0 += rate;
                    loads[place].1.get_or_insert(flow);
                }
                node = network.peer(node, port);
            }
        }
        let named = |(&(node, port), (load, flow)): (&(u32, u32), (u128, Option<usize>))| {
            let rate = network.link(node, port).rate;
            let (from, to) = (network.name(node), network.name(network.peer(node, port)));
            let flow = self.flow_name(flow.filter(|_| load > u128::from(rate))?);
            Some(format!("from {from:?} to {to:?} ({load} bit/s come for {rate}, such as flow {flow})"))
        };
        behind.iter().zip(loads).filter_map(named).collect()
    }
}

/// Whether a flow has an end, has not come to it and was not given up.
fn is_open(flow: &Flow, row: &FlowRow) -> bool {
    match &flow.transport {
        Transport::Udp(udp) => udp.packets.is_some_and(|all| row.result.sending.packets < u64::from(all)),
        Transport::Trace(trace) => trace.count().is_some_and(|all| row.result.sending.packets < all),
        Transport::Tcp(tcp) => tcp.bytes.is_some() && row.completion_ps().is_none() && !row.is_given_up(),
        Transport::Rdma(rdma) => rdma.bytes.is_some() && row.completion_ps().is_none(),
    }
}

/// Bits a second in the long run.
fn mean_rate(udp: &Udp) -> u128 {
    let mean = |span| match span {
        Span::Fixed(ps) | Span::Exponential(ps) => u128::from(ps),
    };
    match udp.drive {
        Drive::Constant | Drive::Poisson => u128::from(udp.rate),
        Drive::OnOff { on, off } => {
            let (on, off) = (mean(on), mean(off));
            (u128::from(udp.rate) * on).checked_div(on + off).unwrap_or(u128::from(udp.rate))
        }
    }
}

/// A line that names the first few and counts the others; none where there are none.
fn summarise(summary: &mut Summary, name: &'static str, all: impl Iterator<Item = String>) {
    let all: Vec<String> = all.collect();
    if all.is_empty() {
        return;
    }
    let mut text = all.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if all.len() > NAMED {
        text += &format!(" and {} more", all.len() - NAMED);
    }
    summary.line(name, text);
}
