//! The space that regions lie in, and regions.
//!
//! A region is a box of half-open extents, one per axis: `[low, high)` contains `low` but not `high`. Two regions overlap if their
//! extents have a place in common on every axis; extents that only touch do not overlap. An extent with `low == high` is empty, and
//! a region with an empty extent overlaps nothing.

use crate::Coordinate;
use crate::Error;
use crate::keys::Keys;

/// The shape of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axis<C> {
    /// From the least coordinate to the greatest.
    Line,
    /// A ring: the place after the last one below `end` is `start`. An extent may reach past either end, and wraps around.
    Ring {
        /// The first place of the ring.
        start: C,
        /// The end of the ring; as a place, `end` is the same as `start`.
        end: C,
    },
}

/// A space of `D` dimensions, with the shape of each axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space<C, const D: usize> {
    axes: [Axis<C>; D],
}

impl<C: Coordinate, const D: usize> Space<C, D> {
    /// Every axis is a line.
    pub fn lines() -> Self {
        Self { axes: [Axis::Line; D] }
    }

    /// Every axis is a ring with this start and end. An error if one of them is not a valid ring ([`Error::Ring`]).
    pub fn torus(rings: [(C, C); D]) -> Result<Self, Error> {
        Self::new(rings.map(|(start, end)| Axis::Ring { start, end }))
    }

    /// A space with these axes. An error if one of them is not a valid ring ([`Error::Ring`]).
    pub fn new(axes: [Axis<C>; D]) -> Result<Self, Error> {
        for (axis, kind) in axes.iter().enumerate() {
            if let Axis::Ring { start, end } = *kind
                && !C::is_ring(start, end)
            {
                return Err(Error::Ring { axis });
            }
        }
        Ok(Self { axes })
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis<C>; D] {
        &self.axes
    }

    /// The region as keys; an error if it is invalid.
    pub(crate) fn keys(&self, region: &Region<C, D>) -> Result<Keys<D>, Error> {
        let (mut low, mut high, mut is_empty) = ([0; D], [0; D], false);
        for axis in 0..D {
            let (from, to) = (region.low[axis], region.high[axis]);
            let (Some(from_key), Some(to_key)) = (from.key(), to.key()) else {
                return Err(Error::NotANumber { axis });
            };
            if from_key > to_key {
                return Err(Error::Inverted { axis });
            }
            (low[axis], high[axis]) = (from_key, to_key);
            if from_key == to_key {
                is_empty = true;
            } else if let Axis::Ring { start, end } = self.axes[axis] {
                let keys = C::on_ring(from, to, start, end).and_then(|(from, to)| from.key().zip(to.key()));
                (low[axis], high[axis]) = keys.ok_or(Error::NotANumber { axis })?;
            }
        }
        Ok(Keys { low, high, is_empty })
    }

    /// The keys of the ends of a ring; for a line, the whole range.
    pub(crate) fn ends(&self, axis: usize) -> (i64, i64) {
        match self.axes[axis] {
            Axis::Line => (i64::MIN, i64::MAX),
            Axis::Ring { start, end } => (start.key().unwrap_or(i64::MIN), end.key().unwrap_or(i64::MAX)),
        }
    }
}

/// A box of half-open extents `[low, high)`, one per axis. It is checked when it is passed to a matcher.
///
/// ```
/// use paceline_interest::Region;
///
/// let field_of_view = Region::new([0.0, 10.0], [5.0, 12.0]);
/// assert_eq!(Region::around([2.5, 11.0], [2.5, 1.0]).low, field_of_view.low);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region<C, const D: usize> {
    /// The low end of each extent, which belongs to the extent.
    pub low: [C; D],
    /// The high end of each extent, which does not belong to it.
    pub high: [C; D],
}

impl<C: Coordinate, const D: usize> Region<C, D> {
    /// From `low` to below `high`. On a ring, `high` may be past the end and `low` before the start; an extent as long as the ring
    /// or longer is the whole ring.
    pub fn new(low: [C; D], high: [C; D]) -> Self {
        Self { low, high }
    }

    /// All places within `reach` of `center` on each axis, including those exactly `reach` away.
    pub fn around(center: [C; D], reach: [C; D]) -> Self {
        let low = std::array::from_fn(|axis| center[axis].minus(reach[axis]));
        let high = std::array::from_fn(|axis| center[axis].plus(reach[axis]).successor());
        Self { low, high }
    }

    /// The single place `place`.
    pub fn point(place: [C; D]) -> Self {
        Self { low: place, high: place.map(|coordinate| coordinate.successor()) }
    }
}
