//! Captures: every field of the files, the same bytes in every mode, and what the files say against what the
//! run counted.

use std::collections::BTreeMap;

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::Time;
use paceline_packets::loss::{Jitter, JitterDelay, LossModel};
use paceline_packets::queue::{CodelSettings, Limit, QueueSettings, Share};
use paceline_packets::tcp::{Algorithm, Ecn, Settings};
use paceline_packets::{
    Drive, Flow, LinkSpec, NetOutput, NetResults, Network, NetworkBuilder, NodeKind, Packets, Rdma, Tcp, Udp,
    pairs, topology,
};
use paceline_results::{Results, RunFacts};

use crate::networks::fat_tree;
use crate::pcap::{ACK, Captured, FIN, PSH, SYN, TcpFields, read, read_with_trailer};
use crate::rdma::incast;

pub type Files = BTreeMap<String, Vec<u8>>;

/// The pcap files of a run, by name, and its results.
fn files(run: Simulation<Packets>) -> (Files, NetResults) {
    let (report, model) = run.run_keeping_model().unwrap();
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    // As those of several processes come: written and read, and in whatever order.
    let bytes = postcard::to_stdvec(&report.outputs).unwrap();
    let mut outputs: Vec<NetOutput> = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(outputs, report.outputs);
    outputs.reverse();
    let results = NetResults::new(model.flows(), &outputs);
    let summary = model.results(outputs, &facts).unwrap();
    let captures = summary.files.into_iter().filter(|file| file.name.ends_with(".pcap"));
    let written = captures.map(|file| {
        let (name, mut bytes) = (file.name.to_string(), Vec::new());
        file.write(&mut bytes).unwrap();
        (name, bytes)
    });
    (written.collect(), results)
}

pub fn sequential(model: &Packets, until: Time) -> (Files, NetResults) {
    files(Simulation::new(model.clone()).protocol(Protocol::Sequential).threads(1).until(until))
}

/// Hosts a and b, 8 Mb/s (1 us a byte) and 1 ms.
fn two_hosts() -> Network {
    let mut builder = NetworkBuilder::new();
    let (a, b) = (builder.node("a", NodeKind::Host).unwrap(), builder.node("b", NodeKind::Host).unwrap());
    builder.link(a, b, &LinkSpec::new(8_000_000, 1_000_000_000)).unwrap();
    builder.build().unwrap()
}

const A: u32 = 0x0a00_0001;
const B: u32 = 0x0a00_0002;

#[test]
fn a_udp_packet_has_its_times_lengths_and_addresses() {
    let udp = Udp { rate: 800_000, wire_bytes: 100, drive: Drive::Constant, packets: Some(2) };
    let flows = vec![
        Flow::udp(0, 1, udp).starting(1_234_567_891_234),
        Flow::udp(1, 0, Udp { wire_bytes: 29, ..udp }),
        Flow::udp(0, 1, Udp { packets: None, rate: 1_000, ..udp }).starting(1_237_000_000_000),
    ];
    let model = Packets::new(two_hosts(), flows).unwrap();
    let until = Time::nanos(1_236_567_890);
    let (files, _) = sequential(&model.clone().capture(&["a -> b", "a <-> b"], None).unwrap(), until);
    assert_eq!(files.keys().collect::<Vec<_>>(), ["a-and-b.pcap", "a-to-b.pcap"]);
    let sent = Captured {
        ns: 1_234_567_891,
        length: 100,
        held: 30,
        from: (A, 61_440),
        to: (B, 60_416),
        id: 0,
        ecn: 0,
        tcp: None,
        data: 70,
    };
    let second = Captured { ns: 1_235_567_891, id: 1, ..sent.clone() };
    // Ports count the flows of two hosts; what is shorter than its headers shows with them. It takes 29 us.
    let came =
        Captured { ns: 1_029_000, length: 30, from: (B, 61_441), to: (A, 60_416), data: 0, ..sent.clone() };
    // The interval is that of 29 bytes.
    let other = Captured { ns: 1_319_000, id: 1, ..came.clone() };
    assert_eq!(read(&files["a-to-b.pcap"]), [sent.clone(), second.clone()]);
    assert_eq!(read(&files["a-and-b.pcap"]), [came, other, sent.clone(), second]);
    // The second packet would begin to be sent at the horizon, or is on its way then.
    let cut = |until| sequential(&model.clone().capture(&["b <-> a", "a -> b"], None).unwrap(), until).0;
    assert_eq!(read(&cut(Time::nanos(1_235_567_891))["a-to-b.pcap"]), std::slice::from_ref(&sent));
    assert_eq!(read(&cut(Time::nanos(1_235_567_892))["a-to-b.pcap"]), [sent]);
    let arrivals = |ns| {
        let came = read(&cut(Time::nanos(ns))["b-and-a.pcap"]);
        came.iter().filter(|packet| packet.from.0 == A).map(|packet| packet.ns).collect::<Vec<_>>()
    };
    assert_eq!(arrivals(1_235_667_892), [] as [u64; 0]);
    assert_eq!(arrivals(1_235_667_893), [1_235_667_891]);
}

