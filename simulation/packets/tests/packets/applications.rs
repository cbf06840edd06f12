//! Applications: times by formula on empty networks, and what holds whatever is lost.

use paceline_kernel::Time;
use paceline_packets::application::{
    Applications, Client, Counts, Habit, Jobs, Kind, Sizes, Transfer, Video,
};
use paceline_packets::flows::{Collective, CollectiveKind};
use paceline_packets::loss::LossModel;
use paceline_packets::queue::Share;
use paceline_packets::tcp::Settings;
use paceline_packets::{Flow, LinkSpec, NetResults, Network, PacketError, Packets, Span, Tcp, topology};

use crate::digests::agree_in_every_way;
use crate::networks::sequential;

/// Picoseconds a byte at 1 Gb/s, and a latency of 10 us.
const BYTE_PS: u64 = 8_000;
const LATENCY_PS: u64 = 10_000_000;
/// Bytes on the wire of a SYN, and of a segment without its data.
const SYN: u64 = 62;
const HEADER: u64 = 54;
const MS: u64 = 1_000_000_000;

fn link() -> LinkSpec {
    LinkSpec::new(1_000_000_000, LATENCY_PS)
}

fn tcp() -> Tcp {
    Tcp::new(Settings { nagle: false, ..Settings::default() })
}

/// Requests of 100 bytes.
fn client(lines: &[u32], habit: Habit) -> Client {
    let (name, kind, lines) = ("client".into(), Kind::RequestResponse, lines.into());
    Client { name, kind, lines, start_ps: 0, request_bytes: 100, service: Span::Fixed(0), habit }
}

fn jobs(bytes: u64, count: u64) -> Jobs {
    Jobs {
        document: None,
        objects: Counts::Between(1, 1),
        object: Sizes::Fixed(bytes),
        think: Span::Fixed(0),
        count: Some(count),
        is_fresh: false,
    }
}

/// A host that asks another over `lines` connections; the two are joined by a link.
fn pair(link: &LinkSpec, lines: u32, habit: Habit, service: Span) -> Packets {
    pair_with(link, lines, habit, service, 100)
}

fn pair_with(link: &LinkSpec, lines: u32, habit: Habit, service: Span, request_bytes: u64) -> Packets {
    let network = two(link);
    let flows = (0..lines).map(|_| Flow::tcp(0, 1, tcp())).collect();
    let client = Client { service, request_bytes, ..client(&(0..lines).collect::<Vec<_>>(), habit) };
    let applications = Applications { clients: vec![client], ..Applications::default() };
    Packets::new(network, flows).unwrap().applications(applications).unwrap()
}

fn two(link: &LinkSpec) -> Network {
    let mut builder = paceline_packets::NetworkBuilder::new();
    let ends = ["a", "b"].map(|name| builder.node(name, paceline_packets::NodeKind::Host).unwrap());
    builder.link(ends[0], ends[1], link).unwrap();
    builder.build().unwrap()
}

fn responses(results: &NetResults) -> Vec<u64> {
    results.clients[0].responses.iter().collect()
}

/// A handshake, a request of one segment, the service, and a response of three segments one behind the other;
/// what follows on the same connection has no handshake.
#[test]
fn responses_take_what_links_and_service_say() {
    let work_ps = 3 * MS;
    let trip = |bytes: u64| bytes * BYTE_PS + LATENCY_PS;
    let (handshake, exchange) = (2 * trip(SYN), trip(HEADER + 100) + work_ps + trip(3 * HEADER + 3_000));
    let model = pair(&link(), 1, Habit::Jobs(jobs(3_000, 3)), Span::Fixed(work_ps));
    let (results, _) = sequential(&model, Time::secs(1));
    assert_eq!(responses(&results), [handshake + exchange, exchange, exchange]);
    // The end of one connection does not share the link with the beginning of the next.
    let fresh = Jobs { is_fresh: true, think: Span::Fixed(MS), ..jobs(3_000, 3) };
    let (results, _) =
        sequential(&pair(&link(), 3, Habit::Jobs(fresh), Span::Fixed(work_ps)), Time::secs(60));
    assert_eq!(responses(&results), [handshake + exchange; 3]);
    let states = results.flows.iter().map(|flow| flow.receiver.unwrap().state);
    assert!(states.into_iter().all(|state| state == paceline_packets::tcp::State::Closed));
}

