//! Ways to run a scenario: all of them, and a sample.

use std::collections::BTreeSet;
use std::fmt;

const PROTOCOLS: [&str; 4] = ["time-step", "window", "null-message", "null-message-on-demand"];
const FEDERATES: [u64; 4] = [1, 2, 7, 64];
const THREADS: [u64; 3] = [1, 2, 8];
const QUEUES: [&str; 3] = ["heap", "enhanced-heap", "bucket"];

/// How a scenario is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    pub protocol: &'static str,
    pub federates: u64,
    pub threads: u64,
    pub queue: &'static str,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, federates, threads, queue } = self;
        write!(f, "protocol {protocol}, {federates} federates, {threads} threads, queue {queue}")
    }
}

fn sequential(queue: &'static str) -> Mode {
    Mode { protocol: "sequential", federates: 1, threads: 1, queue }
}

/// What all others are compared with.
pub fn reference() -> Mode {
    sequential(QUEUES[0])
}

/// All modes but the reference. The sequential run knows neither federates nor threads.
pub fn every_mode() -> Vec<Mode> {
    let mut modes = vec![sequential(QUEUES[1]), sequential(QUEUES[2])];
    for protocol in PROTOCOLS {
        for federates in FEDERATES {
            for threads in THREADS {
                modes.extend(QUEUES.map(|queue| Mode { protocol, federates, threads, queue }));
            }
        }
    }
    modes
}

/// Every number of federates with every number of threads; protocols and queues are dealt out to them, differently for
/// each scenario.
pub fn some_modes(scenario: usize) -> Vec<Mode> {
    let mut modes = vec![sequential(QUEUES[1]), sequential(QUEUES[2])];
    for (f, federates) in FEDERATES.into_iter().enumerate() {
        for (t, threads) in THREADS.into_iter().enumerate() {
            let protocol = PROTOCOLS[(f + t + scenario) % PROTOCOLS.len()];
            let queue = QUEUES[(f + 2 * t + scenario) % QUEUES.len()];
            modes.push(Mode { protocol, federates, threads, queue });
        }
    }
    modes
}

/// The settings of a mode, one by one.
fn settings(mode: &Mode) -> [String; 4] {
    [
        format!("protocol {}", mode.protocol),
        format!("{} federates", mode.federates),
        format!("{} threads", mode.threads),
        format!("queue {}", mode.queue),
    ]
}

const SCENARIOS: usize = crate::scenarios::SCENARIOS.len();

#[test]
fn the_sample_holds_every_setting_for_each_scenario_and_every_two_of_them_together() {
    let singles = |modes: &[Mode]| modes.iter().flat_map(settings).collect::<BTreeSet<_>>();
    let pairs = |modes: Vec<Mode>| {
        let of_one = |mode: &Mode| {
            let all = settings(mode);
            (0..4)
                .flat_map(|a| (0..a).map(move |b| (a, b)))
                .map(|(a, b)| [all[a].clone(), all[b].clone()])
                .collect::<Vec<_>>()
        };
        modes.iter().flat_map(of_one).collect::<BTreeSet<_>>()
    };
    let all = every_mode();
    for number in 0..SCENARIOS {
        assert_eq!(singles(&some_modes(number)), singles(&all), "scenario {number}");
    }
    assert_eq!(pairs((0..SCENARIOS).flat_map(some_modes).collect()), pairs(all));
}