/// A connection over which 1,000 bytes go: SYN, SYN-ACK, ACK with the data and FIN, their ACK, the other FIN,
/// the last ACK. Each segment as it has to be by the RFCs, at its time.
#[test]
fn a_connection_shows_with_every_field() {
    let sender = Settings { receive_buffer: 1 << 20, ..Settings::default() };
    let receiver = Settings { receive_buffer: 100_000, mss: 1_400, ..Settings::default() };
    let tcp = Tcp { sender: sender.into(), receiver: receiver.into(), bytes: Some(1_000), below_bytes: 42 };
    let flow = Flow::tcp(0, 1, tcp).starting(5_000_000_000);
    let model = Packets::new(two_hosts(), vec![flow]).unwrap().capture(&["a"], Some(100)).unwrap();
    let (files, results) = sequential(&model, Time::secs(9));
    assert_eq!(results.flows[0].delivered(), 1_000);
    // Below TCP there are 42 bytes, of which a file has the 22 of IPv4 and PPP.
    let packets = read_with_trailer(&files["a-and-b.pcap"], 20);
    let numbers = |packets: &[Captured]| {
        let (first, other) = (packets[0].tcp().sequence, packets[1].tcp().sequence);
        assert!(first != other && first > 1 && other > 1, "each direction begins somewhere");
        (first, other)
    };
    let (first, other) = numbers(&packets);
    let (x, y) = ((A, 61_440), (B, 60_416));
    let syn = TcpFields {
        sequence: first,
        flags: SYN,
        window: 65_535,
        mss: Some(1_460),
        scale: Some(5),
        permits_sack: true,
        stamps: Some((5, 0)),
        ..TcpFields::default()
    };
    let syn_ack = TcpFields {
        sequence: other,
        ack: first + 1,
        flags: SYN | ACK,
        mss: Some(1_400),
        scale: Some(1),
        stamps: Some((6, 5)),
        ..syn.clone()
    };
    let plain = |sequence, ack, flags, window, stamps| TcpFields {
        sequence,
        ack,
        flags,
        window,
        stamps: Some(stamps),
        ..TcpFields::default()
    };
    // 82 bytes of a SYN take 82 us: at 5 ms, and 6.082 ms later, and so on.
    let data = plain(first + 1, other + 1, FIN | PSH | ACK, 32_768, (7, 6));
    // A FIN that has come stands in the window.
    let answer = plain(other + 1, first + 1_002, ACK, 49_999, (9, 7));
    let last = TcpFields { flags: FIN | ACK, ..answer.clone() };
    let end = plain(first + 1_002, other + 2, ACK, 32_767, (10, 9));
    let expected = [
        (5_000_000, x, y, 0, 62, 0, syn),
        (7_164_000, y, x, 0, 62, 0, syn_ack),
        (7_164_000, x, y, 1, 1_054, 1_000, data),
        (10_312_000, y, x, 1, 54, 0, answer),
        (10_386_000, y, x, 2, 54, 0, last),
        (10_386_000, x, y, 2, 54, 0, end),
    ];
    let expected = expected.map(|(ns, from, to, id, length, data, tcp)| {
        let held = length.min(100);
        Captured { ns, length, held, from, to, id, ecn: 0, tcp: Some(tcp), data }
    });
    assert_eq!(packets, expected);
}

