//! `cargo bench -p paceline-packets`: hops a second of CPU time, on networks from 16 to 8,192 hosts, beside
//! loops that are written by hand for one thread and for nothing else.
//!
//! In every round each way to run a network is run once, so that whatever disturbs the machine disturbs all;
//! what counts is the median. `-- NETWORK` measures one network, `-- NETWORK WAY` runs one way of it once:
//! for profilers, and beside other programs. `-- memory` prints the peak of a run with a million flows.

#[path = "packets/by_hand.rs"]
mod by_hand;
#[path = "packets/by_hand_tcp.rs"]
mod by_hand_tcp;
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

fn all_ways(network: &Network) {
    let ways = Way::ALL.map(|way| (way.name(), move || network.run(way)));
    println!("\n{}\n\n{}", network.title, table(&interleave(ways)));
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let find = |name: &str| {
        NETWORKS.iter().find(|network| network.name == name).unwrap_or_else(|| {
            let names: Vec<&str> = NETWORKS.iter().map(|network| network.name).collect();
            panic!("there is no network {name:?}: {}, memory", names.join(", "))
        })
    };
    match words[..] {
        [] => NETWORKS.iter().for_each(all_ways),
        ["memory"] => memory::million_flows(),
        [name] => all_ways(find(name)),
        [name, way, ..] => once(find(name), Way::of(way)),
    }
}
