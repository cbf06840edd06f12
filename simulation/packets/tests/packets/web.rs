//! Simulated web clients and servers that speak TCP in frames, with each other and with machines.

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::Time;
use paceline_packets::loss::LossModel;
use paceline_packets::queue::Share;
use paceline_packets::tcp::Settings;
use paceline_packets::{
    FrameBody, LinkSpec, NetEvent, NetResults, PacketError, Packets, Span, Stations, Web, WebClients,
    WebServer, topology,
};
use paceline_results::{Results, RunFacts};

use crate::digests::agree_in_every_way;
use crate::networks::sequential;

/// Settings of programs that answer at once.
fn tcp() -> Settings {
    Settings { nagle: false, ..Settings::default() }
}

/// Clients at a host that ask the server at "left-1".
fn clients(at: u32, server: u32) -> WebClients {
    WebClients {
        name: "crowd".into(),
        host: at,
        server,
        port: 80,
        path: "/index.html".into(),
        clients: Some(1),
        interval: Span::Fixed(0),
        requests: Some(1),
        think: Span::Fixed(0),
        is_kept: true,
        start_ps: 0,
        tcp: tcp(),
    }
}

/// A dumbbell with a machine at left-0, a simulated server at left-1 with a body of so many bytes, and
/// clients at right-0 and right-1.
fn model(bottleneck: &LinkSpec, body_bytes: u32, change: impl Fn(&mut WebClients)) -> Packets {
    let network = topology::dumbbell(3, &LinkSpec::new(100_000_000, 10_000_000), bottleneck).unwrap();
    let node = |name: &str| network.node(name).unwrap();
    let stations = Stations::new(&network, &[(node("left-0"), None)]).unwrap();
    let server = WebServer { host: node("left-1"), port: 80, body_bytes, tcp: tcp() };
    let ends = ["right-0", "right-1"].map(|name| {
        let mut clients = clients(node(name), server.host);
        change(&mut clients);
        clients
    });
    let web = Web { clients: ends.into(), servers: vec![server] };
    Packets::new(network, vec![]).unwrap().machines(stations).unwrap().web(&web).unwrap()
}

fn link() -> LinkSpec {
    LinkSpec::new(10_000_000, 1_000_000_000)
}

/// A request on a new connection takes two round trips, and what the frames take on the links: the SYN with
/// 20 bytes of options (78 on the wire are padded to 84), its answer, the ACK and the request, and the
/// response.
#[test]
fn a_request_takes_two_round_trips() {
    let model = model(&link(), 100, |_| {});
    let (results, _) = sequential(&model, Time::secs(5));
    for result in &results.web {
        assert_eq!((result.responses.len(), result.failed, result.body_bytes), (1, 0, 100), "{result:?}");
        assert_eq!(result.statuses.iter().collect::<Vec<_>>(), [(&200, &1)]);
        let took_ps = result.responses.iter().next().unwrap();
        let latencies_ps = 4 * (1_000_000_000 + 2 * 10_000_000);
        assert!((latencies_ps..latencies_ps + 2_000_000_000).contains(&took_ps), "{took_ps} ps");
    }
    assert_eq!(results.packets_dropped, 0);
}

/// Five clients at each of two hosts, with two requests each, through a link that loses.
pub fn crowd(is_kept: bool) -> Packets {
    let mut bottleneck = link().drop_tail(20);
    bottleneck.loss = Some(LossModel::Random(Share::ratio(1, 50).unwrap()));
    model(&bottleneck, 20_000, |clients| {
        clients.clients = Some(5);
        clients.interval = Span::Exponential(5_000_000_000);
        clients.requests = Some(2);
        clients.think = Span::Exponential(30_000_000_000);
        clients.is_kept = is_kept;
        clients.tcp.min_rto = Time::millis(200);
    })
}

/// Many clients through a link that loses, with kept and with new connections: every request is answered with
/// all bytes, in every protocol and partition alike.
#[test]
fn crowds_agree_in_every_way() {
    for is_kept in [true, false] {
        let model = crowd(is_kept);
        let (results, _) = sequential(&model, Time::secs(30));
        assert!(results.packets_dropped > 5, "{}", results.packets_dropped);
        for result in &results.web {
            assert_eq!((result.responses.len(), result.failed, result.waiting), (10, 0, 0), "{result:?}");
            assert_eq!(result.body_bytes, 10 * 20_000);
            assert_eq!(result.connections, if is_kept { 5 } else { 10 });
        }
        agree_in_every_way(&model, Time::secs(30));
    }
}

