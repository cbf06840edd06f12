//! The networks that are measured, and the ways to run each.

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::{LpId, Model, Time};
use paceline_packets::tcp::Settings;
use paceline_packets::{
    Drive, Ecmp, Flow, LinkResult, LinkSpec, NetResults, Packets, Tcp, Udp, pairs, topology,
};

use crate::measure::Ran;
use crate::{by_hand, by_hand_tcp, captures};

/// The length of UDP packets on the wire, and the rate of each host.
pub const UDP: Udp = Udp { rate: 5_000_000_000, wire_bytes: 1030, drive: Drive::Constant, packets: None };

/// A way to run a network.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    ByHand,
    Sequential,
    /// Under windows, with so many threads and federates.
    Window(u32),
    /// The fastest way on one thread, with every link captured.
    Captured(Files),
}

/// What becomes of the packets that are captured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// They are recorded, and that is all.
    Recorded,
    /// The bytes of the files are formed, and go nowhere.
    Formed,
    /// The files are written into the target folder.
    Written,
}

impl Way {
    /// All without captures.
    pub const PLAIN: [Self; 4] = [Self::ByHand, Self::Sequential, Self::Window(1), Self::Window(2)];
    /// All with captures.
    pub const CAPTURED: [Self; 3] =
        [Self::Captured(Files::Recorded), Self::Captured(Files::Formed), Self::Captured(Files::Written)];

    pub const fn name(self) -> &'static str {
        match self {
            Self::ByHand => "by-hand",
            Self::Sequential => "sequential",
            Self::Window(1) => "window-1",
            Self::Window(_) => "window-2",
            Self::Captured(Files::Recorded) => "captured-recorded",
            Self::Captured(Files::Formed) => "captured-formed",
            Self::Captured(Files::Written) => "captured-written",
        }
    }

    /// The way of this name.
    pub fn of(name: &str) -> Self {
        let ways = || Self::PLAIN.into_iter().chain(Self::CAPTURED);
        let way = ways().find(|way| way.name() == name);
        let names = || ways().map(Self::name).collect::<Vec<_>>().join(", ");
        way.unwrap_or_else(|| panic!("there is no way {name:?}: {}", names()))
    }
}

/// What is on the network.
enum Load {
    /// The fat tree of so many ports a switch, at 10 Gb/s and 3 us: each host sends UDP to the one half the
    /// hosts away, each packet on a way of its own.
    Udp(u32),
    /// The same tree, each host with an endless TCP flow; and a way for each flow.
    Tcp(u32),
    /// So many endless TCP flows through a bottleneck of 10 Mb/s and 20 ms with 50 packets: 60 s of ns-3's
    /// example.
    Dumbbell(u32),
}

/// A network with a name and the simulated time of a run.
pub struct Network {
    pub name: &'static str,
    pub title: &'static str,
    load: Load,
    until: Time,
}

/// All of them; a run takes about ten million hops.
pub const NETWORKS: [Network; 7] = [
    udp("udp-4", "UDP, fat tree k=4, 16 hosts", 4, 200_000),
    udp("udp-8", "UDP, fat tree k=8, 128 hosts", 8, 25_000),
    udp("udp-16", "UDP, fat tree k=16, 1,024 hosts", 16, 3_200),
    udp("udp-32", "UDP, fat tree k=32, 8,192 hosts", 32, 420),
    Network {
        name: "tcp-dumbbell",
        title: "TCP, 16 flows through a bottleneck of 10 Mb/s",
        load: Load::Dumbbell(16),
        until: Time::secs(1_200),
    },
    Network {
        name: "tcp-4",
        title: "TCP, fat tree k=4, 16 hosts",
        load: Load::Tcp(4),
        until: Time::millis(50),
    },
    Network {
        name: "tcp-8",
        title: "TCP, fat tree k=8, 128 hosts",
        load: Load::Tcp(8),
        until: Time::millis(6),
    },
];

const fn udp(name: &'static str, title: &'static str, k: u32, until_us: u64) -> Network {
    Network { name, title, load: Load::Udp(k), until: Time::micros(until_us) }
}

/// 10 Gb/s and 3 us, 100 packets a port.
pub fn fast() -> LinkSpec {
    LinkSpec::new(10_000_000_000, 3_000_000).drop_tail(100)
}

/// As ns-3's TCP in the comparison: NewReno, an ACK for every second segment.
pub fn classic() -> Settings {
    Settings {
        receive_buffer: 1 << 26,
        ack_delay: Time::millis(200),
        sack: false,
        abc: 0,
        ..Settings::default()
    }
}

