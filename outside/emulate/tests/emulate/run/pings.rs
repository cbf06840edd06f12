//! Round trips, in every way to run.

use paceline_emulate::run::GrantPolicy;
use paceline_engine::{Protocol, Report};
use paceline_kernel::Time;
use paceline_packets::{Drive, Flow, LinkSpec, NetOutput, NetResults, Network, Packets, Udp, topology};
use paceline_results::{Results, RunFacts};

use crate::run::support::{Behaviour, How, PLAIN, Paired, Seen, model, run};

fn network(bottleneck: &LinkSpec) -> Network {
    topology::dumbbell(3, &LinkSpec::new(100_000_000, 10_000_000), bottleneck).unwrap()
}

const PING: Behaviour = Behaviour {
    pings: Some((1_000_000, 10_000_000)),
    service_ns: 7_001,
    fault: None,
    delay: 0,
    computes: false,
};
const PONG: Behaviour = Behaviour { pings: None, ..PING };

/// 122 bytes on the wire take 9.76 us on a link of the hosts and 97.6 us on the one between, there and back.
#[test]
fn round_trips_are_exact() {
    for latency_us in [1, 100, 10_000] {
        let network = network(&LinkSpec::new(10_000_000, latency_us * 1_000_000));
        let model = model(network, vec![], &["left-0", "right-0"]);
        let machines = [("left-0", "right-0", PING), ("right-0", "left-0", PONG)];
        let (report, seen) = run(&model, &machines, Time::millis(95), PLAIN);
        report.unwrap();
        let expected = 2 * (2 * 9_760 + 97_600 + 2 * 10_000 + latency_us * 1_000) + 7_001;
        let count = if latency_us < 10_000 { 9 } else { 7 };
        assert_eq!(seen[0].round_trips, vec![expected; count], "{latency_us} us");
        // An answer to an ARP request takes the way to the network and back: 84 bytes and 10 us, twice.
        assert_eq!(seen[0].answers, [1_000_000 + 2 * (6_720 + 10_000)]);
    }
}

/// Three pairs through one slow link with a short queue, beside two flows that are simulated.
pub fn crowd() -> (Packets, [Paired; 4]) {
    let network = network(&LinkSpec::new(8_000_001, 50_000_000).drop_tail(6));
    let [from, to] = ["left-2", "right-2"].map(|name| network.node(name).unwrap());
    let udp = Udp { rate: 2_500_000, wire_bytes: 777, drive: Drive::Poisson, packets: None };
    let flows = vec![Flow::udp(from, to, udp), Flow::udp(to, from, udp)];
    let model = model(network, flows, &["left-0", "left-1", "right-0", "right-1"]);
    let often = |first, interval| Behaviour { pings: Some((first, interval)), ..PING };
    let machines = [
        ("left-0", "right-0", often(0, 300_007)),
        ("left-1", "right-1", often(500_000, 200_003)),
        ("right-0", "left-0", often(90_000, 700_001)),
        ("right-1", "left-1", PONG),
    ];
    (model.capture(&["*"], None).unwrap(), machines)
}

/// Digest, results, and captures by name.
pub type Outcome = (String, NetResults, Vec<(String, Vec<u8>)>);

pub fn outcome(model: &Packets, report: Report<NetOutput>) -> Outcome {
    let results = NetResults::new(model.flows(), &report.outputs);
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let summary = model.results(report.outputs, &facts).unwrap();
    let files = summary.files.into_iter().filter(|file| file.name.ends_with(".pcap")).map(|file| {
        let (name, mut bytes) = (file.name.to_string(), Vec::new());
        file.write(&mut bytes).unwrap();
        (name, bytes)
    });
    (report.digest.to_string(), results, files.collect())
}

/// The outcome, and what machines have seen.
pub fn facts(how: How) -> (Outcome, Vec<Seen>) {
    let (model, machines) = crowd();
    let (report, seen) = run(&model, &machines, Time::millis(200), how);
    let report = report.unwrap_or_else(|error| panic!("{how:?}: {error}"));
    (outcome(&model, report), seen)
}

pub fn assert_same(outcome: &Outcome, reference: &Outcome, how: &str) {
    assert_eq!(outcome.0, reference.0, "{how}: digest");
    assert!(outcome.1 == reference.1, "{how}: results");
    assert!(outcome.2 == reference.2, "{how}: captures");
}

#[test]
fn how_a_run_is_done_does_not_show() {
    let reference = facts(PLAIN);
    let ((_, results, files), seen) = &reference;
    assert!(results.packets_dropped > 100, "{} dropped", results.packets_dropped);
    assert!(seen[0].round_trips.len() > 100 && seen[1].round_trips.len() > 100);
    let captured: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(files.len() >= 7 && captured > 100_000, "{} files, {captured} bytes", files.len());
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::NullMessageOnDemand] {
        for (threads, federates, at_once, delay) in [(1, 1, 4, 0), (2, 1, 2, 3), (1, 4, 1, 2), (2, 4, 2, 0)] {
            let policy = GrantPolicy::ALL[(threads + federates) as usize % 3].0;
            let how = How { protocol, threads, federates, at_once, policy, delay, ..PLAIN };
            let other = facts(how);
            assert_same(&other.0, &reference.0, &format!("{how:?}"));
            for (other, seen) in other.1.iter().zip(&reference.1) {
                assert_eq!(other.arrivals, seen.arrivals, "{how:?}");
            }
        }
    }
}
