//! Networks with guests and without, run alike; the settings of our TCP that are those of Linux.

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::Time;
use paceline_packets::tcp::{Algorithm, ClassicHyStart, Settings};
use paceline_packets::{Flow, LinkSpec, Network, Packets, Stations, Tcp, topology};
use paceline_results::RunFacts;

use super::guests::captures;
use super::transfers::{START, Transfer, transfers};
use crate::prelude::*;

/// Bytes of data in a segment, and of its frame on the wire: with the headers of TCP (with timestamps), IPv4
/// and Ethernet, the checksum, preamble and gap.
pub(super) const DATA: f64 = 1_448.0;
pub(super) const WIRE: f64 = 1_538.0;

/// Picoseconds in a microsecond.
pub(super) const US: u64 = 1_000_000;

/// The bytes of a packet in captures: the headers of Ethernet, IPv4 and TCP with all options.
const SNAP: u32 = 134;

/// What Linux 6 does by default, as far as our model has it: the least timeout is 200 ms, ACKs are delayed by
/// 40 ms, and in slow start an ACK counts for all that it acknowledges.
pub(super) fn linux(algorithm: Algorithm) -> Settings {
    Settings {
        algorithm,
        classic_hystart: (algorithm == Algorithm::Cubic).then_some(ClassicHyStart::LINUX),
        linux_windows: true,
        min_rto: Time::millis(200),
        ..Settings::default()
    }
}

/// A bottleneck between two routers, with pairs of hosts at links of 1 Gb/s. The round trip is dealt to all
/// three links alike, so that what a guest does can be late by a third of the way without harm.
pub(super) fn dumbbell(pairs: u32, rtt_us: u64, bottleneck: LinkSpec) -> Found<Network> {
    let latency_ps = rtt_us * US / 6;
    let access = LinkSpec::new(1_000_000_000, latency_ps);
    topology::dumbbell(pairs, &access, &LinkSpec { latency_ps, ..bottleneck }).map_err(refused)
}

/// The network with guests at all hosts.
pub(super) fn with_machines(network: Network) -> Found<Packets> {
    let at: Vec<_> = network.hosts().iter().map(|&host| (host, None)).collect();
    let stations = Stations::new(&network, &at).map_err(refused)?;
    Packets::new(network, vec![]).and_then(|model| model.machines(stations)).map_err(refused)
}

/// The network with guests at all hosts, and captures at the left ones.
pub(super) fn with_guests(network: Network) -> Found<Packets> {
    with_machines(network)?.capture(&["left-*"], Some(SNAP)).map_err(refused)
}

/// What the left hosts' links saw of flows from left to right without an end.
pub(super) fn simulated(
    network: Network,
    flows: &[(u32, u32)],
    settings: Settings,
    until: Time,
) -> Found<Vec<Transfer>> {
    // The headers below TCP are those of IPv4 (20) and Ethernet with checksum, preamble and gap (38).
    let tcp = Tcp { below_bytes: 58, ..Tcp::new(settings) };
    let start_ps = START.as_ticks() / Time::TICKS_PER_NANO * 1_000;
    let flow = |&(from, to): &(u32, u32)| Flow::tcp(from, to, tcp.clone()).starting(start_ps);
    let model = Packets::new(network, flows.iter().map(flow).collect()).map_err(refused)?;
    let model = model.capture(&["left-*"], Some(SNAP)).map_err(refused)?;
    let run = Simulation::new(model.clone()).protocol(Protocol::Sequential).threads(1).until(until);
    let report = run.run().map_err(refused)?;
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let files = captures(&model, report.outputs, &facts)?;
    Ok(files.values().flat_map(|file| transfers(file)).collect())
}

/// What cannot be simulated, as what becomes of a cell.
pub(super) fn refused(error: impl std::fmt::Display) -> CellError {
    CellError::Network(error.to_string())
}

/// A cell that measures virtual time alone. It runs on a thread of its own: a worker of the pool that waits
/// for the engine begins other cells meanwhile, and then the guests of all cells run at once.
pub(super) fn cell(key: String, weight: f64, job: impl FnOnce() -> Found<Measure> + Send + 'static) -> Cell {
    let on_a_thread = move || {
        let ended = std::thread::spawn(job).join();
        ended.unwrap_or_else(|_| Err(CellError::Guests("the thread of a run has panicked".into())))
    };
    Cell { key, weight, alone: false, job: Box::new(on_a_thread) }
}

/// The judgement, or where the emulator is missing a finding that says so instead.
pub(super) fn unless_skipped(finding: Found<Finding>) -> Found<Finding> {
    match finding {
        Err(error @ CellError::Skipped(_)) => {
            Ok(Finding { notes: vec![error.to_string()], ..Finding::default() })
        }
        other => other,
    }
}

/// That `ours` is within so many per cent of what `source` has.
pub(super) fn near(ours: f64, right: f64, percent: f64, unit: &str, source: &str) -> Compared {
    let criterion = Criterion::published(right, Tolerance::Percent(percent)).saying(source);
    (criterion, Ours::one(ours, unit).with(format!("{:+.2} %", 100.0 * (ours / right - 1.0))))
}
