//! Regions as keys, and the pieces into which rings cut them.
//!
//! On an axis that is a ring, `low > high` means that the extent goes past the end. Such an extent is cut into `[low, end)` and
//! `[start, high)`, its *first* and its *second* piece; so a region is cut into up to `2^D` pieces, boxes that do not wrap around.
//! If two regions overlap, several pairs of their pieces may overlap; [`Keys::is_first`] selects the one that counts.

use crate::{Coordinate, Space};

/// A region as keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keys<const D: usize> {
    pub low: [i64; D],
    pub high: [i64; D],
    pub is_empty: bool,
}

impl<const D: usize> Keys<D> {
    /// Whether the regions have a place in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meets = |axis: usize| {
            let (low, high) = (self.low[axis], self.high[axis]);
            let (other_low, other_high) = (other.low[axis], other.high[axis]);
            match (low > high, other_low > other_high) {
                (false, false) => low < other_high && other_low < high,
                (true, false) => low < other_high || other_low < high,
                (false, true) => low < other_high || other_low < high,
                // Both contain the last place before the end.
                (true, true) => true,
            }
        };
        !self.is_empty && !other.is_empty && (0..D).all(meets)
    }

    /// Calls `each` with the pieces of the region with this number; an empty region has none.
    pub fn pieces<C: Coordinate>(&self, space: &Space<C, D>, number: u32, mut each: impl FnMut(Piece<D>)) {
        if self.is_empty {
            return;
        }
        let wraps = |axis: usize| self.low[axis] > self.high[axis];
        let mask = (0..D).filter(|&axis| wraps(axis)).fold(0_u16, |mask, axis| mask | 1 << axis);
        // Each subset of the wrapping axes, from none to all, gives one piece: the axes on which it is a second piece.
        let mut seconds = 0_u16;
        loop {
            let mut piece = Piece { low: self.low, high: self.high, number, seconds, begins_before: 0 };
            for axis in (0..D).filter(|&axis| wraps(axis)) {
                let (start, end) = space.ends(axis);
                if seconds >> axis & 1 == 0 {
                    piece.high[axis] = end;
                } else {
                    piece.low[axis] = start;
                }
            }
            each(piece);
            seconds = seconds.wrapping_sub(mask) & mask;
            if seconds == 0 {
                return;
            }
        }
    }

    /// Whether an overlapping pair of pieces, one of this region and one of `other`, is the first such pair: on every axis, no
    /// earlier piece of one region overlaps any piece of the other.
    pub fn is_first(&self, seconds: u16, other: &Self, other_seconds: u16) -> bool {
        (0..D).all(|axis| {
            let second = |seconds: u16| seconds >> axis & 1 == 1;
            let (is_second, is_other_second) = (second(seconds), second(other_seconds));
            let (wraps, other_wraps) = (self.low[axis] > self.high[axis], other.low[axis] > other.high[axis]);
            match (wraps, other_wraps) {
                (true, true) => !is_second && !is_other_second,
                (true, false) => !is_second || other.high[axis] <= self.low[axis],
                (false, true) => !is_other_second || self.high[axis] <= other.low[axis],
                (false, false) => true,
            }
        })
    }
}

/// A box that does not wrap around: a region or a piece of it. It is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<const D: usize> {
    pub low: [i64; D],
    pub high: [i64; D],
    /// The number of the region.
    pub number: u32,
    /// The axes, by bits, on which this is the second piece of an extent that wraps.
    pub seconds: u16,
    /// For a piece in a tile: the axes, by bits, on which it begins in an earlier tile.
    pub begins_before: u16,
}

impl<const D: usize> Piece<D> {
    /// Whether the pieces have a place in common.
    #[inline]
    pub fn overlaps(&self, other: &Self) -> bool {
        (0..D).all(|axis| self.meets(other, axis))
    }

    /// Whether the pieces have a place in common on one axis.
    #[inline]
    #[allow(clippy::needless_bitwise_bool)] // One branch that cannot be predicted, not two.
    pub fn meets(&self, other: &Self, axis: usize) -> bool {
        (self.low[axis] < other.high[axis]) & (other.low[axis] < self.high[axis])
    }

    /// The key by which lists of pieces are sorted. It is unique within a role.
    #[inline]
    pub fn order(&self) -> (i64, u32, u16) {
        (self.low[0], self.number, self.seconds)
    }
}
