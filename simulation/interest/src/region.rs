//! Regions: boxes of half-open extents in a space of one or more dimensions, and the ids they are known by.

use std::fmt;

/// A box of half-open extents, one per axis: `[low, high)` contains `low` but not `high`.
///
/// Extents that only touch do not overlap. A region with an empty extent (`low == high`) overlaps nothing.
/// Coordinates are integers, as in HLA: a federation normalizes its quantities to them.
///
/// ```
/// use paceline_interest::Region;
///
/// let field_of_view = Region::new([0, 10], [5, 12]);
/// assert!(field_of_view.overlaps(&Region::point([4, 11])));
/// assert!(!field_of_view.overlaps(&Region::point([5, 11])));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region<const D: usize> {
    /// The first place of each extent.
    pub low: [i64; D],
    /// The place after the last one of each extent.
    pub high: [i64; D],
}

impl<const D: usize> Region<D> {
    /// From `low` to below `high`. A matcher checks that `low` is not above `high`.
    pub fn new(low: [i64; D], high: [i64; D]) -> Self {
        Self { low, high }
    }

    /// All places within `reach` of `center` on each axis, including those exactly `reach` away; cut off at
    /// the ends of `i64`.
    pub fn around(center: [i64; D], reach: [i64; D]) -> Self {
        let low = std::array::from_fn(|axis| center[axis].saturating_sub(reach[axis]));
        let high = std::array::from_fn(|axis| center[axis].saturating_add(reach[axis]).saturating_add(1));
        Self { low, high }
    }

    /// A single place. `i64::MAX` has no place after it: a region there is empty.
    pub fn point(place: [i64; D]) -> Self {
        Self { low: place, high: place.map(|coordinate| coordinate.saturating_add(1)) }
    }

    /// Whether an extent is empty.
    pub fn is_empty(&self) -> bool {
        (0..D).any(|axis| self.low[axis] == self.high[axis])
    }

    /// Whether the regions have a place in common.
    #[inline]
    pub fn overlaps(&self, other: &Self) -> bool {
        // An empty extent inside another one would pass the comparison of ends.
        !self.is_empty() && !other.is_empty() && (0..D).all(|axis| self.meets(other, axis))
    }

    /// Whether the extents on one axis have a place in common; neither is empty.
    #[inline]
    #[allow(clippy::needless_bitwise_bool)] // One branch that cannot be predicted, not two.
    pub(crate) fn meets(&self, other: &Self, axis: usize) -> bool {
        (self.low[axis] < other.high[axis]) & (other.low[axis] < self.high[axis])
    }

    /// The first axis along which the low end is above the high end.
    pub(crate) fn inverted_axis(&self) -> Option<usize> {
        (0..D).find(|&axis| self.low[axis] > self.high[axis])
    }
}

/// The role of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Data is published here (an update region of HLA).
    Update,
    /// A receiver wants the data published here (a subscription region of HLA).
    Subscription,
}

impl Role {
    /// The role of the regions with which regions of this role are matched.
    pub fn other(self) -> Self {
        match self {
            Self::Update => Self::Subscription,
            Self::Subscription => Self::Update,
        }
    }
}

/// The identity of a region: its role, and a number that the caller chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId {
    /// Update or subscription.
    pub role: Role,
    /// Unique among the regions of its role.
    pub number: u32,
}

impl RegionId {
    /// The update region with this number.
    pub fn update(number: u32) -> Self {
        Self { role: Role::Update, number }
    }

    /// The subscription region with this number.
    pub fn subscription(number: u32) -> Self {
        Self { role: Role::Subscription, number }
    }
}

impl fmt::Display for RegionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Update => "update region",
            Role::Subscription => "subscription region",
        };
        write!(f, "{role} {}", self.number)
    }
}
