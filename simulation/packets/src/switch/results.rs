//! What switches with shared buffers leave behind: how often they paused, and what waits for ever.
//!
//! Invariant: nothing here depends on how nodes were divided among federates.

use std::collections::BTreeMap;

use paceline_results::Summary;
use serde::{Deserialize, Serialize};

use super::Switch;
use crate::network::Network;
use crate::port::Port;

/// How many ports that are paused at the end are named.
const NAMED: usize = 5;

/// A port that is paused at the end of the run, with packets that it may not send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HeldUp {
    /// The node that would send.
    pub node: u32,
    /// The port of that node that is paused.
    pub port: u32,
    /// The packets that wait there.
    pub waiting: usize,
    /// The class of the first that is paused.
    pub class: u8,
    /// The flow that this one is of, unless it is a frame of a machine.
    pub flow: Option<u32>,
}

/// What switches with a shared buffer, and their neighbours, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchResults {
    /// Frames sent that paused a class.
    pub pauses: u64,
    /// Bytes that count in switches at the end of the run.
    pub counted_bytes: u64,
    /// Ports that are paused at the end of the run.
    pub held_up: Vec<HeldUp>,
}

impl SwitchResults {
    /// Takes in the final state of a node.
    pub(crate) fn add_node(&mut self, node: u32, ports: &[Port], switch: Option<&Switch>) {
        self.counted_bytes += switch.map_or(0, Switch::counted_bytes);
        for (port, of) in (0..).zip(ports) {
            self.pauses += of.pauses();
            let held_up = of.held_up();
            self.held_up.extend(held_up.map(|(waiting, class, flow)| HeldUp {
                node,
                port,
                waiting,
                class,
                flow,
            }));
        }
    }

    /// Takes in what another federate has left behind.
    pub(crate) fn join(&mut self, other: &Self) {
        self.pauses += other.pauses;
        self.counted_bytes += other.counted_bytes;
        self.held_up.extend_from_slice(&other.held_up);
        self.held_up.sort_unstable();
    }

    /// A line for the pauses, and those for ports that are paused at the end, if there are any.
    pub(crate) fn summarize(&self, network: &Network, summary: &mut Summary) {
        summary.line("pauses", self.pauses);
        if self.held_up.is_empty() {
            return;
        }
        let name = |node: u32| network.name(node);
        let named = |held: &HeldUp| {
            let &HeldUp { node, port, waiting, class, flow } = held;
            let (from, to) = (name(node), name(network.peer(node, port)));
            let packets = if waiting == 1 { "1 packet waits" } else { &format!("{waiting} packets wait") };
            let first = flow.map_or("a frame of a machine".to_owned(), |flow| format!("of flow {flow}"));
            format!("{from:?} to {to:?}: {packets}, class {class} is paused, the first is {first}")
        };
        let mut text = self.held_up.iter().take(NAMED).map(named).collect::<Vec<_>>().join("; ");
        if self.held_up.len() > NAMED {
            text += &format!("; and {} more", self.held_up.len() - NAMED);
        }
        summary.line("paused_at_end", text);
        if let Some(circle) = self.circle(network) {
            let names: Vec<String> = circle.iter().map(|node| format!("{:?}", name(*node))).collect();
            summary.line("pause_circle", names.join(" -> "));
        }
    }

    /// Nodes that have paused each other in a circle, the first again at the end. Where what has filled each
    /// of them is what it may not send, none of them ever goes on.
    pub fn circle(&self, network: &Network) -> Option<Vec<u32>> {
        let mut waits_for: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for held in &self.held_up {
            waits_for.entry(held.node).or_default().push(network.peer(held.node, held.port));
        }
        // Nodes that wait for nobody who waits are taken away, until all that is left is in circles or leads
        // to one.
        loop {
            let waiting: Vec<u32> = waits_for.keys().copied().collect();
            let before = waits_for.values().map(Vec::len).sum::<usize>();
            for others in waits_for.values_mut() {
                others.retain(|node| waiting.binary_search(node).is_ok());
            }
            waits_for.retain(|_, others| !others.is_empty());
            if waits_for.values().map(Vec::len).sum::<usize>() == before {
                break;
            }
        }
        let mut path = vec![*waits_for.keys().next()?];
        loop {
            let next = waits_for[path.last()?][0];
            if let Some(place) = path.iter().position(|node| *node == next) {
                path.push(next);
                return Some(path.split_off(place));
            }
            path.push(next);
        }
    }
}
