//! Frames of real machines: exact times, every byte in the digest and in captures, marks, answers to ARP.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use paceline_engine::{Protocol, Report, Simulation};
use paceline_kernel::{Digest, LpId, Time};
use paceline_packets::queue::{Limit, QueueSettings, Threshold};
use paceline_packets::{
    Drive, Flow, FrameBody, FrameCounts, LinkSpec, NetEvent, NetOutput, NetResults, Network, PacketError,
    Packets, Stations, Udp, topology,
};
use paceline_results::{Results, RunFacts};

/// The machines are at left-0 and right-0; left-1 and right-1 are simulated.
fn network(bottleneck: &LinkSpec) -> Network {
    topology::dumbbell(2, &LinkSpec::new(100_000_000, 10_000_000), bottleneck).unwrap()
}

fn machines(network: Network, flows: Vec<Flow>) -> Packets {
    let at = ["left-0", "right-0"].map(|name| (network.node(name).unwrap(), None));
    let stations = Stations::new(&network, &at).unwrap();
    Packets::new(network, flows).unwrap().machines(stations).unwrap()
}

fn address(model: &Packets, name: &str) -> Ipv4Addr {
    model.stations().unwrap().address(model.network().node(name).unwrap()).unwrap()
}

/// An IPv4 packet of `length` bytes in all, with a checksum, from a machine to another.
fn ipv4(from: Ipv4Addr, to: Ipv4Addr, ecn: u8, length: usize) -> Vec<u8> {
    let mut bytes = [Stations::ethernet_address(to), Stations::ethernet_address(from)].concat();
    bytes.extend([8, 0, 0x45, ecn, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0]);
    bytes[16..18].copy_from_slice(&(length as u16 - 14).to_be_bytes());
    bytes.extend(from.octets());
    bytes.extend(to.octets());
    let checksum = !sum(&bytes[14..]);
    bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend((0..length - 34).map(|place| place as u8));
    bytes
}

/// The sum of all words (RFC 1071): ones for a header with its checksum.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

fn arp_request(from: Ipv4Addr, asked: Ipv4Addr) -> Vec<u8> {
    let us = Stations::ethernet_address(from);
    let mut bytes = [[0xff; 6], us].concat();
    bytes.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    bytes.extend(us);
    bytes.extend(from.octets());
    bytes.extend([0; 6]);
    bytes.extend(asked.octets());
    bytes
}

/// What machines send: at which host, when in microseconds, what.
type Sent = Vec<(&'static str, u64, Vec<u8>)>;

/// Runs `model` for a second with frames that machines send, in the order of their times.
fn run(simulation: Simulation<Packets>, model: &Packets, sent: &Sent) -> Report<NetOutput> {
    let mut run = simulation.until(Time::secs(1)).start().unwrap();
    for (number, (at, us, bytes)) in (0..).zip(sent) {
        let body = FrameBody::new(bytes.clone(), us * 1_000_000, number).unwrap();
        let lp = LpId(model.network().node(at).unwrap());
        run.send(lp, Time::micros(*us), NetEvent::Emit(body)).unwrap();
    }
    run.run_until(Time::secs(1)).unwrap();
    run.finish().unwrap()
}

fn sequential(model: &Packets, sent: &Sent) -> (NetResults, Digest) {
    let simulation = Simulation::new(model.clone()).protocol(Protocol::Sequential).threads(1);
    let report = run(simulation, model, sent);
    (NetResults::new(model.flows(), &report.outputs), report.digest)
}

/// The frames of a machine in the results.
fn counts(model: &Packets, results: &NetResults, name: &str) -> FrameCounts {
    let node = model.network().node(name).unwrap();
    results.frames.iter().find(|(of, _)| *of == node).map_or(FrameCounts::default(), |(_, counts)| *counts)
}

/// A frame of 98 bytes has 122 on the wire, one of 42 is padded to 84: at 100 Mb/s 80 ns a byte, twice, at 10
/// Mb/s ten times as much; and 20 us and 1 ms of latencies.
#[test]
fn frames_take_what_ethernet_takes() {
    for (length, wire_bytes) in [(98, 122), (42, 84), (60, 84), (61, 85), (1_514, 1_538)] {
        let model = machines(network(&LinkSpec::new(10_000_000, 1_000_000_000)), vec![]);
        let frame = ipv4(address(&model, "left-0"), address(&model, "right-0"), 0, length);
        let (results, _) = sequential(&model, &vec![("left-0", 5, frame)]);
        let arrived = counts(&model, &results, "right-0");
        let expected = wire_bytes * (2 * 80_000 + 800_000) + 2 * 10_000_000 + 1_000_000_000;
        assert_eq!((arrived.arrived, arrived.delay_sum_ps), (1, expected), "{length} bytes");
        assert_eq!((results.packets_sent, results.packets_arrived), (1, 1));
    }
}

/// One of a burst is being sent at the bottleneck, five wait, and the last comes when the first have left.
#[test]
fn what_finds_no_room_is_dropped() {
    let model = machines(network(&LinkSpec::new(1_000_000, 1_000_000).drop_tail(5)), vec![]);
    let frame = ipv4(address(&model, "left-0"), address(&model, "right-0"), 0, 1_514);
    let sent = (0..20).chain([100_000]).map(|us| ("left-0", us, frame.clone())).collect();
    let (results, _) = sequential(&model, &sent);
    assert_eq!((results.packets_sent, results.packets_arrived, results.packets_dropped), (21, 7, 14));
    assert_eq!(counts(&model, &results, "left-0").sent, 21);
}

/// The packets of a file: what is there of each, and its time in nanoseconds.
fn packets(file: &[u8], link_type: u8) -> Vec<(u64, Vec<u8>)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!(word(20), u32::from(link_type));
    let (mut at, mut packets) = (24, Vec::new());
    while at < file.len() {
        let (seconds, ns, held) = (word(at), word(at + 4), word(at + 8) as usize);
        packets.push((u64::from(seconds) * 1_000_000_000 + u64::from(ns), file[at + 16..][..held].to_vec()));
        at += 16 + held;
    }
    packets
}

