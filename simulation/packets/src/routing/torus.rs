//! Routes of a torus, computed from numbers of nodes.

/// Hosts, then switches. Ports of a switch: its host, then the links of each dimension.
#[derive(Clone, Debug)]
pub(crate) struct Torus {
    count: u32,
    /// By dimension: the side, and the distance of neighbours in numbers.
    dimensions: Vec<(u32, u32)>,
    /// By switch and dimension: the ports to the switch before and to the one after.
    ports: Vec<[u8; 2]>,
}

impl Torus {
    /// `port_to` gives the port of a node to a neighbour.
    pub fn new(sides: &[u32], count: u32, port_to: impl Fn(u32, u32) -> Option<u32>) -> Self {
        let (mut stride, mut dimensions) = (1, Vec::new());
        for &side in sides {
            dimensions.push((side, stride));
            stride *= side;
        }
        let mut ports = Vec::new();
        for place in 0..count {
            for &(side, stride) in &dimensions {
                let at = place / stride % side;
                let towards = |other: u32| {
                    let peer = count + place - at * stride + other * stride;
                    // Only a ring of one switch has no such port, and nothing is sent along it.
                    port_to(count + place, peer).unwrap_or(0) as u8
                };
                ports.push([towards((at + side - 1) % side), towards((at + 1) % side)]);
            }
        }
        Self { count, dimensions, ports }
    }

    /// One dimension after the other, in each the shorter way round; of two equal ones the hash chooses.
    #[inline(always)]
    pub fn port(&self, node: u32, to: u32, hash: u64) -> u32 {
        if node < self.count || node - self.count == to {
            return 0;
        }
        let place = node - self.count;
        for (dimension, &(side, stride)) in self.dimensions.iter().enumerate() {
            let (here, there) = (place / stride % side, to / stride % side);
            if here != there {
                let ahead = if there > here { there - here } else { there + side - here };
                let is_tie = 2 * ahead == side;
                let plus = if is_tie { hash >> dimension & 1 == 1 } else { 2 * ahead < side };
                let ports = self.ports[place as usize * self.dimensions.len() + dimension];
                return u32::from(ports[usize::from(plus)]);
            }
        }
        0
    }
}
