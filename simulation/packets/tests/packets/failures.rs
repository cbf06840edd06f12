//! Routes that change when links fail: against shortest ways computed by their definition, and in whole runs.

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::{Rng, Time};
use paceline_packets::loss::Outages;
use paceline_packets::tcp::Settings;
use paceline_packets::{
    Drive, Ecmp, Flow, LinkSpec, NetResults, Network, NetworkBuilder, NodeKind, Packets, Tcp, Udp, topology,
};

use crate::random::join_switches;

use crate::digests::agree_in_every_way;
use crate::networks::sequential;

const CONVERGENCE: Time = Time::micros(150);
const HORIZON: u64 = 2_000;

/// A connected graph of switches with hosts of one or two links; links fail and are repaired in the first two
/// milliseconds, some are down from the start on and some stay down.
fn draw_network(rng: &mut Rng) -> Network {
    let mut builder = NetworkBuilder::new();
    let switches = 2 + rng.below(7) as u32;
    let link = |rng: &mut Rng| {
        let mut spec = LinkSpec::new(1_000_000_000 + rng.below(1_000), 1_000_000).drop_tail(50);
        (spec.metric, spec.weight) = (1 + rng.below(3) as u32, 1 + rng.below(3) as u32);
        if rng.chance(0.5) {
            let mut times: Vec<u64> = (0..1 + rng.below(4)).map(|_| rng.below(HORIZON)).collect();
            if rng.chance(0.2) {
                times.push(0);
            }
            times.sort_unstable();
            times.dedup();
            let changes = times.iter().enumerate().map(|(nth, at)| (Time::micros(*at), nth % 2 == 1));
            spec.outages = Outages::new(changes.collect()).unwrap();
        }
        spec
    };
    join_switches(&mut builder, rng, switches, 0.4, link);
    for number in 0..2 + rng.below(5) as u32 {
        let host = builder.node(format!("h{number}"), NodeKind::Host).unwrap();
        for _ in 0..1 + rng.below(2) {
            let spec = link(rng);
            let _ = builder.link(host, rng.below(u64::from(switches)) as u32, &spec);
        }
    }
    builder.build().unwrap()
}

/// The least sums of metrics to `to` over links that are up at `at`: each is that of a neighbour and the link
/// to it, until nothing changes any more.
fn distances(network: &Network, to: u32, at: Time) -> Vec<Option<u64>> {
    let mut distances = vec![None; network.nodes() as usize];
    distances[to as usize] = Some(0);
    loop {
        let before = distances.clone();
        for node in (0..network.nodes()).filter(|node| *node != to) {
            let ways = (0..network.ports(node)).filter_map(|port| {
                let (peer, link) = (network.peer(node, port), network.link(node, port));
                let forwards = peer == to || network.kind(peer) != NodeKind::Host;
                let there = before[peer as usize].filter(|_| forwards && link.outages.is_up(at))?;
                Some(there + u64::from(link.metric))
            });
            distances[node as usize] = ways.min();
        }
        if distances == before {
            return distances;
        }
    }
}

#[test]
fn ways_are_the_shortest_of_the_links_that_are_up() {
    let [mut without, mut with] = [0u64; 2];
    for case in 0..120 {
        let mut rng = Rng::new(case, 0x6f75_7473);
        let network = draw_network(&mut rng).converging(CONVERGENCE).unwrap();
        for _ in 0..40 {
            let now = Time::micros(rng.below(HORIZON + 300));
            // What was up the time of convergence before; at the start what is up then.
            let at = now.saturating_sub(CONVERGENCE);
            for &to in network.hosts() {
                let distances = distances(&network, to, at);
                for node in (0..network.nodes()).filter(|node| *node != to) {
                    let port = network.next_port_at(now.as_nanos() * 1_000, node, to, rng.u64());
                    let what =
                        format!("case {case} at {now}: {} to {}", network.name(node), network.name(to));
                    assert_eq!(port.is_some(), distances[node as usize].is_some(), "{what}");
                    let Some(port) = port else {
                        without += 1;
                        continue;
                    };
                    let (link, peer) = (network.link(node, port), network.peer(node, port));
                    assert!(link.outages.is_up(at), "{what}: the link is down");
                    let there = distances[peer as usize].map(|there| there + u64::from(link.metric));
                    assert_eq!(there, distances[node as usize], "{what}: not a shortest way");
                    with += 1;
                }
            }
        }
    }
    assert!(without > 1_000 && with > 10_000, "{without} without a way, {with} with one");
}