fn files(model: &Packets, report: Report<NetOutput>) -> BTreeMap<String, Vec<u8>> {
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let summary = model.results(report.outputs, &facts).unwrap();
    let write = |file: paceline_results::ResultFile| {
        let (name, mut bytes) = (file.name.to_string(), Vec::new());
        file.write(&mut bytes).unwrap();
        (name, bytes)
    };
    summary.files.into_iter().filter(|file| file.name.ends_with(".pcap")).map(write).collect()
}

/// A queue that marks from two packets on: what may be marked comes with another ECN field and a checksum
/// that fits it; everything else comes as it was sent.
#[test]
fn marks_are_in_the_header() {
    let queue = Threshold { limit: Limit::Endless, mark: Limit::Packets(2), drops_incapable: false };
    let bottleneck = LinkSpec::new(10_000_000, 1_000_000).queue(QueueSettings::Threshold(queue));
    let model = machines(network(&bottleneck), vec![]).capture(&["*"], None).unwrap();
    let (from, to) = (address(&model, "left-0"), address(&model, "right-0"));
    let sent: Sent = (0..12).map(|n| ("left-0", n, ipv4(from, to, (n % 3) as u8, 500))).collect();
    let simulation = Simulation::new(model.clone()).protocol(Protocol::Sequential).threads(1);
    let files = files(&model, run(simulation, &model, &sent));
    let first = packets(&files["left-0-and-router-left.pcap"], 1);
    assert_eq!(first.len(), 12);
    for ((_, bytes), (.., sent)) in first.iter().zip(&sent) {
        assert_eq!(bytes, sent);
    }
    let last = packets(&files["right-0-and-router-right.pcap"], 1);
    let mut marked = 0;
    for ((_, bytes), (.., sent)) in last.iter().zip(&sent) {
        assert_eq!(sum(&bytes[14..34]), 0xffff, "{bytes:x?}");
        assert_eq!(bytes[22], 62, "two routers");
        if bytes[15] == 3 {
            marked += 1;
            assert_ne!(sent[15], 0);
        }
        let mut same = bytes.clone();
        (same[15], same[22]) = (sent[15], sent[22]);
        same[24..26].copy_from_slice(&sent[24..26]);
        assert_eq!(&same, sent);
    }
    assert!((5..8).contains(&marked), "{marked} of 8 that may be marked");
}

/// Captured packets of flows stand beside frames in files of Ethernet.
#[test]
fn flows_and_frames_share_files() {
    let network = network(&LinkSpec::new(10_000_000, 1_000_000));
    let [from, to] = ["left-1", "right-1"].map(|name| network.node(name).unwrap());
    let udp = Udp { rate: 1_000_000, wire_bytes: 130, drive: Drive::Constant, packets: Some(3) };
    let model = machines(network, vec![Flow::udp(from, to, udp)]);
    let model = model.capture(&["router-left -> router-right"], None).unwrap();
    let frame = ipv4(address(&model, "left-0"), address(&model, "right-0"), 0, 98);
    let simulation = Simulation::new(model.clone()).protocol(Protocol::Sequential).threads(1);
    let report = run(simulation, &model, &vec![("left-0", 700, frame.clone())]);
    let packets = packets(&files(&model, report)["router-left-to-router-right.pcap"], 1);
    // Behind a router, but for that as it was sent.
    let is_frame = |bytes: &[u8]| bytes.len() == 98 && bytes[34..] == frame[34..];
    assert_eq!(
        packets.iter().map(|(_, bytes)| is_frame(bytes)).collect::<Vec<_>>(),
        [false, true, false, false]
    );
    for (_, bytes) in packets.iter().filter(|(_, bytes)| !is_frame(bytes)) {
        assert_eq!((bytes.len(), &bytes[..14]), (42, &[2, 0, 10, 0, 0, 4, 2, 0, 10, 0, 0, 2, 8, 0][..]));
        assert_eq!(sum(&bytes[14..34]), 0xffff);
    }
}

