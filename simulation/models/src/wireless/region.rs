//! A region: it collects the pings of the hosts in and around it, finds out which hosts hear each other, and
//! sends that to its hosts.
//!
//! Invariants: a host is *in* the one region that contains its place, and *in reach* of all regions that
//! intersect the square of the range around its place. Only the region that a host is in sends it what it
//! hears. A region is at least as wide as the range, and there are at least two along a side, so that every
//! host in reach is met exactly once, over the shortest distance on the torus.

use paceline_interest::{Nearby, Numbered, Window};
use paceline_kernel::Context;
use serde::{Deserialize, Serialize};

use super::event::WirelessEvent;
use super::space::Point;
use super::{Deliveries, Wireless};
use paceline_kernel::LpId;

/// The torus, cut into equal squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RegionGrid {
    /// Regions along a side, at least two.
    pub per_side: u32,
    /// The range in ticks; at most the width of a region and a quarter of the side.
    pub range: u32,
}

impl RegionGrid {
    fn column(self, x: u32) -> u32 {
        ((u64::from(x) * u64::from(self.per_side)) >> 32) as u32
    }

    /// The number of regions.
    pub fn count(self) -> u32 {
        self.per_side * self.per_side
    }

    /// The region that contains this place.
    pub fn region(self, at: Point) -> u32 {
        self.column(at.y) * self.per_side + self.column(at.x)
    }

    /// The place in a region with the least coordinates.
    pub fn corner(self, region: u32) -> Point {
        let least = |column: u32| ((u64::from(column) << 32).div_ceil(u64::from(self.per_side))) as u32;
        Point { x: least(region % self.per_side), y: least(region / self.per_side) }
    }

    /// Calls a function once for every region that a ping from `at` may reach.
    #[inline]
    pub fn in_reach(self, at: Point, mut found: impl FnMut(u32)) {
        let ((columns, width), (rows, height)) = (self.reach(at.x), self.reach(at.y));
        for row in &rows[..height] {
            for column in &columns[..width] {
                found(row * self.per_side + column);
            }
        }
    }

    /// The columns that intersect the range around `x`, and their number.
    #[inline]
    fn reach(self, x: u32) -> ([u32; 3], usize) {
        let middle = self.column(x);
        let (low, high) = (self.column(x.wrapping_sub(self.range)), self.column(x.wrapping_add(self.range)));
        let (mut columns, mut count) = ([middle; 3], 1);
        if low != middle {
            columns[count] = low;
            count += 1;
        }
        if high != middle && high != low {
            columns[count] = high;
            count += 1;
        }
        (columns, count)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Pinger {
    pub host: u32,
    pub at: Point,
}

/// The state of a region: the hosts that have pinged in this step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Region {
    pub(crate) pingers: Vec<Pinger>,
}

impl Region {
    /// Takes in a ping. The first ping of a step schedules the matching at the end of the current instant.
    pub(crate) fn ping(&mut self, pinger: Pinger, cx: &mut Context<'_, Wireless>) {
        if self.pingers.is_empty() {
            cx.schedule(paceline_kernel::Time::ZERO, WirelessEvent::Match);
        }
        self.pingers.push(pinger);
    }

    /// Sends each host in the region the pings that it hears.
    pub(crate) fn match_all(&mut self, wireless: &Wireless, region: u32, cx: &mut Context<'_, Wireless>) {
        let pingers = std::mem::take(&mut self.pingers);
        let delay = wireless.lookahead;
        // The two halves of a step make a whole one, whatever their rounding.
        let rest = wireless.step.saturating_sub(delay);
        hearers(wireless.grid, region, &pingers, |hearer, heard| match wireless.deliveries {
            Deliveries::Together => cx.send(LpId(hearer), rest, WirelessEvent::HeardAll(heard.into())),
            Deliveries::Singly => {
                let mut of = heard.len() as u32;
                for from in heard {
                    cx.send(LpId(hearer), delay, WirelessEvent::Heard { from: *from, of });
                    of = 0;
                }
            }
        });
        self.pingers = pingers;
        self.pingers.clear();
    }
}

/// Calls `visit` for every host in the region with the hosts that it hears; `pingers` are those in and around
/// the region.
#[inline]
fn hearers(grid: RegionGrid, region: u32, pingers: &[Pinger], visit: impl FnMut(u32, &[u32])) {
    let corner = grid.corner(region);
    let low = [corner.x.wrapping_sub(grid.range), corner.y.wrapping_sub(grid.range)];
    let width = (1u64 << 32).div_ceil(u64::from(grid.per_side)) + 2 * u64::from(grid.range);
    let points =
        pingers.iter().map(|pinger| Numbered { number: pinger.host, at: [pinger.at.x, pinger.at.y] });
    let nearby = Nearby::new(Window { low, width }, grid.range, points);
    let nearby = nearby.expect("a host in reach is no further from the region than the range");
    nearby.each(|Numbered { at: [x, y], .. }| grid.region(Point { x, y }) == region, visit);
}

#[cfg(test)]
mod test {
    use super::*;
    use paceline_kernel::Rng;
    use std::collections::BTreeMap;

    /// Random hosts, many of them near borders.
    fn hosts(rng: &mut Rng, grid: RegionGrid) -> Vec<Pinger> {
        let coordinate = |rng: &mut Rng| {
            if rng.chance(0.5) {
                return rng.u64() as u32;
            }
            let border = (rng.below(u64::from(grid.per_side)) << 32) / u64::from(grid.per_side);
            let off = rng.below(2 * u64::from(grid.range) + 3) as u32;
            (border as u32).wrapping_add(off).wrapping_sub(grid.range + 1)
        };
        let pinger = |host| Pinger { host, at: Point { x: coordinate(rng), y: coordinate(rng) } };
        (0..200).map(pinger).collect()
    }

    #[test]
    fn regions_tell_every_host_once_whom_it_hears_by_the_definition() {
        let mut rng = Rng::new(7, 7);
        for case in 0..200 {
            let per_side = 2 + rng.below(6) as u32;
            let most = ((1u64 << 32) / u64::from(per_side)).min(1 << 30);
            let range = if case % 4 == 0 { most } else { 1 + rng.below(most) } as u32;
            let grid = RegionGrid { per_side, range };
            let hosts = hosts(&mut rng, grid);
            let mut near = vec![Vec::new(); grid.count() as usize];
            for pinger in &hosts {
                grid.in_reach(pinger.at, |region| near[region as usize].push(*pinger));
            }
            let mut found = BTreeMap::new();
            for (region, near) in near.iter().enumerate() {
                hearers(grid, region as u32, near, |hearer, heard| {
                    let mut heard = heard.to_vec();
                    heard.sort_unstable();
                    assert!(found.insert(hearer, heard).is_none(), "host {hearer} is visited once");
                });
            }
            for hearer in &hosts {
                let reach = u64::from(range) * u64::from(range);
                let hears = |other: &&Pinger| {
                    other.host != hearer.host && other.at.distance_squared(hearer.at) <= reach
                };
                let expected: Vec<u32> = hosts.iter().filter(hears).map(|other| other.host).collect();
                assert_eq!(found[&hearer.host], expected, "case {case}, {grid:?}, host {}", hearer.host);
            }
        }
    }
}
