//! Points that are near each other: a disc around each of many points, matched with all points in one pass.
//!
//! [`RegionMatcher`](crate::RegionMatcher) works on boxes that are inserted, moved and asked about one by
//! one. Where all points move in every step and everything in a disc is wanted, it is faster to sort the
//! points into cells anew and to compare distances while pairs are found. Coordinates are whole ticks on a
//! torus with 2^32 of them on each ring, so that they wrap around like 32-bit integers.
//!
//! Invariants: cells are at least as wide as the radius, so everything within the radius of a point is in its
//! cell or in one of the eight around it; what is reported, and its order, depends on the points and their
//! order alone.

use crate::Error;

/// The most cells along a side.
const MOST_PER_SIDE: u64 = 1 << 11;

/// A square part of a torus with 2^32 ticks on each ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The place in it from which it extends upwards on each axis, past the end of the ring if need be.
    pub low: [u32; 2],
    /// How many ticks wide it is, from 1 to 2^32.
    pub width: u64,
}

/// A point with a number that the caller knows it by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbered {
    /// What [`Nearby::each`] reports of it.
    pub number: u32,
    /// The place, in ticks.
    pub at: [u32; 2],
}

/// The points in a window, sorted by cells, for the question which are within a radius of each other.
///
/// ```
/// use paceline_interest::{Nearby, Numbered, Window};
///
/// let hosts = [[10, 10], [13, 14], [80, 80]];
/// let points = hosts.iter().zip(0..).map(|(at, number)| Numbered { number, at: *at });
/// // All within 5 ticks of each point; a point is not near itself.
/// let nearby = Nearby::new(Window { low: [0, 0], width: 100 }, 5, points)?;
/// let mut found = Vec::new();
/// nearby.each(|_| true, |center, near| found.push((center, near.to_vec())));
/// assert_eq!(found, [(0, vec![1]), (1, vec![0]), (2, vec![])]);
/// # Ok::<(), paceline_interest::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Nearby {
    radius: u32,
    /// Cells along a side.
    per_side: usize,
    /// Index in `sorted` of the first point of each cell, row by row; at the end the total.
    first: Vec<u32>,
    /// The points by cell; within a cell in the order in which they came.
    sorted: Vec<Numbered>,
}

impl Nearby {
    /// Sorts points into cells as wide as the radius or wider, of which there are at most 2^22. It takes time
    /// in proportion to the number of points and of cells, so the window should not be much wider than
    /// the radius times the root of the number of points.
    ///
    /// Errors: a point is not in the window ([`Error::Outside`]), or the window's width is not allowed
    /// ([`Error::Width`]).
    #[inline]
    pub fn new(
        window: Window,
        radius: u32,
        points: impl Iterator<Item = Numbered> + Clone,
    ) -> Result<Self, Error> {
        let Window { low, width } = window;
        if !(1..=1 << 32).contains(&width) {
            return Err(Error::Width { width });
        }
        let per_side = (width / u64::from(radius.max(1))).clamp(1, MOST_PER_SIDE);
        // Rounded up, so that the last place is in the last cell, but for the one cell of a window of 2^32
        // ticks.
        let cell = u32::try_from(width.div_ceil(per_side)).unwrap_or(u32::MAX);
        let (per_side, last) = (per_side as usize, per_side as u32 - 1);
        let mut is_inside = true;
        let of = |point: Numbered| {
            let [x, y] = [0, 1].map(|axis| point.at[axis].wrapping_sub(low[axis]));
            is_inside &= u64::from(x.max(y)) < width;
            (y / cell).min(last) * (last + 1) + (x / cell).min(last)
        };
        let cells: Vec<u32> = points.clone().map(of).collect();
        if !is_inside {
            return Err(Error::Outside);
        }
        let mut first = vec![0u32; per_side * per_side + 1];
        for cell in &cells {
            first[*cell as usize + 1] += 1;
        }
        for cell in 0..per_side * per_side {
            first[cell + 1] += first[cell];
        }
        let mut next = first.clone();
        let mut sorted = vec![Numbered::default(); cells.len()];
        for (point, cell) in points.zip(&cells) {
            let slot = &mut next[*cell as usize];
            sorted[*slot as usize] = point;
            *slot += 1;
        }
        Ok(Self { radius, per_side, first, sorted })
    }

    /// Calls `found` for every point for which `is_center` holds, with the numbers of all other points in the
    /// window that are within the radius of it. Points with the number of a center do not count as
    /// others. In a window wider than 2^32 ticks less the radius, points that are within the radius
    /// across its ends may be left out.
    #[inline]
    pub fn each(&self, is_center: impl Fn(Numbered) -> bool, mut found: impl FnMut(u32, &[u32])) {
        let reach = u64::from(self.radius) * u64::from(self.radius);
        let mut near = vec![0u32; self.sorted.len() + 1];
        for row in 0..self.per_side {
            for column in 0..self.per_side {
                let cell = row * self.per_side + column;
                let (left, right) = (column.saturating_sub(1), (column + 2).min(self.per_side));
                for center in &self.sorted[self.first[cell] as usize..self.first[cell + 1] as usize] {
                    if !is_center(*center) {
                        continue;
                    }
                    let mut count = 0;
                    for around in row.saturating_sub(1)..(row + 2).min(self.per_side) {
                        let start = self.first[around * self.per_side + left] as usize;
                        let end = self.first[around * self.per_side + right] as usize;
                        for other in &self.sorted[start..end] {
                            // Write first and advance `count` conditionally: a branch on the distance would
                            // be unpredictable.
                            near[count] = other.number;
                            let is_near = distance_squared(center.at, other.at) <= reach;
                            count += usize::from(is_near) * usize::from(other.number != center.number);
                        }
                    }
                    found(center.number, &near[..count]);
                }
            }
        }
    }
}

/// The square of the distance over the shortest way on the torus, in square ticks.
#[inline(always)]
fn distance_squared(one: [u32; 2], other: [u32; 2]) -> u64 {
    let square = |axis: usize| {
        let difference = i64::from(one[axis].wrapping_sub(other[axis]).cast_signed());
        (difference * difference).cast_unsigned()
    };
    square(0) + square(1)
}
