//! Figures 13 and 14: vehicles that leave a city, on 32 and 64 guests.

use paceline_kernel::Time;
use paceline_machine::Wait;
use paceline_models::traffic::Traffic;
use paceline_report::{Axis, Check, Figure, Finding, Kind, Series, Table};
use paceline_scenario::Scenario;

use super::runs::simulate;
use super::{Gear, Scheduler};
use crate::plan::{Cell, CellError, Plan, Results, Setup};

/// The scenario: 64 x 64 intersections; the speed limit is not published.
const SCENARIO: &str = r#"
[model]
grid = 64
rate = 10
period = "1h"
block = 1
lanes = 1
speed = 50
crossing = "1s"
lights = true
cycle = "8s"
green = "4s"
red = "4s"
headway = "1s"
storage = true
spacing = 7.5
"#;

const SEED: u64 = 1;

const NOTE: &str = "A window of this city holds some dozens of events a federate, tens of microseconds: the run is a chain of \
    reductions. Every hop waits for its VCPU: under CSX for turns of 30 ms, which costs more than was published; under PSX for the \
    ticks of 300 us of the polling guests before it, of which there are more with 64 domains than with 32. PSX+ puts first who \
    gets a message. What was published fits windows of several milliseconds of CPU time; the speed limit, and with it the density \
    of events, is not stated.";

/// A run of the city.
#[derive(Clone, Copy, Debug)]
struct Run {
    domains: u32,
    gear: Gear,
    scheduler: Scheduler,
    until_s: u64,
}

fn model() -> Result<Traffic, CellError> {
    let told = |error: paceline_scenario::ScenarioError| CellError::Guests(error.one_line());
    let mut scenario = Scenario::parse("vsb", SCENARIO, ".".as_ref(), &[]).map_err(told)?;
    let mut section = scenario.section("model").map_err(told)?;
    Traffic::from_section(&mut section, SEED).map_err(told)
}

impl Run {
    fn key(self) -> String {
        let Self { domains, gear, scheduler, until_s } = self;
        format!("psx/vsb/{until_s}s/{domains}dom/{}/{}", gear.name(), scheduler.name())
    }

    fn cell(self, setup: &Setup) -> Cell {
        let calibration = setup.calibration.clone();
        let Self { domains, gear, scheduler, until_s } = self;
        let job = move || {
            let until = Time::secs(until_s);
            simulate(model()?, until, domains, gear, scheduler, Wait::Poll, &calibration)
        };
        Cell { key: self.key(), weight: until_s as f64 * 5e3, alone: false, job: Box::new(job) }
    }
}

/// Until the last vehicle is out, or a part of the first hour.
fn until_s(setup: &Setup) -> u64 {
    if setup.quick { 300 } else { 16_200 }
}

/// Plans figure 13.
pub fn fig13(setup: &Setup) -> Plan {
    let run = |gear| Run { domains: 64, gear, scheduler: Scheduler::Psx, until_s: until_s(setup) };
    let cells = Gear::ALL.map(|gear| run(gear).cell(setup));
    let keys = Gear::ALL.map(|gear| run(gear).key());
    let judge = move |results: &Results| {
        let (mut figures, mut checks) = (Vec::new(), Vec::new());
        for (gear, key) in Gear::ALL.into_iter().zip(keys) {
            let measure = results.get(&key)?;
            let name = |federate: usize| format!("federate {federate}");
            let series = measure.series.iter().enumerate();
            let series: Vec<_> = series
                .map(|(federate, points)| Series::ours(name(federate), Kind::Lines, points.clone()))
                .collect();
            let never_falls =
                measure.series.iter().all(|points| points.windows(2).all(|pair| pair[0].1 <= pair[1].1));
            checks.push(Check {
                what: format!("curves of {}", gear.name()),
                published: "events over run time, one curve a federate".into(),
                ours: format!("{} curves", series.len()),
                must: "64 curves that never fall".into(),
                holds: series.len() == 64 && never_falls,
            });
            figures.push(Figure {
                title: format!("Events processed over run time, PSX, {}", gear.name()),
                caption: "Where a curve is flat its federate has little to do; where it is steep its part of the city is full.".into(),
                x: Axis::linear("run time", "s"),
                y: Axis::linear("events", ""),
                series,
            });
        }
        Ok(Finding { about: about(), checks, figures, ..Finding::default() })
    };
    Plan { cells: cells.into(), judge: Box::new(judge) }
}