impl Load {
    fn model(&self) -> Packets {
        match *self {
            Self::Udp(k) => {
                let network = topology::fat_tree(k, &fast()).expect("k is even");
                let hosts = network.hosts().len() as u32;
                let ends = pairs(&network, "hosts", "opposite").expect("there are hosts");
                let flow =
                    |(host, (from, to))| Flow::udp(from, to, UDP).starting(UDP.stagger_ps(host, hosts));
                let flows = (0..).zip(ends).map(flow).collect();
                Packets::new(network, flows).expect("hosts send to hosts").ecmp(Ecmp::Packet)
            }
            Self::Tcp(k) => {
                let network = topology::fat_tree(k, &fast()).expect("k is even");
                let ends = pairs(&network, "hosts", "opposite").expect("there are hosts");
                let tcp = Tcp::new(classic());
                let flow =
                    |(from, to)| Flow::tcp(from, to, tcp.clone()).starting(u64::from(from) * 1_000_003);
                Packets::new(network, ends.into_iter().map(flow).collect()).expect("hosts send to hosts")
            }
            Self::Dumbbell(count) => {
                let access = LinkSpec::new(1_000_000_000, 100_000_000);
                let bottleneck = LinkSpec::new(10_000_000, 20_000_000_000).drop_tail(50);
                let network = topology::dumbbell(count, &access, &bottleneck).expect("rates are not zero");
                let ends = pairs(&network, "left-*", "right-*").expect("there are hosts on both sides");
                let tcp = Tcp::new(classic());
                let flow = |(number, (from, to)): (u64, (u32, u32))| {
                    Flow::tcp(from, to, tcp.clone()).starting(number * 10_000_000_000)
                };
                Packets::new(network, (0..).zip(ends).map(flow).collect()).expect("hosts send to hosts")
            }
        }
    }
}

/// The ports whose links lead to another federate, ascending.
fn crossing(model: &Packets, federates: u32) -> Vec<(u32, u32)> {
    let (network, partition) = (model.network(), model.partition(federates));
    let place = |node: u32| partition.place(LpId(node)).0;
    let ports = (0..network.nodes()).flat_map(|node| (0..network.ports(node)).map(move |port| (node, port)));
    ports.filter(|&(node, port)| place(node) != place(network.peer(node, port))).collect()
}

impl Network {
    /// The way without captures that is the fastest on one thread.
    pub const fn fastest(&self) -> Way {
        match self.load {
            // Little happens within the least latency.
            Load::Dumbbell(_) => Way::Sequential,
            Load::Udp(_) | Load::Tcp(_) => Way::Window(1),
        }
    }

    /// Runs it once. What takes time before the run, such as building the network, does not count.
    pub fn run(&self, way: Way) -> Ran {
        let model = self.load.model();
        let flows = model.flows().to_vec();
        let until_ps = self.until.as_nanos() * 1_000;
        let (protocol, threads) = match (way, &self.load) {
            (Way::ByHand, Load::Udp(k)) => return by_hand::run(*k, until_ps),
            (Way::ByHand, _) => return by_hand_tcp::run(model.network(), &flows, until_ps),
            (Way::Captured(files), _) => return captures::run(model, self.until, self.fastest(), files),
            (Way::Sequential, _) => (Protocol::Sequential, 1),
            (Way::Window(threads), _) => (Protocol::Window, threads),
        };
        let crossing = crossing(&model, threads);
        let run = Simulation::new(model).protocol(protocol).threads(threads).federates(threads);
        let run = run.until(self.until);
        Ran::new(
            || run.run().expect("the model keeps the rules"),
            |report| {
                let results = NetResults::new(&flows, &report.outputs);
                let hops = results.links.iter().map(|link| link.sent).sum();
                let delay_ns = results.mean_delay_s.unwrap_or(0.0) * 1e9;
                let (arrived, dropped) = (results.packets_arrived, results.packets_dropped);
                let remote = |link: &&LinkResult| crossing.binary_search(&(link.node, link.port)).is_ok();
                let remote: u64 = results.links.iter().filter(remote).map(|link| link.sent).sum();
                let remote = remote as f64 / results.packets_sent as f64;
                let digest = report.digest;
                let what = format!("{arrived} arrived, {dropped} dropped, {delay_ns:.0} ns, digest {digest}");
                (hops, format!("{what}, {remote:.2} messages a packet between federates"))
            },
        )
    }
}
