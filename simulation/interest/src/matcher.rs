//! The matcher of regions: sorting and a forward scan for all pairs; for single queries, an interval tree of
//! blocks.
//!
//! [`RegionMatcher::pairs`] divides the second axis into stripes anew, from the regions of the moment.
//! Queries need an index: a tree of blocks for each stripe and role. It is built for the first query and then
//! follows every change. After many changes without a query it is dropped, because building a new one is then
//! cheaper than further changes.
//!
//! Invariant: if an index exists, it contains exactly the regions that are not empty, possibly in stripes
//! chosen for earlier regions.

mod blocks;
mod stripes;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;

use crate::{Error, Region, RegionId, Role};

use blocks::Blocks;
use stripes::{Entry, StripedEntries, Stripes, counts};

/// The index is dropped when one in this many regions has changed since the last query.
const CHANGES_PART: usize = 16;

/// A change of one match when a region moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The region overlaps the region of the other role with this number, and did not before.
    Begins(u32),
    /// The region overlapped the region of the other role with this number, and no longer does.
    Ends(u32),
}

/// Regions of both roles, and the overlaps between them.
///
/// Regions are sorted by their low ends on the first axis, and each is compared with those that begin within
/// it. Sort-based matching (Raczy, Tan and Yu, 2005) goes through both ends of all regions and keeps the set
/// of open regions. The forward scan of interval joins (Bouros and Mamoulis, 2017) finds the same pairs from
/// sorted low ends alone, without a set. A second axis is divided into stripes first, so that fewer regions
/// meet that do not overlap on it (Tsitsigkos et al., 2019).
///
/// In one dimension all pairs of n regions take O(n log n + pairs), whatever the sizes of regions; in more
/// dimensions many regions can meet that do not overlap, where sizes or places are very uneven. Choose as
/// first axis the one on which regions are shortest, compared with the space, and the next one as second.
///
/// ```
/// use paceline_interest::{Change, Region, RegionId, RegionMatcher};
///
/// let mut matcher = RegionMatcher::default();
/// for place in 0..10 {
///     matcher.insert(RegionId::subscription(place as u32), Region::new([place, 0], [place + 2, 1]))?;
/// }
/// matcher.insert(RegionId::update(0), Region::point([5, 0]))?;
/// let mut subscribers = Vec::new();
/// matcher.partners(RegionId::update(0), &mut subscribers)?;
/// assert_eq!(subscribers, [4, 5]);
/// let mut changes = Vec::new();
/// matcher.modify_and_compare(RegionId::update(0), Region::point([6, 0]), &mut changes)?;
/// assert_eq!(changes, [Change::Ends(4), Change::Begins(6)]);
/// # Ok::<(), paceline_interest::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RegionMatcher<const D: usize> {
    /// By role and number.
    regions: [BTreeMap<u32, Region<D>>; 2],
    index: Option<Index<D>>,
    /// Since the last query.
    changes: usize,
    /// Buffers for the entries of all regions, by role.
    sorted: [Vec<Entry<D>>; 2],
    striped: [StripedEntries<D>; 2],
}

/// What queries search.
#[derive(Clone, Debug)]
struct Index<const D: usize> {
    stripes: Stripes,
    /// By role and stripe.
    blocks: [Vec<Blocks<D>>; 2],
}

impl<const D: usize> Default for RegionMatcher<D> {
    fn default() -> Self {
        Self {
            regions: Default::default(),
            index: None,
            changes: 0,
            sorted: Default::default(),
            striped: Default::default(),
        }
    }
}

impl<const D: usize> RegionMatcher<D> {
    /// Adds a region. Errors: [`Error::Duplicate`], [`Error::Inverted`].
    pub fn insert(&mut self, id: RegionId, region: Region<D>) -> Result<(), Error> {
        check(&region)?;
        match self.regions[id.role as usize].entry(id.number) {
            Place::Occupied(_) => return Err(Error::Duplicate(id)),
            Place::Vacant(place) => place.insert(region),
        };
        self.update_index(id, None, Some(region));
        Ok(())
    }

