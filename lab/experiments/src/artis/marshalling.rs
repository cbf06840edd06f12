//! Figures 4 and 5: two hosts, messages marshalled and not, over the hosts of the model and over the MTU.
//!
//! Simulated: two hosts as in figures 1 to 3, a gigabit link, an LP on each with a thread that carries its
//! messages ([`Carrier`]). DOM0 stands for the kernel's half of the network: interrupts and the NIC's driver.

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_machine::{DomainSpec, LinkSpec, MachineSpec, ProcessId, Program, run};

use super::frames::{Carrier, Frames};
use super::lp::{Runtime, programs};
use super::runs::{Dealing, Scheduler, costs, load};
use crate::parameters::kinds::{Kind as Value, count};
use crate::prelude::*;

/// Hosts of the model, and percent of the run time that marshalling saves.
const PUBLISHED: [(u32, f64); 3] = [(3_000, 48.0), (6_000, 30.0), (9_000, 18.0)];
/// A change below this is slight.
const SLIGHT: f64 = 0.10;
/// What the check of the changes over MTUs is called.
const LEAST_CHANGE: &str = "change over MTUs with marshalling off and on";
const STEPS: u32 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub hosts: u32,
    pub mtu_bytes: u32,
    /// Whether messages gather in frames.
    pub marshalling: bool,
    pub steps: u32,
}

impl Case {
    fn key(self) -> String {
        let Self { hosts, mtu_bytes, marshalling, steps } = self;
        format!("artis/two-hosts/{hosts}/mtu{mtu_bytes}/marshalling-{marshalling}/{steps}steps")
    }

    fn cell(self, setup: &Setup) -> Cell {
        let calibration = setup.calibration.of_run(&self.key());
        let weight = f64::from(self.hosts) * f64::from(self.steps) * if self.marshalling { 0.1 } else { 1.0 };
        let job = move || self.simulate(&calibration);
        Cell { key: self.key(), weight, alone: false, job: Box::new(job) }
    }

    fn simulate(self, calibration: &Calibration) -> Found<Measure> {
        let steps = self.steps;
        let runtime = Runtime::Signals;
        let threads = runtime.threads();
        let frames = Arc::new(Frames {
            message_bytes: calibration.get("artis.message_bytes") as u32,
            mtu_bytes: self.mtu_bytes,
            limit_ns: self.marshalling.then(|| calibration.get("artis.frame_limit")),
            joined: calibration.get("artis.joined") as u32,
            marshal_ns: calibration.get("artis.marshal") as f64,
            look_ns: calibration.get("artis.look"),
        });
        let mut spec = MachineSpec { costs: costs(calibration), ..MachineSpec::default() };
        spec.links.push(LinkSpec {
            from: 0,
            to: 1,
            latency_ns: calibration.get("artis.latency"),
            bits_per_second: 1_000_000_000,
        });
        let load = load(self.hosts, 2, steps, Dealing::Scattered, calibration);
        let mut all = programs(&load, runtime).into_iter();
        for lp in 0..2 {
            let mut programs: Vec<Box<dyn Program>> = all.by_ref().take(threads as usize).collect();
            // The courier of another LP on the same host has nothing to do here; a carrier has.
            let [main, peer] = [lp * threads, (1 - lp) * threads + 1].map(ProcessId);
            programs[1] = Box::new(Carrier::new(&frames, lp, main, peer, steps));
            let name = format!("PEU {}", lp + 1);
            spec.hosts.push(Scheduler::Linux.host(&name, true, calibration));
            spec.domains.push(DomainSpec {
                threads: true,
                vcpus: threads,
                ..DomainSpec::new(name, lp, programs)
            });
        }
        let ran = run(spec)?;
        let scale = f64::from(STEPS) / f64::from(steps);
        // Each packet is counted on both hosts.
        let packets = ran.report.hosts.iter().map(|host| host.packets).sum::<u64>() as f64 / 2.0 * scale;
        let seconds = ran.report.at_ns as f64 / 1e9 * scale;
        Ok(Measure { seconds, values: BTreeMap::from([("packets", packets)]), ..Measure::default() })
    }
}

fn about() -> String {
    "Two simulated hosts with two hyper-threaded CPUs each and a gigabit link; an LP of the wireless model on each, half of its \
     hosts scattered over the torus, so that nearly every ping goes to the other LP too. Without marshalling each ping is a packet; with \
     it pings gather in frames of the MTU's size, for a time limit at most."
        .into()
}

fn notes() -> Vec<String> {
    vec![
        "What a packet costs is from the literature on TCP of that time and not from these figures; how much computation grows \
         with the hosts is the model's own: pings grow with their number, and who hears them with its square. If a step takes \
         a n^2 + b n with n hosts and marshalling saves most of b n, the gain must fall as 1 / (1 + a n / b); the three published \
         gains, 48, 30 and 18 %, nearly do so."
            .into(),
    ]
}

