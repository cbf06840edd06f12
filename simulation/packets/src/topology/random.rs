//! A connected random graph of switches, each with a host.

use std::collections::BTreeSet;

use paceline_kernel::Rng;

use super::{MOST_HOSTS, within};
use crate::network::{Network, NetworkBuilder, NodeKind};
use crate::{LinkSpec, PacketError};

/// The stream of random numbers of this topology: "rand".
const STREAM: u64 = 0x7261_6e64;

/// `hosts` switches switch-0 .. with a host each, host-0 .., by `access`, and `links` links between switches,
/// `trunk`, drawn from `seed`: first a tree that joins all (each switch to one before it), then pairs that
/// are not yet joined, all alike.
///
/// # Errors
///
/// [`PacketError::Parameter`] for fewer than two hosts, too many, fewer links than a tree or more than pairs;
/// those of links.
pub fn random(
    hosts: u32,
    links: u32,
    seed: u64,
    access: &LinkSpec,
    trunk: &LinkSpec,
) -> Result<Network, PacketError> {
    within("random network", "hosts", u64::from(hosts), 2, MOST_HOSTS)?;
    let pairs = u64::from(hosts) * u64::from(hosts - 1) / 2;
    within("random network", "links", u64::from(links), u64::from(hosts) - 1, pairs)?;
    let mut builder = NetworkBuilder::new();
    builder.nodes("host", hosts, NodeKind::Host)?;
    let first = builder.nodes("switch", hosts, NodeKind::Switch)?;
    for place in 0..hosts {
        builder.link(place, first + place, access)?;
    }
    let mut rng = Rng::new(seed, STREAM);
    let mut joined: BTreeSet<(u32, u32)> = BTreeSet::new();
    for place in 1..hosts {
        joined.insert((rng.below(u64::from(place)) as u32, place));
    }
    // Most draws hit a pair that is free, but for graphs that are nearly complete: there the rest is drawn
    // from a list of what is free.
    while joined.len() < links as usize && u64::from(links) * 2 <= pairs {
        let (one, other) = (rng.below(u64::from(hosts)) as u32, rng.below(u64::from(hosts)) as u32);
        if one != other {
            joined.insert((one.min(other), one.max(other)));
        }
    }
    if joined.len() < links as usize {
        let all = (0..hosts).flat_map(|one| (one + 1..hosts).map(move |other| (one, other)));
        let mut free: Vec<(u32, u32)> = all.filter(|pair| !joined.contains(pair)).collect();
        rng.shuffle(&mut free);
        free.truncate(links as usize - joined.len());
        joined.extend(free);
    }
    for (one, other) in joined {
        builder.link(first + one, first + other, trunk)?;
    }
    builder.build()
}
