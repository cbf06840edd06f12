//! The generated network of the VSB scenario (PSX paper, section 4.2): a square grid of intersections, joined
//! by roads in both directions; sources at its left and right, sinks at its top and bottom, each with one
//! road to or from the adjacent intersection.
//!
//! Node numbers: intersections row by row from the left, first the rows 0, 2, 4, ... from the top, then the
//! rows 1, 3, 5, ...; then sources (left side from the top, then the right side); then sinks (top from the
//! left, then the bottom). Even rows come first because of the routes: all blocks are alike, so nearly every
//! route is a tie, which goes to the lower number. If rows were numbered in order, every trip to the top
//! would drive up the border column and along the top row, and the evacuation would last more than a day.
//! With these numbers a trip drives along the nearest even row and then along its sink's column.
//!
//! Roads that run north or south form one light group of their intersection, those that run east or west the
//! other.

use paceline_kernel::Time;

use super::demand::Trips;
use super::network::{Network, RoadSpec};

/// The most intersections along a side.
pub(crate) const MAX_SIDE: u32 = 512;

/// A grid; all its roads are alike.
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

    /// Where a node is drawn, in blocks; rows go down.
    pub fn drawn_at(self, node: u32) -> (f64, f64) {
        let last = f64::from(self.side - 1);
        let (inner, sources, sinks) = (self.inner(), self.sources().start, self.sinks().start);
        // Which side of the grid, and how far along it.
        let border = |number: u32| (number / self.side, f64::from(number % self.side));
        match node {
            node if node < inner => {
                let (row, column) = self.place(node);
                (f64::from(column), last - f64::from(row))
            }
            node if node < sinks => match border(node - sources) {
                (0, along) => (-1.0, last - along),
                (_, along) => (last + 1.0, last - along),
            },
            node => match border(node - sinks) {
                (0, along) => (along, last + 1.0),
                (_, along) => (along, -1.0),
            },
        }
    }

    /// How many nodes are intersections: those from 0 on.
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

    /// The distance of an intersection from the top left, in columns plus rows.
    pub fn steps(self, node: u32) -> u32 {
        let (row, column) = self.place(node);
        if node < self.inner() { row + column } else { 0 }
    }

    /// The roads between neighbours, from sources, and to sinks.
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
