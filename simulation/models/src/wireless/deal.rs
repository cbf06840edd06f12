//! The initial partition: which federate has which LP.

use paceline_kernel::{LpId, Partition};

use super::region::RegionGrid;
use super::space::Point;

/// How LPs are dealt to federates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deal {
    /// LPs that are initially near each other go to one federate.
    Position,
    /// Hosts by number, regardless of their places, and regions by number: as the adaptive runs of ARTIS
    /// begin.
    Number,
}

impl Deal {
    /// All of them, with the name used in scenario files.
    pub const ALL: [(&'static str, Self); 2] = [("position", Self::Position), ("number", Self::Number)];
}

/// The places of the LPs of a network: hosts first, then regions.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    pub hosts: u32,
    pub grid: RegionGrid,
    /// The initial place of each host.
    pub starts: &'a [Point],
}

/// Deals the LPs at `places` to at most `federates` federates.
pub(crate) fn partition(places: &Places<'_>, deal: Deal, federates: u32) -> Partition {
    let (hosts, regions) = (places.hosts, places.grid.count());
    if federates <= 1 {
        return Partition::runs(hosts + regions, 1);
    }
    match deal {
        Deal::Number => {
            let share =
                |number: u32, of: u32| (u64::from(number) * u64::from(federates) / u64::from(of)) as u32;
            let hosts_owned = (0..hosts).map(|host| share(host, hosts));
            let owner: Vec<u32> =
                hosts_owned.chain((0..regions).map(|region| share(region, regions))).collect();
            Partition::table(&owner)
        }
        Deal::Position => {
            let place = |lp: u32| {
                if lp < hosts { places.starts[lp as usize] } else { middle(places.grid, lp - hosts) }
            };
            let lps = hosts + regions;
            let mut sorted: Vec<(u64, u32)> = (0..lps).map(|lp| (along_curve(place(lp)), lp)).collect();
            sorted.sort_unstable();
            let runs = Partition::runs(lps, federates);
            let mut owner = vec![0; lps as usize];
            for (rank, (_, lp)) in sorted.iter().enumerate() {
                owner[*lp as usize] = runs.place(LpId(rank as u32)).0;
            }
            Partition::table(&owner)
        }
    }
}

fn middle(grid: RegionGrid, region: u32) -> Point {
    let half = (1u32 << 31) / grid.per_side;
    let corner = grid.corner(region);
    Point { x: corner.x.wrapping_add(half), y: corner.y.wrapping_add(half) }
}

/// The place's number in Morton order: the bits of the coordinates interleaved (Morton, 1966). Near places
/// mostly have near numbers.
fn along_curve(at: Point) -> u64 {
    let spread =
        |coordinate: u32| (0..32).fold(0, |all, bit| all | u64::from(coordinate >> bit & 1) << (2 * bit));
    spread(at.x) | spread(at.y) << 1
}