    /// Moves or resizes a region. Errors: [`Error::Unknown`], [`Error::Inverted`].
    pub fn modify(&mut self, id: RegionId, region: Region<D>) -> Result<(), Error> {
        let place = self.regions[id.role as usize].get_mut(&id.number).ok_or(Error::Unknown(id))?;
        check(&region)?;
        let before = std::mem::replace(place, region);
        self.update_index(id, Some(before), Some(region));
        Ok(())
    }

    /// Removes a region. Error: [`Error::Unknown`].
    pub fn remove(&mut self, id: RegionId) -> Result<(), Error> {
        let before = self.regions[id.role as usize].remove(&id.number).ok_or(Error::Unknown(id))?;
        self.update_index(id, Some(before), None);
        Ok(())
    }

    /// The number of regions with this role.
    pub fn len(&self, role: Role) -> usize {
        self.regions[role as usize].len()
    }

    /// Whether there are no regions at all.
    pub fn is_empty(&self) -> bool {
        self.len(Role::Update) + self.len(Role::Subscription) == 0
    }

    /// Whether there is a region with this id.
    pub fn contains(&self, id: RegionId) -> bool {
        self.regions[id.role as usize].contains_key(&id.number)
    }

    /// Calls `visit(update, subscription)` once for every overlapping pair: stripe by stripe, and within a
    /// stripe in the order in which the later region of each pair begins.
    pub fn pairs(&mut self, mut visit: impl FnMut(u32, u32)) {
        let stripes = self.stripe_all();
        let [updates, subscriptions] = &self.striped;
        for stripe in 0..stripes.count() {
            scan_stripe(updates.stripe(stripe), subscriptions.stripe(stripe), |update, subscription| {
                if counts(update, subscription) {
                    visit(update.number, subscription.number);
                }
            });
        }
    }

    /// Replaces the content of `found` by the numbers of the regions of this role that overlap `region`,
    /// ascending. `region` need not have been inserted. Error: [`Error::Inverted`].
    pub fn overlapping(&mut self, role: Role, region: Region<D>, found: &mut Vec<u32>) -> Result<(), Error> {
        check(&region)?;
        self.index_for_query().search(role, &region, found);
        Ok(())
    }

    /// Replaces the content of `found` by the numbers of the regions of the other role that overlap this one,
    /// ascending: the subscribers of an update region, the publishers of a subscription region. Error:
    /// [`Error::Unknown`].
    pub fn partners(&mut self, id: RegionId, found: &mut Vec<u32>) -> Result<(), Error> {
        let region = *self.regions[id.role as usize].get(&id.number).ok_or(Error::Unknown(id))?;
        self.index_for_query().search(id.role.other(), &region, found);
        Ok(())
    }

    /// Moves a region as [`Self::modify`] does, and replaces the content of `changes` by the changes of its
    /// matches, ascending by number.
    pub fn modify_and_compare(
        &mut self,
        id: RegionId,
        region: Region<D>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        self.partners(id, &mut before)?;
        check(&region)?;
        // Before the move: the move may drop the index, and the search would build it anew.
        self.index_for_query().search(id.role.other(), &region, &mut after);
        self.modify(id, region)?;
        changes.clear();
        compare(&before, &after, changes);
        Ok(())
    }

    /// Updates the index, or drops it where building a new one will be cheaper.
    fn update_index(&mut self, id: RegionId, before: Option<Region<D>>, now: Option<Region<D>>) {
        let regions = self.len(Role::Update) + self.len(Role::Subscription);
        let Some(Index { stripes, blocks }) = &mut self.index else { return };
        self.changes += 1;
        if self.changes > regions / CHANGES_PART + 1 {
            self.index = None;
            return;
        }
        let blocks = &mut blocks[id.role as usize];
        let entry = |region: Option<Region<D>>| region.and_then(|region| Entry::new(id.number, region));
        if let Some(before) = entry(before) {
            stripes.each(&before, |stripe, entry| blocks[stripe].remove(&entry));
        }
        if let Some(now) = entry(now) {
            stripes.each(&now, |stripe, entry| blocks[stripe].insert(entry));
        }
    }