/// Routes that are computed go on where nothing fails near them, and are replaced where something does.
#[test]
fn regular_topologies_go_round_a_failed_link() {
    let link = LinkSpec::new(1_000_000_000, 1_000_000);
    let failing = LinkSpec { outages: Outages::new(vec![(Time::ZERO, false)]).unwrap(), ..link.clone() };
    let networks = [
        (topology::fat_tree(4, &link), ["edge-0", "agg-0"]),
        (topology::leaf_spine(3, 2, 4, &link, &link), ["leaf-1", "spine-0"]),
        (topology::torus(&[4, 3], &link, &link), ["switch-0", "switch-1"]),
        (topology::line(4, &link, &link), ["switch-1", "switch-2"]),
        (topology::dragonfly([5, 4, 2, 1], &link, &link, &link), ["router-0", "router-1"]),
        (topology::dumbbell(2, &link, &link), ["left-0", "router-left"]),
    ];
    for (network, ends) in networks {
        let mut network = network.unwrap();
        let [from, to] = ends.map(|name| network.node(name).unwrap());
        network.change_link(from, to, &failing).unwrap();
        let network = network.converging(Time::ZERO).unwrap();
        let (mut rng, mut others) = (Rng::new(1, 2), 0);
        for &host in network.hosts() {
            let distances = distances(&network, host, Time::ZERO);
            for node in (0..network.nodes()).filter(|node| *node != host) {
                for hash in (0..8).map(|_| rng.u64()) {
                    let port = network.next_port_at(0, node, host, hash);
                    let there = port.map(|port| distances[network.peer(node, port) as usize].unwrap() + 1);
                    assert_eq!(there, distances[node as usize], "{ends:?}: {}", network.name(node));
                    let is_up = |port: u32| network.link(node, port).outages.is_up(Time::ZERO);
                    assert!(port.is_none_or(is_up), "{ends:?}: {}", network.name(node));
                    others += u32::from(port != Some(network.next_port(node, host, hash)));
                }
            }
        }
        assert!(others > 0, "{ends:?}: no way is another");
    }
    let mut star = topology::star(3, &link).unwrap();
    let error = star.change_link(0, 1, &link).unwrap_err().to_string();
    assert_eq!(error, "no link joins \"host-0\" and \"host-1\"; allowed: the two ends of a link");
}

fn udp(from: u32, to: u32) -> Flow {
    let udp = Udp { rate: 100_000_000, wire_bytes: 1_000, drive: Drive::Poisson, packets: None };
    Flow::udp(from, to, udp)
}

/// Every packet is accounted for, whatever the graph and its failures, and digests agree.
#[test]
fn runs_with_failures_agree() {
    let mut without_route = 0;
    for case in 0..6 {
        let mut rng = Rng::new(case, 0x6661_696c);
        let network = draw_network(&mut rng).converging(CONVERGENCE).unwrap();
        let hosts = network.hosts().to_vec();
        let flows = (0..hosts.len()).map(|place| {
            let (from, to) = (hosts[place], hosts[(place + 1) % hosts.len()]);
            match place % 3 {
                2 => Flow::tcp(from, to, Tcp::new(Settings::default()).bytes(100_000)),
                _ => udp(from, to),
            }
        });
        let ecmp = if case % 2 == 0 { Ecmp::Packet } else { Ecmp::Flow };
        let model = Packets::new(network, flows.collect()).unwrap().ecmp(ecmp).seed(case);
        agree_in_every_way(&model, Time::micros(HORIZON));
        let (results, _) = sequential(&model, Time::micros(HORIZON));
        let known = results.packets_arrived + results.packets_dropped + results.packets_in_flight;
        assert_eq!(known, results.packets_sent, "case {case}");
        without_route += results.packets_without_route;
    }
    assert!(without_route > 20, "{without_route} packets without a route");
}

