//! The fat tree of switches with `k` ports (Al-Fares, Loukissas and Vahdat, 2008): `k` pods of `k` / 2 edge
//! and as many aggregation switches, and (`k` / 2)^2 core switches.

use super::refuse;
use crate::network::{Network, NetworkBuilder, NodeKind};
use crate::routing::Routing;
use crate::routing::fat_tree::{FatTree, Level, Place};
use crate::{LinkSpec, PacketError};

/// The most ports of a switch: 524,288 hosts.
const MOST_K: u32 = 128;

/// The fat tree of `k`-port switches, all links alike: `k`^3 / 4 hosts host-0 .., edge-0 .., agg-0 .., core-0
/// .. Nodes are numbered pod by pod, hosts, edges and aggregation switches of each; then come the core
/// switches.
///
/// # Errors
///
/// [`PacketError::Parameter`] unless `k` is even and from 2 to 128; those of links.
pub fn fat_tree(k: u32, link: &LinkSpec) -> Result<Network, PacketError> {
    if !(2..=MOST_K).contains(&k) || !k.is_multiple_of(2) {
        return Err(refuse("fat tree", "k", k, format!("an even number from 2 to {MOST_K}")));
    }
    let half = k / 2;
    let mut builder = NetworkBuilder::new();
    let mut places = Vec::new();
    for pod in 0..k {
        for host in 0..half * half {
            builder.node(format!("host-{}", pod * half * half + host), NodeKind::Host)?;
            places.push(Place { pod, level: Level::Host, index: host / half, port: host % half });
        }
        for (name, level) in [("edge", Level::Edge), ("agg", Level::Aggregation)] {
            for index in 0..half {
                builder.node(format!("{name}-{}", pod * half + index), NodeKind::Switch)?;
                places.push(Place { pod, level, index, port: 0 });
            }
        }
    }
    let core = builder.nodes("core", half * half, NodeKind::Switch)?;
    places.resize(
        places.len() + (half * half) as usize,
        Place { pod: 0, level: Level::Core, index: 0, port: 0 },
    );
    let per_pod = half * half + k;
    for pod in 0..k {
        let hosts = pod * per_pod;
        let (edges, aggs) = (hosts + half * half, hosts + half * half + half);
        for edge in 0..half {
            for host in 0..half {
                builder.link(hosts + edge * half + host, edges + edge, link)?;
            }
            for agg in 0..half {
                builder.link(edges + edge, aggs + agg, link)?;
            }
        }
        for agg in 0..half {
            for up in 0..half {
                builder.link(aggs + agg, core + agg * half + up, link)?;
            }
        }
    }
    let network = builder.build_with(|_| Routing::FatTree(FatTree { half, places }))?;
    // Every pod is as near to each core switch as any other: they are dealt to pods evenly.
    let order = (0..k).flat_map(|pod| {
        let share = |pod: u32| core + pod * half * half / k;
        (pod * per_pod..(pod + 1) * per_pod).chain(share(pod)..share(pod + 1))
    });
    Ok(network.ordered(order.collect()))
}
