//! The errors of callers. A matcher that returned an error is unchanged and can still be used.

use thiserror::Error;

use crate::RegionId;

/// An impossible call. The matcher is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// There is no region with this id.
    #[error("there is no {0}")]
    Unknown(RegionId),
    /// There is a region with this id already.
    #[error("{0} exists already")]
    Duplicate(RegionId),
    /// A coordinate is not a number (NaN), or is infinite on a ring where that has no meaning.
    #[error("axis {axis}: a coordinate is not a number, or not finite on a ring")]
    NotANumber {
        /// The axis, from 0.
        axis: usize,
    },
    /// The low end of an extent is above its high end.
    #[error("axis {axis}: the low end of the extent is above its high end")]
    Inverted {
        /// The axis, from 0.
        axis: usize,
    },
    /// A ring does not start below its end, or its ends or its length are not finite.
    #[error("axis {axis}: a ring needs a finite start below its finite end")]
    Ring {
        /// The axis, from 0.
        axis: usize,
    },
    /// The size of a grid's cells is not a positive finite number.
    #[error("axis {axis}: the size of a cell must be positive and finite")]
    CellSize {
        /// The axis, from 0.
        axis: usize,
    },
    /// A point is not in the window.
    #[error("a point is not in the window")]
    Outside,
    /// A window has no place, or more than a ring.
    #[error("a window {width} ticks wide; allowed: from 1 to 2^32")]
    Width {
        /// The width.
        width: u64,
    },
}
