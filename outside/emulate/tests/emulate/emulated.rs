//! Two guests of the emulator ping each other through a simulated router.

mod resumed;

use paceline_emulate::guest::{Card, Emulator, Guest, GuestSettings};
use paceline_emulate::run::{GrantPolicy, GuestFederate, Machine, Terms, federates};
use paceline_engine::{Outside, Protocol, Report, Simulation};
use paceline_kernel::{LpId, Model as _, TieBreak, Time};
use paceline_packets::{LinkSpec, NetOutput, Packets, Stations, topology};
use paceline_results::{Results, RunFacts};

use crate::guest::support;

const LATENCY_NS: u64 = 5_000_000;

/// The node and the settings of a guest.
fn guest(
    emulator: &Emulator,
    model: &Packets,
    number: usize,
    test: &str,
    command: &str,
) -> (u32, GuestSettings) {
    let (node, address) = model.stations().unwrap().machines().nth(number).unwrap();
    let folder = support::folder(&format!("{test}-{number}"));
    let mac = Stations::ethernet_address(address);
    let mac_text = mac.map(|byte| format!("{byte:02x}")).join(":");
    // The snapshot has the address of the card that was saved.
    let script = format!(
        "ip link set eth0 address {mac_text}; echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; ip link set eth0 up; \
         ip addr add {address}/24 dev eth0; {command}; sleep 1000"
    );
    let mut settings = support::loaded(emulator, &folder, &script);
    settings.cards = vec![Card { mac, mtu: 1500 }];
    settings.name = format!("guest-{number}");
    (node, settings)
}

/// The first guest pings the second one.
fn pinging(emulator: &Emulator, model: &Packets, test: &str) -> [(u32, GuestSettings); 2] {
    [(0, "sleep 1; ping -c 4 10.0.0.2"), (1, "sleep 6; cat /proc/interrupts /proc/uptime")]
        .map(|(number, command)| guest(emulator, model, number, test, command))
}

fn started(emulator: &Emulator, guests: &[(u32, GuestSettings)]) -> Vec<(u32, Box<dyn Machine>)> {
    let start = |settings: &GuestSettings| Box::new(Guest::start(settings, emulator).unwrap());
    guests.iter().map(|(node, settings)| (*node, start(settings) as Box<dyn Machine>)).collect()
}

const TERMS: Terms =
    Terms { at_once: 2, ties: TieBreak::Fixed, policy: GrantPolicy::FurthestBehind, observer: None };

/// A run of `model` with federates at these nodes.
fn joined(model: &Packets, nodes: [u32; 2], guests: Vec<GuestFederate>, threads: u32) -> Simulation<Packets> {
    let partition = model.partition(3);
    let simulation = Simulation::new(model.clone()).protocol(Protocol::Window).threads(threads).federates(3);
    let mut simulation = simulation.until(Time::secs(14));
    for (node, guest) in nodes.into_iter().zip(guests) {
        simulation = simulation.outside(partition.place(LpId(node)).0, Outside::new(guest));
    }
    simulation
}

/// The digest, and the captures.
type Outcome = (String, Vec<Vec<u8>>);

fn run(emulator: &Emulator, model: &Packets, test: &str, threads: u32) -> Outcome {
    let guests = pinging(emulator, model, test);
    let federates = federates(model, started(emulator, &guests), TERMS).unwrap();
    outcome(model, joined(model, guests.map(|(node, _)| node), federates, threads).run().unwrap())
}

fn outcome(model: &Packets, report: Report<NetOutput>) -> Outcome {
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let summary = model.results(report.outputs, &facts).unwrap();
    let files = summary.files.into_iter().filter(|file| file.name.ends_with(".pcap")).map(|file| {
        let mut bytes = Vec::new();
        file.write(&mut bytes).unwrap();
        bytes
    });
    (report.digest.to_string(), files.collect())
}

/// Times in nanoseconds and types of ICMP packets in a capture.
fn echoes(file: &[u8]) -> Vec<(u64, u8)> {
    let word = |at: usize| u64::from(u32::from_le_bytes(file[at..at + 4].try_into().unwrap()));
    let (mut at, mut echoes) = (24, Vec::new());
    while at < file.len() {
        let bytes = &file[at + 16..][..word(at + 8) as usize];
        if bytes[12..14] == [8, 0] && bytes[23] == 1 {
            echoes.push((word(at) * 1_000_000_000 + word(at + 4), bytes[34]));
        }
        at += 16 + bytes.len();
    }
    echoes
}

/// Two hosts at a router.
fn model() -> Packets {
    let link = LinkSpec::new(1_000_000_000, LATENCY_NS * 1_000 / 2);
    let network = topology::star(2, &link).unwrap();
    let at = [0, 1].map(|host| (network.hosts()[host], None));
    let stations = Stations::new(&network, &at).unwrap();
    let model = Packets::new(network, vec![]).unwrap().machines(stations).unwrap();
    model.capture(&["*"], None).unwrap()
}

#[test]
fn two_guests_ping_through_a_router_in_the_scenario_s_time_and_twice_the_same() {
    let Some(emulator) = support::emulator() else { return };
    let model = model();
    let first = run(&emulator, &model, "emulated-1", 1);
    let echoes = echoes(&first.1[0]);
    let round_trips: Vec<u64> = echoes.chunks(2).map(|pair| pair[1].0 - pair[0].0).collect();
    eprintln!("round trips {round_trips:?} ns, digest {}", first.0);
    assert_eq!(round_trips.len(), 4, "{echoes:?}");
    // In the first the other guest asks for an address before it answers.
    for &round_trip in &round_trips[1..] {
        assert!((2 * LATENCY_NS..2 * LATENCY_NS + 100_000).contains(&round_trip), "{round_trip} ns");
    }
    assert!(first == run(&emulator, &model, "emulated-2", 2), "the same digest and captures");
}
