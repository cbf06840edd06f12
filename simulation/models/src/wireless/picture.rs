//! Hosts on the plane, and the links between those within range.

use std::collections::BTreeMap;

use paceline_results::{Edge, Picture, Point as Drawn};

use super::space::{Point, Space};

/// Links are drawn among at most so many hosts, and at most so many links.
const HOSTS_MAX: usize = 3000;
const LINKS_MAX: usize = 20_000;

/// Hosts at places, each with its load, of which those no further apart than `range` ticks are joined.
pub(crate) fn draw(space: Space, range: u32, hosts: &[(Point, f64)], load: &str) -> Picture {
    let point = |(at, load): &(Point, f64)| {
        let (x, y) = space.coordinates(*at);
        Drawn { x, y, load: *load }
    };
    let links = if hosts.len() > HOSTS_MAX { Vec::new() } else { links(range, hosts) };
    let picture = Picture {
        title: "Hosts, and links within range".into(),
        load: load.into(),
        points: hosts.iter().map(point).collect(),
        ..Picture::default()
    };
    let picture = picture.field("hosts", hosts.len());
    if hosts.len() > HOSTS_MAX {
        return picture;
    }
    let mean = 2.0 * links.len() as f64 / hosts.len().max(1) as f64;
    Picture { edges: links, ..picture }
        .field("neighbours, mean", format!("{mean:.1}"))
        .series("neighbours, mean", mean)
}

/// The pairs within range that no border of the torus parts, since these would cross the whole picture.
fn links(range: u32, hosts: &[(Point, f64)]) -> Vec<Edge> {
    let square = u64::from(range) * u64::from(range);
    let cell = |at: Point| (at.x / range.max(1), at.y / range.max(1));
    let mut cells = BTreeMap::<(u32, u32), Vec<u32>>::new();
    for (number, (at, _)) in (0..).zip(hosts) {
        cells.entry(cell(*at)).or_default().push(number);
    }
    let is_near = |one: Point, other: Point| {
        one.distance_squared(other) <= square
            && one.x.abs_diff(other.x) <= range
            && one.y.abs_diff(other.y) <= range
    };
    let mut links = Vec::new();
    for (&(column, row), here) in &cells {
        let near = (column.saturating_sub(1)..=column.saturating_add(1))
            .flat_map(|column| (row.saturating_sub(1)..=row.saturating_add(1)).map(move |row| (column, row)));
        let near: Vec<u32> = near.filter_map(|cell| cells.get(&cell)).flatten().copied().collect();
        for from in here {
            let is_linked =
                |to: &&u32| *to > from && is_near(hosts[*from as usize].0, hosts[**to as usize].0);
            let joined = near.iter().filter(is_linked);
            links.extend(joined.map(|to| Edge { from: *from, to: *to, load: 0.0 }));
            if links.len() >= LINKS_MAX {
                return links;
            }
        }
    }
    links
}
