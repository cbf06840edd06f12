//! The torus: switches in a grid of any number of dimensions that is closed in each, a host at every switch.

use super::{MOST_HOSTS, refuse, within};
use crate::network::{Network, NetworkBuilder, NodeKind};
use crate::routing::Routing;
use crate::{LinkSpec, PacketError};

/// The most dimensions: what a chosen direction each has a bit of the hash for.
const MOST_DIMENSIONS: usize = 16;

/// Switches switch-0 .. on a torus with `sides` switches along each dimension, joined by `trunk`, and at each
/// a host, host-0 .., by `access`. The first dimension changes fastest.
///
/// # Errors
///
/// [`PacketError::Parameter`] for no dimension, a side of 0, one switch in all, or too many; those of links.
pub fn torus(sides: &[u32], access: &LinkSpec, trunk: &LinkSpec) -> Result<Network, PacketError> {
    let shown = || sides.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ");
    if sides.is_empty() || sides.len() > MOST_DIMENSIONS || sides.contains(&0) {
        let allowed = format!("from 1 to {MOST_DIMENSIONS} sides, each at least 1");
        return Err(refuse("torus", "sides", shown(), allowed));
    }
    let count = sides.iter().fold(1u64, |count, side| count.saturating_mul(u64::from(*side)));
    within("torus", "switches", count, 2, MOST_HOSTS)?;
    let count = count as u32;
    let mut builder = NetworkBuilder::new();
    builder.nodes("host", count, NodeKind::Host)?;
    let first = builder.nodes("switch", count, NodeKind::Switch)?;
    for place in 0..count {
        builder.link(place, first + place, access)?;
    }
    let mut stride = 1;
    for &side in sides {
        for place in 0..count {
            let at = place / stride % side;
            // A ring of two switches is one link, of one switch none.
            if side > 2 || (side == 2 && at == 0) {
                let next = place - at * stride + (at + 1) % side * stride;
                builder.link(first + place, first + next, trunk)?;
            }
        }
        stride *= side;
    }
    let network = builder.build_with(|network| Routing::Torus(Torus::new(network, sides, count)))?;
    // By numbers: runs of them are slabs across the last dimension.
    Ok(network.ordered((0..count).flat_map(|place| [first + place, place]).collect()))
}

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
    fn new(network: &Network, sides: &[u32], count: u32) -> Self {
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
                    network.port_to(count + place, peer).unwrap_or(0) as u8
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
