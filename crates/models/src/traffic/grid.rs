//! The generated network of the VSB scenario (PSX paper, section 4.2): a square grid of intersections, joined by roads in
//! both directions; sources on its left and right, sinks on its top and bottom, each with one road to or from the
//! intersection it lies at.
//!
//! Node numbers: intersections row by row from the left, first the rows 0, 2, 4, ... from the top, then the rows 1, 3, 5,
//! ...; then sources (left side from the top, then the right side); then sinks (top from the left, then the bottom). The
//! two halves are there for the routes: all blocks are alike, so nearly every route is a tie, which goes to the lower
//! number. With plain row by row numbers every trip to the top would take the border column up and the top row along, and
//! the evacuation would last more than a day. So it takes the nearest even row along and then its sink's column.
//!
//! Roads that run north or south form one light group of their intersection, those that run east or west the other.

use paceline_kernel::Time;

use super::demand::Trips;
use super::network::{Network, RoadSpec};

/// Intersections along a side at most.
pub(crate) const MAX_SIDE: u32 = 512;

/// All roads of a grid are alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Intersections along a side, from 1 to [`MAX_SIDE`].
    pub side: u32,
    pub free_flow: Time,
    pub length_mm: u64,
    pub lanes: u32,
}

const NORTH_SOUTH: u8 = 0;
const EAST_WEST: u8 = 1;

impl Grid {
    /// The number of the intersection at a row and column.
    fn at(self, row: u32, column: u32) -> u32 {
        let even_rows = self.side.div_ceil(2);
        let rank = if row.is_multiple_of(2) { row / 2 } else { even_rows + row / 2 };
        rank * self.side + column
    }

    /// Row and column of an intersection.
    pub fn place(self, node: u32) -> (u32, u32) {
        let (rank, column) = (node / self.side, node % self.side);
        let even_rows = self.side.div_ceil(2);
        let row = if rank < even_rows { 2 * rank } else { 2 * (rank - even_rows) + 1 };
        (row, column)
    }

    /// Intersections.
    pub fn inner(self) -> u32 {
        self.side * self.side
    }

    /// The sources: left side, then right.
    pub fn sources(self) -> std::ops::Range<u32> {
        self.inner()..self.inner() + 2 * self.side
    }

    /// The sinks: top, then bottom.
    pub fn sinks(self) -> std::ops::Range<u32> {
        self.inner() + 2 * self.side..self.inner() + 4 * self.side
    }

    /// How many columns and rows an intersection is away from the top left.
    pub fn steps(self, node: u32) -> u32 {
        let (row, column) = self.place(node);
        if node < self.inner() { row + column } else { 0 }
    }

    /// The roads.
    pub fn network(self) -> Network {
        let mut roads = Vec::new();
        let mut road = |from: u32, to: u32, group: u8| {
            let (free_flow, length_mm, lanes) = (self.free_flow, self.length_mm, self.lanes);
            roads.push(RoadSpec { from, to, free_flow, length_mm, lanes, group: Some(group) });
        };
        let last = self.side - 1;
        for a in 0..self.side {
            for b in 0..last {
                road(self.at(a, b), self.at(a, b + 1), EAST_WEST);
                road(self.at(a, b + 1), self.at(a, b), EAST_WEST);
                road(self.at(b, a), self.at(b + 1, a), NORTH_SOUTH);
                road(self.at(b + 1, a), self.at(b, a), NORTH_SOUTH);
            }
            road(self.sources().start + a, self.at(a, 0), EAST_WEST);
            road(self.sources().start + self.side + a, self.at(a, last), EAST_WEST);
            road(self.at(0, a), self.sinks().start + a, NORTH_SOUTH);
            road(self.at(last, a), self.sinks().start + self.side + a, NORTH_SOUTH);
        }
        Network::new(self.sinks().end, 0, roads).expect("no node of a grid has more than eight roads")
    }

    /// The same number of trips from every source to every sink.
    pub fn trips(self, number: f64) -> Vec<Trips> {
        let to_all = |origin| self.sinks().map(move |destination| Trips { origin, destination, number });
        self.sources().flat_map(to_all).collect()
    }
}
