//! What elements of a platform have in common: profiles that hosts and links name, storage, properties, which
//! are kept as text and mean nothing to the network.

use std::collections::BTreeMap;

use super::units;
use super::xml::{Attribute, Element};
use crate::error::TextError;
use crate::ids::{HostId, Properties};
use crate::platform::Link;
use crate::profile::Profile;

/// The quantity that a profile changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Of {
    HostState,
    Speed,
    LinkState,
    Bandwidth,
    Latency,
}

pub(super) const KINDS: [(&str, Of); 5] = [
    ("HOST_AVAIL", Of::HostState),
    ("SPEED", Of::Speed),
    ("LINK_AVAIL", Of::LinkState),
    ("BANDWIDTH", Of::Bandwidth),
    ("LATENCY", Of::Latency),
];

impl Of {
    /// The allowed values: as a predicate and in words.
    pub fn values(self) -> (fn(f64) -> bool, &'static str) {
        match self {
            // SimGrid takes every number that is not above 0 for off.
            Self::HostState | Self::LinkState => {
                (|value| value.is_finite(), "0 for off, a number above 0 for on")
            }
            Self::Speed => (|value| (0.0..=1e30).contains(&value), "a share of the speed, from 0 on"),
            Self::Bandwidth => (units::is_bandwidth, "bytes per second from 0.001 to 1e24"),
            Self::Latency => (units::is_latency, "seconds from 1e-15 to 1e9, or 0"),
        }
    }

    /// The link's field for it.
    pub fn of_link(self, link: &mut Link) -> &mut Option<Profile> {
        match self {
            Self::Bandwidth => &mut link.bandwidth_profile,
            Self::Latency => &mut link.latency_profile,
            _ => &mut link.state_profile,
        }
    }
}

/// A profile to be read, and its host or link.
pub(super) struct Connection<'t> {
    pub of: Of,
    /// The name of the host or link.
    pub target: &'t Attribute,
    pub source: Source<'t>,
}

#[derive(Clone, Copy)]
pub(super) enum Source<'t> {
    File(&'t Attribute),
    /// The `<trace>` of this name.
    Trace(&'t Attribute),
}

impl<'t> Source<'t> {
    /// Whether it is a file, and the name of the file or trace.
    pub fn key(self) -> (bool, &'t str) {
        match self {
            Self::File(file) => (true, &file.value),
            Self::Trace(id) => (false, &id.value),
        }
    }
}

/// The storage elements read so far.
#[derive(Default)]
pub(super) struct Stores<'t> {
    pub kinds: BTreeMap<&'t str, &'t Element>,
    pub stores: Vec<&'t Element>,
    pub mounts: Vec<(&'t Element, HostId)>,
}

/// The properties of an element. Of several with one name the first counts, as in SimGrid.
pub(super) fn properties(element: &Element) -> Result<Properties, TextError> {
    let mut properties = Properties::new();
    for prop in element.children.iter().filter(|child| child.name == "prop") {
        let value = prop.need("value")?.value.clone();
        properties.entry(prop.id()?.value.clone()).or_insert(value);
    }
    Ok(properties)
}
