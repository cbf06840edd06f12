//! Figures 1 to 3: run time over the number of LPs, for the three runtimes, with hyper-threading on and off.

use paceline_report::{Axis, Check, Figure, Finding, Kind, Series, Table};

use super::about;
use super::lp::Runtime;
use super::runs::{CPUS, Case, Dealing, Scheduler};
use super::threading::Sweeps;
use crate::plan::{CellError, Plan, Results, Setup};

pub(super) const LPS: std::ops::RangeInclusive<u32> = 1..=8;
/// LPs beyond the CPUs may cost this much of the best run time under least LVT first.
pub(super) const ALLOWED: f64 = 1.10;
/// A difference below this is none: the paper's intervals of confidence are within 5 % of the average.
pub(super) const EQUAL: f64 = 0.05;

/// Figure 1.
pub fn fig1(setup: &Setup) -> Plan {
    plan(setup, 1)
}

/// Figure 2.
pub fn fig2(setup: &Setup) -> Plan {
    plan(setup, 2)
}

/// Figure 3.
pub fn fig3(setup: &Setup) -> Plan {
    plan(setup, 3)
}

fn runtimes(timed_ns: u64) -> [Runtime; 3] {
    [Runtime::TimedWait(timed_ns), Runtime::Signals, Runtime::SingleThreaded]
}

pub(super) const fn name(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::TimedWait(_) => "timed wait",
        Runtime::Signals => "signals",
        Runtime::SingleThreaded => "single-threaded",
    }
}

fn plan(setup: &Setup, figure: usize) -> Plan {
    let all = runtimes(setup.calibration.get("artis.timed_wait"));
    let mut cells = Vec::new();
    for runtime in all {
        for dealing in Dealing::ALL {
            for scheduler in Scheduler::ALL {
                for smt in [false, true] {
                    let case = |lps| Case { runtime, lps, smt, scheduler, dealing };
                    cells.extend(LPS.map(|lps| case(lps).cell(setup)));
                }
            }
        }
    }
    let sweeps = Sweeps::new(setup);
    cells.extend(sweeps.cells(setup, all, figure));
    let judge = move |results: &Results| {
        let mut finding = judge(results, all, figure)?;
        sweeps.add(&mut finding, results, all, figure)?;
        Ok(finding)
    };
    Plan { cells, judge: Box::new(judge) }
}

/// Seconds over the LPs.
pub(super) struct Curve(Vec<f64>);

impl Curve {
    /// Of runs that differ in the number of LPs only.
    pub(super) fn of(results: &Results, case: impl Fn(u32) -> Case) -> Result<Self, CellError> {
        Ok(Self(LPS.map(|lps| case(lps).seconds(results)).collect::<Result<_, _>>()?))
    }

    pub(super) fn at(&self, lps: u32) -> f64 {
        self.0[(lps - 1) as usize]
    }

    pub(super) fn best(&self) -> u32 {
        LPS.min_by(|one, other| self.at(*one).total_cmp(&self.at(*other))).unwrap_or(1)
    }

    fn points(&self) -> Vec<(f64, f64)> {
        LPS.map(|lps| (f64::from(lps), self.at(lps))).collect()
    }

    /// The most beyond as many LPs as CPUs, as threads see these, times the least.
    pub(super) fn excess(&self, smt: bool) -> f64 {
        let (best, cpus) = (self.at(self.best()), cpus(smt));
        (cpus + 1..=*LPS.end()).map(|lps| self.at(lps) / best).fold(0.0, f64::max)
    }

    fn text(&self) -> String {
        self.0.iter().map(|seconds| format!("{seconds:.0}")).collect::<Vec<_>>().join(", ")
    }
}

/// CPUs, as threads see them: with hyper-threading there are twice as many.
fn cpus(smt: bool) -> u32 {
    if smt { 2 * CPUS } else { CPUS }
}

pub(super) fn hyper_threading(smt: bool) -> &'static str {
    if smt { "HT on" } else { "HT off" }
}