/// Frames of a machine that are no segments, and segments of nobody, are counted; the latter are reset.
#[test]
fn what_is_no_segment_of_a_connection_is_counted() {
    let model = model(&link(), 100, |_| {});
    let [us, them] = ["left-0", "right-0"]
        .map(|name| model.stations().unwrap().address(model.network().node(name).unwrap()).unwrap());
    let mut segment = [Stations::ethernet_address(them), Stations::ethernet_address(us)].concat();
    segment.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0]);
    segment.extend([us.octets(), them.octets()].concat());
    segment.extend([0, 9, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 4, 0, 0, 0, 0, 0]);
    let sum = |bytes: &[u8], more: u32| {
        let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let sum = words.sum::<u32>() + more;
        (!(((sum >> 16) + (sum & 0xffff)) as u16)).to_be_bytes()
    };
    let header = sum(&segment[14..34], 0);
    segment[24..26].copy_from_slice(&header);
    let of_tcp = sum(&segment[26..54], 6 + 20);
    segment[50..52].copy_from_slice(&of_tcp);
    let mut damaged = segment.clone();
    damaged[40] ^= 1;
    let mut ping = segment.clone();
    (ping[23], ping[24], ping[25]) = (1, 0, 0);
    let header = sum(&ping[14..34], 0);
    ping[24..26].copy_from_slice(&header);
    let short = segment[..40].to_vec();
    let frames = [segment, damaged, ping, short];
    let mut run = Simulation::new(model.clone()).protocol(Protocol::Sequential).threads(1);
    run = run.until(Time::secs(1));
    let mut run = run.start().unwrap();
    let lp = paceline_kernel::LpId(model.network().node("left-0").unwrap());
    for (number, bytes) in (0..).zip(frames) {
        let body = FrameBody::new(bytes, 1_000_000, number).unwrap();
        run.send(lp, Time::micros(1 + u64::from(number)), NetEvent::Emit(body)).unwrap();
    }
    run.run_until(Time::secs(1)).unwrap();
    let report = run.finish().unwrap();
    let results = NetResults::new(model.flows(), &report.outputs);
    let counts = results.web_counts;
    assert_eq!((counts.without_connection, counts.checksum), (1, 1), "{counts:?}");
    assert_eq!((counts.other_protocol, counts.malformed, counts.fragments), (1, 1, 0), "{counts:?}");
    let machine = results.frames.iter().find(|(node, _)| *node == lp.0).unwrap().1;
    assert_eq!((machine.sent, machine.arrived), (4, 1), "the reset");
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let summary = model.results(report.outputs, &facts).unwrap();
    let line = summary.lines.iter().find(|(name, _)| *name == "web_frames_refused").unwrap();
    assert!(
        format!("{:?}", line.1).contains("1 not TCP over IPv4, 1 malformed, 1 with a wrong checksum"),
        "{line:?}"
    );
}

/// A server that nobody is at: each SYN goes to a machine that answers nothing, and each request fails when
/// the connection is given up.
#[test]
fn requests_that_nobody_answers_fail() {
    let network = topology::dumbbell(1, &link(), &link()).unwrap();
    let [machine, host] = ["left-0", "right-0"].map(|name| network.node(name).unwrap());
    let stations = Stations::new(&network, &[(machine, None)]).unwrap();
    let mut asking = clients(host, machine);
    asking.tcp.syn_retries = 1;
    let web = Web { clients: vec![asking], servers: vec![] };
    let model = Packets::new(network, vec![]).unwrap().machines(stations).unwrap().web(&web).unwrap();
    let (results, _) = sequential(&model, Time::secs(30));
    let result = &results.web[0];
    assert_eq!((result.responses.len(), result.failed, result.waiting), (0, 1, 0), "{result:?}");
}

#[test]
fn clients_without_a_server_and_bad_numbers_are_refused() {
    let network = topology::dumbbell(2, &link(), &link()).unwrap();
    let node = |name: &str| network.node(name).unwrap();
    let stations = Stations::new(&network, &[(node("left-0"), None)]).unwrap();
    let plain = Packets::new(network.clone(), vec![]).unwrap();
    let with = plain.clone().machines(stations).unwrap();
    let refusal = |model: &Packets, clients: WebClients| {
        let error = model.clone().web(&Web { clients: vec![clients], servers: vec![] }).unwrap_err();
        assert!(matches!(error, PacketError::Application { .. }), "{error}");
        error.to_string()
    };
    let [here, machine, other] = ["right-0", "left-0", "left-1"].map(node);
    let good = clients(here, machine);
    assert!(with.clone().web(&Web { clients: vec![good.clone()], servers: vec![] }).is_ok());
    assert_eq!(
        refusal(&plain, good.clone()),
        "crowd has no machine in the network; allowed: networks with machines"
    );
    assert_eq!(
        refusal(&with, clients(here, other)),
        "crowd has \"left-1\" as its server, where nobody answers; allowed: the host of a machine"
    );
    assert!(refusal(&with, clients(machine, machine)).contains("where a machine is"));
    assert!(refusal(&with, clients(node("router-left"), machine)).contains("a router; allowed: hosts"));
    for path in ["", "index", "/a b", "/a\r\nb", "/\u{e9}"] {
        let text = refusal(&with, WebClients { path: path.into(), ..good.clone() });
        assert!(text.contains("a path of"), "{text}");
    }
    let text = refusal(&with, WebClients { clients: None, ..good.clone() });
    assert!(text.contains("come at once"), "{text}");
    assert!(refusal(&with, WebClients { requests: Some(0), ..good.clone() }).contains("at least one"));
    assert!(refusal(&with, WebClients { port: 0, ..good.clone() }).contains("port 0"));
    let tcp = Settings { mss: 9_000, ..tcp() };
    assert!(refusal(&with, WebClients { tcp, ..good }).contains("segments of 9000 bytes"));
}
