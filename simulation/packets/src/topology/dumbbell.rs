//! The dumbbell: hosts at two routers that one link joins. The star: hosts at one switch.

use super::{MOST_HOSTS, within};
use crate::network::{Network, NetworkBuilder, NodeKind};
use crate::routing::{Dumbbell, Routing, Star};
use crate::{LinkSpec, PacketError};

/// `pairs` hosts left-0 .. at router-left, as many right-0 .. at router-right, and a bottleneck between the
/// two.
///
/// # Errors
///
/// [`PacketError::Parameter`] for no pairs or too many; those of links.
pub fn dumbbell(pairs: u32, access: &LinkSpec, bottleneck: &LinkSpec) -> Result<Network, PacketError> {
    within("dumbbell", "pairs", u64::from(pairs), 1, MOST_HOSTS / 32)?;
    let mut builder = NetworkBuilder::new();
    let left = builder.nodes("left", pairs, NodeKind::Host)?;
    let right = builder.nodes("right", pairs, NodeKind::Host)?;
    let routers = [("router-left", left), ("router-right", right)];
    let first = 2 * pairs;
    for (name, hosts) in routers {
        let router = builder.node(name, NodeKind::Router)?;
        for host in hosts..hosts + pairs {
            builder.link(host, router, access)?;
        }
    }
    builder.link(first, first + 1, bottleneck)?;
    builder.build_with(|_| Routing::Dumbbell(Dumbbell { pairs }))
}

/// `hosts` hosts host-0 .. at one switch.
///
/// # Errors
///
/// [`PacketError::Parameter`] for fewer than two hosts or too many; those of links.
pub fn star(hosts: u32, link: &LinkSpec) -> Result<Network, PacketError> {
    within("star", "hosts", u64::from(hosts), 2, MOST_HOSTS / 16)?;
    let mut builder = NetworkBuilder::new();
    builder.nodes("host", hosts, NodeKind::Host)?;
    let hub = builder.node("switch", NodeKind::Switch)?;
    for host in 0..hosts {
        builder.link(host, hub, link)?;
    }
    builder.build_with(|_| Routing::Star(Star { hub }))
}
