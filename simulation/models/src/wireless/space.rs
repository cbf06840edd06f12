//! The plane that hosts move on: a torus whose side is 2^32 ticks.
//!
//! Invariants: coordinates wrap around like 32-bit integers, so that moves and differences need no test for
//! the border, and no result depends on how a processor rounds. A plane with borders is represented by a
//! torus that is larger than the plane by the range.

use std::f64::consts::TAU;

use paceline_kernel::Rng;
use serde::{Deserialize, Serialize};

/// Ticks on a side.
const TICKS: f64 = 4_294_967_296.0;

/// A place on the torus, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Point {
    /// Ticks to the right of the origin; the torus has 2^32 a side.
    pub x: u32,
    /// Ticks above the origin.
    pub y: u32,
}

/// A move in one step, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Velocity {
    pub x: i32,
    pub y: i32,
}

impl Point {
    /// The square of the distance to `other` over the shortest way on the torus, in square ticks.
    #[inline(always)]
    pub fn distance_squared(self, other: Self) -> u64 {
        let square = |one: u32, other: u32| {
            let difference = i64::from(one.wrapping_sub(other).cast_signed());
            (difference * difference).cast_unsigned()
        };
        square(self.x, other.x) + square(self.y, other.y)
    }

    #[inline(always)]
    pub(crate) fn moved(self, velocity: Velocity) -> Self {
        Self { x: self.x.wrapping_add_signed(velocity.x), y: self.y.wrapping_add_signed(velocity.y) }
    }
}

/// How long a side of the torus is in the units of the scenario, and which place its tick (0, 0) stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space {
    side: f64,
    least: (f64, f64),
}

impl Space {
    /// A torus of `side` by `side` units; the side is above zero.
    pub fn new(side: f64) -> Self {
        Self::with_least((0.0, 0.0), side)
    }

    /// A space whose least coordinates are these.
    pub(crate) fn with_least(least: (f64, f64), side: f64) -> Self {
        Self { side, least }
    }

    /// The length of a side in units.
    pub fn side(self) -> f64 {
        self.side
    }

    /// The ticks of a length; lengths beyond the side and negative ones wrap around.
    pub fn ticks(self, length: f64) -> u32 {
        // Converted through 64 bits: a direct conversion to `u32` would not wrap.
        libm::round(length / self.side * TICKS) as i64 as u32
    }

    /// The length of so many ticks, in units.
    pub fn units(self, ticks: u32) -> f64 {
        f64::from(ticks) / TICKS * self.side
    }

    /// The coordinates of a place, in units, to the nearest tick.
    pub fn coordinates(self, at: Point) -> (f64, f64) {
        (self.least.0 + self.units(at.x), self.least.1 + self.units(at.y))
    }

    /// The coordinates of a place with three decimals: `x,y`.
    pub(crate) fn shown(self, at: Point) -> String {
        let (x, y) = self.coordinates(at);
        // A coordinate that rounds to zero has no sign.
        let shown = |value: f64| format!("{:.3}", if value.abs() < 0.0005 { 0.0 } else { value });
        format!("{},{}", shown(x), shown(y))
    }

    /// The distance between two places, in units.
    pub fn distance(self, one: Point, other: Point) -> f64 {
        libm::sqrt(one.distance_squared(other) as f64) / TICKS * self.side
    }

    /// A place drawn uniformly, with two draws.
    pub(crate) fn draw_point(rng: &mut Rng) -> Point {
        Point { x: rng.u64() as u32, y: rng.u64() as u32 }
    }

    /// A velocity with a direction drawn uniformly and a speed drawn uniformly from 0 to `speed` units a
    /// step.
    pub(crate) fn draw_velocity(self, rng: &mut Rng, speed: f64) -> Velocity {
        let (direction, speed) = (TAU * rng.unit(), speed * rng.unit());
        let ticks = |length: f64| self.ticks(length).cast_signed();
        Velocity { x: ticks(speed * libm::cos(direction)), y: ticks(speed * libm::sin(direction)) }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn distances_go_the_short_way_round() {
        let space = Space::new(10_000.0);
        let at = |x, y| Point { x: space.ticks(x), y: space.ticks(y) };
        for (one, other, expected) in [
            (at(1.0, 1.0), at(4.0, 5.0), 5.0),
            (at(9_999.0, 0.0), at(2.0, 9_996.0), 5.0),
            (at(0.0, 0.0), at(5_000.0, 0.0), 5_000.0),
            (at(-1.0, 10_001.0), at(9_999.0, 1.0), 0.0),
        ] {
            let found = space.distance(one, other);
            assert!((found - expected).abs() < 1e-4, "{one:?} to {other:?}: {found} instead of {expected}");
            assert_eq!(one.distance_squared(other), other.distance_squared(one));
        }
    }

    #[test]
    fn velocities_stay_below_the_greatest_speed_and_favour_no_direction() {
        let (space, mut rng) = (Space::new(10_000.0), Rng::new(1, 1));
        let (mut sum_x, mut sum_y) = (0.0, 0.0);
        const DRAWS: u32 = 10_000;
        for _ in 0..DRAWS {
            let start = Point { x: 0, y: 0 };
            let velocity = space.draw_velocity(&mut rng, 10.0);
            assert!(space.distance(start, start.moved(velocity)) <= 10.0 + 1e-5);
            sum_x += f64::from(velocity.x) * 10_000.0 / TICKS;
            sum_y += f64::from(velocity.y) * 10_000.0 / TICKS;
        }
        // A component's standard deviation is 10 / sqrt(6); the limit is five standard deviations of the
        // mean.
        let limit = 5.0 * 10.0 / 6f64.sqrt() / f64::from(DRAWS).sqrt();
        let (mean_x, mean_y) = (sum_x / f64::from(DRAWS), sum_y / f64::from(DRAWS));
        assert!(mean_x.abs() < limit && mean_y.abs() < limit, "{mean_x}, {mean_y}");
    }
}
