//! UDP in fat trees: each host sends to the one half the hosts away, at half the rate of its link, each
//! packet on a path of its own.

use paceline_kernel::Time;
use paceline_packets::{Drive, Ecmp, Flow, LinkSpec, Packets, Udp, pairs, topology};

use super::bench::{US, cell, near, refused, results};
use crate::parameters::kinds::count;
use crate::prelude::*;

/// What ns-3 3.37 says with k = 4 and 8: the mean delay in nanoseconds, and packets that arrived in how many
/// milliseconds.
const NS_3: [(u32, f64, u64, u64); 2] = [(4, 23_419.1, 20, 193_947), (8, 23_875.3, 5, 386_499)];
/// How far off the mean delay may be, in per cent.
const TOLERANCE: f64 = 0.1;
const SOURCE: &str = "ns-3 3.37";

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let sizes = parameters.points("k", &count(4..=8u32))?;
    let chosen: Vec<_> = NS_3.into_iter().filter(|row| sizes.contains(&row.0)).collect();
    if chosen.len() < sizes.len() {
        return Err(parameters.refuse("k", "has a value of which ns-3 says nothing", "4, 8 or both"));
    }
    let cells = chosen.iter().map(|&(k, _, ms, _)| cell(key(k), f64::from(k), move || measure(k, ms)));
    let cells = cells.collect();
    Ok(Plan::new(cells, move |results| judge(&chosen, results)))
}

fn key(k: u32) -> String {
    format!("net/fat-tree/{k}")
}

fn measure(k: u32, ms: u64) -> Found<Measure> {
    let link = LinkSpec::new(10_000_000_000, 3 * US).drop_tail(100);
    let network = topology::fat_tree(k, &link).map_err(refused)?;
    let udp = Udp { rate: 5_000_000_000, wire_bytes: 1030, drive: Drive::Constant, packets: None };
    let hosts = network.hosts().len() as u32;
    let ends = pairs(&network, "hosts", "opposite").map_err(refused)?;
    let flow = |(host, (from, to))| Flow::udp(from, to, udp).starting(udp.stagger_ps(host, hosts));
    let flows = (0..).zip(ends).map(flow).collect();
    let model = Packets::new(network, flows).map_err(refused)?.ecmp(Ecmp::Packet);
    let found = results(&model, Time::millis(ms))?;
    let delay_ns = found.mean_delay_s.unwrap_or_default() * 1e9;
    let values = [
        ("delay_ns", delay_ns),
        ("sent", found.packets_sent as f64),
        ("arrived", found.packets_arrived as f64),
        ("dropped", found.packets_dropped as f64),
    ];
    Ok(Measure { values: values.into(), ..Measure::default() })
}

fn judge(rows: &[(u32, f64, u64, u64)], results: &Results) -> Found<Finding> {
    let mut table = Table::new("Packets", ["k", "ms", "sent", "arrived", "dropped", "arrived in ns-3"]);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut claims = Claims::default();
    for &(k, delay_ns, ms, arrived) in rows {
        let value = |name| results.value(&key(k), name);
        let packets = ["sent", "arrived", "dropped"].map(|name| value(name).map(|count| format!("{count}")));
        let [sent, came, dropped] = packets;
        table.row([format!("{k}"), format!("{ms}"), sent?, came?, dropped?, format!("{arrived}")]);
        let found = value("delay_ns")?;
        ours.push((f64::from(k), found));
        theirs.push((f64::from(k), delay_ns));
        claims.add(format!("k = {k}: mean delay"), || Ok(near(found, delay_ns, TOLERANCE, "ns", SOURCE)))?;
        claims.add(format!("k = {k}: packets dropped"), || {
            let criterion = Criterion::published(0.0, Tolerance::Exact).saying(SOURCE);
            Ok((criterion, Ours::one(value("dropped")?, "")))
        })?;
    }
    let name = "mean delay";
    let figure = plot(
        "Mean delay in a fat tree",
        "All hosts send at half the rate of their link, each packet on a path of its own. Published: ns-3 3.37.",
        [Axis::linear("k", ""), Axis::linear("mean delay", "ns")],
        vec![Series::ours(name, Kind::Bars, ours), Series::published(name, Kind::Points, theirs)],
    );
    let finding = Finding {
        about: vec![
            "Fat trees of k pods; all links 10 Gb/s and 3 us with 100 packets a port. Each host sends packets of 1030 bytes (1000 of data) to \
             the host half the hosts away, evenly at 5 Gb/s; host h of H starts at the interval times h / H."
                .into(),
        ],
        figures: vec![figure],
        tables: vec![table],
        notes: vec![
            "ns-3 draws the path of a packet from another generator of random numbers: its packets and ours meet others at other switches, and \
             only means can be compared."
                .into(),
        ],
        ..Finding::default()
    };
    Ok(claims.put_into(finding))
}
