//! `cargo bench -p paceline-packets`: hops a second of CPU time, on networks from 16 to 8,192 hosts, beside
//! loops that are written by hand for one thread and for nothing else.
//!
//! In every round each way to run a network is run once, so that whatever disturbs the machine disturbs all;
//! what counts is the median. `-- NETWORK` measures one network, `-- NETWORK WAY` runs one way of it once:
//! for profilers, and beside other programs. `-- captures` measures what it costs to capture every link, `--
//! memory` prints the peak of a run with a million flows.

#[path = "packets/by_hand.rs"]
mod by_hand;
#[path = "packets/by_hand_tcp.rs"]
mod by_hand_tcp;
#[path = "packets/captures.rs"]
mod captures;
#[path = "packets/measure.rs"]
mod measure;
#[path = "packets/memory.rs"]
mod memory;
#[path = "packets/networks.rs"]
mod networks;

use measure::{Ran, interleave, table};
use networks::{NETWORKS, Network, Way};

/// Says what a run came to, in a line that other programs can read.
fn once(network: &Network, way: Way) {
    let Ran { hops, cpu_s, wall_s, what } = network.run(way);
    println!("{} {}: {hops} hops, CPU {cpu_s:.3} s, wall {wall_s:.3} s, {what}", network.name, way.name());
}

fn compare<const N: usize>(network: &Network, title: &str, ways: [Way; N]) {
    let ways = ways.map(|way| (way.name(), move || network.run(way)));
    println!("\n{title}\n\n{}", table(&interleave(ways)));
}

fn all_ways(network: &Network) {
    compare(network, network.title, Way::PLAIN);
}

/// Of UDP and of TCP.
fn captures() {
    for network in NETWORKS.iter().filter(|network| ["udp-4", "tcp-dumbbell"].contains(&network.name)) {
        let [recorded, formed, written] = Way::CAPTURED;
        let ways = [network.fastest(), recorded, formed, written];
        compare(network, &format!("{}, every link captured", network.title), ways);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let find = |name: &str| {
        NETWORKS.iter().find(|network| network.name == name).unwrap_or_else(|| {
            let names: Vec<&str> = NETWORKS.iter().map(|network| network.name).collect();
            panic!("there is no network {name:?}: {}, captures, memory", names.join(", "))
        })
    };
    match words[..] {
        [] => {
            NETWORKS.iter().for_each(all_ways);
            captures();
        }
        ["captures"] => captures(),
        ["memory"] => memory::million_flows(),
        [name] => all_ways(find(name)),
        [name, way, ..] => once(find(name), Way::of(way)),
    }
}
