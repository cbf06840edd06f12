//! The memory of a million flows.

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::Time;
use paceline_packets::{Flow, NetResults, Packets, Tcp, topology};

use crate::networks::{classic, fast};

const FLOWS: u32 = 1_000_000;
const K: u32 = 16;

/// The most memory that this process has had, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// A million TCP flows of 15 kB on a fat tree with 1,024 hosts, one begun every microsecond. Prints the peak
/// after each step, and what came of the flows.
pub fn million_flows() {
    let network = topology::fat_tree(K, &fast()).expect("k is even");
    let hosts = network.hosts().to_vec();
    let tcp = Tcp::new(classic()).bytes(15_000);
    let flow = |number: u32| {
        let (count, at) = (hosts.len() as u32, number % hosts.len() as u32);
        // Each host sends to each other one in turn.
        let to = (at + 1 + number / count % (count - 1)) % count;
        Flow::tcp(hosts[at as usize], hosts[to as usize], tcp.clone()).starting(u64::from(number) * 1_000_000)
    };
    let flows: Vec<Flow> = (0..FLOWS).map(flow).collect();
    println!("flows: {} MiB", peak_mib());
    let model = Packets::new(network, flows.clone()).expect("hosts send to hosts");
    println!("model: {} MiB", peak_mib());
    let run = Simulation::new(model).protocol(Protocol::Window).threads(1).federates(1);
    let report = run.until(Time::millis(1_200)).run().expect("the model keeps the rules");
    println!("run: {} MiB, {} events, digest {}", peak_mib(), report.events, report.digest);
    let results = NetResults::new(&flows, &report.outputs);
    println!("results: {} MiB, {} flows done", peak_mib(), results.flows_done);
}
