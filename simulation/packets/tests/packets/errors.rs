//! What cannot be simulated is refused, and the text says what, where and what is allowed.

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::{Model, Time};
use paceline_packets::tcp::Settings;
use paceline_packets::{
    Drive, Flow, LinkSpec, NetResults, NetworkBuilder, NodeKind, PacketError, Packets, Tcp, Udp, pairs,
    topology,
};

const RATE: u64 = 1_000_000_000;

/// Hosts a and b and a switch s, not joined yet.
fn three() -> (NetworkBuilder, [u32; 3]) {
    let mut builder = NetworkBuilder::new();
    let nodes = [("a", NodeKind::Host), ("b", NodeKind::Host), ("s", NodeKind::Switch)];
    let nodes = nodes.map(|(name, kind)| builder.node(name, kind).unwrap());
    (builder, nodes)
}

fn udp() -> Udp {
    Udp { rate: 1_000_000, wire_bytes: 100, drive: Drive::Constant, packets: None }
}

#[track_caller]
fn assert_says<T>(result: Result<T, PacketError>, text: &str) {
    assert_eq!(result.err().expect("it is refused").to_string(), text);
}

#[test]
fn links_that_cannot_be_are_refused() {
    let (mut builder, [a, b, s]) = three();
    let link = LinkSpec::new(RATE, 1_000);
    assert_says(builder.node("a", NodeKind::Host), "the node \"a\" is given twice; allowed: each name once");
    let text = "the link from \"a\" to \"s\" has a rate of 0 bit/s; allowed: from 1 to 10^15";
    assert_says(builder.link(a, s, &LinkSpec::new(0, 1_000)), text);
    let text = "the link from \"a\" leads to \"a\" itself; allowed: a link between two nodes";
    assert_says(builder.link(a, a, &link), text);
    let text = "the link from \"a\" to \"s\" has a queue for nothing; allowed: a limit of 1 or more";
    assert_says(builder.link(a, s, &link.clone().drop_tail(0)), text);
    let text = "the link from \"a\" to \"s\" has a weight of 0; allowed: from 1 to 1000";
    assert_says(builder.link(a, s, &LinkSpec { weight: 0, ..link.clone() }), text);
    builder.link(a, s, &link).unwrap();
    let text = "the link from \"s\" to \"a\" is given twice; allowed: one link between two nodes";
    assert_says(builder.link(s, a, &link), text);
    builder.link(b, s, &link).unwrap();
    builder.build().unwrap();
}

/// A tree of links without latency is allowed, since packets take time; a loop of them is not, and neither is
/// a link on which a packet takes less than a tick.
#[test]
fn links_without_latency_are_refused_where_time_would_stand_still() {
    let (mut builder, [a, b, s]) = three();
    let none = LinkSpec::new(RATE, 0);
    builder.link(a, s, &none).unwrap();
    builder.link(s, b, &none).unwrap();
    builder.clone().build().unwrap();
    builder.link(b, a, &none).unwrap();
    let text = "the link from \"b\" to \"a\" closes a loop of links with a latency of 0; allowed: a latency above 0 on \
                one link of each loop";
    assert_says(builder.build(), text);
    let (mut builder, [a, b, _]) = three();
    builder.link(a, b, &LinkSpec::new(1_000_000_000_000_000, 0)).unwrap();
    let error = Packets::new(builder.build().unwrap(), vec![Flow::udp(a, b, udp())]).err().unwrap();
    assert!(matches!(error, PacketError::NoDelay { packet_ps: 0, bytes: 100, .. }), "{error}");
}

