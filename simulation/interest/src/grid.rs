//! The grid matcher: cell lists.

use crate::keys::Piece;
use crate::tiled::{Kind, List, Tiled, matcher};
use crate::tiles::Spread;
use crate::{Change, Coordinate, Error, Matcher, Region, RegionId, Role, Space};

/// Divides the space into cells and compares only regions that share one (cell lists; the grid-based matching of the literature on
/// data distribution management, but exact, and each pair is reported once).
///
/// It suits regions of similar size at uniformly distributed places. On each axis a cell is as long as the mean extent of the role
/// with the longer extents, and cells are adapted to the regions; [`Grid::with_cells`] sets another size. Cells are made larger if
/// necessary to keep their number, and the number of entries in them, within a small multiple of the number of regions. Pairs are
/// reported cell by cell.
///
/// ```
/// use paceline_interest::{Change, Grid, Matcher, Region, RegionId, Space};
///
/// let mut matcher = Grid::new(Space::lines());
/// matcher.insert(RegionId::subscription(3), Region::new([0.0, 0.0], [4.0, 4.0]))?;
/// matcher.insert(RegionId::update(9), Region::new([5.0, 1.0], [6.0, 2.0]))?;
/// let mut changes = Vec::new();
/// matcher.modify_and_compare(RegionId::update(9), Region::new([3.5, 1.0], [4.5, 2.0]), &mut changes)?;
/// assert_eq!(changes, [Change::Begins(3)]);
/// # Ok::<(), paceline_interest::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Grid<C: Coordinate, const D: usize> {
    tiled: Tiled<C, D, Cells<D>>,
}

impl<C: Coordinate, const D: usize> Grid<C, D> {
    /// A matcher without regions; the size of cells is derived from the regions.
    pub fn new(space: Space<C, D>) -> Self {
        Self { tiled: Tiled::new(space, Cells { size: None }) }
    }

    /// A matcher without regions; cells have this size, or a greater one. An error if it is not positive and finite
    /// ([`Error::CellSize`]).
    pub fn with_cells(space: Space<C, D>, size: [f64; D]) -> Result<Self, Error> {
        match size.iter().position(|size| !(size.is_finite() && *size > 0.0)) {
            Some(axis) => Err(Error::CellSize { axis }),
            None => Ok(Self { tiled: Tiled::new(space, Cells { size: Some(size) }) }),
        }
    }
}

/// Tiles on all axes; in each tile every pair is compared.
#[derive(Clone, Debug)]
struct Cells<const D: usize> {
    size: Option<[f64; D]>,
}

impl<const D: usize> Kind<D> for Cells<D> {
    type List = Vec<Piece<D>>;
    const SORTS: bool = false;

    fn sizes(&self, spreads: &[Spread; D], _: usize) -> [f64; D] {
        self.size.unwrap_or_else(|| spreads.map(|spread| spread.mean))
    }

    fn pairs(updates: &[Piece<D>], subscriptions: &[Piece<D>], mut each: impl FnMut(&Piece<D>, &Piece<D>)) {
        for update in updates {
            for subscription in subscriptions.iter().filter(|subscription| update.overlaps(subscription)) {
                each(update, subscription);
            }
        }
    }
}

impl<const D: usize> List<D> for Vec<Piece<D>> {
    fn fill(&mut self, pieces: &[Piece<D>]) {
        self.extend_from_slice(pieces);
    }

    fn insert(&mut self, piece: Piece<D>) {
        self.push(piece);
    }

    fn remove(&mut self, piece: &Piece<D>) {
        let same = |other: &Piece<D>| (other.number, other.seconds) == (piece.number, piece.seconds);
        let place = self.iter().position(same).expect("a piece stands in each of its tiles");
        self.swap_remove(place);
    }

    fn overlapping(&self, query: &Piece<D>, each: impl FnMut(&Piece<D>)) {
        self.iter().filter(|piece| query.overlaps(piece)).for_each(each);
    }
}

matcher!(Grid);
