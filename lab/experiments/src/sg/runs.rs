//! Runs of Chord on real threads, and what is measured of them.
//!
//! Invariant: whatever way a workload is run, its digest is the same; otherwise the cell has no result.

use std::collections::BTreeMap;

use paceline_kernel::Time;
use paceline_models::chord::{Chord, Starts};
use paceline_network::{Constant, FlowModel, Flows, Network, Platform, read};
use paceline_processes::{Coordination, Report, RoundRecord, Rounds, Simulation, Waiting};

use crate::plan::{Cell, CellError, Measure, Results};
use crate::sample::median;

/// The most hosts of the cluster.
const MOST_HOSTS: u32 = 10_000;
/// How long a message takes in the constant network.
const LATENCY_S: f64 = 0.05;
const SEED: u64 = 1;

/// How long messages take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Net {
    /// Equally long.
    Constant,
    /// As flows on a cluster.
    Precise,
}

impl Net {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Constant, Self::Precise];

    /// Its name in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Precise => "precise",
        }
    }
}

/// A Chord.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    pub net: Net,
    pub peers: u32,
    pub until_s: u64,
    /// Work for each message.
    pub work_ns: u64,
    /// When peers start.
    pub starts: Starts,
}

/// A way to run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub threads: u32,
    pub rounds: Rounds,
    pub coordination: Coordination,
    pub waiting: Waiting,
    pub pin: bool,
}

/// One thread.
pub const ALONE: Way = Way {
    threads: 1,
    rounds: Rounds::Never,
    coordination: Coordination::Works,
    waiting: Waiting::Futex,
    pin: false,
};

/// The observer of the rounds of a run.
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
    /// Its name in tables.
    pub fn name(&self) -> String {
        let Self { net, peers, work_ns, .. } = self;
        match work_ns {
            0 => format!("{}, {peers} peers", net.name()),
            _ => format!("{}, {peers} peers, {work_ns} ns of work a message", net.name()),
        }
    }

    /// Makes its network.
    pub fn stage(self) -> Result<Stage, CellError> {
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
    /// Runs it, and has `observer` told of its rounds.
    pub fn run(&self, way: Way, observer: Option<Observer>) -> Result<Report, CellError> {
        match &self.platform {
            None => self.run_on(Constant::new(LATENCY_S), way, observer),
            Some(platform) => self.run_on(Flows::new(platform, FlowModel::LV08), way, observer),
        }
    }

    fn run_on<N: Network>(
        &self,
        network: N,
        way: Way,
        observer: Option<Observer>,
    ) -> Result<Report, CellError> {
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

    /// Runs it in each of these ways, taking turns, after a run that does not count; `run` runs a way, of which it is told the
    /// place. The times stand in series by way; `steps` is how often processes went on.
    pub fn take_turns(
        &self,
        ways: &[Way],
        turns: usize,
        run: &mut dyn FnMut(usize, Way) -> Result<Report, CellError>,
    ) -> Result<Measure, CellError> {
        let first = self.run(ALONE, None)?;
        let mut series = vec![Vec::new(); ways.len()];
        for turn in 0..turns {
            for step in 0..ways.len() {
                // No way is always the first, nor always after the same one.
                let step = if turn % 2 == 0 { step } else { ways.len() - 1 - step };
                let place = (step + turn) % ways.len();
                let report = run(place, ways[place])?;
                agree(&first, &report)?;
                series[place].push((turn as f64, report.wall.as_secs_f64()));
            }
        }
        let values = BTreeMap::from([("steps", first.counts.steps as f64)]);
        Ok(Measure { values, series, digest: Some(first.digest.value()), ..Measure::default() })
    }
}

/// Both have done the same.
fn agree(one: &Report, other: &Report) -> Result<(), CellError> {
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

    /// Its cell.
    pub fn cell(&self) -> Cell {
        let Self { workload, turns, .. } = *self;
        let ways: Vec<Way> = self.ways.iter().map(|(_, way)| *way).collect();
        let job = move || {
            let stage = workload.stage()?;
            stage.take_turns(&ways, turns, &mut |_, way| stage.run(way, None))
        };
        Cell { key: self.key(), weight: workload.peers.into(), alone: true, job: Box::new(job) }
    }

    /// What was measured.
    pub fn times<'r>(&self, results: &'r Results) -> Result<Times<'r>, CellError> {
        Ok(Times(&results.get(&self.key())?.series))
    }
}

/// Seconds of each way, turn by turn.
#[derive(Clone, Copy, Debug)]
pub struct Times<'r>(pub &'r [Vec<(f64, f64)>]);

impl Times<'_> {
    fn of(&self, way: usize) -> Vec<f64> {
        self.0[way].iter().map(|(_, seconds)| *seconds).collect()
    }

    /// The median of a way.
    pub fn median(&self, way: usize) -> f64 {
        median(&self.of(way))
    }

    /// Median, and in brackets the least and the most, in milliseconds.
    pub fn text(&self, way: usize) -> String {
        let of = self.of(way);
        let least = of.iter().copied().fold(f64::INFINITY, f64::min);
        let most = of.iter().copied().fold(0.0, f64::max);
        let [median, least, most] = [median(&of), least, most].map(|seconds| 1e3 * seconds);
        format!("{median:.1} ({least:.1} - {most:.1})")
    }

    /// How long `way` takes compared with `other`: the median of the ratios of all turns.
    pub fn ratio(&self, way: usize, other: usize) -> f64 {
        let ratios: Vec<f64> =
            self.of(way).iter().zip(self.of(other)).map(|(one, other)| one / other).collect();
        median(&ratios)
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

    #[test]
    fn ratios_are_those_of_a_turn_so_that_a_slow_moment_of_the_machine_counts_for_both() {
        let series = [vec![(0.0, 1.0), (1.0, 10.0), (2.0, 1.0)], vec![(0.0, 2.0), (1.0, 20.0), (2.0, 2.2)]];
        let times = Times(&series);
        assert_eq!((times.ratio(1, 0), times.median(0)), (2.0, 1.0));
        assert_eq!(times.text(0), "1000.0 (1000.0 - 10000.0)");
    }
}