/// The bytes of an MTU, from the least that IP allows to those of a jumbo frame.
fn mtu() -> Value<u32> {
    count(576..=65_535)
}

/// The runs of a figure: with each of these, marshalling off and on.
#[derive(Clone, Debug)]
struct Runs {
    /// One of both is a list of one.
    hosts: Vec<u32>,
    mtus: Vec<u32>,
    steps: u32,
}

impl Runs {
    fn case(&self, hosts: u32, mtu_bytes: u32, marshalling: bool) -> Case {
        Case { hosts, mtu_bytes, marshalling, steps: self.steps }
    }

    fn cells(&self, setup: &Setup) -> Vec<Cell> {
        let each = self.hosts.iter().flat_map(|hosts| self.mtus.iter().map(|mtu| (*hosts, *mtu)));
        let both = |(hosts, mtu)| [false, true].map(|on| self.case(hosts, mtu, on).cell(setup));
        each.flat_map(both).collect()
    }
}

pub fn fig4(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let runs = Runs {
        hosts: parameters.points("hosts", &super::hosts())?,
        mtus: vec![parameters.one("mtu", &mtu())?],
        steps: parameters.one("steps", &super::steps())?,
    };
    let cells = runs.cells(setup);
    Ok(Plan::new(cells, move |results| {
        let mut finding = runs.over_hosts(results)?;
        let mut table = Table::new("Packets of 1000 steps", ["hosts", "marshalling off", "on"]);
        for hosts in runs.hosts.iter().copied() {
            let packets = |marshalling| {
                let case = runs.case(hosts, runs.mtus[0], marshalling);
                results.value(&case.key(), "packets").map(|packets| format!("{packets:.0}"))
            };
            table.row([hosts.to_string(), packets(false)?, packets(true)?]);
        }
        finding.tables.push(table);
        Ok(finding)
    }))
}

pub fn fig5(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let runs = Runs {
        hosts: vec![parameters.one("hosts", &super::hosts())?],
        mtus: parameters.points("mtus", &mtu())?,
        steps: parameters.one("steps", &super::steps())?,
    };
    // Up to all that fit into the largest MTU.
    let joined = parameters.tried("joined", &count(1..=1_000))?;
    let quantity = Axis::linear("number of messages that TCP may join in a packet without marshalling", "");
    let joined = Over::constant("artis.joined", quantity, &joined, setup);
    let mut cells = runs.cells(setup);
    cells.extend(joined.cells(setup, |_, setup| {
        let off = |mtu: &u32| runs.case(runs.hosts[0], *mtu, false).cell(setup);
        runs.mtus.iter().map(off).collect::<Vec<_>>()
    }));
    Ok(Plan::new(cells, move |results| {
        let mut finding = runs.over_mtus(results)?;
        if finding.misses(LEAST_CHANGE) {
            finding.sweeps.push(runs.over_joined(&joined, results)?);
        }
        Ok(finding)
    }))
}

type Points = Vec<(f64, f64)>;

/// The greatest run time, beyond the least, as a part of this.
fn change(curve: &[(f64, f64)]) -> f64 {
    let times = || curve.iter().map(|(_, seconds)| *seconds);
    times().fold(0.0, f64::max) / times().fold(f64::INFINITY, f64::min) - 1.0
}

impl Runs {
    fn over_hosts(&self, results: &Results) -> Found<Finding> {
        let mut finding = Finding { about: vec![about()], notes: notes(), ..Finding::default() };
        let mut claims = Claims::default();
        let times = |hosts| -> Found<[f64; 2]> {
            let time = |marshalling| results.seconds(&self.case(hosts, self.mtus[0], marshalling).key());
            Ok([time(false)?, time(true)?])
        };
        let saved = |[off, on]: [f64; 2]| 100.0 * (1.0 - on / off);
        for (hosts, gain) in PUBLISHED {
            claims.add(format!("run time that marshalling saves with {hosts} hosts"), || {
                let [off, on] = times(hosts)?;
                let criterion = Criterion::published(gain, Tolerance::PERCENTAGES).or(Shape::Above(0.0));
                let ours = Ours::one(saved([off, on]), "%").with(format!("{off:.0} s to {on:.0} s"));
                Ok((criterion, ours))
            })?;
        }
        let [mut off, mut on, mut ours] = [const { Points::new() }; 3];
        for hosts in self.hosts.iter().copied() {
            let (x, times) = (f64::from(hosts), times(hosts)?);
            off.push((x, times[0]));
            on.push((x, times[1]));
            ours.push((x, saved(times)));
        }
        claims.add("how the gain changes as computation grows", || {
            several(&ours)?;
            let criterion = Criterion::stated(Statement::Order, "reduces", Shape::Falls(0.0));
            Ok((criterion, Ours::all(ours.iter().map(|(_, gain)| *gain), "%")))
        })?;
        let hosts = || Axis::linear("hosts", "");
        finding.figures.push(plot(
            "Figure 4: run time with and without marshalling",
            "1000 steps on two hosts.",
            [hosts(), Axis::linear("run time", "s")],
            vec![
                Series::ours("marshalling off", Kind::Lines, off),
                Series::ours("marshalling on", Kind::Lines, on),
            ],
        ));
        let published = PUBLISHED.map(|(hosts, gain)| (f64::from(hosts), gain)).into();
        finding.figures.push(plot(
            "What marshalling saves",
            "Percent of the run time without it.",
            [hosts(), Axis::linear("gain", "%")],
            vec![
                Series::ours("marshalling", Kind::Lines, ours),
                Series::published("marshalling", Kind::Lines, published),
            ],
        ));
        Ok(claims.put_into(finding))
    }

