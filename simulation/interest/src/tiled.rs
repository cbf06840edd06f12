//! What grid and sorted matchers have in common: pieces in tiles, rebuilt for all pairs, updated incrementally for single queries.
//!
//! [`Tiled::pairs`] assigns the pieces of all current regions to new tiles. Queries need an index: a list of pieces for each tile
//! and role. It is built for the first query and then updated with every change. After many changes without a query it is dropped,
//! because building a new one is then cheaper than further updates.
//!
//! Invariant: if an index exists, it contains exactly the pieces of the regions, possibly with tiles chosen for earlier regions.

use crate::keys::{Keys, Piece};
use crate::matcher::compare;
use crate::regions::Regions;
use crate::tiles::{Dealt, Spread, Tiles, counts};
use crate::{Change, Coordinate, Error, Region, RegionId, Role, Space};

/// The index is dropped when one in this many regions has changed since the last query.
const CHANGES_PART: usize = 16;

/// The pieces of one role in a tile.
pub(crate) trait List<const D: usize>: Default {
    /// Fills the empty list with pieces, which are in the order of [`Piece::order`] if the kind sorts.
    fn fill(&mut self, pieces: &[Piece<D>]);
    fn insert(&mut self, piece: Piece<D>);
    /// Removes a piece that is in the list.
    fn remove(&mut self, piece: &Piece<D>);
    /// Calls `each` with every piece that overlaps `query`.
    fn overlapping(&self, query: &Piece<D>, each: impl FnMut(&Piece<D>));
}

/// A kind of tiled matcher.
pub(crate) trait Kind<const D: usize> {
    type List: List<D>;
    /// Whether pieces are sorted before they are assigned to tiles.
    const SORTS: bool;
    /// The size of tiles on each axis, for this number of pieces.
    fn sizes(&self, spreads: &[Spread; D], pieces: usize) -> [f64; D];
    /// Calls `each` with every overlapping pair in a tile.
    fn pairs(updates: &[Piece<D>], subscriptions: &[Piece<D>], each: impl FnMut(&Piece<D>, &Piece<D>));
}

/// A matcher of this kind.
#[derive(Clone, Debug)]
pub(crate) struct Tiled<C, const D: usize, K: Kind<D>> {
    kind: K,
    regions: Regions<C, D>,
    index: Option<Index<C, D, K::List>>,
    /// Changes since the last query.
    changes: usize,
    /// Buffers for the pieces of all regions, by role.
    pieces: [Vec<Piece<D>>; 2],
    dealt: [Dealt<D>; 2],
    /// Buffers for the matches of a region before and after a move.
    found: [Vec<u32>; 2],
}

#[derive(Clone, Debug)]
struct Index<C, const D: usize, L> {
    tiles: Tiles<C, D>,
    /// By role and tile.
    lists: [Vec<L>; 2],
}

impl<C: Coordinate, const D: usize, K: Kind<D>> Tiled<C, D, K> {
    pub fn new(space: Space<C, D>, kind: K) -> Self {
        let regions = Regions::new(space);
        Self {
            kind,
            regions,
            index: None,
            changes: 0,
            pieces: [Vec::new(), Vec::new()],
            dealt: Default::default(),
            found: Default::default(),
        }
    }

    pub fn regions(&self) -> &Regions<C, D> {
        &self.regions
    }

    pub fn insert(&mut self, id: RegionId, region: &Region<C, D>) -> Result<(), Error> {
        let keys = self.regions.insert(id, region)?;
        self.follow(id, None, Some(keys));
        Ok(())
    }

    pub fn modify(&mut self, id: RegionId, region: &Region<C, D>) -> Result<(), Error> {
        let (before, now) = self.regions.modify(id, region)?;
        self.follow(id, Some(before), Some(now));
        Ok(())
    }

    pub fn remove(&mut self, id: RegionId) -> Result<(), Error> {
        let keys = self.regions.remove(id)?;
        self.follow(id, Some(keys), None);
        Ok(())
    }

    /// Updates the index, or drops it.
    fn follow(&mut self, id: RegionId, before: Option<Keys<D>>, now: Option<Keys<D>>) {
        let Some(index) = &mut self.index else { return };
        self.changes += 1;
        let regions = self.regions.len(Role::Update) + self.regions.len(Role::Subscription);
        if self.changes > regions / CHANGES_PART + 1 {
            self.index = None;
            return;
        }
        let Index { tiles, lists } = index;
        let (space, lists) = (&self.regions.space, &mut lists[id.role as usize]);
        if let Some(keys) = before {
            keys.pieces(space, id.number, |piece| {
                tiles.each(&piece, |tile, piece| lists[tile].remove(&piece))
            });
        }
        if let Some(keys) = now {
            keys.pieces(space, id.number, |piece| {
                tiles.each(&piece, |tile, piece| lists[tile].insert(piece))
            });
        }
    }

    /// Assigns all pieces to tiles.
    fn deal(&mut self) -> Tiles<C, D> {
        for role in [Role::Update, Role::Subscription] {
            let pieces = &mut self.pieces[role as usize];
            pieces.clear();
            self.regions.pieces(role, |piece| pieces.push(piece));
            if K::SORTS {
                pieces.sort_unstable_by_key(Piece::order);
            }
        }
        let [updates, subscriptions] = &self.pieces;
        let tiles = Tiles::new([updates, subscriptions], |spreads, pieces| self.kind.sizes(spreads, pieces));
        self.dealt.iter_mut().zip(&self.pieces).for_each(|(dealt, pieces)| dealt.deal(&tiles, pieces));
        tiles
    }

