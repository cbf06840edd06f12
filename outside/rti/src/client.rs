//! Who calls.

/// Whoever calls: a session of the host. Numbers are the host's, and not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Client(pub u32);
