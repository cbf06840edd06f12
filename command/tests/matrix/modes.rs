//! Ways to run a scenario: all of them, and a sample.

use std::collections::BTreeSet;
use std::fmt;

use paceline_kernel::Rng;

const PROTOCOLS: [&str; 4] = ["time-step", "window", "null-message", "null-message-on-demand"];
const AHEAD: [&str; 2] = ["optimistic", "mixed"];
const SAVINGS: [&str; 3] = ["copy", "periodic", "undo"];
const GVTS: [&str; 2] = ["asynchronous", "synchronous"];
const CANCELLATIONS: [&str; 2] = ["aggressive", "lazy"];
const FEDERATES: [u64; 4] = [1, 2, 7, 64];
const THREADS: [u64; 3] = [1, 2, 8];

/// Modes of the sample that run ahead, for each scenario.
const AHEAD_SAMPLE: usize = 6;
/// The part of all modes that run ahead in which workers dawdle at random.
const CHAOS: f64 = 0.25;

/// How a scenario is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    pub protocol: &'static str,
    pub federates: u64,
    pub threads: u64,
    /// How it runs ahead, if it does.
    pub ahead: Option<Ahead>,
}

/// How an optimistic or mixed run goes about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ahead {
    pub saving: &'static str,
    pub gvt: &'static str,
    pub cancellation: &'static str,
    pub chaos: Option<u64>,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, federates, threads, ahead } = self;
        write!(f, "protocol {protocol}, {federates} federates, {threads} threads")?;
        let Some(Ahead { saving, gvt, cancellation, chaos }) = ahead else { return Ok(()) };
        write!(f, ", state saving {saving}, GVT {gvt}, cancellation {cancellation}")?;
        chaos.map_or(Ok(()), |seed| write!(f, ", chaos {seed}"))
    }
}

impl Mode {
    /// The same for a model that has no `undo`: its states are copied.
    pub fn without_undo(self) -> Self {
        let copies = |ahead: Ahead| Ahead {
            saving: if ahead.saving == "undo" { "copy" } else { ahead.saving },
            ..ahead
        };
        Self { ahead: self.ahead.map(copies), ..self }
    }
}

/// What all others are compared with.
pub fn reference() -> Mode {
    Mode { protocol: "sequential", federates: 1, threads: 1, ahead: None }
}

/// All modes but the reference, which knows neither federates nor threads. Chaos is at random.
pub fn every_mode() -> Vec<Mode> {
    let mut modes = Vec::new();
    let mut rng = Rng::new(1, 1);
    for federates in FEDERATES {
        for threads in THREADS {
            for protocol in PROTOCOLS {
                modes.push(Mode { protocol, federates, threads, ahead: None });
            }
            for way in 0..AHEAD.len() * SAVINGS.len() * GVTS.len() * CANCELLATIONS.len() {
                let chaos = rng.chance(CHAOS).then(|| rng.u64() >> 1);
                let ahead = Ahead {
                    saving: SAVINGS[way / 2 % 3],
                    gvt: GVTS[way / 6 % 2],
                    cancellation: CANCELLATIONS[way / 12],
                    chaos,
                };
                let protocol = AHEAD[way % 2];
                modes.push(Mode { protocol, federates, threads, ahead: Some(ahead) });
            }
        }
    }
    modes
}

/// Every number of federates with every number of threads; protocols are dealt out to them, differently for
/// each scenario. Then some that run ahead.
pub fn some_modes(scenario: usize) -> Vec<Mode> {
    let mut modes = Vec::new();
    for (f, federates) in FEDERATES.into_iter().enumerate() {
        for (t, threads) in THREADS.into_iter().enumerate() {
            let protocol = PROTOCOLS[(f + t + scenario) % PROTOCOLS.len()];
            modes.push(Mode { protocol, federates, threads, ahead: None });
        }
    }
    modes.extend((0..AHEAD_SAMPLE).map(|number| some_mode_ahead(scenario, number)));
    modes
}

/// In each scenario every protocol meets every way to save states; the rest is dealt out.
fn some_mode_ahead(scenario: usize, number: usize) -> Mode {
    let ahead = Ahead {
        saving: SAVINGS[number % 3],
        gvt: GVTS[(number / 2 + scenario) % 2],
        cancellation: CANCELLATIONS[(number / 3 + scenario / 2) % 2],
        chaos: (number == scenario / 2 % AHEAD_SAMPLE).then_some(scenario as u64),
    };
    Mode {
        protocol: AHEAD[number % 2],
        federates: FEDERATES[(number + scenario) % 4],
        threads: THREADS[(number / 2 + scenario) % 3],
        ahead: Some(ahead),
    }
}

fn settings(mode: &Mode) -> Vec<String> {
    let mut all = vec![
        format!("protocol {}", mode.protocol),
        format!("{} federates", mode.federates),
        format!("{} threads", mode.threads),
    ];
    if let Some(Ahead { saving, gvt, cancellation, chaos }) = mode.ahead {
        all.extend([saving, gvt, cancellation].map(str::to_owned));
        all.push(format!("chaos {}", chaos.is_some()));
    }
    all
}

const SCENARIOS: usize = crate::scenarios::SCENARIOS.len();

#[test]
fn the_sample_holds_every_setting_for_each_scenario_and_every_two_of_them_together() {
    let singles = |modes: &[Mode]| modes.iter().flat_map(settings).collect::<BTreeSet<_>>();
    let pairs = |modes: Vec<Mode>| {
        let of_one = |mode: &Mode| {
            let all = settings(mode);
            (0..all.len())
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
    let (sample, all) = (pairs((0..SCENARIOS).flat_map(some_modes).collect()), pairs(all));
    assert_eq!(all.difference(&sample).collect::<Vec<_>>(), Vec::<&[String; 2]>::new(), "not in the sample");
    assert_eq!(sample.difference(&all).collect::<Vec<_>>(), Vec::<&[String; 2]>::new(), "not among all");
}

#[test]
fn whatever_runs_ahead_does_so_in_every_way_on_every_number_of_federates_and_threads() {
    let modes = every_mode();
    let ways: BTreeSet<String> = modes
        .iter()
        .filter(|mode| mode.ahead.is_some())
        .map(|mode| {
            let ahead = mode.ahead.map(|ahead| Ahead { chaos: None, ..ahead });
            format!("{:?}", Mode { ahead, ..*mode })
        })
        .collect();
    assert_eq!(ways.len(), AHEAD.len() * SAVINGS.len() * GVTS.len() * CANCELLATIONS.len() * 4 * 3);
}