/// Objects are asked for when the document is there and parsed, two at once.
#[test]
fn pages_have_a_document_and_then_objects() {
    let page = Jobs {
        document: Some((Sizes::Fixed(500), Span::Fixed(MS))),
        objects: Counts::Between(4, 4),
        object: Sizes::Fixed(1_000),
        think: Span::Fixed(7 * MS),
        ..jobs(1, 2)
    };
    let (results, report) = sequential(&pair(&link(), 2, Habit::Jobs(page), Span::Fixed(0)), Time::secs(5));
    let client = &results.clients[0];
    assert_eq!((client.responses.len(), client.jobs.len()), (10, 2));
    // The second page: a document, its parsing, and two times two objects, of which the second waits for the
    // first on the link in both directions.
    let trip = |bytes: u64| bytes * BYTE_PS + LATENCY_PS;
    let document = trip(HEADER + 100) + trip(HEADER + 500);
    let object = trip(HEADER + 100) + trip(HEADER + 1_000);
    let second = client.jobs.iter().nth(1).unwrap();
    let least = document + MS + 2 * object;
    assert!((least..least + 4 * 1_100 * BYTE_PS).contains(&second), "{second} ps, at least {least}");
    assert!(report.end_time >= Time::millis(8));
}

/// Sixteen servers answer at once through a port with room for eight packets: all parts come in the end, but
/// not before a timeout.
#[test]
fn incast_loses_and_recovers() {
    let network = topology::star(17, &link().drop_tail(8)).unwrap();
    let flows = (1..17).map(|server| Flow::tcp(0, server, tcp())).collect();
    let parts = Jobs { objects: Counts::Between(16, 16), ..jobs(20_000, 5) };
    let clients = vec![client(&(0..16).collect::<Vec<_>>(), Habit::Jobs(parts))];
    let model = Packets::new(network, flows).unwrap();
    let model = model.applications(Applications { clients, ..Applications::default() }).unwrap();
    let (results, _) = sequential(&model, Time::secs(60));
    assert_eq!((results.clients[0].responses.len(), results.clients[0].jobs.len()), (80, 5));
    assert!(results.packets_dropped > 20, "{} dropped", results.packets_dropped);
    let delivered: u64 = results.flows.iter().map(|flow| flow.delivered()).sum();
    assert_eq!(delivered, 5 * 16 * (100 + 20_000), "requests and responses, both ways");
    let longest = results.clients[0].jobs.iter().max().unwrap();
    assert!(longest > 200 * MS, "{longest} ps: a timeout");
}

/// Whatever is lost, each response is whole, and there is one for each request.
#[test]
fn loss_delays_responses_and_loses_none() {
    for percent in [0, 2, 8] {
        let loss = LossModel::Random(Share::ratio(percent, 100).unwrap());
        let kinds = [
            (1, jobs(50_000, 20)),
            (20, Jobs { is_fresh: true, ..jobs(5_000, 20) }),
            (
                3,
                Jobs {
                    objects: Counts::Between(0, 7),
                    document: Some((Sizes::Fixed(9_000), Span::Fixed(0))),
                    ..jobs(2_000, 20)
                },
            ),
        ];
        for (lines, jobs) in kinds {
            let request_bytes = 3_000;
            let model =
                pair_with(&link().loss(loss), lines, Habit::Jobs(jobs), Span::Exponential(MS), request_bytes);
            let (results, _) = sequential(&model, Time::secs(3_000));
            let requests = results.clients[0].responses.len() as u64;
            let asked: u64 =
                results.flows.iter().filter_map(|flow| flow.receiver).map(|end| end.counters.delivered).sum();
            assert_eq!(asked, requests * request_bytes, "{percent} %: every request has its response");
            assert!(requests >= 20, "{requests} responses");
            assert!(
                results.flows.iter().all(|flow| flow.sender.is_some_and(|end| end.counters.acknowledged > 0))
            );
        }
    }
}

fn collective(hosts: u32, link: &LinkSpec, settings: &Collective) -> Packets {
    let network = topology::star(hosts, link).unwrap();
    let (mut flows, mut applications) = (Vec::new(), Applications::default());
    let ranks: Vec<u32> = (0..hosts).collect();
    applications.collective(&mut flows, &tcp(), "all".into(), (&ranks, 0), settings).unwrap();
    Packets::new(network, flows).unwrap().applications(applications).unwrap()
}