#[test]
fn flows_that_cannot_be_are_refused() {
    let (mut builder, [a, b, s]) = three();
    builder.link(a, s, &LinkSpec::new(RATE, 1_000)).unwrap();
    let network = builder.build().unwrap();
    let refuse = |flow: Flow| Packets::new(network.clone(), vec![flow]);
    let text = "there is no route from \"a\" to \"b\"; allowed: flows between nodes that links join";
    assert_says(refuse(Flow::udp(a, b, udp())), text);
    let text = "flow 0 goes from \"a\" to itself; allowed: a flow between two hosts";
    assert_says(refuse(Flow::tcp(a, a, Tcp::new(Settings::default()))), text);
    let text = "flow 0 has \"s\" as an end, a switch; allowed: hosts";
    assert_says(refuse(Flow::udp(a, s, udp())), text);
    let star = topology::star(3, &LinkSpec::new(RATE, 1_000)).unwrap();
    let refuse = |udp: Udp| Packets::new(star.clone(), vec![Flow::udp(0, 1, udp)]);
    assert_says(refuse(Udp { rate: 0, ..udp() }), "flow 0 has a rate of 0; allowed: from 1 to 10^15 bit/s");
    let text = "flow 0 has a wire_bytes of 0; allowed: from 1 to 1,000,000";
    assert_says(refuse(Udp { wire_bytes: 0, ..udp() }), text);
    let text = "no node of the network is called \"left-*\"; allowed: \"host-0\", \"host-1\", \"host-2\", \"switch\"";
    assert_says(pairs(&star, "left-*", "hosts"), text);
    let dumbbell = topology::dumbbell(3, &LinkSpec::new(RATE, 1_000), &LinkSpec::new(RATE, 1_000)).unwrap();
    assert_eq!(pairs(&dumbbell, "left-*", "right-0").unwrap(), [(0, 3), (1, 3), (2, 3)]);
    let error = pairs(&dumbbell, "left-*", "hosts").unwrap_err();
    assert!(matches!(error, PacketError::Pairs { from: 3, to: 6, .. }), "{error}");
}

#[test]
fn topologies_refuse_what_they_cannot_be() {
    let link = LinkSpec::new(RATE, 1_000);
    assert_says(
        topology::fat_tree(5, &link),
        "a fat tree cannot have k = 5; allowed: an even number from 2 to 128",
    );
    let text = "a torus cannot have sides = 3 x 0; allowed: from 1 to 16 sides, each at least 1";
    assert_says(topology::torus(&[3, 0], &link, &link), text);
    let text = "a dragonfly cannot have groups = 6; allowed: at most 5: 4 routers with 1 global links each";
    assert_says(topology::dragonfly([6, 4, 1, 1], &link, &link, &link), text);
    let text = "a random network cannot have links = 3; allowed: from 4 to 10";
    assert_says(topology::random(5, 3, 1, &link, &link), text);
}

/// A horizon beyond the clock is refused; up to it nothing runs over, however slow a link is.
#[test]
fn horizons_that_the_clock_does_not_reach_are_refused() {
    let (mut builder, [a, b, _]) = three();
    builder.link(a, b, &LinkSpec::new(1, 1_000_000_000_000_000_000)).unwrap();
    let network = builder.build().unwrap();
    let source = |drive, rate| Udp { rate, wire_bytes: 1_000_000, drive, packets: None };
    let drives = [Drive::Constant, Drive::Poisson];
    let flows = drives.map(|drive| Flow::udp(a, b, source(drive, 1_000)));
    let model = Packets::new(network, flows.to_vec()).unwrap();
    let latest = model.latest_horizon();
    let run = |until| Simulation::new(model.clone()).protocol(Protocol::Sequential).until(until).run();
    let error = run(latest + Time::TICK).expect_err("it is refused").to_string();
    let text = format!(
        "a horizon of {} is later than the model's times reach; allowed: at most {latest}",
        latest + Time::TICK
    );
    assert_eq!(error, text);
    // The first packet is sent after 93 days, and arrives 11 days later.
    let results = NetResults::new(model.flows(), &run(latest).unwrap().outputs);
    assert_eq!(results.packets_arrived, 1);
    assert_eq!(results.packets_sent, 1 + results.packets_in_flight);
    assert!(results.packets_sent > 2_000, "{} packets sent", results.packets_sent);
    // Without a horizon it comes there, and says so.
    let error = run(Time::MAX).expect_err("it does not end").to_string();
    assert!(error.contains("at most 2^63 ps, 106 days"), "{error}");
}

/// What TCP cannot work with is refused with its flow.
#[test]
fn settings_are_checked_with_their_flow() {
    let star = topology::star(3, &LinkSpec::new(RATE, 1_000)).unwrap();
    let mut tcp = Tcp::new(Settings::default());
    tcp.receiver = Settings { receive_buffer: 0, ..Settings::default() }.into();
    let result = Packets::new(star, vec![Flow::udp(0, 1, udp()), Flow::tcp(0, 1, tcp)]);
    assert_says(result, "flow 1 has a receive_buffer of 0; allowed: from 1 byte to 1 GiB");
}
