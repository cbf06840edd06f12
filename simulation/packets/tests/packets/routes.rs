//! Routes that are computed lead to where they should, along shortest ways; partitions keep neighbours
//! together.

use std::collections::VecDeque;

use paceline_kernel::{Edge, LpId, Model, Rng, remote};
use paceline_packets::{LinkSpec, Network, NodeKind, Packets, topology};

fn link() -> LinkSpec {
    LinkSpec::new(1_000_000_000, 1_000_000)
}

/// One or more of each topology.
fn all() -> Vec<(&'static str, Network)> {
    let link = link();
    let mut all = vec![
        ("dumbbell", topology::dumbbell(3, &link, &link)),
        ("line", topology::line(6, &link, &link)),
        ("star", topology::star(4, &link)),
        ("leaf-spine", topology::leaf_spine(3, 2, 4, &link, &link)),
        ("dragonfly", topology::dragonfly([5, 4, 2, 1], &link, &link, &link)),
        ("random", topology::random(20, 40, 3, &link, &link)),
        ("nearly complete", topology::random(9, 34, 3, &link, &link)),
    ];
    all.extend([2, 4, 6].map(|k| ("fat tree", topology::fat_tree(k, &link))));
    let tori: [&[u32]; 5] = [&[2], &[5, 1], &[2, 4], &[3, 3, 3], &[4, 2, 3]];
    all.extend(tori.map(|sides| ("torus", topology::torus(sides, &link, &link))));
    all.into_iter().map(|(name, network)| (name, network.unwrap())).collect()
}

/// The hops from every node to `to`; hosts forward nothing.
fn distances(network: &Network, to: u32) -> Vec<u32> {
    let mut distances = vec![u32::MAX; network.nodes() as usize];
    let mut open = VecDeque::from([to]);
    distances[to as usize] = 0;
    while let Some(node) = open.pop_front() {
        if node != to && network.kind(node) == NodeKind::Host {
            continue;
        }
        for peer in (0..network.ports(node)).map(|port| network.peer(node, port)) {
            if distances[peer as usize] == u32::MAX {
                distances[peer as usize] = distances[node as usize] + 1;
                open.push_back(peer);
            }
        }
    }
    distances
}

#[test]
fn every_hop_comes_nearer() {
    for (name, network) in all() {
        for &to in network.hosts() {
            let distances = distances(&network, to);
            for from in (0..network.nodes()).filter(|from| *from != to) {
                let mut rng = Rng::new(u64::from(from), u64::from(to));
                for _ in 0..8 {
                    let port = network.next_port(from, to, rng.u64());
                    assert!(port < network.ports(from), "{name}: port {port} of {}", network.name(from));
                    let next = network.peer(from, port);
                    let (here, there) = (distances[from as usize], distances[next as usize]);
                    assert_eq!(there + 1, here, "{name}: {} to {}", network.name(from), network.name(to));
                }
            }
        }
    }
}

/// All ways of equal length are taken alike: in a fat tree with k = 6, nine from a pod to another.
#[test]
fn hashes_spread_over_all_ways() {
    let network = topology::fat_tree(6, &link()).unwrap();
    let (from, to) = (network.node("edge-0").unwrap(), network.node("host-53").unwrap());
    let mut ways = std::collections::BTreeMap::<(u32, u32), u32>::new();
    let mut rng = Rng::new(1, 2);
    for _ in 0..9_000 {
        let hash = rng.u64();
        let agg = network.peer(from, network.next_port(from, to, hash));
        let core = network.peer(agg, network.next_port(agg, to, hash));
        *ways.entry((agg, core)).or_default() += 1;
    }
    assert_eq!(ways.len(), 9);
    // Five standard deviations of a binomial count.
    assert!(ways.values().all(|count| count.abs_diff(1_000) < 150), "{ways:?}");
}

/// Links between federates, of all.
#[test]
fn partitions_cut_few_links() {
    let is_few = |name: &str, cut: u64, all: usize| match name {
        "dumbbell" | "line" => cut == 1,
        // Even loads need hosts in another federate than their only switch, or cut every second link.
        "star" | "nearly complete" => true,
        _ => (cut as f64) < 0.4 * all as f64,
    };
    for (name, network) in all() {
        let model = Packets::new(network, vec![]).unwrap();
        let network = model.network();
        let edges: Vec<Edge> = (0..network.nodes())
            .flat_map(|node| (0..network.ports(node)).map(move |port| (node, port)))
            .map(|(node, port)| (node, network.peer(node, port)))
            .filter(|(node, peer)| node < peer)
            .map(|(node, peer)| Edge::new(LpId(node), LpId(peer), 1))
            .collect();
        for federates in [1, 2, 3, 4, network.nodes(), network.nodes() + 1] {
            let partition = model.partition(federates);
            assert_eq!(partition.check(network.nodes()), Ok(()), "{name}");
            assert_eq!(partition.federates(), federates.min(network.nodes()), "{name}");
            let cut = remote(&partition.owners(), &edges);
            let few = federates > 2 || federates == 1 && cut == 0 || is_few(name, cut, edges.len());
            assert!(few, "{name}: {cut} of {} links between {federates} federates", edges.len());
        }
    }
}
