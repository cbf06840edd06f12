//! What a caller may not ask. A call that returns an error has changed nothing, so the caller can go on.

use thiserror::Error;

use crate::RegionId;

/// A call that cannot be answered. Nothing has changed, and further calls are answered as if it had not been
/// made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// No region has this id.
    #[error("there is no {0}")]
    Unknown(RegionId),
    /// Another region has this id.
    #[error("{0} exists already")]
    Duplicate(RegionId),
    /// The low end of an extent is above its high end.
    #[error("axis {axis}: the low end of the extent is above its high end")]
    Inverted {
        /// Counted from 0.
        axis: usize,
    },
    /// A point is not in the window.
    #[error("a point is not in the window")]
    Outside,
    /// A window has no place, or more than a ring.
    #[error("a window {width} ticks wide; allowed: from 1 to 2^32")]
    Width {
        /// Its width in ticks.
        width: u64,
    },
}
