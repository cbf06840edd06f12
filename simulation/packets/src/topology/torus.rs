//! The torus: switches in a grid of any number of dimensions that is closed in each, a host at every switch.

use super::{MOST_HOSTS, refuse, within};
use crate::network::{Network, NetworkBuilder, NodeKind};
use crate::routing::{Routing, Torus};
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
    let routes = |network: &Network| {
        Routing::Torus(Torus::new(sides, count, |node, peer| network.port_to(node, peer)))
    };
    let network = builder.build_with(routes)?;
    // By numbers: runs of them are slabs across the last dimension.
    Ok(network.ordered((0..count).flat_map(|place| [first + place, place]).collect()))
}
