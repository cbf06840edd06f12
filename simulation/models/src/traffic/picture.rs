//! A map of the roads, coloured by how full they are.

use paceline_kernel::LpId;
use paceline_results::{Edge, Picture, Point, arrange};

use super::{ANY_ROOM, Layout, Node, Traffic};

/// Vehicles at the stop line of a road that count as a full road, where roads hold any number.
const MANY: f64 = 20.0;

impl Traffic {
    /// The map at an instant.
    pub(super) fn draw(&self, states: &mut dyn Iterator<Item = (LpId, &Node)>) -> Picture {
        let roads = self.network.roads();
        let mut loads = vec![0.0; roads.len()];
        let mut points: Vec<_> = self.places().iter().map(|&(x, y)| Point { x, y, load: 0.0 }).collect();
        let (mut queued, mut on_roads, mut departed) = (0, 0, 0);
        for (lp, node) in states {
            let mut at_node = 0;
            for (approach, road) in node.approaches.iter().zip(self.network.approaches(lp.0)) {
                let waiting = approach.queue.len();
                at_node += waiting;
                let room = self.room[*road as usize];
                let full = if room == ANY_ROOM { MANY } else { f64::from(room).min(MANY) };
                loads[*road as usize] += waiting as f64 / full.max(1.0);
            }
            for (exit, road) in node.exits.iter().zip(self.network.first_exit(lp.0)..) {
                // Notices of free places may come before the vehicle that takes one.
                let occupied = exit.occupied.cast_signed().max(0).cast_unsigned();
                on_roads += u64::from(occupied);
                let room = self.room[road as usize];
                if room != ANY_ROOM {
                    loads[road as usize] = f64::from(occupied) / f64::from(room.max(1));
                }
            }
            points[lp.0 as usize].load = (at_node as f64 / MANY).min(1.0);
            queued += at_node as u64;
            departed += u64::from(node.gone) - self.left_out(lp.0, node.gone);
        }
        let edge = |(road, load): (&super::Road, &f64)| Edge { from: road.from, to: road.to, load: *load };
        let picture = Picture {
            title: "Roads by load".into(),
            load: if self.rules.storage { "a full road".into() } else { format!("{MANY} vehicles wait") },
            points,
            edges: roads.iter().zip(&loads).map(edge).collect(),
            ..Picture::default()
        };
        let picture = picture
            .field("departed", format!("{departed} of {}", self.demand.vehicles()))
            .field("at stop lines", queued)
            .series("vehicles at stop lines", queued as f64)
            .series("vehicles departed", f64::from(u32::try_from(departed).unwrap_or(u32::MAX)));
        if self.rules.storage { picture.field("on roads", on_roads) } else { picture }
    }

    /// Where the nodes are: on the grid, or, since files of cities say no places, by the time that roads
    /// take.
    fn places(&self) -> &[(f64, f64)] {
        self.places.get_or_init(|| match self.layout {
            Layout::Grid(grid) => (0..self.network.nodes()).map(|node| grid.drawn_at(node)).collect(),
            Layout::City => {
                let edge = |road: &super::Road| {
                    // Connectors of zones may take no time.
                    (road.from, road.to, road.free_flow.as_secs_f64().max(1.0))
                };
                let edges: Vec<_> = self.network.roads().iter().map(edge).collect();
                arrange(self.network.nodes(), &edges)
            }
        })
    }
}
