//! The line: switches in a row, each with a host.

use super::{MOST_HOSTS, within};
use crate::network::{Network, NetworkBuilder, NodeKind};
use crate::routing::Routing;
use crate::{LinkSpec, PacketError};

/// `hosts` switches in a row, switch-0 .., joined by `trunk`, and at each a host, host-0 .., by `access`.
///
/// # Errors
///
/// [`PacketError::Parameter`] for fewer than two hosts or too many; those of links.
pub fn line(hosts: u32, access: &LinkSpec, trunk: &LinkSpec) -> Result<Network, PacketError> {
    within("line", "hosts", u64::from(hosts), 2, MOST_HOSTS)?;
    let mut builder = NetworkBuilder::new();
    builder.nodes("host", hosts, NodeKind::Host)?;
    let first = builder.nodes("switch", hosts, NodeKind::Switch)?;
    for place in 0..hosts {
        builder.link(place, first + place, access)?;
    }
    for place in 1..hosts {
        builder.link(first + place - 1, first + place, trunk)?;
    }
    builder.build_with(|_| Routing::Line(Line { hosts }))
}

/// Hosts, then switches. Ports of a switch: its host, the switch before it, the one after it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    hosts: u32,
}

impl Line {
    #[inline(always)]
    pub fn port(&self, node: u32, to: u32) -> u32 {
        if node < self.hosts {
            return 0;
        }
        let place = node - self.hosts;
        match to.cmp(&place) {
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Less => 1,
            // The first switch has none before it.
            std::cmp::Ordering::Greater => 1 + u32::from(place > 0),
        }
    }
}