    pub fn pairs(&mut self, mut visit: impl FnMut(u32, u32)) {
        let tiles = self.deal();
        let [updates, subscriptions] = &self.dealt;
        for tile in 0..tiles.len() {
            K::pairs(updates.tile(tile), subscriptions.tile(tile), |update, subscription| {
                if !counts(update, subscription) {
                    return;
                }
                if update.seconds | subscription.seconds != 0
                    && !is_first(&self.regions, update, subscription)
                {
                    return;
                }
                visit(update.number, subscription.number);
            });
        }
    }

    /// The numbers of the regions of a role that overlap a region given as keys, ascending.
    pub fn overlapping(&mut self, role: Role, keys: &Keys<D>, found: &mut Vec<u32>) {
        let index = self.index.take().unwrap_or_else(|| self.make_index());
        index.search(&self.regions.space, role, keys, found);
        (self.index, self.changes) = (Some(index), 0);
    }

    /// Moves a region. Returns the changes of its matches.
    pub fn modify_and_compare(
        &mut self,
        id: RegionId,
        region: &Region<C, D>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let index = self.index.take().unwrap_or_else(|| self.make_index());
        let moved = self.regions.modify(id, region);
        let [old, new] = &mut self.found;
        if let Ok((before, now)) = &moved {
            let space = &self.regions.space;
            index.search(space, id.role.other(), before, old);
            index.search(space, id.role.other(), now, new);
        }
        (self.index, self.changes) = (Some(index), 0);
        let (before, now) = moved?;
        self.follow(id, Some(before), Some(now));
        changes.clear();
        compare(&self.found[0], &self.found[1], changes);
        Ok(())
    }

    fn make_index(&mut self) -> Index<C, D, K::List> {
        let tiles = self.deal();
        let lists = self.dealt.each_ref().map(|dealt| {
            let list = |tile: usize| {
                let mut list = K::List::default();
                list.fill(dealt.tile(tile));
                list
            };
            (0..tiles.len()).map(list).collect()
        });
        Index { tiles, lists }
    }
}

impl<C: Coordinate, const D: usize, L: List<D>> Index<C, D, L> {
    /// Finds the regions of a role that overlap a region given as keys, and writes their numbers to `found`, ascending.
    fn search(&self, space: &Space<C, D>, role: Role, keys: &Keys<D>, found: &mut Vec<u32>) {
        found.clear();
        let lists = &self.lists[role as usize];
        keys.pieces(space, 0, |query| {
            self.tiles.each(&query, |tile, query| {
                lists[tile].overlapping(&query, |piece| {
                    if counts(&query, piece) {
                        found.push(piece.number);
                    }
                });
            });
        });
        found.sort_unstable();
        // Only regions that wrap around can be found more than once.
        found.dedup();
    }
}

/// Whether an overlapping pair of pieces is the first one of its two regions.
#[cold]
fn is_first<C: Coordinate, const D: usize>(
    regions: &Regions<C, D>,
    update: &Piece<D>,
    subscription: &Piece<D>,
) -> bool {
    let keys = |id: RegionId| regions.get(id).expect("a piece belongs to a region");
    let published = keys(RegionId::update(update.number));
    let subscribed = keys(RegionId::subscription(subscription.number));
    published.is_first(update.seconds, subscribed, subscription.seconds)
}

/// Implements [`Matcher`](crate::Matcher) for a wrapper of [`Tiled`].
macro_rules! matcher {
    ($name:ident) => {
        impl<C: Coordinate, const D: usize> Matcher<C, D> for $name<C, D> {
            fn insert(&mut self, id: RegionId, region: Region<C, D>) -> Result<(), Error> {
                self.tiled.insert(id, &region)
            }

            fn modify(&mut self, id: RegionId, region: Region<C, D>) -> Result<(), Error> {
                self.tiled.modify(id, &region)
            }

            fn remove(&mut self, id: RegionId) -> Result<(), Error> {
                self.tiled.remove(id)
            }

            fn len(&self, role: Role) -> usize {
                self.tiled.regions().len(role)
            }

            fn contains(&self, id: RegionId) -> bool {
                self.tiled.regions().contains(id)
            }

            fn pairs<F: FnMut(u32, u32)>(&mut self, visit: F) {
                self.tiled.pairs(visit);
            }

            fn overlapping(
                &mut self,
                role: Role,
                region: Region<C, D>,
                found: &mut Vec<u32>,
            ) -> Result<(), Error> {
                let keys = self.tiled.regions().space.keys(&region)?;
                self.tiled.overlapping(role, &keys, found);
                Ok(())
            }

            fn partners(&mut self, id: RegionId, found: &mut Vec<u32>) -> Result<(), Error> {
                let keys = *self.tiled.regions().get(id)?;
                self.tiled.overlapping(id.role.other(), &keys, found);
                Ok(())
            }

            fn modify_and_compare(
                &mut self,
                id: RegionId,
                region: Region<C, D>,
                changes: &mut Vec<Change>,
            ) -> Result<(), Error> {
                self.tiled.modify_and_compare(id, &region, changes)
            }
        }
    };
}
pub(crate) use matcher;