    /// Sorts all regions that are not empty, and enters them in stripes.
    fn stripe_all(&mut self) -> Stripes {
        for (sorted, regions) in self.sorted.iter_mut().zip(&self.regions) {
            sorted.clear();
            sorted.extend(regions.iter().filter_map(|(number, region)| Entry::new(*number, *region)));
            sorted.sort_unstable_by_key(Entry::order);
        }
        let stripes = Stripes::new(&self.sorted);
        self.striped
            .iter_mut()
            .zip(&self.sorted)
            .for_each(|(striped, sorted)| striped.fill(&stripes, sorted));
        stripes
    }

    fn index_for_query(&mut self) -> &Index<D> {
        self.changes = 0;
        if self.index.is_none() {
            let stripes = self.stripe_all();
            let blocks = self.striped.each_ref().map(|striped| {
                (0..stripes.count()).map(|stripe| Blocks::new(striped.stripe(stripe))).collect()
            });
            self.index = Some(Index { stripes, blocks });
        }
        self.index.as_ref().expect("it was made above")
    }
}

impl<const D: usize> Index<D> {
    /// Replaces the content of `found` by the numbers of the regions of a role that overlap `region`,
    /// ascending.
    fn search(&self, role: Role, region: &Region<D>, found: &mut Vec<u32>) {
        found.clear();
        let Some(query) = Entry::new(0, *region) else { return };
        let blocks = &self.blocks[role as usize];
        self.stripes.each(&query, |stripe, query| {
            blocks[stripe].overlapping(&query, |entry| {
                if counts(&query, entry) {
                    found.push(entry.number);
                }
            });
        });
        found.sort_unstable();
    }
}

/// Calls `each` with every pair of entries of one stripe that overlap; both lists are sorted.
fn scan_stripe<const D: usize>(
    mut updates: &[Entry<D>],
    mut subscriptions: &[Entry<D>],
    mut each: impl FnMut(&Entry<D>, &Entry<D>),
) {
    while let ([update, later_updates @ ..], [subscription, later_subscriptions @ ..]) =
        (updates, subscriptions)
    {
        if update.region.low[0] <= subscription.region.low[0] {
            scan(update, subscriptions, |subscription| each(update, subscription));
            updates = later_updates;
        } else {
            scan(subscription, updates, |update| each(update, subscription));
            subscriptions = later_subscriptions;
        }
    }
}

/// Calls `each` with all of `later` that overlap `entry`; none of them begins before `entry`.
#[inline]
fn scan<const D: usize>(entry: &Entry<D>, later: &[Entry<D>], each: impl FnMut(&Entry<D>)) {
    let begins_inside = |other: &&Entry<D>| other.region.low[0] < entry.region.high[0];
    let meets = |other: &&Entry<D>| (1..D).all(|axis| entry.region.meets(&other.region, axis));
    later.iter().take_while(begins_inside).filter(meets).for_each(each);
}

/// The changes from the matches `before` to the matches `after`; all lists are ascending.
fn compare(before: &[u32], after: &[u32], changes: &mut Vec<Change>) {
    let (mut before, mut after) = (before.iter().copied().peekable(), after.iter().copied().peekable());
    loop {
        match (before.peek().copied(), after.peek().copied()) {
            (None, None) => return,
            (Some(old), Some(new)) if old == new => {
                before.next();
                after.next();
            }
            (Some(old), new) if new.is_none_or(|new| old < new) => {
                before.next();
                changes.push(Change::Ends(old));
            }
            _ => changes.extend(after.next().map(Change::Begins)),
        }
    }
}

fn check<const D: usize>(region: &Region<D>) -> Result<(), Error> {
    region.inverted_axis().map_or(Ok(()), |axis| Err(Error::Inverted { axis }))
}
