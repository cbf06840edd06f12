//! The line: switches in a row, each with a host.

use super::{MOST_HOSTS, within};
use crate::network::{Network, NetworkBuilder, NodeKind};
use crate::routing::{Line, Routing};
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