/// A triangle of routers with a host each; the link from a to b fails at `down` for ever.
fn triangle(down: Time) -> Network {
    let mut builder = NetworkBuilder::new();
    let trunk = LinkSpec::new(10_000_000, 5_000_000_000).drop_tail(50);
    let routers = ["a", "b", "c"].map(|name| builder.node(name, NodeKind::Router).unwrap());
    let outages = Outages::new(vec![(down, false)]).unwrap();
    builder.link(routers[0], routers[1], &LinkSpec { outages, ..trunk.clone() }).unwrap();
    builder.link(routers[0], routers[2], &trunk).unwrap();
    builder.link(routers[1], routers[2], &trunk).unwrap();
    for (router, name) in routers.into_iter().zip(["host-a", "host-b", "host-c"]) {
        let host = builder.node(name, NodeKind::Host).unwrap();
        builder.link(host, router, &LinkSpec::new(1_000_000_000, 1_000_000)).unwrap();
    }
    builder.build().unwrap()
}

/// A TCP flow whose link fails for ever goes on by another way, and loses what it sends until routes have
/// converged; without convergence it comes to nothing more.
#[test]
fn a_connection_goes_on_after_a_failure() {
    let (down, until) = (Time::secs(2), Time::secs(8));
    let delivered = |network: Network, until: Time| {
        let ends = (network.node("host-a").unwrap(), network.node("host-b").unwrap());
        let tcp = Tcp::new(Settings { min_rto: Time::millis(200), ..Settings::default() });
        let model = Packets::new(network, vec![Flow::tcp(ends.0, ends.1, tcp)]).unwrap();
        sequential(&model, until).0.flows[0].delivered()
    };
    let before = delivered(triangle(down), down);
    let stuck = delivered(triangle(down), until);
    let goes_on = delivered(triangle(down).converging(Time::millis(300)).unwrap(), until);
    assert!(before > 2_000_000, "{before} bytes in the first two seconds");
    assert!(stuck - before < 100_000, "{} bytes over a link that is down", stuck - before);
    // 10 Mb/s x 1448 / 1502 for the rest, less the outage and the backoff of the timer: at most 1 s together.
    let rest = goes_on - before;
    assert!((6_000_000..7_300_000).contains(&rest), "{rest} bytes in the six seconds after the failure");
}

/// Whatever is sent once routes have converged arrives, and takes the longer way.
#[test]
fn a_failed_link_loses_packets_until_routes_have_converged() {
    let down = Time::millis(100);
    let network = triangle(down).converging(Time::millis(50)).unwrap();
    let (from, to) = (network.node("host-a").unwrap(), network.node("host-b").unwrap());
    let source = Udp { rate: 1_000_000, wire_bytes: 1_000, drive: Drive::Constant, packets: Some(50) };
    let model = Packets::new(network, vec![Flow::udp(from, to, source)]).unwrap();
    let (results, _) = sequential(&model, Time::secs(1));
    // A packet each 8 ms takes 0.8 ms and 5 ms on the link: that of 96 ms and those up to 144 ms are lost.
    assert_eq!((results.packets_dropped, results.packets_arrived), (7, 43));
    assert_eq!(results.packets_without_route, 0);
    let arrivals = &results.flows[0].arrivals;
    // Over c: 8 us and 1 us twice on access links, 0.8 ms and 5 ms twice between routers.
    assert_eq!(arrivals.delay_most_ps, 2 * 9_000_000 + 2 * 5_800_000_000);
}

/// Time Warp and windows over routes that change, with several threads.
#[test]
fn triangles_agree() {
    let network = triangle(Time::millis(100)).converging(Time::millis(50)).unwrap();
    let node = |name: &str| network.node(name).unwrap();
    let (a, b, c) = (node("host-a"), node("host-b"), node("host-c"));
    let tcp = Tcp::new(Settings::default()).bytes(100_000);
    let flows = vec![Flow::tcp(a, b, tcp), udp(b, a), udp(c, b)];
    let model = Packets::new(network, flows).unwrap();
    let run = |protocol, federates| {
        let run = Simulation::new(model.clone()).protocol(protocol).until(Time::millis(400));
        let report = run.federates(federates).threads(2).run().unwrap();
        (report.digest, NetResults::new(model.flows(), &report.outputs))
    };
    let reference = run(Protocol::Sequential, 1);
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        assert!((1..=4).all(|federates| run(protocol, federates) == reference), "{protocol:?}");
    }
}
