//! Leaf and spine: hosts at leaf switches, each of which is joined to every spine switch (a folded Clos
//! network).

use super::{MOST_HOSTS, within};
use crate::network::{Network, NetworkBuilder, NodeKind};
use crate::routing::{LeafSpine, Routing};
use crate::{LinkSpec, PacketError};

/// `leaves` switches leaf-0 .. with `hosts` hosts each (host-0 .. host-(leaves x hosts - 1), leaf by leaf),
/// and `spines` switches spine-0 ..
///
/// # Errors
///
/// [`PacketError::Parameter`] for none of something or too many; those of links.
pub fn leaf_spine(
    leaves: u32,
    spines: u32,
    hosts: u32,
    access: &LinkSpec,
    fabric: &LinkSpec,
) -> Result<Network, PacketError> {
    for (key, value) in [("leaves", leaves), ("spines", spines), ("hosts", hosts)] {
        within("leaf-spine", key, u64::from(value), 1, 1 << 14)?;
    }
    let all = leaves * hosts;
    within("leaf-spine", "leaves x hosts", u64::from(all), 2, MOST_HOSTS)?;
    let mut builder = NetworkBuilder::new();
    builder.nodes("host", all, NodeKind::Host)?;
    let leaf = builder.nodes("leaf", leaves, NodeKind::Switch)?;
    let spine = builder.nodes("spine", spines, NodeKind::Switch)?;
    for host in 0..all {
        builder.link(host, leaf + host / hosts, access)?;
    }
    for number in 0..leaves {
        for up in 0..spines {
            builder.link(leaf + number, spine + up, fabric)?;
        }
    }
    let network = builder.build_with(|_| Routing::LeafSpine(LeafSpine { leaves, spines, hosts }))?;
    let order = (0..leaves).flat_map(|number| {
        let share = |number: u32| spine + number * spines / leaves;
        let mine = number * hosts..(number + 1) * hosts;
        std::iter::once(leaf + number).chain(mine).chain(share(number)..share(number + 1))
    });
    Ok(network.ordered(order.collect()))
}