/// As `traceroute` has it: a time to live of 1 ends at the first router, one of 2 at the second, 3 arrives.
/// Messages about errors and later fragments end without a message.
#[test]
fn routers_count_the_time_to_live_down_and_say_where_it_ends() {
    let model =
        machines(network(&LinkSpec::new(10_000_000, 1_000_000)), vec![]).capture(&["*"], None).unwrap();
    let (us, them) = (address(&model, "left-0"), address(&model, "right-0"));
    let with = |ttl: u8, protocol: u8, fragment: u8, kind: u8| {
        let mut bytes = ipv4(us, them, 0, 98);
        (bytes[21], bytes[22], bytes[23], bytes[34]) = (fragment, ttl, protocol, kind);
        bytes[24..26].fill(0);
        let checksum = !sum(&bytes[14..34]);
        bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
        bytes
    };
    let frames = [
        with(1, 17, 0, 0),
        with(2, 1, 0, 8),
        with(3, 17, 0, 0),
        with(0, 17, 0, 0),
        with(1, 1, 0, 11),
        with(1, 17, 7, 0),
    ];
    let sent: Sent =
        (0..).map(|n| n * 5_000).zip(frames.clone()).map(|(us, frame)| ("left-0", us, frame)).collect();
    let simulation = Simulation::new(model.clone()).protocol(Protocol::Sequential).threads(1);
    let report = run(simulation, &model, &sent);
    let results = NetResults::new(model.flows(), &report.outputs);
    assert_eq!((results.packets_sent, results.packets_arrived, results.packets_dropped), (6, 4, 2));
    assert_eq!(counts(&model, &results, "right-0").arrived, 1);
    let packets = packets(&files(&model, report)["left-0-and-router-left.pcap"], 1);
    let messages: Vec<&[u8]> =
        packets.iter().map(|(_, bytes)| &bytes[..]).filter(|bytes| bytes[26..30] != us.octets()).collect();
    // The second had been counted down to 1 before.
    let mut second = frames[1].clone();
    second[22] = 1;
    second[24..26].fill(0);
    let checksum = !sum(&second[14..34]);
    second[24..26].copy_from_slice(&checksum.to_be_bytes());
    let quoted = [&frames[0], &second, &frames[3]];
    assert_eq!(messages.len(), quoted.len());
    for (message, quoted) in messages.iter().zip(quoted) {
        assert_eq!((sum(&message[14..34]), sum(&message[34..])), (0xffff, 0xffff));
        assert_eq!((message[23], &message[34..36], &message[30..34]), (1, &[11, 0][..], &us.octets()[..]));
        assert_eq!(message[42..], quoted[14..42]);
    }
    assert_ne!(messages[0][26..30], messages[1][26..30], "each router has an address of its own");
    assert_eq!(messages[0][26..30], messages[2][26..30]);
}

#[test]
fn what_cannot_be_forwarded_is_counted_and_arp_is_answered() {
    let model = machines(network(&LinkSpec::new(10_000_000, 1_000_000)), vec![]);
    let (us, them) = (address(&model, "left-0"), address(&model, "right-0"));
    let mut ipv6 = ipv4(us, them, 0, 98);
    ipv6[12..14].copy_from_slice(&[0x86, 0xdd]);
    let frames = [
        ipv6,
        ipv4(us, Ipv4Addr::new(224, 0, 0, 1), 0, 98),
        ipv4(us, Ipv4Addr::new(10, 9, 9, 9), 0, 98),
        ipv4(us, us, 0, 98),
        ipv4(us, them, 0, 98)[..33].to_vec(),
        vec![],
        arp_request(us, us),
        arp_request(us, them),
        ipv4(us, address(&model, "right-1"), 0, 98),
    ];
    let sent: Sent = (0..).zip(frames.clone()).map(|(us, frame)| ("left-0", us, frame)).collect();
    let (results, _) = sequential(&model, &sent);
    let left = counts(&model, &results, "left-0");
    assert_eq!((left.sent, left.unforwarded, results.packets_arrived), (1, 7, 1));

    let stations = model.stations().unwrap();
    let node = model.network().node("left-0").unwrap();
    let answers = frames.map(|frame| stations.answer(node, &FrameBody::new(frame, 0, 0).unwrap()));
    assert_eq!(answers.iter().flatten().count(), 1);
    let (ours, theirs) = (Stations::ethernet_address(us), Stations::ethernet_address(them));
    let mut expected = [ours, theirs].concat();
    expected.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 2]);
    expected.extend([&theirs[..], &them.octets(), &ours, &us.octets()].concat());
    assert_eq!(answers[7].as_ref(), Some(&expected));
}

