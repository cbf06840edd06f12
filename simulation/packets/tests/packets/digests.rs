//! The digest is the same whatever the protocol, the partition and the threads.

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::{Digest, Time};
use paceline_packets::loss::{Jitter, JitterDelay, LossModel};
use paceline_packets::queue::{CodelSettings, Limit, QueueSettings, Share, Threshold};
use paceline_packets::tcp::{Algorithm, Ecn, Settings};
use paceline_packets::{Drive, Ecmp, Flow, LinkSpec, NetResults, Packets, Span, Tcp, Udp, pairs, topology};

use crate::networks::{fat_tree, sequential};

/// Runs `model` in every way, and compares digest and results with those of the sequential reference.
pub fn agree_in_every_way(model: &Packets, until: Time) -> Digest {
    let (reference, report) = sequential(model, until);
    for protocol in
        [Protocol::Window, Protocol::NullMessage, Protocol::NullMessageOnDemand, Protocol::Optimistic]
    {
        for (federates, threads) in [(1, 1), (2, 1), (2, 2), (4, 2), (7, 2)] {
            let run = Simulation::new(model.clone()).protocol(protocol).until(until);
            let run = run.federates(federates).threads(threads).run().unwrap();
            let what = format!("{protocol:?}, {federates} federates, {threads} threads");
            assert_eq!(run.digest, report.digest, "{what}");
            assert_eq!(NetResults::new(model.flows(), &run.outputs), reference, "{what}");
        }
    }
    report.digest
}

#[test]
fn fat_trees_agree() {
    let packet = agree_in_every_way(&fat_tree(4), Time::micros(300));
    let flow = agree_in_every_way(&fat_tree(4).ecmp(Ecmp::Flow), Time::micros(300));
    assert_ne!(packet, flow, "a way for each packet is another way");
}

#[test]
fn bursts_through_a_bottleneck_that_drops_agree() {
    let access = LinkSpec::new(1_000_000_000, 10_000_000);
    let bottleneck = LinkSpec::new(700_000_000, 50_000_000).drop_tail(10);
    let network = topology::dumbbell(4, &access, &bottleneck).unwrap();
    let drives = [
        Drive::Poisson,
        Drive::Constant,
        Drive::OnOff { on: Span::Exponential(100_000_000), off: Span::Fixed(70_000_000) },
        Drive::OnOff { on: Span::Fixed(130_000_000), off: Span::Exponential(40_000_000) },
    ];
    let ends = pairs(&network, "left-*", "right-*").unwrap();
    let udp = |drive| Udp { rate: 300_000_007, wire_bytes: 777, drive, packets: None };
    let flows = ends.into_iter().zip(drives).map(|((from, to), drive)| Flow::udp(from, to, udp(drive)));
    let model = Packets::new(network, flows.collect()).unwrap();
    let (results, _) = sequential(&model, Time::millis(5));
    assert!(results.packets_dropped > 50, "{} packets dropped", results.packets_dropped);
    agree_in_every_way(&model, Time::millis(5));
}

/// TCP of all kinds through queues that decide at arrival and at departure, with loss and jitter.
#[test]
fn connections_agree() {
    let access = LinkSpec::new(1_000_000_000, 10_000_000);
    let (limit, mark) = (Limit::Packets(40), Limit::Packets(5));
    let codel = CodelSettings {
        target: Time::micros(500),
        interval: Time::millis(5),
        mtu: 1_500,
        marks: true,
        ce_threshold: None,
    };
    for queue in [
        QueueSettings::Codel(codel, limit),
        QueueSettings::Threshold(Threshold { limit, mark, drops_incapable: false }),
    ] {
        let mut bottleneck = LinkSpec::new(50_000_003, 1_000_000_000).queue(queue);
        bottleneck.loss = Some(LossModel::Random(Share::ratio(1, 200).unwrap()));
        let delay = JitterDelay::Exponential(Time::micros(100));
        bottleneck.jitter = Some(Jitter { delay, keeps_order: false });
        let network = topology::dumbbell(4, &access, &bottleneck).unwrap();
        let ends = pairs(&network, "left-*", "right-*").unwrap();
        let algorithms = [Algorithm::NewReno, Algorithm::Cubic, Algorithm::Dctcp, Algorithm::Bbr];
        let flow = |((from, to), algorithm): ((u32, u32), Algorithm)| {
            let ecn = if algorithm == Algorithm::Dctcp { Ecn::Dctcp } else { Ecn::Classic };
            let tcp = Tcp::new(Settings { algorithm, ecn, ..Settings::default() });
            let tcp = if algorithm == Algorithm::Cubic { tcp.bytes(300_000) } else { tcp };
            Flow::tcp(from, to, tcp).starting(u64::from(from) * 1_000_003)
        };
        let model = Packets::new(network, ends.into_iter().zip(algorithms).map(flow).collect()).unwrap();
        let (results, _) = sequential(&model, Time::millis(500));
        let marked: u64 = results.links.iter().map(|link| link.marked).sum();
        let delivered: Vec<u64> = results.flows.iter().map(|flow| flow.delivered()).collect();
        assert!(delivered.iter().all(|bytes| *bytes > 50_000), "{delivered:?}");
        assert!(results.packets_dropped > 5, "{} packets dropped, {marked} marked", results.packets_dropped);
        agree_in_every_way(&model, Time::millis(500));
    }
}