/// A ring of n hosts moves 2 (n - 1) / n of the bytes over each link and each way, and takes at least that
/// over the rate; with full segments of 1448 bytes in 1502 at most a tenth more, and a handshake.
#[test]
fn a_ring_all_reduce_moves_what_the_formula_says() {
    let (hosts, bytes) = (8, 8_000_000);
    for piece_bytes in [None, Some(100_000)] {
        let kind = CollectiveKind::RingAllReduce;
        let ring = Collective { kind, bytes, rounds: 1, compute_ps: 0, piece_bytes };
        let (results, _) = sequential(&collective(hosts, &link(), &ring), Time::secs(10));
        let moved = 2 * (u64::from(hosts) - 1) * bytes / u64::from(hosts);
        assert!(results.flows.iter().all(|flow| flow.delivered() == moved));
        let rounds = results.collective(0);
        let least_ps = moved * BYTE_PS;
        assert_eq!(rounds.len(), 1);
        let took_ps = rounds[0].1 - rounds[0].0;
        // The slow start of a link of 40 us is over within the first of 14 steps.
        let most_ps = least_ps * 1502 / 1448 + least_ps / 20;
        assert!((least_ps..most_ps).contains(&took_ps), "{took_ps} ps, from {least_ps} to {most_ps}");
    }
}

#[test]
fn collectives_of_all_kinds_are_done() {
    for kind in [
        CollectiveKind::RingAllReduce,
        CollectiveKind::TreeAllReduce,
        CollectiveKind::HalvingAllReduce,
        CollectiveKind::AllToAll,
        CollectiveKind::AllToAllInRounds,
    ] {
        let settings = Collective { kind, bytes: 40_000, rounds: 3, compute_ps: MS, piece_bytes: None };
        let (results, _) = sequential(&collective(8, &link().drop_tail(40), &settings), Time::secs(100));
        let rounds = results.collective(0);
        assert_eq!(rounds.len(), 3, "{kind:?}");
        assert!(rounds.windows(2).all(|two| two[1].0 >= two[0].0 + MS), "{kind:?}: a host computes");
    }
}

/// b to c begins 5 ms after the last of two flows to b, and c to a after that: the starts are the ends of
/// what they wait for.
#[test]
fn flows_begin_when_others_have_been_delivered() {
    let network = topology::star(4, &link()).unwrap();
    let sized = |from, to, bytes| Flow::tcp(from, to, tcp().bytes(bytes));
    let flows = vec![sized(0, 1, 50_000), sized(3, 1, 900_000), sized(1, 2, 10_000), sized(2, 0, 10_000)];
    let transfer = |flow: u32, after: &[u32], pause_ps| {
        let Flow { start_ps, .. } = flows[flow as usize];
        let bytes = [50_000, 900_000, 10_000, 10_000][flow as usize];
        Transfer { flow, bytes, start_ps, after: after.into(), pause_ps, group: None }
    };
    let transfers =
        vec![transfer(0, &[], 0), transfer(1, &[], 0), transfer(2, &[0, 1], 5 * MS), transfer(3, &[2], 0)];
    let applications = Applications { transfers, ..Applications::default() };
    let model = Packets::new(network, flows.clone()).unwrap().applications(applications).unwrap();
    let (results, _) = sequential(&model, Time::secs(10));
    assert_eq!(results.flows_done, 4);
    let end = |flow: usize| results.flows[flow].receiver.unwrap().done_ps.unwrap();
    let start = |flow: usize| results.flows[flow].opened_ps;
    assert_eq!(start(2), Some(end(0).max(end(1)) + 5 * MS));
    assert_eq!((start(3), start(0)), (Some(end(2)), None));
    let sum = end(0) + end(1) + (end(2) - start(2).unwrap()) + (end(3) - start(3).unwrap());
    assert_eq!(results.mean_completion_s, Some(sum as f64 / 4.0 / 1e12), "from their starts");
}

