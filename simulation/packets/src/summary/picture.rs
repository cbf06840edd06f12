//! The topology, with what waits for each link.

use paceline_kernel::{LpId, Time};
use paceline_results::{Edge, Picture, Point, arrange};

use crate::clock::PS_PER_TICK;
use crate::model::NodeState;
use crate::{NodeKind, Packets};

/// A queue of so many packets is drawn as full, even if it holds more.
const MANY: u32 = 100;

impl Packets {
    /// The topology at an instant.
    pub(super) fn draw(&self, at: Time, states: &mut dyn Iterator<Item = (LpId, &NodeState)>) -> Picture {
        let network = self.network();
        let now_ps = at.as_ticks().saturating_mul(PS_PER_TICK);
        let mut points: Vec<_> = self.places().iter().map(|&(x, y)| Point { x, y, load: 0.0 }).collect();
        let mut edges = Vec::new();
        let (mut waiting, mut sent, mut dropped, mut lost) = (0_u64, 0_u64, 0_u64, 0_u64);
        for (LpId(node), state) in states {
            let mut fullest: f64 = 0.0;
            for (number, port) in (0..).zip(&state.ports) {
                let (packets, _) = port.waiting_at(now_ps);
                let wire = network.wire(network.hop(node, number));
                let load = f64::from(packets) / f64::from(wire.packets.clamp(1, MANY));
                fullest = fullest.max(load);
                waiting += u64::from(packets);
                (sent, dropped, lost) = (sent + port.sent, dropped + port.dropped, lost + port.lost);
                edges.push(Edge { from: node, to: network.peer(node, number), load });
            }
            points[node as usize].load = match network.kind(node) {
                NodeKind::Host => 0.0,
                NodeKind::Switch | NodeKind::Router => fullest.clamp(0.01, 1.0),
            };
        }
        let picture = Picture {
            title: "Queues on the topology".into(),
            load: format!("a full queue, or {MANY} packets"),
            points,
            edges,
            ..Picture::default()
        };
        picture
            .field("packets waiting", waiting)
            .field("packets sent, by all links", sent)
            .field("packets dropped", dropped)
            .field("packets lost on links", lost)
            .series("packets waiting", waiting as f64)
            .series("packets dropped", dropped as f64)
    }

    fn places(&self) -> &[(f64, f64)] {
        self.places.get_or_init(|| {
            let network = self.network();
            let ports =
                |node| (0..network.ports(node)).map(move |port| (node, network.peer(node, port), 1.0));
            let edges: Vec<_> = (0..network.nodes()).flat_map(ports).collect();
            arrange(network.nodes(), &edges)
        })
    }
}
