//! What holds in every network, on random graphs with random links and flows.

use paceline_kernel::{Rng, Time};
use paceline_packets::{
    Drive, Ecmp, Flow, LinkSpec, Network, NetworkBuilder, NodeKind, Packets, Span, Tcp, Udp,
};

use paceline_packets::loss::{Jitter, JitterDelay, LossModel};
use paceline_packets::queue::{CodelSettings, FqCodelSettings, Limit, QueueSettings, Share, Threshold};
use paceline_packets::tcp::{Ecn, Settings};

use crate::networks::sequential;

/// CoDel for short round trips, so that it drops in the milliseconds of these runs.
fn codel() -> CodelSettings {
    CodelSettings {
        target: Time::micros(50),
        interval: Time::micros(500),
        mtu: 1_500,
        marks: true,
        ce_threshold: None,
    }
}

/// A connected graph of switches, each with up to two hosts, all links different.
fn draw_network(rng: &mut Rng) -> Network {
    let mut builder = NetworkBuilder::new();
    let switches = 1 + rng.below(8) as u32;
    let link = |rng: &mut Rng| {
        let limit = match rng.below(3) {
            0 => Limit::Endless,
            1 => Limit::Packets(1 + rng.below(5) as u32),
            _ => Limit::Bytes(1 + rng.below(5_000)),
        };
        let queue = match rng.below(6) {
            0 => QueueSettings::Codel(codel(), limit),
            1 => {
                let (limit, queues) = (1 + rng.below(20) as u32, 4);
                let settings =
                    FqCodelSettings { codel: codel(), limit, memory: 1 << 20, queues, quantum: 1_514 };
                QueueSettings::FqCodel(settings)
            }
            2 => {
                let mark = Limit::Packets(1 + rng.below(3) as u32);
                QueueSettings::Threshold(Threshold { limit, mark, drops_incapable: rng.chance(0.5) })
            }
            _ => QueueSettings::DropTail(limit),
        };
        let mut spec =
            LinkSpec::new(1_000_000 + rng.below(5_000_000_000), 1 + rng.below(20_000_000)).queue(queue);
        (spec.metric, spec.weight) = (1 + rng.below(3) as u32, 1 + rng.below(3) as u32);
        spec.loss = rng.chance(0.2).then(|| LossModel::Random(Share::ratio(1, 20).unwrap()));
        let delay = JitterDelay::Uniform(Time::nanos(rng.below(20_000)));
        spec.jitter = rng.chance(0.2).then_some(Jitter { delay, keeps_order: true });
        spec
    };
    join_switches(&mut builder, rng, switches, 0.3, link);
    for number in 0..2 + rng.below(u64::from(switches)) as u32 {
        let host = builder.node(format!("h{number}"), NodeKind::Host).unwrap();
        let spec = link(rng);
        builder.link(host, rng.below(u64::from(switches)) as u32, &spec).unwrap();
    }
    builder.build().unwrap()
}

fn draw_flows(rng: &mut Rng, network: &Network) -> Vec<Flow> {
    let hosts = network.hosts();
    let flow = |rng: &mut Rng| {
        let from = rng.below(hosts.len() as u64) as usize;
        let to = (from + 1 + rng.below(hosts.len() as u64 - 1) as usize) % hosts.len();
        if rng.chance(0.3) {
            let ecn = [Ecn::Off, Ecn::Classic, Ecn::Dctcp][rng.below(3) as usize];
            let tcp = Tcp::new(Settings { sack: rng.chance(0.5), ecn, ..Settings::default() });
            let tcp = if rng.chance(0.5) { tcp.bytes(1 + rng.below(100_000)) } else { tcp };
            return Flow::tcp(hosts[from], hosts[to], tcp).starting(rng.below(1_000_000_000));
        }
        let span = |rng: &mut Rng| match rng.below(2) {
            0 => Span::Fixed(rng.below(100_000_000)),
            _ => Span::Exponential(rng.below(100_000_000)),
        };
        let drive = match rng.below(3) {
            0 => Drive::Constant,
            1 => Drive::Poisson,
            _ => Drive::OnOff { on: span(rng), off: span(rng) },
        };
        let packets = rng.chance(0.5).then(|| rng.below(300) as u32);
        let udp = Udp {
            rate: 1_000_000 + rng.below(2_000_000_000),
            wire_bytes: 1 + rng.below(1_500) as u32,
            drive,
            packets,
        };
        Flow::udp(hosts[from], hosts[to], udp).starting(rng.below(1_000_000_000))
    };
    (0..1 + rng.below(6)).map(|_| flow(rng)).collect()
}

/// Every packet that was sent has arrived, was dropped or is under way; and since a flow takes one way and
/// links are first in, first out, none of a flow overtakes another.
#[test]
fn packets_are_conserved_and_do_not_overtake() {
    let (mut dropped, mut under_way, mut arrived) = (0, 0, 0);
    for case in 0..300 {
        let mut rng = Rng::new(case, 0x6e65_7473);
        let network = draw_network(&mut rng);
        let flows = draw_flows(&mut rng, &network);
        let model = Packets::new(network, flows).unwrap();
        let until = Time::micros(1 + rng.below(3_000));
        let (results, _) = sequential(&model, until);
        let known = results.packets_arrived + results.packets_dropped + results.packets_in_flight;
        assert_eq!(known, results.packets_sent, "case {case}");
        assert!(results.flows.iter().all(|flow| flow.arrivals.reordered == 0), "case {case}");
        let (scattered, _) = sequential(&model.ecmp(Ecmp::Packet), until);
        let known = scattered.packets_arrived + scattered.packets_dropped + scattered.packets_in_flight;
        assert_eq!(known, scattered.packets_sent, "case {case}, a way for each packet");
        dropped += results.packets_dropped;
        under_way += results.packets_in_flight;
        arrived += results.packets_arrived;
    }
    assert!(dropped > 1_000 && under_way > 1_000 && arrived > 10_000, "{dropped}, {under_way}, {arrived}");
}

/// Adds switches that are all joined, and a link between any other two of them by this chance.
pub fn join_switches(
    builder: &mut NetworkBuilder,
    rng: &mut Rng,
    switches: u32,
    chance: f64,
    link: impl Fn(&mut Rng) -> LinkSpec,
) {
    for number in 0..switches {
        let switch = builder.node(format!("s{number}"), NodeKind::Switch).unwrap();
        if number > 0 {
            let spec = link(rng);
            builder.link(rng.below(u64::from(switch)) as u32, switch, &spec).unwrap();
        }
    }
    for one in 0..switches {
        for other in one + 1..switches {
            if rng.chance(chance) {
                // One that is there already is refused, and changes nothing.
                let _ = builder.link(one, other, &link(rng));
            }
        }
    }
}
