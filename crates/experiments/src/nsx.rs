//! The experiments of reference 2: a virtual clock per virtual core, and messages that come in the order of time.
//!
//! Host: 2 PCPUs, three guests and DOM0 that carries their messages. In each of 1000 rounds A sends to B and then to C, and B,
//! when it has received, sends to C. C must hear from A first; where B's message comes first, that is an error. The time that
//! a VCPU runs without a break is varied: the tick of NSX, the time slice of CSX.

mod dynamic;
mod runs;

use paceline_report::{Axis, Check, Figure, Finding, Kind, Series};

use crate::Experiment;
use crate::plan::{CellError, Plan, Results, Setup};
use runs::{Case, Scheduler, TICKS_US};

/// The experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment { name: "nsx-fig10", title: "Time-order errors over the tick, 1 VCPU a guest", plan: fig10 },
    Experiment { name: "nsx-fig11", title: "Run time over the tick, 1 VCPU a guest", plan: fig11 },
    Experiment { name: "nsx-fig12", title: "Time-order errors over the tick, 2 VCPUs a guest", plan: fig12 },
    Experiment { name: "nsx-fig13", title: "Run time over the tick, 2 VCPUs a guest", plan: fig13 },
    Experiment { name: "nsx-dynamic", title: "A guest comes and goes during a run", plan: dynamic::plan },
];

fn fig10(setup: &Setup) -> Plan {
    let errors = Errors { vcpus: 1, published: [("NSX", 4.0, 0.0), ("CSX", 3.0, 56.0)] };
    plan(setup, 1, move |results| errors.judge(results))
}

fn fig12(setup: &Setup) -> Plan {
    let errors = Errors { vcpus: 2, published: [("NSX", f64::NAN, 0.04), ("CSX", f64::NAN, 49.0)] };
    plan(setup, 2, move |results| errors.judge(results))
}

fn fig11(setup: &Setup) -> Plan {
    plan(setup, 1, |results| times(results, 1, (60, 0.1, 0.86)))
}

fn fig13(setup: &Setup) -> Plan {
    plan(setup, 2, |results| times(results, 2, (80, 0.18, 0.95)))
}

fn plan(
    setup: &Setup,
    vcpus: u32,
    judge: impl FnOnce(&Results) -> Result<Finding, CellError> + Send + 'static,
) -> Plan {
    let cells = Scheduler::ALL.iter().flat_map(|scheduler| {
        TICKS_US.iter().map(|tick_us| Case { scheduler: *scheduler, tick_us: *tick_us, vcpus }.cell(setup))
    });
    Plan { cells: cells.collect(), judge: Box::new(judge) }
}

