//! `cargo bench -p paceline-network --bench flows`: the speed of the flow-level network in its two extreme
//! cases.
//!
//! *Sparse*: tiny messages between the hosts of a flat cluster, only a few in transit at a time, as in a
//! peer-to-peer simulation. *Dense*: many random flows that start together and share the links of a fat tree
//! or a torus until all have ended. Every round runs all workloads, one after the other; `PACELINE_ROUNDS`
//! sets the number of rounds (5). The last column is the simulated time of the last end: it must be the same
//! in every run of a workload.

use std::time::Instant;

use paceline_network::{FlowModel, Flows, HostId, Network, Platform, read};

/// A platform of one cluster with this many hosts.
fn cluster(hosts: u32, shape: &str) -> Platform {
    let text = format!(
        r#"<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-{}" speed="1Gf" bw="125MBps"
           lat="50us" {shape}/></platform>"#,
        hosts - 1
    );
    read("bench.xml", &text, &mut |_| Err("there are no other files".into())).expect("a good platform")
}

/// Reproducible random numbers that other programs can generate too (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Two different hosts.
    fn pair(&mut self, hosts: u32) -> (HostId, HostId) {
        let from = self.below(hosts.into()) as u32;
        let step = 1 + self.below(u64::from(hosts) - 1) as u32;
        (HostId(from), HostId((from + step) % hosts))
    }
}

/// Messages of 10 bytes, one every 200 us: about three are in transit at a time.
fn sparse(platform: &Platform, messages: u32) -> f64 {
    let mut network = Flows::new(platform, FlowModel::CM02);
    let (mut random, hosts, mut last, mut ended) = (Random(1), platform.hosts().len() as u32, 0.0, 0);
    let mut note = |network: &mut Flows, to: f64| {
        for end in network.advance(to) {
            (last, ended) = (end.at, ended + 1);
        }
    };
    for message in 0..messages {
        note(&mut network, f64::from(message) * 200e-6);
        let (from, to) = random.pair(hosts);
        network.start(from, to, 10.0).expect("there is a route");
    }
    while let Some(at) = network.next() {
        note(&mut network, at);
    }
    assert_eq!(ended, messages, "each ends");
    last
}

/// Flows of 1 to 10 MB that start together.
fn dense(platform: &Platform, flows: u32) -> f64 {
    let mut network = Flows::new(platform, FlowModel::CM02);
    let (mut random, hosts, mut last, mut ended) = (Random(2), platform.hosts().len() as u32, 0.0, 0);
    for _ in 0..flows {
        let (from, to) = random.pair(hosts);
        let bytes = 1e6 + random.below(9_000_000) as f64;
        network.start(from, to, bytes).expect("there is a route");
    }
    while let Some(at) = network.next() {
        for end in network.advance(at) {
            (last, ended) = (end.at, ended + 1);
        }
    }
    assert_eq!(ended, flows, "each ends");
    last
}

fn main() {
    let rounds = std::env::var("PACELINE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(5);
    let flat = cluster(10_000, r#"bb_bw="10GBps" bb_lat="500us""#);
    let tree = cluster(4_096, r#"topology="FAT_TREE" topo_parameters="3;16,16,16;1,8,8;1,1,1""#);
    let torus = cluster(4_096, r#"topology="TORUS" topo_parameters="16,16,16""#);
    type Workload<'a> = (&'a str, u32, &'a dyn Fn(u32) -> f64);
    let workloads: [Workload; 3] = [
        ("sparse messages, cluster of 10000", 200_000, &|count| sparse(&flat, count)),
        ("flows at once, fat tree of 4096", 10_000, &|count| dense(&tree, count)),
        ("flows at once, torus of 4096", 2_000, &|count| dense(&torus, count)),
    ];
    let mut seconds = [const { Vec::new() }; 3];
    let mut last = [0.0; 3];
    for _ in 0..rounds {
        for (number, (_, count, run)) in workloads.iter().enumerate() {
            let start = Instant::now();
            last[number] = run(*count);
            seconds[number].push(start.elapsed().as_secs_f64());
        }
    }
    println!("| workload | transfers | us each | least | greatest | simulated s |");
    println!("|---|---|---|---|---|---|");
    for (number, (name, count, _)) in workloads.iter().enumerate() {
        seconds[number].sort_by(f64::total_cmp);
        let each = |place: usize| seconds[number][place] * 1e6 / f64::from(*count);
        let (median, greatest) = (each(rounds / 2), each(rounds - 1));
        println!("| {name} | {count} | {median:.3} | {:.3} | {greatest:.3} | {:.9} |", each(0), last[number]);
    }
}
