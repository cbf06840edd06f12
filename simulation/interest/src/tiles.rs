//! Tiles: boxes of equal size that the space is divided into, so that only pieces with a tile in common are compared.
//!
//! A piece is entered in every tile that it overlaps. So two overlapping pieces meet in one or more tiles; the meeting that counts
//! is in the tile where, on each axis, at least one of them begins ([`counts`]). That tile exists and is unique: on each axis it is
//! the one that contains the greater of the two low ends (the reference point of Dittrich and Seeger, 2000).

use std::marker::PhantomData;

use crate::Coordinate;
use crate::keys::Piece;

/// The most tiles per piece.
const TILES_PER_REGION: f64 = 2.0;

/// The most entries in tiles per piece, to be multiplied by two for every dimension.
const ENTRIES_PER_REGION: usize = 4;

/// Whether the meeting of two pieces in a tile is the one that counts.
#[inline]
pub(crate) fn counts<const D: usize>(one: &Piece<D>, other: &Piece<D>) -> bool {
    one.begins_before & other.begins_before == 0
}

/// The extent of all pieces with finite ends on one axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub low: f64,
    pub high: f64,
    /// The mean length of the pieces of the role with the longer ones.
    pub mean: f64,
}

impl Spread {
    /// The distance from the least to the greatest coordinate.
    pub fn length(&self) -> f64 {
        self.high - self.low
    }

    pub fn of<C: Coordinate, const D: usize>(roles: [&[Piece<D>]; 2], axis: usize) -> Self {
        let (mut low, mut high, mut mean) = (f64::INFINITY, f64::NEG_INFINITY, 0.0_f64);
        for pieces in roles {
            let (mut sum, mut number) = (0.0, 0.0);
            for piece in pieces {
                let (from, to) =
                    (C::from_key(piece.low[axis]).to_f64(), C::from_key(piece.high[axis]).to_f64());
                if from.is_finite() && to.is_finite() {
                    (low, high) = (low.min(from), high.max(to));
                    (sum, number) = (sum + (to - from), number + 1.0);
                }
            }
            if number > 0.0 {
                mean = mean.max(sum / number);
            }
        }
        Self { low, high, mean }
    }
}

/// The division of one axis.
#[derive(Clone, Copy, Debug)]
struct Ruler {
    start: f64,
    /// Tiles per unit of length.
    density: f64,
    /// The number of tiles; places beyond either end belong to the outermost tiles.
    tiles: usize,
}

impl Ruler {
    fn new(spread: Spread, size: f64) -> Self {
        let length = spread.length();
        let tiles = (length / size).ceil();
        // There is only one tile if nothing is known, or if the length overflows.
        if tiles > 1.0 && tiles.is_finite() && length.is_finite() {
            Self { start: spread.low, density: 1.0 / size, tiles: tiles as usize }
        } else {
            Self { start: 0.0, density: 0.0, tiles: 1 }
        }
    }

    /// The tile of a place; monotonic.
    #[inline]
    fn tile<C: Coordinate>(&self, key: i64) -> usize {
        // A conversion from float saturates, and turns NaN (infinity times 0) into 0.
        let tile = ((C::from_key(key).to_f64() - self.start) * self.density) as usize;
        tile.min(self.tiles - 1)
    }
}

/// The division of the space into tiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiles<C, const D: usize> {
    rulers: [Ruler; D],
    coordinate: PhantomData<C>,
}

impl<C: Coordinate, const D: usize> Tiles<C, D> {
    /// Tiles for these pieces. Their sizes are those that `sizes` gives for the spreads and the number of pieces, or greater, so
    /// that the number of tiles and of entries in them is limited in proportion to the number of pieces.
    pub fn new(roles: [&[Piece<D>]; 2], sizes: impl Fn(&[Spread; D], usize) -> [f64; D]) -> Self {
        let spreads: [Spread; D] = std::array::from_fn(|axis| Spread::of::<C, D>(roles, axis));
        let pieces = roles.iter().map(|pieces| pieces.len()).sum::<usize>();
        let mut sizes = sizes(&spreads, pieces);
        loop {
            let rulers: [Ruler; D] = std::array::from_fn(|axis| Ruler::new(spreads[axis], sizes[axis]));
            let tiles = Self { rulers, coordinate: PhantomData };
            let many = rulers.iter().map(|ruler| ruler.tiles as f64).product::<f64>();
            let entries_max = pieces.saturating_mul(ENTRIES_PER_REGION << D);
            if many <= 1.0
                || (many <= TILES_PER_REGION * pieces as f64 + 1.0 && tiles.entries(roles) <= entries_max)
            {
                return tiles;
            }
            sizes = sizes.map(|size| size * 2.0_f64.powf(1.0 / D as f64));
        }
    }

