//! Several guests on one simulated network.

use crate::image::support::{Booted, Ended};
use paceline_emulate::guest::{Card, Guest, GuestSettings};
use paceline_emulate::image::{Setup, SetupCard, SetupScript};
use paceline_emulate::run::{Machine, Terms, federates};
use paceline_engine::{Outside, Protocol, Simulation};
use paceline_kernel::{LpId, Model as _, Time};
use paceline_packets::{LinkSpec, Packets, Stations, topology};

/// One way over one link; there are two between any two guests.
pub const LATENCY_NS: u64 = 5_000_000;

/// The bits that a link takes in a second.
pub const RATE: u64 = 100_000_000;

/// A round trip without frames' own time.
pub const ROUND_TRIP_NS: u64 = 4 * LATENCY_NS;

/// A guest: its name and its script.
pub type Member<'a> = (&'a str, &'a str);

/// What became of guests around a router, and the digest of the run.
pub struct Together {
    pub ended: Vec<Ended>,
    pub digest: String,
}

/// Runs guests for this much time after they were saved; `change` may change their set-up before.
pub fn run(
    booted: &Booted,
    test: &str,
    members: &[Member<'_>],
    length_ns: u64,
    change: impl Fn(&mut Setup),
) -> Together {
    let link = LinkSpec::new(RATE, LATENCY_NS * 1_000);
    let network = topology::star(members.len() as u32, &link).unwrap();
    let at: Vec<_> = network.hosts().iter().map(|host| (*host, None)).collect();
    let stations = Stations::new(&network, &at).unwrap();
    let addresses: Vec<_> = stations.machines().collect();
    let model = Packets::new(network, vec![]).unwrap().machines(stations).unwrap();
    let hosts: Vec<_> = members
        .iter()
        .zip(&addresses)
        .map(|((name, _), (_, address))| ((*name).to_owned(), *address))
        .collect();
    let mut all_settings: Vec<GuestSettings> = Vec::new();
    let mut machines = Vec::new();
    for (&(name, script), &(node, address)) in members.iter().zip(&addresses) {
        let mac = Stations::ethernet_address(address);
        let card = SetupCard { mac, mtu: 1500, address, prefix: 24, gateway: None, neighbours: Vec::new() };
        let script = SetupScript { label: "script".into(), at_ns: None, text: script.into() };
        let mut setup = Setup {
            name: name.into(),
            seed: [node as u8; 32],
            cards: vec![card],
            hosts: hosts.clone(),
            scripts: vec![script],
            ..Setup::default()
        };
        change(&mut setup);
        let mut settings = booted.loaded(&format!("{test}-{name}"), &setup);
        settings.cards = vec![Card { mac, mtu: 1500 }];
        let machine: Box<dyn Machine> = Box::new(Guest::start(&settings, &booted.emulator).unwrap());
        machines.push((node, machine));
        all_settings.push(settings);
    }
    let federates_wanted = members.len() as u32 + 1;
    let partition = model.partition(federates_wanted);
    let guests = federates(&model, machines, Terms { at_once: 2, ..Terms::default() }).unwrap();
    let simulation = Simulation::new(model).protocol(Protocol::Window).threads(2).federates(federates_wanted);
    let mut simulation = simulation.until(Time::nanos(booted.at_ns + length_ns));
    for ((node, _), guest) in addresses.into_iter().zip(guests) {
        simulation = simulation.outside(partition.place(LpId(node)).0, Outside::new(guest));
    }
    let report = simulation.run().unwrap();
    Together { ended: all_settings.iter().map(Ended::of).collect(), digest: report.digest.to_string() }
}
