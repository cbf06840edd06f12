//! Sort-based matching, reimplemented: all ends are sorted; a region that ends is matched with the open regions of the other role.
//!
//! After Raczy, Tan and Yu, 2005, in the sequential form of Marzolla and D'Angelo, 2020. Their sets become lists in which each
//! region knows its index, so that insertion and removal take constant time; further dimensions are compared when a pair is found.

use paceline_interest::Region;

/// An end: its coordinate, and the region's number with the role and the kind of end in the two lowest bits.
type End = (f64, u32);

/// Reused buffers.
#[derive(Default)]
pub struct SortBased<const D: usize> {
    ends: Vec<End>,
    /// By role: the open regions.
    open: [Vec<(Region<f64, D>, u32)>; 2],
    /// By role: the index of each region in `open`.
    places: [Vec<u32>; 2],
}

impl<const D: usize> SortBased<D> {
    #[allow(clippy::needless_bitwise_bool)] // One branch that cannot be predicted, not two.
    pub fn pairs(&mut self, regions: &[Vec<Region<f64, D>>; 2], mut visit: impl FnMut(u32, u32)) {
        self.ends.clear();
        for (role, regions) in regions.iter().enumerate() {
            self.places[role].resize(regions.len(), 0);
            for (number, region) in regions.iter().enumerate() {
                let tag = (number << 2 | role << 1) as u32;
                // At equal coordinates a high end comes first: it does not belong to its region.
                self.ends.extend([(region.low[0], tag | 1), (region.high[0], tag)]);
            }
        }
        self.ends
            .sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then((one.1 & 1).cmp(&(other.1 & 1))));
        for &(_, tag) in &self.ends {
            let (number, role) = (tag >> 2, (tag >> 1 & 1) as usize);
            if tag & 1 == 1 {
                self.places[role][number as usize] = self.open[role].len() as u32;
                self.open[role].push((regions[role][number as usize], number));
                continue;
            }
            let place = self.places[role][number as usize] as usize;
            let (region, _) = self.open[role].swap_remove(place);
            if let Some((_, moved)) = self.open[role].get(place) {
                self.places[role][*moved as usize] = place as u32;
            }
            for (other, other_number) in &self.open[1 - role] {
                let meets = |axis: usize| {
                    (region.low[axis] < other.high[axis]) & (other.low[axis] < region.high[axis])
                };
                if (1..D).all(meets) {
                    let pair = if role == 0 { (number, *other_number) } else { (*other_number, number) };
                    visit(pair.0, pair.1);
                }
            }
        }
    }
}