/// TCP of all kinds, UDP, loss, jitter and queues that serve: what is hard to have alike in all modes.
pub fn mixed() -> Packets {
    let access = LinkSpec::new(1_000_000_000, 10_000_000);
    let codel = CodelSettings {
        target: Time::micros(500),
        interval: Time::millis(5),
        mtu: 1_500,
        marks: true,
        ce_threshold: None,
    };
    let mut bottleneck = LinkSpec::new(50_000_003, 1_000_000_000);
    bottleneck = bottleneck.queue(QueueSettings::Codel(codel, Limit::Packets(40)));
    bottleneck.loss = Some(LossModel::Random(Share::ratio(1, 100).unwrap()));
    let delay = JitterDelay::Exponential(Time::micros(100));
    bottleneck.jitter = Some(Jitter { delay, keeps_order: false });
    let network = topology::dumbbell(4, &access, &bottleneck).unwrap();
    let ends = pairs(&network, "left-*", "right-*").unwrap();
    let algorithms = [Algorithm::NewReno, Algorithm::Cubic, Algorithm::Dctcp, Algorithm::Bbr];
    let flow = |((from, to), algorithm): ((u32, u32), Algorithm)| {
        let ecn = if algorithm == Algorithm::Dctcp { Ecn::Dctcp } else { Ecn::Classic };
        let tcp = Tcp::new(Settings { algorithm, ecn, ..Settings::default() }).bytes(200_000);
        Flow::tcp(from, to, tcp).starting(u64::from(from) * 1_000_003)
    };
    let mut flows: Vec<Flow> = ends.iter().copied().zip(algorithms).map(flow).collect();
    let udp = Udp { rate: 1_000_000, wire_bytes: 200, drive: Drive::Poisson, packets: None };
    flows.push(Flow::udp(ends[0].1, ends[0].0, udp));
    Packets::new(network, flows).unwrap()
}

fn agree_in_every_way(model: &Packets, patterns: &[&str], until: Time) -> Files {
    let plain = Simulation::new(model.clone()).protocol(Protocol::Sequential).threads(1).until(until).run();
    let model = model.clone().capture(patterns, None).unwrap();
    let (reference, results) = sequential(&model, until);
    assert!(reference.values().all(|file| file.len() > 1_000), "there is something in every file");
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        for (federates, threads) in [(1, 1), (2, 1), (3, 2), (4, 2)] {
            let run = Simulation::new(model.clone()).protocol(protocol).until(until);
            let run = run.federates(federates).threads(threads);
            let what = format!("{protocol:?}, {federates} federates, {threads} threads");
            let (found, other) = files(run);
            assert_eq!(other, results, "{what}");
            assert!(found == reference, "{what}");
        }
    }
    let digest = Simulation::new(model).protocol(Protocol::Optimistic).threads(2).until(until).run();
    assert_eq!(digest.unwrap().digest, plain.unwrap().digest, "captures change nothing");
    reference
}

#[test]
fn files_are_the_same_in_every_mode() {
    let files = agree_in_every_way(&mixed(), &["* -> *", "* <-> router-left"], Time::millis(200));
    // Nine links, each in both directions; five ports that lead to the router.
    assert_eq!(files.len(), 18 + 5);
    let files = agree_in_every_way(&fat_tree(4), &["edge-0", "hosts -> *"], Time::micros(150));
    assert_eq!(files.len(), 4 + 16);
    // RDMA under flow control: what is paused is captured when it is sent.
    let model = incast(3, 0, Rdma::default());
    let files = agree_in_every_way(&model, &["* -> *"], Time::micros(300));
    let (_, results) = sequential(&model, Time::micros(300));
    for link in &results.links {
        let (from, to) = (model.network().name(link.node), model.network().peer(link.node, link.port));
        let packets = read(&files[&format!("{from}-to-{}.pcap", model.network().name(to))]);
        assert_eq!(packets.len() as u64, link.sent, "{from}, port {}", link.port);
        assert!(packets.iter().all(|packet| packet.tcp.is_none()));
    }
}