/// Plans figure 14.
pub fn fig14(setup: &Setup) -> Plan {
    let until_s = until_s(setup);
    let run = move |domains, gear, scheduler| Run { domains, gear, scheduler, until_s };
    let mut cells = Vec::new();
    for domains in [32, 64] {
        for gear in Gear::ALL {
            cells.extend(Scheduler::COMPARED.map(|scheduler| run(domains, gear, scheduler).cell(setup)));
        }
    }
    let judge = move |results: &Results| {
        let time = |domains, gear, scheduler| results.seconds(&run(domains, gear, scheduler).key());
        let mut table = Table::new(
            "Run times in seconds",
            ["domains", "synchronization", "CSX-32x", "PSX", "PSX+", "gain of PSX"],
        );
        let (mut gains, mut pairs, mut checks, mut keys) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for gear in Gear::ALL {
            for domains in [32, 64] {
                let [csx, psx, plus] = Scheduler::COMPARED.map(|scheduler| time(domains, gear, scheduler));
                let (csx, psx, plus) = (csx?, psx?, plus?);
                keys.extend(Scheduler::COMPARED.map(|scheduler| run(domains, gear, scheduler).key()));
                let [one, two, three] = [csx, psx, plus].map(|time| format!("{time:.2}"));
                table.row([
                    domains.to_string(),
                    gear.name().into(),
                    one,
                    two,
                    three,
                    format!("{:.2}", csx / psx),
                ]);
                gains.push(csx / psx);
                pairs.push((format!("{domains} domains, {}", gear.name()), psx, plus));
            }
            let (few, many) = (time(32, gear, Scheduler::Psx)?, time(64, gear, Scheduler::Psx)?);
            checks.push(Check {
                what: format!("run time of PSX, {}, at 32 and 64 domains", gear.name()),
                published: "nearly constant".into(),
                ours: format!("{few:.1} s, {many:.1} s"),
                must: "at most 15 % apart".into(),
                holds: (many / few - 1.0).abs() <= 0.15,
            });
        }
        let published =
            [("CONS at 32", "1.5"), ("CONS at 64", "4.5"), ("OPT at 32", "1.5"), ("OPT at 64", "8")];
        let told: Vec<_> =
            published.iter().zip(&gains).map(|((name, _), gain)| format!("{name}: {gain:.1}")).collect();
        checks.push(Check {
            what: "gains of PSX".into(),
            published: published.map(|(name, gain)| format!("{name}: {gain}")).join(", "),
            ours: told.join(", "),
            must: "above 1; more at 64 than at 32; more with OPT at 64 than with CONS".into(),
            holds: gains.iter().all(|gain| *gain > 1.0)
                && gains[1] > gains[0]
                && gains[3] > gains[2]
                && gains[3] > gains[1],
        });
        checks.push(super::scaling::at_least_as_fast(pairs.into_iter()));
        checks.push(super::scaling::same_digests(results, vec![keys])?);
        let bars = |scheduler: Scheduler, gear| -> Result<Series, CellError> {
            let points = vec![(0.0, time(32, gear, scheduler)?), (1.0, time(64, gear, scheduler)?)];
            Ok(Series::ours(format!("{}, {}", scheduler.name(), gear.name()), Kind::Bars, points))
        };
        let mut series = Vec::new();
        for gear in Gear::ALL {
            for scheduler in Scheduler::COMPARED {
                series.push(bars(scheduler, gear)?);
            }
        }
        let figure = Figure {
            title: "Run time on 32 and 64 domains".into(),
            caption: "Strong scaling: the same city.".into(),
            x: Axis::categories("domains", ["32", "64"]),
            y: Axis::log("run time", "s"),
            series,
        };
        Ok(Finding {
            about: about(),
            checks,
            figures: vec![figure],
            tables: vec![table],
            notes: vec![NOTE.into()],
            ..Finding::default()
        })
    };
    Plan { cells, judge: Box::new(judge) }
}

fn about() -> Vec<String> {
    vec![
        "163,840 vehicles leave a grid of 64 x 64 intersections, from 128 sources to 128 sinks, under traffic lights; lookahead 1 s. \
         One federate in each guest, on 24 PCPUs."
            .into(),
    ]
}
