//! Waits at a link of 10 Gb/s to which packets of 1250 bytes come at random (M/D/1).

use paceline_kernel::Time;
use paceline_packets::{Drive, Flow, LinkSpec, NetworkBuilder, NodeKind, Packets, Udp};

use super::bench::{US, cell, near, refused, results, value};
use crate::parameters::kinds::{count, number};
use crate::prelude::*;

/// Loads whose mean wait is checked: beyond, a run of this length says too little.
const CHECKED: [f64; 2] = [0.5, 0.8];
/// How far off the mean wait may be, in per cent.
const TOLERANCE: f64 = 1.0;
/// The service time and the latency in microseconds.
const SERVICE_US: f64 = 1.0;
const LATENCY_US: f64 = 5.0;

#[derive(Clone, Debug)]
struct Runs {
    loads: Vec<f64>,
    packets: u32,
}

impl Runs {
    fn key(&self, load: f64) -> String {
        format!("net/md1/{load}/{}packets", self.packets)
    }
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let loads = parameters.points("loads", &number(0.01..=0.99))?;
    let runs = Runs { loads, packets: parameters.one("packets", &count(1_000..=1_000_000_000))? };
    let cells = runs.loads.iter().map(|&load| {
        let packets = runs.packets;
        cell(runs.key(load), f64::from(packets), move || measure(load, packets))
    });
    let cells = cells.collect();
    Ok(Plan::new(cells, move |results| judge(&runs, results)))
}

/// The mean wait in service times.
fn measure(load: f64, packets: u32) -> Found<Measure> {
    let mut builder = NetworkBuilder::new();
    let from = builder.node("a", NodeKind::Host).map_err(refused)?;
    let to = builder.node("b", NodeKind::Host).map_err(refused)?;
    let link = LinkSpec::new(10_000_000_000, (LATENCY_US * US as f64) as u64);
    builder.link(from, to, &link).map_err(refused)?;
    let rate = (load * 1e10) as u64;
    let udp = Udp { rate, wire_bytes: 1250, drive: Drive::Poisson, packets: Some(packets) };
    let network = builder.build().map_err(refused)?;
    let model = Packets::new(network, vec![Flow::udp(from, to, udp)]).map_err(refused)?;
    let delay_us = results(&model, Time::MAX)?.mean_delay_s.unwrap_or_default() * 1e6;
    Ok(value("wait", (delay_us - LATENCY_US - SERVICE_US) / SERVICE_US))
}

/// Pollaczek and Khinchine.
fn formula(load: f64) -> f64 {
    load / (2.0 * (1.0 - load))
}

fn judge(runs: &Runs, results: &Results) -> Found<Finding> {
    let waits = runs.loads.iter().map(|&load| Ok((load, results.value(&runs.key(load), "wait")?)));
    let waits: Vec<(f64, f64)> = waits.collect::<Found<_>>()?;
    let formulas: Vec<(f64, f64)> = runs.loads.iter().map(|&load| (load, formula(load))).collect();
    let mut table = Table::new("Mean waits in service times", ["load", "formula", "ours", "off"]);
    let mut claims = Claims::default();
    for &(load, wait) in &waits {
        let right = formula(load);
        let off = format!("{:+.2} %", 100.0 * (wait / right - 1.0));
        table.row([format!("{load}"), format!("{right:.4}"), format!("{wait:.4}"), off]);
    }
    for load in CHECKED {
        claims.add(format!("load {load}: mean wait"), || {
            let wait = results.value(&runs.key(load), "wait")?;
            Ok(near(wait, formula(load), TOLERANCE, "service times", "load / (2 (1 - load))"))
        })?;
    }
    let name = "mean wait";
    let figure = plot(
        "Waits at a link to which packets come at random",
        "Packets of equal length that come at random (M/D/1). Published: the formula of Pollaczek and Khinchine.",
        [Axis::linear("load", ""), Axis::log("mean wait", "service times")],
        vec![Series::ours(name, Kind::Points, waits), Series::published(name, Kind::Lines, formulas)],
    );
    let finding = Finding {
        about: vec![
            "One link of 10 Gb/s and 5 us; packets of 1250 bytes, a microsecond of service each.".into(),
        ],
        figures: vec![figure],
        tables: vec![table],
        notes: vec![format!(
            "The mean of {} packets. Waits of packets that follow each other are alike, the more so the higher the load: beyond 0.8 a \
             mean of so many is shown but not checked.",
            runs.packets
        )],
        ..Finding::default()
    };
    Ok(claims.put_into(finding))
}
