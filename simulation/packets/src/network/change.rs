//! A link of a network that is other than those beside it.
//!
//! Invariant: what routes are computed with stays: metrics and weights.

use super::Network;
use super::builder::{check_link, check_loops};
use crate::link::Wire;
use crate::{LinkSpec, PacketError};

impl Network {
    /// Makes the link between two nodes another, in both directions; it keeps its metric and weight, with
    /// which the routes of the topology are computed.
    ///
    /// # Errors
    ///
    /// [`PacketError::NoLink`] where there is none; those of [`NetworkBuilder::link`] and
    /// [`NetworkBuilder::build`] for a link that cannot be.
    ///
    /// [`NetworkBuilder::link`]: crate::NetworkBuilder::link
    /// [`NetworkBuilder::build`]: crate::NetworkBuilder::build
    pub fn change_link(&mut self, from: u32, to: u32, spec: &LinkSpec) -> Result<(), PacketError> {
        let names = [from, to].map(|node| self.name(node).to_owned());
        let ports = (self.port_to(from, to), self.port_to(to, from));
        let ((Some(there), Some(back)), [from_name, to_name]) = (ports, names.clone()) else {
            let [from, to] = names;
            return Err(PacketError::NoLink { from, to });
        };
        let before = self.link(from, there);
        let spec = LinkSpec { metric: before.metric, weight: before.weight, ..spec.clone() };
        check_link(&spec, from_name, to_name)?;
        let wire = self.wires.len() as u32;
        self.wires.push(Wire::new(&spec));
        self.specs.push(spec);
        for (node, port) in [(from, there), (to, back)] {
            let place = self.first_port[node as usize] + port;
            self.hops[place as usize].wire = wire;
        }
        let links = (0..self.nodes()).flat_map(|node| {
            let ports = (0..self.ports(node)).map(move |port| (node, port));
            let link = |(node, port)| (node, self.peer(node, port), self.link(node, port).latency_ps > 0);
            ports.map(link).filter(|(node, peer, _)| node < peer)
        });
        check_loops(&self.names, links)
    }
}
