//! The networks that several tests run, and one way to run them.

use paceline_engine::{Protocol, Report, Simulation};
use paceline_kernel::Time;
use paceline_packets::{Drive, Ecmp, Flow, LinkSpec, NetOutput, NetResults, Packets, Udp, pairs, topology};

/// The fat tree of ns-3's settings: links of 10 Gb/s and 3 us, 100 packets a port; each host sends 1030 bytes
/// on the wire at 5 Gb/s to the one half the hosts away, starting at the interval times its share of the
/// hosts.
pub fn fat_tree(k: u32) -> Packets {
    let network = topology::fat_tree(k, &LinkSpec::new(10_000_000_000, 3_000_000).drop_tail(100)).unwrap();
    let udp = Udp { rate: 5_000_000_000, wire_bytes: 1030, drive: Drive::Constant, packets: None };
    let hosts = network.hosts().len() as u32;
    let ends = pairs(&network, "hosts", "opposite").unwrap();
    let flow = |(host, (from, to))| Flow::udp(from, to, udp).starting(udp.stagger_ps(host, hosts));
    let flows = (0..).zip(ends).map(flow).collect();
    Packets::new(network, flows).unwrap().ecmp(Ecmp::Packet)
}

/// The results and the report of a sequential run.
pub fn sequential(model: &Packets, until: Time) -> (NetResults, Report<NetOutput>) {
    let run = Simulation::new(model.clone()).protocol(Protocol::Sequential).threads(1).until(until);
    let report = run.run().unwrap();
    (NetResults::new(model.flows(), &report.outputs), report)
}
