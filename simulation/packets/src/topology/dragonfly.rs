//! The dragonfly (Kim, Dally, Scott and Abts, 2008): groups of routers, all of a group joined to each other,
//! and every group joined to every other by a link of one of its routers.

use super::{MOST_HOSTS, refuse, within};
use crate::network::{Network, NetworkBuilder, NodeKind};
use crate::{LinkSpec, PacketError};

/// `groups` groups of `routers` routers (router-0 .., group by group), each with `hosts` hosts (host-0 ..,
/// router by router) and at most `global` links to other groups. Links of hosts are `access`, those within a
/// group `local`, those between groups `between`. Routes are shortest.
///
/// # Errors
///
/// [`PacketError::Parameter`] for none of something, too many, or more groups than global links reach; those
/// of links.
pub fn dragonfly(
    [groups, routers, hosts, global]: [u32; 4],
    access: &LinkSpec,
    local: &LinkSpec,
    between: &LinkSpec,
) -> Result<Network, PacketError> {
    for (key, value) in [("groups", groups), ("routers", routers), ("hosts", hosts)] {
        within("dragonfly", key, u64::from(value), 1, 1 << 12)?;
    }
    let count = u64::from(groups) * u64::from(routers);
    within("dragonfly", "groups x routers x hosts", count * u64::from(hosts), 2, MOST_HOSTS)?;
    if groups > 1 && u64::from(groups - 1) > u64::from(routers) * u64::from(global) {
        let reach = u64::from(routers) * u64::from(global) + 1;
        let allowed = format!("at most {reach}: {routers} routers with {global} global links each");
        return Err(refuse("dragonfly", "groups", groups, allowed));
    }
    let count = count as u32;
    let mut builder = NetworkBuilder::new();
    let first = count * hosts;
    builder.nodes("host", first, NodeKind::Host)?;
    builder.nodes("router", count, NodeKind::Router)?;
    for host in 0..first {
        builder.link(host, first + host / hosts, access)?;
    }
    for group in 0..groups {
        let start = first + group * routers;
        for one in 0..routers {
            for other in one + 1..routers {
                builder.link(start + one, start + other, local)?;
            }
        }
    }
    // Group `one` sees the others in the order of their distance round the ring of groups: the n-th of them
    // is reached from router n / global, so that links are dealt evenly.
    let end = |from: u32, to: u32| {
        let nth = (to + groups - from) % groups - 1;
        first + from * routers + nth / global
    };
    for one in 0..groups {
        for other in one + 1..groups {
            builder.link(end(one, other), end(other, one), between)?;
        }
    }
    let order = (0..count)
        .flat_map(|router| std::iter::once(first + router).chain(router * hosts..(router + 1) * hosts));
    Ok(builder.build()?.ordered(order.collect()))
}
