//! Runs of the engine's windows: processes on one host that share memory, or one on each of many hosts that
//! are joined by TLS.
//!
//! Measured on one host with two cores, where nothing else ran meanwhile (real-time priority): PHOLD with
//! 2048 LPs and 16 messages each, a mean delay of 1 s beyond the lookahead, and one message in four to any
//! LP, one thread in each process. The lookahead sets how many events a window has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use paceline_machine::{Costs, DomainSpec, HostSpec, LinkSpec, MachineSpec, Program, Wait, run};
use paceline_policy::Setting;

use super::node::{Load, programs};
use crate::prelude::*;

/// The part of the events that goes to any LP.
const REMOTE: f64 = 0.25;
/// With how many others a process exchanges events if LPs send to near ones.
const NEAR: u32 = 8;
const CORES: u32 = 2;
const BITS_PER_SECOND: u64 = 10_000_000_000;

/// Measured windows: events of a window of all processes, and microseconds of a window.
pub struct Measured {
    /// Of all processes together.
    pub events: f64,
    pub one_us: f64,
    /// With two processes and with four that share memory.
    pub two_us: f64,
    pub four_us: f64,
    /// With two processes joined by TLS on loopback.
    pub tls_us: f64,
}

/// Medians of five runs, taken in turn.
pub const MEASURED: [Measured; 4] = [
    Measured { events: 33.0, one_us: 3.9, two_us: 6.8, four_us: 57.2, tls_us: 47.5 },
    Measured { events: 324.0, one_us: 23.2, two_us: 19.0, four_us: 78.6, tls_us: 71.2 },
    Measured { events: 2_978.0, one_us: 170.8, two_us: 108.9, four_us: 179.8, tls_us: 151.9 },
    Measured { events: 16_394.0, one_us: 818.7, two_us: 498.7, four_us: 586.4, tls_us: 563.8 },
];

/// The constants with the times of windows in one process, by their events.
const WINDOWS: [(&str, f64); 4] = [
    ("cluster.window_33", 33.0),
    ("cluster.window_324", 324.0),
    ("cluster.window_2978", 2_978.0),
    ("cluster.window_16394", 16_394.0),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// All on one host; they share memory.
    Host,
    /// On a host each, joined by TLS; the links take no time, as loopback does.
    Loopback,
    /// On a host each, joined by TLS over a network.
    Cluster,
}

named! {
    /// Where LPs send to.
    pub enum Pattern {
        Any = "to any process",
        /// To those of eight processes.
        Near = "to 8 processes",
    }
}

/// Windows that are simulated: of few processes, and of many, whose windows are all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    pub few: u32,
    pub many: u32,
}

/// More processes than these are many.
const FEW: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    pub place: Place,
    pub processes: u32,
    /// Events of a process in a window.
    pub events: f64,
    pub pattern: Pattern,
    /// How long it is.
    pub windows: Windows,
}

impl Case {
    fn key(self) -> String {
        let Self { place, processes, events, pattern, .. } = self;
        format!("cluster/{place:?}/{processes}/{events}/{pattern:?}/{} windows", self.windows())
    }

    fn windows(self) -> u32 {
        if self.processes > FEW { self.windows.many } else { self.windows.few }
    }

    pub fn cell(self, setup: &Setup) -> Cell {
        let (windows, calibration) = (self.windows(), setup.calibration.clone());
        let weight = f64::from(self.processes * windows);
        let job = move || self.run(windows, &calibration);
        Cell { key: self.key(), weight, alone: false, job: Box::new(job) }
    }

    pub fn seconds(self, results: &Results) -> Found<f64> {
        results.seconds(&self.key())
    }

    /// Frames that a process sends in a window, besides those of the round.
    pub fn frames(self, calibration: &Calibration) -> f64 {
        self.load(1, calibration).frames()
    }

