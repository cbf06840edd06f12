//! Vivaldi zones: stars whose routes also take the time that the distance between two members' coordinates
//! stands for.
//!
//! Coordinates are in milliseconds: two in a plane, and a height that every route from or to the member adds.
//! Members without links of their own have routes of latency alone.

use super::star::Star;

/// Links by rank, and coordinates by rank; a member without coordinates has no routes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vivaldi {
    pub star: Star,
    pub coordinates: Vec<Option<[f64; 3]>>,
}

impl Vivaldi {
    /// The latency in seconds that the coordinates of two members add to the route between them.
    pub(crate) fn latency(&self, from: u32, to: u32) -> Option<f64> {
        let of = |rank: u32| self.coordinates.get(rank as usize).copied().flatten();
        let ([x, y, up], [to_x, to_y, down]) = (of(from)?, of(to)?);
        let plane = ((x - to_x) * (x - to_x) + (y - to_y) * (y - to_y)).sqrt();
        Some((plane + up.abs() + down.abs()) / 1000.0)
    }
}
