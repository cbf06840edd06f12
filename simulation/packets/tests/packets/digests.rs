//! The digest is the same whatever the protocol, the partition and the threads.

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::{Digest, Time};
use paceline_packets::{Drive, Ecmp, Flow, LinkSpec, NetResults, Packets, Span, Udp, pairs, topology};

use crate::networks::{fat_tree, sequential};

/// Runs `model` in every way, and compares digest and results with those of the sequential reference.
fn agree_in_every_way(model: &Packets, until: Time) -> Digest {
    let (reference, report) = sequential(model, until);
    for protocol in
        [Protocol::Window, Protocol::NullMessage, Protocol::NullMessageOnDemand, Protocol::Optimistic]
    {
        for (federates, threads) in [(1, 1), (2, 1), (2, 2), (4, 2), (7, 2)] {
            let run = Simulation::new(model.clone()).protocol(protocol).until(until);
            let run = run.federates(federates).threads(threads).run().unwrap();
            let what = format!("{protocol:?}, {federates} federates, {threads} threads");
            assert_eq!(run.digest, report.digest, "{what}");
            assert_eq!(NetResults::new(model, &run.outputs), reference, "{what}");
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