/// What a sender and a receiver capture is what they count, whatever is lost between them.
#[test]
fn data_in_files_are_those_that_were_delivered() {
    let model = mixed().capture(&["left-*", "right-*", "router-left -> router-right"], None).unwrap();
    let (files, results) = sequential(&model, Time::secs(2));
    let mut retransmissions = 0;
    for pair in 0..4 {
        let flow = &results.flows[pair];
        let (sender, receiver) = (flow.sender.unwrap(), flow.receiver.unwrap());
        let at = |end: &str| {
            let mut packets = read(&files[&format!("{end}-{pair}-and-router-{end}.pcap")]);
            packets.retain(|packet| packet.tcp.is_some());
            packets
        };
        let (left, right) = (at("left"), at("right"));
        let of = |packets: &[Captured], from: u32| -> Vec<Captured> {
            packets.iter().filter(|packet| packet.from.0 == from).cloned().collect()
        };
        let (a, b) = (A + pair as u32, A + 4 + pair as u32);
        assert_eq!(of(&left, a).len() as u64, sender.sent);
        assert_eq!(of(&left, b).len() as u64, sender.arrived);
        assert_eq!(of(&right, b).len() as u64, receiver.sent);
        assert_eq!(of(&right, a).len() as u64, receiver.arrived);
        // What is new of what the receiver sees, byte by byte.
        let first = of(&left, a)[0].tcp().sequence;
        let mut seen = vec![0u32; 200_000];
        for packet in of(&right, a).iter().filter(|packet| packet.data > 0) {
            let start = packet.tcp().sequence.wrapping_sub(first + 1) as usize;
            seen[start..start + packet.data as usize].iter_mut().for_each(|times| *times += 1);
        }
        assert!(seen.iter().all(|times| *times > 0) && flow.delivered() == 200_000);
        // What begins below what has left already is a retransmission.
        let mut next = first;
        let mut repeated = 0;
        for packet in of(&left, a) {
            let length = packet.data + u32::from(packet.tcp().flags & (SYN | FIN) != 0);
            repeated += u32::from(length > 0 && (packet.tcp().sequence.wrapping_sub(next) as i32) < 0);
            let end = packet.tcp().sequence.wrapping_add(length);
            next = if (end.wrapping_sub(next) as i32) > 0 { end } else { next };
        }
        assert_eq!(repeated, sender.counters.retransmissions, "pair {pair}");
        retransmissions += repeated;
        let blocks = of(&left, b).iter().map(|packet| packet.tcp().blocks.len()).max();
        assert!(blocks >= Some(2), "selective ACKs: {blocks:?} blocks");
        assert!(of(&right, a).iter().any(|packet| packet.ecn == 2), "ECT(0)");
    }
    assert!(retransmissions > 10, "{retransmissions}");
    // The link loses what its sender sees, and its receiver does not.
    let link = |node| results.links.iter().find(|link| link.node == node && link.port == 4).unwrap();
    let router = model.network().node("router-left").unwrap();
    let sent = read(&files["router-left-to-router-right.pcap"]);
    assert_eq!(sent.len() as u64, link(router).sent);
    assert_eq!(sent.iter().map(|packet| u64::from(packet.length)).sum::<u64>(), link(router).sent_bytes);
    assert!(link(router).lost > 5);
}

#[test]
fn names_and_lengths_that_make_no_sense_are_refused() {
    let says = |patterns: &[&str], snap, text: &str| {
        let network = topology::star(3, &LinkSpec::new(1_000_000, 1_000_000)).unwrap();
        let model = Packets::new(network, Vec::new()).unwrap();
        assert_eq!(model.capture(patterns, snap).unwrap_err().to_string(), text);
    };
    says(
        &["*", "hots -> *"],
        None,
        "no node of the network is called \"hots\"; allowed: \"host-0\", \"host-1\", \"host-2\", \"switch\"",
    );
    says(
        &["switch -> switch"],
        None,
        "the capture \"switch -> switch\" names no link; allowed: nodes that a link joins, such as \"switch -> host-0\"",
    );
    says(
        &["host-0 > switch"],
        None,
        "the capture \"host-0 > switch\" names neither a node nor a link; allowed: \"A -> B\" for packets from A to B, \"A <-> B\" for those that A sends to B and receives from it, or \"A\" for the same with all its neighbours",
    );
    says(&["*"], Some(21), "21 bytes of each captured packet; allowed: from 22 to 262144");
    says(&["*"], Some(262_145), "262145 bytes of each captured packet; allowed: from 22 to 262144");
}

/// Names of nodes may have anything in them, also arrows.
#[test]
fn nodes_of_any_name_can_be_captured() {
    let mut builder = NetworkBuilder::new();
    let [a, b] = ["a -> b", "zür/ich <->"].map(|name| builder.node(name, NodeKind::Host).unwrap());
    builder.link(a, b, &LinkSpec::new(8_000_000, 1_000_000_000)).unwrap();
    let udp = Udp { rate: 800_000, wire_bytes: 100, drive: Drive::Constant, packets: Some(2) };
    let model = Packets::new(builder.build().unwrap(), vec![Flow::udp(a, b, udp)]).unwrap();
    for (pattern, name) in [
        ("a -> b -> zür/ich <->", "a_-__b-to-zür_ich__-_.pcap"),
        ("a -> b <-> *", "a_-__b-and-zür_ich__-_.pcap"),
        ("zür/ich <->", "zür_ich__-_-and-a_-__b.pcap"),
    ] {
        let (files, _) = sequential(&model.clone().capture(&[pattern], None).unwrap(), Time::secs(1));
        assert_eq!(files.keys().collect::<Vec<_>>(), [name]);
        assert_eq!(read(&files[name]).len(), 2, "{pattern}");
    }
}
