//! The routes of each epoch between failures and repairs of links.
//!
//! Invariant: routes at a time are those of the graph whose links were up the time of convergence before.
//! Graphs with the same links down are computed once.

use std::collections::{BTreeMap, BTreeSet};

use paceline_kernel::Time;

use super::Network;
use super::shortest::{self, MOST_ENTRIES};
use crate::PacketError;
use crate::clock::PS_PER_TICK;
use crate::routing::{Changes, Epochs, NO_COLUMN, Routing, Target};

impl Network {
    /// The same with routes that change when links fail and are repaired ([`LinkSpec::outages`]): at each
    /// change and `convergence` after it, all nodes take the shortest ways over the links that the change has
    /// left up. A packet for which there is no way then is dropped. Where no link ever fails nothing changes.
    ///
    /// [`LinkSpec::outages`]: crate::LinkSpec::outages
    ///
    /// # Errors
    ///
    /// [`PacketError::TooMany`] where the tables of routes would be too large.
    pub fn converging(mut self, convergence: Time) -> Result<Self, PacketError> {
        let changes = self.wires.iter().flat_map(|wire| wire.outages.changes());
        let mut times: BTreeSet<Time> = changes.map(|(at, _)| at).collect();
        if times.is_empty() || matches!(self.routing, Routing::Epochs(_)) {
            return Ok(self);
        }
        times.insert(Time::ZERO);
        let mut building = Building::new(&self)?;
        for at in times {
            let start_ps = match at {
                // What is down from the start on is known from the start on.
                Time::ZERO => 0,
                _ => at.saturating_add(convergence).as_ticks().saturating_mul(PS_PER_TICK),
            };
            let down: Vec<bool> = self.wires.iter().map(|wire| !wire.outages.is_up(at)).collect();
            building.add_epoch(&self, start_ps, down)?;
        }
        building.fill(&self)?;
        let base = std::mem::replace(&mut self.routing, Routing::None);
        self.routing = Routing::Epochs(Box::new(building.done(&self, base)));
        self.convergence = Some(convergence);
        Ok(self)
    }

    /// The time from the change of a link to that of the routes; none where routes do not change.
    pub fn convergence(&self) -> Option<Time> {
        self.convergence
    }

    /// As [`Network::next_port`], at a time in picoseconds; none where there is no way then.
    pub fn next_port_at(&self, now_ps: u64, node: u32, to: u32, hash: u64) -> Option<u32> {
        match &self.routing {
            Routing::Epochs(epochs) => epochs.port(now_ps, node, to, hash),
            routing => Some(routing.port(node, to, hash)),
        }
    }
}

/// Epochs that are being computed.
struct Building {
    epochs: Epochs,
    /// The nodes to which ways are computed, with their columns.
    columns: BTreeMap<u32, u32>,
    graphs: Vec<Graph>,
    /// Graphs by the wires that are down.
    known: BTreeMap<Vec<bool>, u32>,
}

/// A graph in which some links are down.
struct Graph {
    /// Which wires are down, by wire.
    down: Vec<bool>,
    /// The directions of links that are down: node and port.
    links: Vec<(u32, u32)>,
    /// Node, column and set of what is other than in the whole graph.
    routes: Vec<(u32, u32, u32)>,
}

impl Building {
    fn new(network: &Network) -> Result<Self, PacketError> {
        let (targets, columns) = shortest::targets(network);
        check_count((network.nodes() as usize).saturating_mul(columns.len()))?;
        let epochs = Epochs {
            base: Routing::None,
            starts_ps: Vec::new(),
            graphs: Vec::new(),
            changes: Vec::new(),
            targets,
            sets: vec![0, 0],
            ports: Vec::new(),
        };
        Ok(Self { epochs, columns, graphs: Vec::new(), known: BTreeMap::new() })
    }

    fn add_epoch(&mut self, network: &Network, start_ps: u64, down: Vec<bool>) -> Result<(), PacketError> {
        let fresh = self.graphs.len() as u32;
        let graph = *self.known.entry(down.clone()).or_insert(fresh);
        if graph == fresh {
            check_count((fresh as usize + 1).saturating_mul(network.nodes() as usize))?;
            let ports = |node| (0..network.ports(node)).map(move |port| (node, port));
            let is_down = |link: &(u32, u32)| down[network.hop(link.0, link.1).wire as usize];
            let links = (0..network.nodes()).flat_map(ports).filter(is_down).collect();
            self.graphs.push(Graph { down, links, routes: Vec::new() });
        }
        self.epochs.starts_ps.push(start_ps);
        self.epochs.graphs.push(graph);
        Ok(())
    }

    /// Computes the routes of all graphs, column by column.
    fn fill(&mut self, network: &Network) -> Result<(), PacketError> {
        let epochs = &mut self.epochs;
        let mut known = BTreeMap::from([(Vec::new(), 0)]);
        let mut count = self.graphs.len() * network.nodes() as usize;
        for (&to, &column) in &self.columns {
            let whole = shortest::distances(network, to, |_| true);
            for graph in &mut self.graphs {
                // Most failures are on the way to few: what no way leads over changes none.
                let is_on_a_way = |&(node, port): &(u32, u32)| {
                    shortest::is_way(network, &whole, to, node, network.hop(node, port))
                };
                if !graph.links.iter().any(is_on_a_way) {
                    continue;
                }
                let is_up = |wire: u32| !graph.down[wire as usize];
                let distances = shortest::distances(network, to, is_up);
                for node in (0..network.nodes()).filter(|node| *node != to) {
                    let ports = shortest::ways(network, &distances, to, node, is_up);
                    if ports != shortest::ways(network, &whole, to, node, |_| true) {
                        let set = shortest::set(ports, &mut known, &mut epochs.sets, &mut epochs.ports);
                        graph.routes.push((node, column, set));
                        count += 2;
                    }
                }
                check_count(count)?;
            }
        }
        Ok(())
    }

    /// The epochs of a network with the routes `base`.
    fn done(self, network: &Network, base: Routing) -> Epochs {
        let changes = self.graphs.into_iter().map(|graph| graph.changes(network, &self.epochs.targets));
        Epochs { base, changes: changes.collect(), ..self.epochs }
    }
}

impl Graph {
    fn changes(mut self, network: &Network, targets: &[Target]) -> Changes {
        let mut cut_off: Vec<u32> = self.links.iter().map(|(node, _)| *node).collect();
        cut_off.retain(|node| targets[*node as usize].attached != NO_COLUMN);
        if self.routes.is_empty() {
            return Changes { cut_off, ..Changes::default() };
        }
        self.routes.sort_unstable();
        let mut first = vec![0; network.nodes() as usize + 1];
        for (node, ..) in &self.routes {
            first[*node as usize + 1] += 1;
        }
        for node in 0..network.nodes() as usize {
            first[node + 1] += first[node];
        }
        let routes = self.routes.into_iter().map(|(_, column, set)| (column, set)).collect();
        Changes { cut_off, first, routes }
    }
}

fn check_count(count: usize) -> Result<(), PacketError> {
    if count > MOST_ENTRIES {
        let what = "routes in the tables of its failures";
        return Err(PacketError::TooMany { what, count, most: MOST_ENTRIES });
    }
    Ok(())
}
