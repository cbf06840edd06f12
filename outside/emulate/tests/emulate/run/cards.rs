//! A machine with two cards: it alone joins two networks, and forwards between them.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use paceline_emulate::run::{Frame, Machine, MachineError, MachineState, Stopped, Terms, federates};
use paceline_engine::{Outside, Protocol, Simulation};
use paceline_kernel::{LpId, Model as _, Time};
use paceline_packets::{LinkSpec, NetworkBuilder, NodeKind, Packets, Stations};

use crate::run::pings::{Outcome, assert_same, outcome};
use crate::run::support::{Behaviour, Fake};

/// How long it takes to forward a frame.
const SERVICE_NS: u64 = 3_001;

/// What comes at one of its cards leaves at the other, for the card of the host that has its address.
struct Forwarder {
    cards: [Ipv4Addr; 2],
    clock_ns: u64,
    due: VecDeque<Frame>,
    stopped: Option<Stopped>,
    bell: (UnixStream, UnixStream),
}

impl Forwarder {
    fn new(cards: [Ipv4Addr; 2]) -> Self {
        let bell = UnixStream::pair().unwrap();
        let mut forwarder = Self { cards, clock_ns: 0, due: VecDeque::new(), stopped: None, bell };
        forwarder.stand(Vec::new());
        forwarder
    }

    fn stand(&mut self, frames: Vec<Frame>) {
        let (next_ns, state) = (self.due.front().map(|frame| frame.time_ns), MachineState::Standing);
        self.stopped = Some(Stopped { time_ns: self.clock_ns, frames, next_ns, state });
        self.bell.0.write_all(&[1]).unwrap();
    }
}

impl Machine for Forwarder {
    fn name(&self) -> &'static str {
        "forwarder"
    }

    fn grant(&mut self, until_ns: u64, frames: &[Frame]) -> Result<(), MachineError> {
        for frame in frames {
            assert_eq!(frame.bytes[..6], Stations::ethernet_address(self.cards[frame.card]), "at its card");
            let (card, mut bytes) = (1 - frame.card, frame.bytes.clone());
            let to: [u8; 4] = bytes[30..34].try_into().unwrap();
            bytes[..6].copy_from_slice(&Stations::ethernet_address(to.into()));
            bytes[6..12].copy_from_slice(&Stations::ethernet_address(self.cards[card]));
            self.due.push_back(Frame { time_ns: frame.time_ns + SERVICE_NS, card, bytes });
        }
        self.clock_ns = until_ns;
        let count = self.due.partition_point(|frame| frame.time_ns < until_ns);
        let sent = self.due.drain(..count).collect();
        self.stand(sent);
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Stopped>, MachineError> {
        if self.stopped.is_some() {
            self.bell.1.read_exact(&mut [0]).unwrap();
        }
        Ok(self.stopped.take())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.bell.1.as_fd()
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

/// Two networks, each of a switch with a machine and a card of the forwarder.
fn model() -> Packets {
    let mut builder = NetworkBuilder::new();
    let names = ["left", "card-0", "card-1", "right"];
    let hosts = names.map(|name| builder.node(name, NodeKind::Host).unwrap());
    let link = LinkSpec::new(100_000_000, 50_000_000);
    for (number, ends) in [[hosts[0], hosts[1]], [hosts[2], hosts[3]]].into_iter().enumerate() {
        let switch = builder.node(format!("switch-{number}"), NodeKind::Switch).unwrap();
        ends.into_iter().for_each(|host| builder.link(host, switch, &link).unwrap());
    }
    let network = builder.build().unwrap();
    let at = hosts.map(|host| (host, None));
    let machines = [vec![hosts[0]], vec![hosts[1], hosts[2]], vec![hosts[3]]];
    let stations = Stations::new(&network, &at).unwrap().cards(&machines);
    Packets::new(network, vec![]).unwrap().machines(stations).unwrap().capture(&["*"], None).unwrap()
}

/// The outcome, and the round trips from the left to the right and back.
fn run(protocol: Protocol, threads: u32, simulated: u32, at_once: usize) -> (Outcome, Vec<u64>) {
    let model = model();
    let node = |name: &str| model.network().node(name).unwrap();
    let address = |name: &str| model.stations().unwrap().address(node(name)).unwrap();
    let pings = Behaviour { pings: Some((0, 400_000)), service_ns: 7_001, ..Behaviour::default() };
    let mut left = Fake::new("left", address("left"), address("right"), pings);
    let answers = Behaviour { pings: None, ..pings };
    let mut right = Fake::new("right", address("right"), address("left"), answers);
    (left.via, right.via) = (address("card-0"), address("card-1"));
    let seen = left.seen.clone();
    let forwarder = Forwarder::new(["card-0", "card-1"].map(address));
    let machines: Vec<(u32, Box<dyn Machine>)> = vec![
        (node("left"), Box::new(left)),
        (node("card-0"), Box::new(forwarder)),
        (node("right"), Box::new(right)),
    ];
    let nodes: Vec<u32> = machines.iter().map(|(node, _)| *node).collect();
    let count = simulated + nodes.len() as u32;
    let partition = model.partition(count);
    let federate = |name: &str| partition.place(LpId(node(name))).0;
    assert_eq!(federate("card-0"), federate("card-1"), "one machine");
    let guests = federates(&model, machines, Terms { at_once, ..Terms::default() }).unwrap();
    let mut simulation = Simulation::new(model.clone()).protocol(protocol).threads(threads).federates(count);
    simulation = simulation.until(Time::millis(20));
    for (node, guest) in nodes.iter().zip(guests) {
        simulation = simulation.outside(partition.place(LpId(*node)).0, Outside::new(guest));
    }
    let report = simulation.run().unwrap();
    let round_trips = seen.lock().unwrap().round_trips.clone();
    (outcome(&model, report), round_trips)
}

/// Four links there and four back, 122 bytes on each of 100 Mb/s.
#[test]
fn a_machine_with_two_cards_joins_two_networks() {
    let (reference, round_trips) = run(Protocol::Window, 1, 1, 1);
    let expected = 8 * (50_000 + 9_760) + 2 * SERVICE_NS + 7_001;
    assert!(round_trips.len() > 40 && round_trips.iter().all(|it| *it == expected), "{round_trips:?}");
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::NullMessageOnDemand] {
        for (threads, simulated, at_once) in [(1, 2, 3), (2, 1, 2), (2, 2, 1)] {
            let (other, same) = run(protocol, threads, simulated, at_once);
            assert_same(&other, &reference, &format!("{protocol:?} on {threads} threads"));
            assert_eq!(same, round_trips);
        }
    }
}

#[test]
#[should_panic(expected = "a card at node 1")]
fn a_card_is_of_one_machine() {
    let model = model();
    let _ = model.stations().unwrap().clone().cards(&[vec![0, 1], vec![1, 2]]);
}