#[test]
fn applications_that_cannot_be_are_refused() {
    let network = topology::star(3, &link()).unwrap();
    let says = |flows: Vec<Flow>, applications: Applications, text: &str| {
        let error = Packets::new(network.clone(), flows).unwrap().applications(applications).unwrap_err();
        assert_eq!(error.to_string(), text);
    };
    let sized = |from, to| Flow::tcp(from, to, tcp().bytes(10));
    let transfer = |flow, after: &[u32]| Transfer {
        flow,
        bytes: 10,
        start_ps: 0,
        after: after.into(),
        pause_ps: 0,
        group: None,
    };
    let of = |transfers| Applications { transfers, ..Applications::default() };
    says(
        vec![sized(0, 1), sized(2, 1)],
        of(vec![transfer(0, &[]), transfer(1, &[0])]),
        "flow 1 waits for flow 0, which does not end at the host where flow 1 begins; allowed: flows that end there",
    );
    let circle = vec![transfer(0, &[2]), transfer(1, &[0]), transfer(2, &[1])];
    let error = Packets::new(network.clone(), vec![sized(0, 1), sized(1, 2), sized(2, 0)]).unwrap();
    let error = error.applications(of(circle)).unwrap_err();
    assert!(
        matches!(error, PacketError::WaitInCircle { flow, before } if (flow + 2) % 3 == before),
        "{error}"
    );
    let line = || vec![Flow::tcp(0, 1, tcp())];
    let asks = |habit| Applications { clients: vec![client(&[0], habit)], ..Applications::default() };
    let text = "client has a count of 0; allowed: at least 1";
    says(line(), asks(Habit::Jobs(jobs(1, 0))), text);
    let text = "client has sizes from 0 to 0; allowed: from 1 byte to 2^60, the least first";
    says(line(), asks(Habit::Jobs(jobs(0, 1))), text);
    let text = "client has flow 0 as a connection; allowed: TCP flows without a number of bytes, all from one host, each \
                of one client alone";
    says(vec![sized(0, 1)], asks(Habit::Jobs(jobs(1, 1))), text);
    let video = |ladder: &[u64]| {
        let (segment_ps, buffer_ps, startup_ps) = (MS, 3 * MS, MS);
        Habit::Video(Video { segment_ps, ladder: ladder.into(), buffer_ps, startup_ps, segments: Some(3) })
    };
    let text =
        "client has bitrates of [5, 5]; allowed: one or more, above 0, each greater than the one before";
    says(line(), asks(video(&[5, 5])), text);
    asks(video(&[5, 6]));
}

/// Clients, servers, transfers and collectives in one network with loss, in every way of running it.
#[test]
fn applications_agree_in_every_way() {
    let loss = LossModel::Random(Share::ratio(1, 100).unwrap());
    let link = LinkSpec::new(100_000_000, LATENCY_PS).loss(loss).drop_tail(20);
    let network = topology::leaf_spine(2, 2, 4, &link, &link).unwrap();
    let hosts = network.hosts().to_vec();
    let mut flows = Vec::new();
    let mut line = |from: usize, to: usize| {
        flows.push(Flow::tcp(hosts[from], hosts[to], tcp()));
        flows.len() as u32 - 1
    };
    let web = [line(0, 5), line(0, 5)];
    let many = [line(1, 4), line(1, 6), line(1, 7)];
    let seen = [line(2, 7)];
    let page = Jobs {
        document: Some((Sizes::Fixed(500), Span::Exponential(MS))),
        objects: Counts::Between(0, 5),
        count: None,
        think: Span::Exponential(MS),
        ..jobs(4_000, 1)
    };
    let parts = Jobs { objects: Counts::Between(3, 3), count: None, ..jobs(10_000, 1) };
    let (segment_ps, ladder) = (10 * MS, [1_000_000, 10_000_000, 40_000_000].into());
    let video = Video { segment_ps, ladder, buffer_ps: 40 * MS, startup_ps: 10 * MS, segments: None };
    let mut applications = Applications {
        clients: vec![
            Client { service: Span::Exponential(MS), ..client(&web, Habit::Jobs(page)) },
            client(&many, Habit::Jobs(parts)),
            client(&seen, Habit::Video(video)),
        ],
        ..Applications::default()
    };
    let (kind, piece_bytes) = (CollectiveKind::RingAllReduce, Some(3_000));
    let ring = Collective { kind, bytes: 40_000, rounds: 50, compute_ps: MS, piece_bytes };
    applications.collective(&mut flows, &tcp(), "ring".into(), (&hosts, 0), &ring).unwrap();
    let model = Packets::new(network, flows).unwrap().applications(applications).unwrap();
    let (results, _) = sequential(&model, Time::millis(300));
    let counts: Vec<usize> = results.clients.iter().map(|client| client.responses.len()).collect();
    assert!(counts.iter().all(|count| *count > 5), "{counts:?}");
    assert!(!results.collective(0).is_empty());
    agree_in_every_way(&model, Time::millis(300));
}