    /// How many tiles there are.
    pub fn len(&self) -> usize {
        self.rulers.iter().map(|ruler| ruler.tiles).product()
    }

    /// The number of entries of these pieces in the tiles.
    fn entries(&self, roles: [&[Piece<D>]; 2]) -> usize {
        if self.len() == 1 {
            return 0;
        }
        let entries = |piece: &Piece<D>| {
            let (first, last) = self.range(piece);
            (0..D).map(|axis| last[axis] - first[axis] + 1).product::<usize>()
        };
        roles.iter().flat_map(|pieces| pieces.iter()).map(entries).fold(0, usize::saturating_add)
    }

    /// The first and the last tile of a piece on each axis.
    #[inline]
    fn range(&self, piece: &Piece<D>) -> ([usize; D], [usize; D]) {
        let first = std::array::from_fn(|axis| self.rulers[axis].tile::<C>(piece.low[axis]));
        // The key before the high end is that of the last place inside, because a piece is not empty.
        let last = std::array::from_fn(|axis| self.rulers[axis].tile::<C>(piece.high[axis] - 1));
        (first, last)
    }

    /// Calls `each` with every tile of a piece, ascending, and with the piece as entered in that tile.
    #[inline]
    pub fn each(&self, piece: &Piece<D>, mut each: impl FnMut(usize, Piece<D>)) {
        let (first, last) = self.range(piece);
        let mut at = first;
        loop {
            let (mut tile, mut begins_before) = (0, 0_u16);
            for axis in 0..D {
                tile = tile * self.rulers[axis].tiles + at[axis];
                begins_before |= u16::from(at[axis] > first[axis]) << axis;
            }
            each(tile, Piece { begins_before, ..*piece });
            // The next tile: the last axis is incremented first, with carry.
            let Some(axis) = (0..D).rev().find(|&axis| at[axis] < last[axis]) else { return };
            at[axis] += 1;
            at[axis + 1..].copy_from_slice(&first[axis + 1..]);
        }
    }
}

/// Pieces of one role by tile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dealt<const D: usize> {
    /// The start of the entries of each tile, and the end of the last ones.
    starts: Vec<u32>,
    entries: Vec<Piece<D>>,
}

impl<const D: usize> Dealt<D> {
    /// Assigns pieces to tiles; within a tile they keep their order.
    pub fn deal<C: Coordinate>(&mut self, tiles: &Tiles<C, D>, pieces: &[Piece<D>]) {
        self.starts.clear();
        self.entries.clear();
        if tiles.len() == 1 {
            self.starts.extend([0, pieces.len() as u32]);
            self.entries.extend_from_slice(pieces);
            return;
        }
        self.starts.resize(tiles.len() + 2, 0);
        pieces.iter().for_each(|piece| tiles.each(piece, |tile, _| self.starts[tile + 2] += 1));
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        // Entry `tile + 1` is where the next piece of the tile goes; in the end it is the start of the tile after it.
        let Some(&filler) = pieces.first() else { return };
        self.entries.resize(sum as usize, filler);
        for piece in pieces {
            tiles.each(piece, |tile, piece| {
                let next = &mut self.starts[tile + 1];
                self.entries[*next as usize] = piece;
                *next += 1;
            });
        }
    }

    /// The entries of a tile.
    pub fn tile(&self, tile: usize) -> &[Piece<D>] {
        &self.entries[self.starts[tile] as usize..self.starts[tile + 1] as usize]
    }
}