/// What is claimed of errors.
#[derive(Clone, Copy)]
struct Errors {
    vcpus: u32,
    /// In per cent, at the shortest and the longest tick; not a number where the text states none.
    published: [(&'static str, f64, f64); 2],
}

/// The shortest and the longest tick.
fn ends() -> (u64, u64) {
    (TICKS_US[0], TICKS_US[TICKS_US.len() - 1])
}

fn percent(value: f64) -> String {
    if value.is_nan() { String::new() } else { format!("{value:.2} %") }
}

impl Errors {
    fn judge(self, results: &Results) -> Result<Finding, CellError> {
        let (shortest, longest) = ends();
        let error = |scheduler, tick_us| {
            let case = Case { scheduler, tick_us, vcpus: self.vcpus };
            results.value(&case.key(), "error")
        };
        let interval = |scheduler, tick_us| {
            let case = Case { scheduler, tick_us, vcpus: self.vcpus };
            results.value(&case.key(), "error_half_width")
        };
        let [(_, nsx_short, nsx_long), (_, csx_short, csx_long)] = self.published;
        let mut checks = Vec::new();
        for (name, scheduler, short, long) in
            [("NSX", Scheduler::Nsx(1), nsx_short, nsx_long), ("CSX", Scheduler::Csx, csx_short, csx_long)]
        {
            let (first, last) = (error(scheduler, shortest)?, error(scheduler, longest)?);
            let (must, holds) = match scheduler {
                Scheduler::Csx => ("beyond 40 %", last > 40.0),
                Scheduler::Nsx(_) => ("at most 0.1 %", last <= 0.1),
            };
            checks.push(Check {
                what: format!("error of {name} at {longest} us"),
                published: percent(long),
                ours: format!("{last:.2} % +- {:.2}", interval(scheduler, longest)?),
                must: must.into(),
                holds,
            });
            let (must, holds) = match scheduler {
                Scheduler::Csx => ("rises with the slice", first < last),
                Scheduler::Nsx(_) => ("falls with the tick", first > last || first == 0.0),
            };
            checks.push(Check {
                what: format!("error of {name} at {shortest} us"),
                published: percent(short),
                ours: format!("{first:.2} % +- {:.2}", interval(scheduler, shortest)?),
                must: must.into(),
                holds,
            });
        }
        let figure = figure(results, self.vcpus, "error", Axis::linear("mean error", "%"))?;
        Ok(Finding { about: about(), checks, figures: vec![figure], ..Finding::default() })
    }
}

fn times(results: &Results, vcpus: u32, best: (u64, f64, f64)) -> Result<Finding, CellError> {
    let number = |scheduler, tick_us, name| results.value(&Case { scheduler, tick_us, vcpus }.key(), name);
    let (best_us, best_error, best_seconds) = best;
    let mut worst: (f64, u64) = (0.0, 0);
    for tick_us in TICKS_US.iter().copied().filter(|tick_us| *tick_us >= 60) {
        let ratio = number(Scheduler::Nsx(2), tick_us, "time")? / number(Scheduler::Csx, tick_us, "time")?;
        worst = if ratio > worst.0 { (ratio, tick_us) } else { worst };
    }
    let at = |ticks| number(Scheduler::Nsx(ticks), best_us, "time");
    let mut checks = vec![Check {
        what: "run time of NSX with 2x DOM0 over CSX, worst from 60 us up".into(),
        published: "about the same".into(),
        ours: format!("{:.2} at {} us", worst.0, worst.1),
        must: "at most 1.15".into(),
        holds: worst.0 <= 1.15,
    }];
    let error = number(Scheduler::Nsx(2), best_us, "error")?;
    checks.push(Check {
        what: format!("error of NSX with 2x DOM0 at {best_us} us"),
        published: percent(best_error),
        ours: percent(error),
        must: "below 1 %".into(),
        holds: error < 1.0,
    });
    let (one, two) = (at(1)?, at(2)?);
    checks.push(Check {
        what: format!("run time at {best_us} us: NSX, and with 2x DOM0"),
        published: format!("the second {best_seconds} s"),
        ours: format!("{one:.2} s, {two:.2} s"),
        must: "2x DOM0 is no slower".into(),
        holds: two <= one * 1.02,
    });
    let figure = figure(results, vcpus, "time", Axis::linear("run time", "s"))?;
    Ok(Finding { about: about(), checks, figures: vec![figure], ..Finding::default() })
}

fn about() -> Vec<String> {
    vec![
        "Thirty runs of 1000 message rounds between three guests on 2 PCPUs; means with 95 % intervals. The tick is the time \
         that a VCPU runs without a break: NSX's tick, CSX's time slice."
            .into(),
    ]
}

fn figure(results: &Results, vcpus: u32, name: &str, y: Axis) -> Result<Figure, CellError> {
    let mut series = Vec::new();
    for scheduler in Scheduler::ALL {
        let mut points = Vec::new();
        for tick_us in TICKS_US {
            let case = Case { scheduler, tick_us, vcpus };
            points.push((tick_us as f64, results.value(&case.key(), name)?));
        }
        series.push(Series::ours(scheduler.name(), Kind::Lines, points));
    }
    let title = format!("{} over the tick, {vcpus} VCPU a guest", y.label);
    Ok(Figure { title, caption: String::new(), x: Axis::log("tick", "us"), y, series })
}
