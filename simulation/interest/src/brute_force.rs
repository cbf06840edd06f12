//! The reference matcher: it compares every region with every other. The other matchers are tested against it.

use crate::regions::Regions;
use crate::{Coordinate, Error, Matcher, Region, RegionId, Role, Space};

/// Compares every update region with every subscription region. Pairs come ascending by update, then by subscription.
///
/// ```
/// use paceline_interest::{BruteForce, Matcher, Region, RegionId, Space};
///
/// let mut matcher = BruteForce::new(Space::lines());
/// matcher.insert(RegionId::update(1), Region::new([0], [10]))?;
/// matcher.insert(RegionId::subscription(7), Region::new([9], [12]))?;
/// matcher.insert(RegionId::subscription(8), Region::new([10], [12]))?; // touches only
/// let mut pairs = Vec::new();
/// matcher.pairs(|update, subscription| pairs.push((update, subscription)));
/// assert_eq!(pairs, [(1, 7)]);
/// # Ok::<(), paceline_interest::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BruteForce<C, const D: usize> {
    regions: Regions<C, D>,
}

impl<C: Coordinate, const D: usize> BruteForce<C, D> {
    /// A matcher without regions.
    pub fn new(space: Space<C, D>) -> Self {
        Self { regions: Regions::new(space) }
    }
}

impl<C: Coordinate, const D: usize> Matcher<C, D> for BruteForce<C, D> {
    fn insert(&mut self, id: RegionId, region: Region<C, D>) -> Result<(), Error> {
        self.regions.insert(id, &region).map(drop)
    }

    fn modify(&mut self, id: RegionId, region: Region<C, D>) -> Result<(), Error> {
        self.regions.modify(id, &region).map(drop)
    }

    fn remove(&mut self, id: RegionId) -> Result<(), Error> {
        self.regions.remove(id).map(drop)
    }

    fn len(&self, role: Role) -> usize {
        self.regions.len(role)
    }

    fn contains(&self, id: RegionId) -> bool {
        self.regions.contains(id)
    }

    fn pairs<F: FnMut(u32, u32)>(&mut self, mut visit: F) {
        for (update, published) in self.regions.in_order(Role::Update) {
            for (subscription, subscribed) in self.regions.in_order(Role::Subscription) {
                if published.overlaps(subscribed) {
                    visit(*update, *subscription);
                }
            }
        }
    }

    fn overlapping(&mut self, role: Role, region: Region<C, D>, found: &mut Vec<u32>) -> Result<(), Error> {
        let keys = self.regions.space.keys(&region)?;
        found.clear();
        found.extend(
            self.regions.in_order(role).filter(|(_, other)| keys.overlaps(other)).map(|(number, _)| *number),
        );
        Ok(())
    }

    fn partners(&mut self, id: RegionId, found: &mut Vec<u32>) -> Result<(), Error> {
        let keys = *self.regions.get(id)?;
        let others = self.regions.in_order(id.role.other());
        found.clear();
        found.extend(others.filter(|(_, other)| keys.overlaps(other)).map(|(number, _)| *number));
        Ok(())
    }
}
