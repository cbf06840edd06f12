//! Runs of Chord on real threads, and what is measured of them.
//!
//! Invariant: whatever way a workload is run, its digest is the same; otherwise the cell has no result.

use std::collections::BTreeMap;

use paceline_kernel::Time;
use paceline_models::chord::{Chord, Starts};
use paceline_network::{Constant, FlowModel, Flows, Network, Platform, read};
use paceline_processes::{Coordination, Report, RoundRecord, Rounds, Simulation, Waiting};

use crate::prelude::*;
use crate::turns::{Ways, order};

/// The most hosts of the cluster.
const MOST_HOSTS: u32 = 10_000;
/// How long a message takes in the constant network.
const LATENCY_S: f64 = 0.05;
const SEED: u64 = 1;

named! {
    /// How long messages take.
    pub enum Net {
        Constant = "constant",
        /// As flows on a cluster.
        Precise = "precise",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    pub net: Net,
    pub peers: u32,
    pub until_s: u64,
    pub work_ns: u64,
    pub starts: Starts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub threads: u32,
    pub rounds: Rounds,
    pub coordination: Coordination,
    pub waiting: Waiting,
    pub pin: bool,
}

pub const ALONE: Way = Way {
    threads: 1,
    rounds: Rounds::Never,
    coordination: Coordination::Works,
    waiting: Waiting::Futex,
    pin: false,
};

pub type Observer = Box<dyn FnMut(&RoundRecord<'_>) + Send>;

impl Way {
    /// On so many threads, with rounds in parallel where `rounds` says so.
    pub fn on(threads: u32, rounds: Rounds) -> Self {
        Self { threads, rounds, ..ALONE }
    }
}

/// A workload that is ready to be run, again and again.
#[derive(Debug)]
pub struct Stage {
    workload: Workload,
    platform: Option<Platform>,
}

impl Workload {
    pub fn name(&self) -> String {
        let Self { net, peers, work_ns, .. } = self;
        match work_ns {
            0 => format!("{}, {peers} peers", net.name()),
            _ => format!("{}, {peers} peers, {work_ns} ns of work a message", net.name()),
        }
    }

    pub fn stage(self) -> Found<Stage> {
        let text = format!(
            r#"<platform version="4.1"><cluster id="c" prefix="node-" suffix="" radical="0-{}" speed="1Gf" bw="125MBps"
            lat="50us" bb_bw="2.25GBps" bb_lat="500us"/></platform>"#,
            self.hosts() - 1
        );
        let cluster = || read("cluster", &text, &mut |_| Err("there are no other files".into()));
        let platform = (self.net == Net::Precise).then(cluster).transpose();
        let platform = platform.map_err(|error| CellError::Guests(error.to_string()))?;
        Ok(Stage { workload: self, platform })
    }

    fn hosts(&self) -> u32 {
        self.peers.clamp(1, MOST_HOSTS)
    }

    fn chord(&self) -> Chord {
        let Self { peers, work_ns, starts, .. } = *self;
        Chord { peers, work_ns, starts, ..Chord::default() }
    }
}

impl Stage {
    /// Runs it, and calls `observer` for each of its rounds.
    pub fn run(&self, way: Way, observer: Option<Observer>) -> Found<Report> {
        match &self.platform {
            None => self.run_on(Constant::new(LATENCY_S), way, observer),
            Some(platform) => self.run_on(Flows::new(platform, FlowModel::LV08), way, observer),
        }
    }

    fn run_on<N: Network>(&self, network: N, way: Way, observer: Option<Observer>) -> Found<Report> {
        let (hosts, until) = (self.workload.hosts(), Time::secs(self.workload.until_s));
        let world = Simulation::new(network, &vec![(1e9, 1); hosts as usize]).until(until).seed(SEED);
        let world = world.threads(way.threads as usize).rounds(way.rounds).coordination(way.coordination);
        let mut world = world.waiting(way.waiting).pin(way.pin);
        if let Some(observer) = observer {
            world = world.observe(observer);
        }
        self.workload.chord().spawn(&mut world, hosts, SEED);
        Ok(world.run()?)
    }

    /// Runs it in each of these ways, taking turns, after a run that does not count; `run` runs a way, which
    /// it gets by its index. The times stand in series by way; `steps` is how often processes went on.
    pub fn take_turns(
        &self,
        ways: &[Way],
        turns: usize,
        run: &mut dyn FnMut(usize, Way) -> Found<Report>,
    ) -> Found<Measure> {
        let first = self.run(ALONE, None)?;
        let mut series = vec![Vec::new(); ways.len()];
        for turn in 0..turns {
            for place in order(turn, ways.len()) {
                let report = run(place, ways[place])?;
                agree(&first, &report)?;
                series[place].push((turn as f64, report.wall.as_secs_f64()));
            }
        }
        let values = BTreeMap::from([("steps", first.counts.steps as f64)]);
        Ok(Measure { values, series, digest: Some(first.digest.value()), ..Measure::default() })
    }
}

fn agree(one: &Report, other: &Report) -> Found<()> {
    if one.digest == other.digest {
        return Ok(());
    }
    Err(CellError::Guests(format!("digests differ: {} and {}", one.digest, other.digest)))
}

/// Ways to run a workload that take turns.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub workload: Workload,
    pub ways: Vec<(String, Way)>,
    pub turns: usize,
}

impl Comparison {
    /// Everything that decides its result, but for the machine.
    pub fn key(&self) -> String {
        let ways: Vec<_> = self.ways.iter().map(|(name, way)| format!("{name} on {}", way.threads)).collect();
        format!("sg/{:?}/{} turns/{}", self.workload, self.turns, ways.join(", "))
    }

    pub fn cell(&self) -> Cell {
        let Self { workload, turns, .. } = *self;
        let ways: Vec<Way> = self.ways.iter().map(|(_, way)| *way).collect();
        let job = move || {
            let stage = workload.stage()?;
            stage.take_turns(&ways, turns, &mut |_, way| stage.run(way, None))
        };
        Cell { key: self.key(), weight: workload.peers.into(), alone: true, job: Box::new(job) }
    }

    pub fn times<'r>(&self, results: &'r Results) -> Found<Ways<'r>> {
        Ok(Ways(&results.get(&self.key())?.series))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn every_way_has_its_turn_and_gives_one_digest() {
        for net in Net::ALL {
            let stage = Workload { net, peers: 12, until_s: 30, work_ns: 0, starts: Starts::Lockstep }
                .stage()
                .unwrap();
            let ways = [ALONE, Way::on(2, Rounds::Always), Way::on(2, Rounds::Static(4))];
            let mut order = Vec::new();
            let measure = stage.take_turns(&ways, 4, &mut |place, way| {
                order.push(place);
                stage.run(way, None)
            });
            let measure = measure.unwrap();
            let first: Vec<_> = order.chunks(3).map(|turn| turn[0]).collect();
            assert_eq!(first, [0, 0, 2, 2], "whoever is first changes");
            assert!(measure.series.iter().all(|times| times.len() == 4 && times[3].1 > 0.0));
            let other = Workload { net, peers: 13, until_s: 30, work_ns: 0, starts: Starts::Lockstep }
                .stage()
                .unwrap();
            let differs = stage.take_turns(&ways, 1, &mut |_, way| other.run(way, None));
            assert!(differs.is_err_and(|error| error.to_string().contains("digests differ")));
        }
    }
}