fn judge(results: &Results, all: [Runtime; 3], figure: usize) -> Result<Finding, CellError> {
    let runtime = all[figure - 1];
    let curve = |runtime, smt, scheduler, dealing| {
        Curve::of(results, |lps| Case { runtime, lps, smt, scheduler, dealing })
    };
    let mut finding = Finding { about: vec![about()], ..Finding::default() };
    let published = |smt| curve(runtime, smt, Scheduler::Linux, Dealing::Scattered);
    let (off, on) = (published(false)?, published(true)?);
    for (smt, curve) in [(false, &off), (true, &on)] {
        finding.checks.push(Check {
            what: best_lps(runtime, smt),
            published: format!("{CPUS}, as many as CPUs"),
            ours: format!("{} ({} s with 1 to 8)", curve.best(), curve.text()),
            must: format!("{CPUS}"),
            holds: curve.best() == CPUS,
        });
    }
    finding.checks.extend(hyper_threading_checks(figure, &off, &on));
    if figure == 2 {
        for smt in [false, true] {
            let best = |runtime| -> Result<f64, CellError> {
                let curve = curve(runtime, smt, Scheduler::Linux, Dealing::Scattered)?;
                Ok(curve.at(curve.best()))
            };
            let times = [best(all[0])?, best(all[1])?, best(all[2])?];
            finding.checks.push(Check {
                what: best_times(smt),
                published: "signals best".into(),
                ours: times.map(|seconds| format!("{seconds:.1} s")).join(", "),
                must: "signals less than both others".into(),
                holds: times[1] < times[0] && times[1] < times[2],
            });
        }
    }
    let mut most = 0.0f64;
    for lps in CPUS + 1..=*LPS.end() {
        let case =
            Case { runtime, lps, smt: false, scheduler: Scheduler::LeastLvt, dealing: Dealing::Scattered };
        let least = results.value(&case.key(), "work")? / f64::from(CPUS);
        most = most.max(case.seconds(results)? / least);
    }
    finding.checks.push(Check {
        what: format!(
            "least LVT, scattered, HT off: LPs beyond {CPUS} CPUs, times what their work takes at least"
        ),
        published: String::new(),
        ours: format!("{most:.2} at most"),
        must: format!("at most {ALLOWED:.2}"),
        holds: most <= ALLOWED,
    });
    let columns = ["dealing", "scheduler", "HT", "1 LP", "2", "3", "4", "5", "6", "7", "8"];
    let mut table = Table::new(format!("Run times of 1000 steps, {}, in seconds", name(runtime)), columns);
    for dealing in Dealing::ALL {
        let mut series = Vec::new();
        for scheduler in Scheduler::ALL {
            for smt in [false, true] {
                let own = curve(runtime, smt, scheduler, dealing)?;
                let mut row = vec![dealing.name().to_owned(), scheduler.name().into()];
                row.push(if smt { "on" } else { "off" }.into());
                row.extend(own.0.iter().map(|seconds| format!("{seconds:.1}")));
                table.row(row);
                let title = format!("{}, {}", scheduler.name(), hyper_threading(smt));
                series.push(Series::ours(title, Kind::Lines, own.points()));
                if scheduler == Scheduler::LeastLvt {
                    let most = own.excess(smt);
                    finding.checks.push(Check {
                        what: beyond(dealing, smt),
                        published: String::new(),
                        ours: format!("{most:.2} at most"),
                        must: format!("at most {ALLOWED:.2}"),
                        holds: most <= ALLOWED,
                    });
                }
            }
        }
        finding.figures.push(Figure {
            title: format!("Figure {figure}: {}, hosts {}", name(runtime), dealing.name()),
            caption: "Wall-clock time of 1000 steps with 6000 hosts; the paper's curves are plots, of which its text gives no numbers."
                .into(),
            x: Axis::linear("LPs", ""),
            y: Axis::linear("run time", "s"),
            series,
        });
    }
    finding.tables.push(table);
    finding.notes = notes();
    Ok(finding)
}