    fn over_joined(&self, over: &Over, results: &Results) -> Found<Sweep> {
        let more = |results: &Results| {
            let curves = self.curves(results)?;
            let [off, on] = curves.each_ref().map(|curve| change(curve));
            Ok(100.0 * (off - on))
        };
        let reason = "TCP joins small messages of a stream while it waits for an acknowledgement (Nagle's algorithm), unless the program asks it \
                      not to; ours is asked not to. The paper says neither. Packets then grow with the MTU without marshalling too, and each message \
                      still costs a system call.";
        let curve = over.curve(
            "change with marshalling off less that with it on",
            Wanted::AtLeast(0.0),
            results,
            more,
        )?;
        let measured = Axis::linear("difference of the changes over MTUs", "points");
        let spoilt = over.spoilt(results, |results| self.over_mtus(results))?;
        Ok(Sweep { spoilt, ..over.sweep(LEAST_CHANGE, measured, vec![curve], reason) })
    }

    /// Run times over the MTU, with marshalling off and on.
    fn curves(&self, results: &Results) -> Found<[Points; 2]> {
        let curve = |marshalling| -> Found<Points> {
            let point = |mtu_bytes: &u32| {
                let case = self.case(self.hosts[0], *mtu_bytes, marshalling);
                Ok((f64::from(*mtu_bytes), results.seconds(&case.key())?))
            };
            self.mtus.iter().map(point).collect()
        };
        Ok([curve(false)?, curve(true)?])
    }

    fn over_mtus(&self, results: &Results) -> Found<Finding> {
        let mut finding = Finding { about: vec![about()], notes: notes(), ..Finding::default() };
        let curves = self.curves(results)?;
        let mut claims = Claims::default();
        let changes = curves.each_ref().map(|curve| change(curve));
        let ends = self.mtus.iter().map(u32::to_string).collect::<Vec<_>>();
        let ends = several(&ends).map_or(ends[0].clone(), |(least, most)| format!("{least} to {most}"));
        for (place, how) in ["off", "on"].into_iter().enumerate() {
            let what = format!("marshalling {how}: the slowest MTU from {ends}, beyond the fastest");
            claims.add(what, || {
                several(&self.mtus)?;
                let slight = Shape::at_most(100.0 * SLIGHT);
                let criterion = Criterion::stated(Statement::Order, "only slightly influenced", slight);
                Ok((criterion, Ours::one(100.0 * changes[place], "%")))
            })?;
        }
        let faster = curves[0].iter().zip(&curves[1]).filter(|(off, on)| on.1 < off.1).count();
        claims.add("MTUs at which marshalling is faster", || {
            let all = Shape::exactly(self.mtus.len() as f64);
            let ours = Ours::one(faster as f64, "").with(format!("of {}", self.mtus.len()));
            Ok((Criterion::stated(Statement::Order, "all", all), ours))
        })?;
        claims.add(LEAST_CHANGE, || {
            several(&self.mtus)?;
            let criterion =
                Criterion::stated(Statement::Order, "almost constant with marshalling on", Shape::Falls(0.0));
            Ok((criterion, Ours::all(changes.map(|change| 100.0 * change), "%")))
        })?;
        let [off, on] = curves;
        finding.figures.push(plot(
            "Figure 5: run time over the MTU",
            format!("1000 steps on two hosts, {} hosts of the model.", self.hosts[0]),
            [Axis::linear("MTU", "bytes"), Axis::linear("run time", "s")],
            vec![
                Series::ours("marshalling off", Kind::Lines, off),
                Series::ours("marshalling on", Kind::Lines, on),
            ],
        ));
        finding.notes.push(
            "Without marshalling a ping is far smaller than any MTU, and a packet here carries what one send gave it: the MTU cannot \
             matter. The small effect that was published up to 3000 bytes may be that of a kernel which joins small sends of a stream \
             while earlier ones are not acknowledged: the sweep shows how many it would have to join."
                .into(),
        );
        Ok(claims.put_into(finding))
    }
}