    fn load(self, windows: u32, calibration: &Calibration) -> Load {
        let get = |name: &str| calibration.get(name) as f64;
        let others = self.processes - 1;
        let receivers = if self.pattern == Pattern::Any { others } else { others.min(NEAR) };
        let (frame_ns, wait) = match self.place {
            Place::Host if self.processes > CORES => ([get("cluster.frame"), 0.0], Wait::Block),
            Place::Host => {
                ([get("cluster.frame"), 0.0], Wait::PollThenBlock(calibration.get("cluster.spin")))
            }
            // Whoever waits for TCP looks again and again, unless the run has more processes than this host
            // has cores.
            Place::Loopback | Place::Cluster => {
                let wait = if self.processes > CORES { Wait::Block } else { Wait::Poll };
                ([get("cluster.tls_frame") / 2.0; 2], wait)
            }
        };
        Load {
            processes: self.processes,
            windows,
            events: self.events,
            remote: REMOTE,
            receivers,
            window_ns: WINDOWS.iter().map(|(name, events)| (*events, get(name))).collect(),
            code_ns: get("cluster.crossing") / 2.0,
            saying_ns: get("cluster.saying"),
            frame_ns,
            wait,
        }
    }

    fn run(self, windows: u32, calibration: &Calibration) -> Found<Measure> {
        let load = Arc::new(self.load(windows, calibration));
        let mut spec = MachineSpec { costs: costs(self.place, calibration), ..MachineSpec::default() };
        let all = programs(&load);
        if self.place == Place::Host {
            spec.hosts.push(host(0));
            spec.domains.push(domain(0, all));
        } else {
            for (rank, program) in (0..).zip(all) {
                spec.hosts.push(host(rank));
                spec.domains.push(domain(rank, vec![program]));
            }
            let latency_ns =
                if self.place == Place::Cluster { calibration.get("cluster.latency") } else { 0 };
            spec.links = pairs(&load)
                .into_iter()
                .map(|(from, to)| LinkSpec { from, to, latency_ns, bits_per_second: BITS_PER_SECOND })
                .collect();
        }
        let ran = run(spec)?;
        let seconds = ran.report.at_ns as f64 / 1e9 / f64::from(windows);
        Ok(Measure { seconds, values: BTreeMap::new(), ..Measure::default() })
    }
}

/// The pairs of ranks that exchange packets, the lower rank first.
fn pairs(load: &Load) -> BTreeSet<(u32, u32)> {
    let ranks = 0..load.processes;
    let above = ranks.clone().filter_map(|rank| Load::parent(rank).map(|parent| (parent, rank)));
    let far: Vec<u32> = if load.receivers > 0 { load.distances().collect() } else { Vec::new() };
    let frames = ranks.flat_map(|rank| far.iter().map(move |far| (rank, (rank + far) % load.processes)));
    above.chain(frames).map(|(one, other)| (one.min(other), one.max(other))).collect()
}

/// A host whose threads have no time slices that matter: whoever waits makes room.
fn host(number: u32) -> HostSpec {
    let mut host = HostSpec::new(format!("host{number}"), CORES, "round-robin");
    host.policy.settings.set("slice", Setting::Nanos(10_000_000));
    host
}

fn domain(host: u32, processes: Vec<Box<dyn Program>>) -> DomainSpec {
    let vcpus = processes.len() as u32;
    DomainSpec { threads: true, vcpus, ..DomainSpec::new(format!("node{host}"), host, processes) }
}

/// What things cost on a node. The privileged domain stands for the kernel's half of the network: it is woken
/// where a frame leaves and where it arrives, and the receiver after it, so that a wake-up of TLS is three
/// switches.
fn costs(place: Place, calibration: &Calibration) -> Costs {
    let get = |name: &str| calibration.get(name);
    let (switch_ns, half_ns) = match place {
        Place::Host => (get("cluster.wake"), 0),
        Place::Loopback | Place::Cluster => (get("cluster.tls_wake") / 3, get("cluster.tls_frame") / 2),
    };
    Costs {
        decision_ns: 0,
        switch_ns,
        migration_ns: 0,
        guest_switch_ns: 0,
        loopback_ns: get("cluster.frame"),
        send_ns: half_ns,
        receive_ns: half_ns,
        backend_ns: 0,
        nic_ns: 0,
        byte_ps: 0,
        ..Costs::default()
    }
}