/// What the check of LPs beyond the CPUs is called.
pub(super) fn beyond(dealing: Dealing, smt: bool) -> String {
    let (dealing, cpus) = (dealing.name(), cpus(smt));
    format!("least LVT, {dealing}, {}: LPs beyond {cpus} CPUs, times the best run time", hyper_threading(smt))
}

/// What the check of the best number of LPs is called.
pub(super) fn best_lps(runtime: Runtime, smt: bool) -> String {
    format!("{}, {}: LPs of the best run time", name(runtime), hyper_threading(smt))
}

/// What the check of the best runtime is called.
pub(super) fn best_times(smt: bool) -> String {
    format!("best run times, {}: timed wait, signals, single-threaded", hyper_threading(smt))
}

/// What the checks of hyper-threading are called, each with the numbers of LPs that it compares.
pub(super) const TWO: (&str, &[u32]) = ("gain of HT with 2 LPs", &[2]);
pub(super) const MORE: (&str, &[u32]) = ("gain of HT with more LPs", &[4, 6, 8]);
pub(super) const ALWAYS: (&str, &[u32]) = ("gain of HT", &[2, 3, 4, 5, 6, 7, 8]);
pub(super) const FEW: (&str, &[u32]) = ("gain of HT up to 4 LPs", &[2, 3, 4]);
pub(super) const MANY: (&str, &[u32]) = ("gain of HT beyond 4 LPs", &[5, 6, 7, 8]);

/// What the paper says of hyper-threading in this figure.
fn hyper_threading_checks(figure: usize, off: &Curve, on: &Curve) -> Vec<Check> {
    let check = |(what, lps): (&str, &[u32]), published: &str, must: &str, holds: fn(f64) -> bool| {
        let gains: Vec<f64> = lps.iter().map(|lps| off.at(*lps) / on.at(*lps) - 1.0).collect();
        let told: Vec<_> = gains.iter().map(|gain| format!("{:+.0} %", 100.0 * gain)).collect();
        Check {
            what: what.into(),
            published: published.into(),
            ours: format!("{} with {lps:?} LPs", told.join(", ")),
            must: must.into(),
            holds: gains.into_iter().all(holds),
        }
    };
    match figure {
        1 => vec![
            check(TWO, "slightly better", "no loss, and at most 30 %, Intel's best", |gain| {
                (0.0..=0.3).contains(&gain)
            }),
            check(MORE, "overheads", "a loss", |gain| gain < 0.0),
        ],
        2 => vec![check(ALWAYS, "always better", "never a loss, with 2 LPs or more", |gain| gain >= 0.0)],
        _ => vec![
            check(FEW, "not influential; a strange slowdown at 4", "within 5 %", |gain| gain.abs() <= EQUAL),
            check(MANY, "an overhead", "a loss", |gain| gain < 0.0),
        ],
    }
}

fn notes() -> Vec<String> {
    vec![
        "\"Scattered\": LPs have hosts wherever these are, so that nearly every ping goes to every other LP; this is how the paper's \
         text reads, and its \"overheads under the synchronization and data distribution management viewpoints\". \"Strips\": an LP \
         has a strip of the torus, and only pings near its borders leave it."
            .into(),
        "Two siblings do 1.2 times the work of a core whatever they run, and nothing is lost in their common cache. So hyper-threading \
         helps here wherever more than two threads have work, and moves the best number of LPs to where all four logical CPUs have \
         work; the paper found no such gain without signals, and a loss in single-threaded LPs beyond 4, for which it gives no \
         cause. To have that, a sibling would have to take more than it adds, as the sweeps show: a constant made for the figure."
            .into(),
        "What more LPs than CPUs cost under least LVT first is, where hosts are scattered, work that comes with them and that no \
         scheduler can take away: messages to every other LP. Compared with what that work takes at least, it is kept within the limit. In \
         strips few messages leave an LP, and LPs beyond the CPUs cost a few percent: what is left at the end of a step, while the other \
         CPU has nothing to do."
            .into(),
        "Assumed, since the paper does not say: in the single-threaded runtime messages go through sockets, for `select` waits for \
         descriptors only. Without these system calls it would be the fastest runtime: nothing is handed from thread to thread."
            .into(),
    ]
}
