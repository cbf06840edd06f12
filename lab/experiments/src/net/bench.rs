//! How networks are run and looked at, and the settings that several experiments have.

use paceline_engine::{Protocol, RunError, Simulation};
use paceline_kernel::{LpId, Time};
use paceline_packets::queue::{CodelSettings, Limit, QueueSettings};
use paceline_packets::tcp::Settings;
use paceline_packets::{Flow, LinkSpec, NetResults, Network, Packets, Tcp, pairs, topology};

use crate::prelude::*;

/// Microseconds, milliseconds and seconds in picoseconds.
pub(super) const US: u64 = 1_000_000;
pub(super) const MS: u64 = 1_000 * US;
pub(super) const S: u64 = 1_000 * MS;

/// Bytes of data in a segment, and on the wire with the headers of TCP, IPv4 and PPP.
pub(super) const DATA: f64 = 1_448.0;
pub(super) const WIRE: f64 = 1_502.0;

/// As the programs for ns-3 3.37 have it: no SACK, an ACK for every second segment and at most 200 ms late,
/// windows that grow by ACKs.
pub(super) fn classic() -> Settings {
    Settings {
        receive_buffer: 1 << 26,
        ack_delay: Time::millis(200),
        sack: false,
        abc: 0,
        ..Settings::default()
    }
}

/// As ns-3's `tcp-validation` has it: buffers of 32,768,000 bytes, ACKs as above; ns-3 has no RACK.
pub(super) fn validation() -> Settings {
    Settings { receive_buffer: 32_768_000, ack_delay: Time::millis(200), rack: false, ..Settings::default() }
}

/// The CoDel of `tcp-validation`: 1000 packets of 1500 bytes.
pub(super) fn codel(marks: bool, ce_threshold: Option<Time>) -> QueueSettings {
    let (target, interval) = (Time::millis(5), Time::millis(100));
    let settings = CodelSettings { target, interval, mtu: 1_500, marks, ce_threshold };
    QueueSettings::Codel(settings, Limit::Bytes(1_500_000))
}

/// What cannot be simulated, as what becomes of a cell.
pub(super) fn refused(error: impl std::fmt::Display) -> CellError {
    CellError::Network(error.to_string())
}

/// A dumbbell with access links of 1 Gb/s.
pub(super) fn dumbbell(count: u32, access_ps: u64, bottleneck: &LinkSpec) -> Found<Network> {
    topology::dumbbell(count, &LinkSpec::new(1_000_000_000, access_ps), bottleneck).map_err(refused)
}

/// A flow for each pair of a dumbbell, so many picoseconds apart.
pub(super) fn flows(network: Network, tcp: &Tcp, apart_ps: u64) -> Found<Packets> {
    let ends = pairs(&network, "left-*", "right-*").map_err(refused)?;
    let flow = |(number, (from, to)): (u64, (u32, u32))| {
        Flow::tcp(from, to, tcp.clone()).starting(number * apart_ps)
    };
    let flows = (0..).zip(ends).map(flow).collect();
    Packets::new(network, flows).map_err(refused)
}

/// What is left of a run to `until`.
pub(super) fn results(model: &Packets, until: Time) -> Found<NetResults> {
    let run = Simulation::new(model.clone()).protocol(Protocol::Sequential).threads(1).until(until);
    let report = run.run().map_err(|error: RunError| refused(error))?;
    Ok(NetResults::new(model.flows(), &report.outputs))
}

/// A TCP flow at some time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Bytes that the receiver has in order.
    pub delivered: u64,
    /// The congestion window of the sender in segments of 1448 bytes.
    pub window: f64,
    /// DCTCP's mean share of marked bytes.
    pub alpha: f64,
}

/// The TCP flows of a model at each of these times, which ascend.
pub(super) fn watch(model: Packets, times: &[Time]) -> Found<Vec<Vec<Seen>>> {
    let mut slots = vec![0; model.network().nodes() as usize];
    let mut slot = |node: u32| {
        let next = &mut slots[node as usize];
        *next += 1;
        (LpId(node), *next - 1)
    };
    let ends: Vec<_> = model.flows().iter().map(|flow| (slot(flow.from), slot(flow.to))).collect();
    let run = Simulation::new(model).protocol(Protocol::Sequential).threads(1).start();
    let mut run = run.map_err(refused)?;
    let mut all = Vec::new();
    for &time in times {
        run.run_until(time).map_err(refused)?;
        let connection = |(lp, slot): (LpId, usize)| {
            let host = run.state(lp).host.as_ref()?;
            Some(&host.connections.get(slot)?.as_ref()?.connection)
        };
        let seen = |(from, to): &((LpId, usize), (LpId, usize))| Seen {
            delivered: connection(*to).map_or(0, |end| end.counters().delivered),
            window: connection(*from).map_or(0.0, |end| end.congestion_window() as f64 / DATA),
            alpha: connection(*from).and_then(|end| end.marked_share()).unwrap_or(0.0),
        };
        all.push(ends.iter().map(seen).collect());
    }
    Ok(all)
}

/// The Mb/s that each flow delivers between two times.
pub(super) fn goodput(model: Packets, from: Time, until: Time) -> Found<Vec<f64>> {
    let seen = watch(model, &[from, until])?;
    let rate = |(now, before): (&Seen, &Seen)| megabits(now.delivered - before.delivered, until - from);
    Ok(seen[1].iter().zip(&seen[0]).map(rate).collect())
}

/// Mb/s of so many bytes in a span.
pub(super) fn megabits(bytes: u64, span: Time) -> f64 {
    bytes as f64 * 8e-6 / span.as_secs_f64()
}

/// Jain's index of fairness.
pub(super) fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    sum * sum / (shares.len() as f64 * squares)
}

/// A cell that runs a network; nothing in it takes real time.
pub(super) fn cell(key: String, weight: f64, job: impl FnOnce() -> Found<Measure> + Send + 'static) -> Cell {
    Cell { key, weight, alone: false, job: Box::new(job) }
}

/// A measure of one value.
pub(super) fn value(name: &'static str, value: f64) -> Measure {
    Measure { values: [(name, value)].into(), ..Measure::default() }
}

/// That `ours` is within so many per cent of what `source` says.
pub(super) fn near(ours: f64, right: f64, percent: f64, unit: &str, source: &str) -> Compared {
    let criterion = Criterion::published(right, Tolerance::Percent(percent)).saying(source);
    (criterion, Ours::one(ours, unit).with(format!("{:+.2} %", 100.0 * (ours / right - 1.0))))
}

/// That all of `ours` lie in the range that `source` has.
pub(super) fn between(ours: Vec<f64>, [least, most]: [f64; 2], unit: &str, source: &str) -> Compared {
    (Criterion::published(least, Tolerance::Spread(least, most)).saying(source), Ours::all(ours, unit))
}
