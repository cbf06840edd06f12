//! Stripes: equal parts of the second axis, so that only regions with a stripe in common are compared.
//!
//! A region is entered in every stripe that it overlaps. So two overlapping regions meet in one or more
//! stripes; the meeting that counts is in the stripe where at least one of them begins ([`counts`]). That
//! stripe exists and is unique: it contains the greater of the two low ends (the reference point of Dittrich
//! and Seeger, 2000). In one dimension there is one stripe.

use crate::Region;

/// Stripes are at least this many times as wide as the mean extent, so that most regions are in one or two of
/// them.
const WIDTH_IN_EXTENTS: f64 = 2.0;

/// A stripe is so wide that a region meets at least this many others in it on the first axis: with fewer,
/// entering regions in more stripes costs more than it saves in comparisons.
const MEETS_MIN: f64 = 4.0;

/// The most stripes per region: where all regions are short, the stripes alone would fill the memory.
const STRIPES_PER_REGION: f64 = 2.0;

/// The most entries per region: a few long regions among many short ones would be entered in very many
/// stripes.
const ENTRIES_PER_REGION: usize = 16;

/// A region that is not empty, as entered in a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<const D: usize> {
    pub region: Region<D>,
    pub number: u32,
    /// Whether the region begins in an earlier stripe.
    pub begins_before: bool,
}

impl<const D: usize> Entry<D> {
    /// An empty region has no entry.
    pub fn new(number: u32, region: Region<D>) -> Option<Self> {
        (!region.is_empty()).then_some(Self { region, number, begins_before: false })
    }

    /// The key by which lists of entries are sorted, unique within a role.
    #[inline]
    pub fn order(&self) -> (i64, u32) {
        (self.region.low[0], self.number)
    }
}

/// Whether the meeting of two regions in a stripe is the one that counts.
#[inline]
pub(super) fn counts<const D: usize>(one: &Entry<D>, other: &Entry<D>) -> bool {
    !(one.begins_before && other.begins_before)
}

/// The division of the second axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stripes {
    start: f64,
    /// Stripes per unit of length.
    density: f64,
    /// Places beyond either end belong to the outermost stripes.
    count: usize,
}

/// On one axis: the least low end, the greatest high end, and the mean extent of the role with the longer
/// ones.
struct Spread {
    low: f64,
    high: f64,
    mean: f64,
}

impl Spread {
    fn new<const D: usize>(roles: &[Vec<Entry<D>>; 2], axis: usize) -> Self {
        let mut spread = Self { low: f64::INFINITY, high: f64::NEG_INFINITY, mean: 0.0 };
        for entries in roles.iter().filter(|entries| !entries.is_empty()) {
            let mut sum = 0.0;
            for Entry { region, .. } in entries {
                let (low, high) = (region.low[axis] as f64, region.high[axis] as f64);
                (spread.low, spread.high) = (spread.low.min(low), spread.high.max(high));
                sum += high - low;
            }
            spread.mean = spread.mean.max(sum / entries.len() as f64);
        }
        spread
    }

    fn length(&self) -> f64 {
        self.high - self.low
    }
}

impl Stripes {
    const ONE: Self = Self { start: 0.0, density: 0.0, count: 1 };

    /// Stripes for these regions, by role. The number of stripes and of entries in them is limited in
    /// proportion to the number of regions.
    pub fn new<const D: usize>(roles: &[Vec<Entry<D>>; 2]) -> Self {
        let regions = roles.iter().map(Vec::len).sum::<usize>();
        if D < 2 || regions == 0 {
            return Self::ONE;
        }
        let (first, second) = (Spread::new(roles, 0), Spread::new(roles, 1));
        let meets = regions as f64 * first.mean / first.length();
        let most = (meets / MEETS_MIN).max(1.0);
        let mut width = (second.mean * WIDTH_IN_EXTENTS).max(second.length() / most);
        loop {
            let count = (second.length() / width).ceil();
            // NaN, where lengths near the ends of `i64` are rounded to zero, gives one stripe as well.
            if count.is_nan() || count <= 1.0 {
                return Self::ONE;
            }
            if count <= STRIPES_PER_REGION * regions as f64 + 1.0 {
                let stripes = Self { start: second.low, density: 1.0 / width, count: count as usize };
                if stripes.entries(roles) <= regions.saturating_mul(ENTRIES_PER_REGION) {
                    return stripes;
                }
            }
            width *= 2.0;
        }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of entries of these regions.
    fn entries<const D: usize>(&self, roles: &[Vec<Entry<D>>; 2]) -> usize {
        let entries = |entry: &Entry<D>| {
            let (first, last) = self.range(entry);
            last - first + 1
        };
        roles.iter().flatten().map(entries).fold(0, usize::saturating_add)
    }

    /// The stripe of a place; monotonic.
    #[inline]
    fn stripe(&self, place: i64) -> usize {
        // A conversion from float saturates: places below the start are in the first stripe.
        (((place as f64 - self.start) * self.density) as usize).min(self.count - 1)
    }

    /// The first and the last stripe of a region.
    #[inline]
    fn range<const D: usize>(&self, entry: &Entry<D>) -> (usize, usize) {
        if self.count == 1 {
            return (0, 0);
        }
        (self.stripe(entry.region.low[1]), self.stripe(entry.region.high[1] - 1))
    }

    /// Calls `each` with every stripe of a region, ascending, and with the region as entered there.
    #[inline]
    pub fn each<const D: usize>(&self, entry: &Entry<D>, mut each: impl FnMut(usize, Entry<D>)) {
        let (first, last) = self.range(entry);
        for stripe in first..=last {
            each(stripe, Entry { begins_before: stripe > first, ..*entry });
        }
    }
}

/// The entries of one role by stripe.
#[derive(Clone, Debug, Default)]
pub(super) struct StripedEntries<const D: usize> {
    /// Where the entries of each stripe start, and the end of the last ones.
    starts: Vec<u32>,
    entries: Vec<Entry<D>>,
}

impl<const D: usize> StripedEntries<D> {
    /// Enters regions in stripes; within a stripe they keep their order.
    pub fn fill(&mut self, stripes: &Stripes, sorted: &[Entry<D>]) {
        self.starts.clear();
        self.entries.clear();
        self.starts.resize(stripes.count() + 2, 0);
        sorted.iter().for_each(|entry| stripes.each(entry, |stripe, _| self.starts[stripe + 2] += 1));
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        // Start `stripe + 1` is where the next entry of the stripe goes; in the end it is the start of the
        // stripe after it.
        let Some(&filler) = sorted.first() else { return };
        self.entries.resize(sum as usize, filler);
        for entry in sorted {
            stripes.each(entry, |stripe, entry| {
                let next = &mut self.starts[stripe + 1];
                self.entries[*next as usize] = entry;
                *next += 1;
            });
        }
    }

    pub fn stripe(&self, stripe: usize) -> &[Entry<D>] {
        &self.entries[self.starts[stripe] as usize..self.starts[stripe + 1] as usize]
    }
}
