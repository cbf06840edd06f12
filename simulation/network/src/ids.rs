//! What names the elements of a platform: their positions among those of their kind.
//!
//! Ids are of one platform, and mean nothing in another.

use std::collections::BTreeMap;

/// A host, by its position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(pub u32);

/// A link, by its position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PointId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ZoneId(pub u32);

/// The `<prop>` elements by id; they have no meaning for the network.
pub type Properties = BTreeMap<String, String>;

/// The link from a host to itself if the file gives no such route.
pub(crate) const LOOPBACK: LinkId = LinkId(0);
