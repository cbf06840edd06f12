//! Links of which a direction is captured: a wire of their own, like that of the link but for this.

use std::collections::{BTreeMap, BTreeSet};

use super::Network;

impl Network {
    /// Has these ports, (node, port), log what they send.
    pub(crate) fn capture(&mut self, ports: &BTreeSet<(u32, u32)>) {
        let mut twins = BTreeMap::new();
        for &(node, port) in ports {
            let place = self.wire_of(node, port);
            if self.wires[place].is_captured {
                continue;
            }
            let twin = *twins.entry(place).or_insert_with(|| {
                self.wires.push(self.wires[place].captured());
                self.specs.push(self.specs[place].clone());
                self.wires.len() as u32 - 1
            });
            let hop = self.first_port[node as usize] + port;
            self.hops[hop as usize].wire = twin;
        }
    }
}
