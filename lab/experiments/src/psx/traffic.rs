//! Vehicles that leave a city: the model, the runs of figures 13 and 14, and figure 13.

use paceline_kernel::Time;
use paceline_models::traffic::Traffic;
use paceline_scenario::{Scenario, ScenarioError};

use super::runs::{Guests, Taken, simulate, usual_wait};
use super::{Gear, Scheduler};
use crate::prelude::*;

/// The scenario, but for the intersections along each side; the speed limit is not published.
const SCENARIO: &str = r#"
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

/// Intersections along each side of the published city.
const GRID: u32 = 64;

/// The time to cross an intersection, in seconds.
pub(super) const LOOKAHEAD_S: f64 = 1.0;

#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub domains: u32,
    pub gear: Gear,
    pub scheduler: Scheduler,
    /// The horizon, in simulated seconds.
    pub until_s: u64,
    /// What others take of the host.
    pub taken: Option<Taken>,
}

/// The city with so many intersections along each side.
pub(super) fn city(grid: u32) -> Found<Traffic> {
    let failed = |error: ScenarioError| CellError::Guests(error.one_line());
    let mut scenario =
        Scenario::parse("vsb", &format!("[model]\ngrid = {grid}{SCENARIO}"), ".".as_ref(), &[])
            .map_err(failed)?;
    let mut section = scenario.section("model").map_err(failed)?;
    Traffic::from_section(&mut section, SEED).map_err(failed)
}

impl Run {
    /// Names everything on which the result depends.
    pub fn key(self) -> String {
        let Self { domains, gear, scheduler, until_s, taken } = self;
        let taken = taken.map_or(String::new(), |taken| format!("/{taken:?}"));
        format!("psx/vsb/{until_s}s/{domains}dom/{}/{}{taken}", gear.name(), scheduler.name())
    }

    pub fn cell(self, setup: &Setup) -> Cell {
        let calibration = setup.calibration.of_run(&self.key());
        let Self { domains, gear, scheduler, until_s, taken } = self;
        let job = move || {
            let until = Time::secs(until_s);
            let (wait, event_ns) = (usual_wait(&calibration), calibration.get("psx.vehicle"));
            let guests = Guests { domains, gear, scheduler, wait, event_ns, taken };
            simulate(city(GRID)?, until, guests, &calibration)
        };
        Cell { key: self.key(), weight: until_s as f64 * 5e3, alone: false, job: Box::new(job) }
    }
}

pub fn fig13(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let domains = parameters.one("domains", &super::domains())?;
    let until_s = parameters.one("until", &super::horizon())?;
    let run = |gear| Run { domains, gear, scheduler: Scheduler::Psx, until_s, taken: None };
    let cells = Gear::ALL.map(|gear| run(gear).cell(setup));
    let keys = Gear::ALL.map(|gear| run(gear).key());
    Ok(Plan::new(cells.into(), move |results| {
        let (mut figures, mut claims) = (Vec::new(), Claims::default());
        for (gear, key) in Gear::ALL.into_iter().zip(&keys) {
            let measure = results.get(key)?;
            let name = |federate: usize| format!("federate {federate}");
            let series = measure.series.iter().enumerate();
            let series: Vec<_> = series
                .map(|(federate, points)| Series::ours(name(federate), Kind::Lines, points.clone()))
                .collect();
            // The paper has a plot without numbers: only that ours is one of its kind can be checked.
            claims.add(
                format!("federates of {} that process events, and never fewer", gear.name()),
                || {
                    let rising = measure.series.iter().filter(|points| rises(points)).count() as f64;
                    let criterion = Criterion::invariant(Shape::exactly(f64::from(domains)));
                    Ok((criterion, Ours::one(rising, "").with(format!("of {} curves", series.len()))))
                },
            )?;
            figures.push(plot(
                format!("Events processed over run time, PSX, {}", gear.name()),
                "Where a curve is flat its federate has little to do; where it is steep its part of the city is full. Published is this plot, \
                 without numbers that could be drawn beside ours.",
                [Axis::linear("run time", "s"), Axis::linear("events", "")],
                series,
            ));
        }
        super::claims::same_digests(&mut claims, results, vec![keys.to_vec()])?;
        Ok(claims.put_into(Finding { about: vec![about(until_s)], figures, ..Finding::default() }))
    }))
}

/// Whether a curve never falls and ends above zero.
fn rises(points: &[(f64, f64)]) -> bool {
    let never_falls = points.windows(2).all(|pair| pair[0].1 <= pair[1].1);
    never_falls && points.last().is_some_and(|last| last.1 > 0.0)
}

pub(super) fn about(until_s: u64) -> String {
    format!(
        "163,840 vehicles leave a grid of 64 x 64 intersections, from 128 sources to 128 sinks, under traffic lights; lookahead 1 s, \
         {until_s} s of simulated time. One federate in each guest, on 24 PCPUs."
    )
}