/// Any other byte is another digest, also where nothing looks at it.
#[test]
fn the_digest_has_every_byte() {
    let model = machines(network(&LinkSpec::new(10_000_000, 1_000_000)), vec![]);
    let frame = ipv4(address(&model, "left-0"), address(&model, "right-0"), 0, 90);
    let digest = |frame: Vec<u8>| sequential(&model, &vec![("left-0", 0, frame)]).1;
    let mut digests = std::collections::BTreeSet::from([digest(frame.clone()).value()]);
    for place in 34..90 {
        let mut other = frame.clone();
        other[place] ^= 1 << (place % 8);
        assert!(digests.insert(digest(other).value()), "byte {place}");
    }
    assert!(digests.insert(digest([&frame[..], &[0]].concat()).value()), "a byte more");
}

/// Frames and flows through one bottleneck: the same in every protocol, partition and number of threads.
#[test]
fn digests_do_not_depend_on_the_protocol() {
    let network = network(&LinkSpec::new(3_000_001, 1_000_000_000).drop_tail(8));
    let [from, to] = ["left-1", "right-1"].map(|name| network.node(name).unwrap());
    let udp = Udp { rate: 1_500_000, wire_bytes: 777, drive: Drive::Poisson, packets: None };
    let model = machines(network, vec![Flow::udp(from, to, udp)]);
    let (left, right) = (address(&model, "left-0"), address(&model, "right-0"));
    let sent: Sent = (0..400)
        .map(|n: u64| {
            let length = 60 + (n * 977 % 1_400) as usize;
            if n.is_multiple_of(3) {
                ("right-0", n * 1_301, ipv4(right, left, 0, length))
            } else {
                ("left-0", n * 1_301, ipv4(left, right, 0, length))
            }
        })
        .collect();
    let (reference, digest) = sequential(&model, &sent);
    assert!(reference.packets_dropped > 20 && counts(&model, &reference, "right-0").arrived > 100);
    for protocol in
        [Protocol::Window, Protocol::NullMessage, Protocol::NullMessageOnDemand, Protocol::Optimistic]
    {
        for (federates, threads) in [(1, 1), (4, 1), (4, 2)] {
            let simulation = Simulation::new(model.clone()).protocol(protocol);
            let report = run(simulation.federates(federates).threads(threads), &model, &sent);
            let what = format!("{protocol:?}, {federates} federates, {threads} threads");
            assert_eq!(report.digest, digest, "{what}");
            assert_eq!(NetResults::new(model.flows(), &report.outputs), reference, "{what}");
        }
    }
}

#[test]
fn places_and_addresses_that_cannot_be_are_refused() {
    let network = network(&LinkSpec::new(10_000_000, 1_000_000));
    let node = |name| network.node(name).unwrap();
    let stations = |at: &[(u32, Option<Ipv4Addr>)]| Stations::new(&network, at).unwrap_err();
    let kind = "router";
    let router = PacketError::MachineNotAHost { node: "router-left".into(), kind };
    assert_eq!(stations(&[(node("router-left"), None)]), router);
    let twice = PacketError::MachineTwice { node: "left-0".into() };
    assert_eq!(stations(&[(node("left-0"), None), (node("left-0"), None)]), twice);
    // The second host has this one.
    let taken = Ipv4Addr::new(10, 0, 0, 2);
    let error = stations(&[(node("left-0"), Some(taken))]);
    assert_eq!(
        error.to_string(),
        "the hosts \"left-0\" and \"left-1\" have the address 10.0.0.2; allowed: each address once"
    );
    for address in [[127, 0, 0, 1], [224, 0, 0, 1], [255; 4], [0; 4]].map(Ipv4Addr::from) {
        let refused = PacketError::Address { node: "left-0".into(), address };
        assert_eq!(stations(&[(node("left-0"), Some(address))]), refused);
    }
    assert!(FrameBody::new(vec![0; 65_554], 0, 0).is_none());
    let _: Arc<FrameBody> = FrameBody::new(vec![0; 65_553], 0, 0).unwrap();
}
