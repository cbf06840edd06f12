//! Figure 14: the same city on 32 and on 64 guests; and over the CPU time of an event, which the paper does not state.
//!
//! Invariant: what the checks compare and what the sweep draws are the same numbers ([`Ratio`]).

use paceline_report::{Axis, Check, Figure, Finding, Kind, Series, Sweep, Table, Wanted};

use super::traffic::{Run, about};
use super::{Gear, Scheduler};
use crate::plan::{Cell, CellError, Plan, Results, Setup};
use crate::sweep::Over;

const DOMAINS: [u32; 2] = [32, 64];
const CSX: Scheduler = Scheduler::Csx(32);
/// Gains as published, with 32 and 64 domains, of CONS and OPT.
const PUBLISHED: [(Gear, [f64; 2]); 2] = [(Gear::Cons, [1.5, 4.5]), (Gear::Opt, [1.5, 8.0])];

const REASON: &str = "The longer an event takes, the more of a run is CPU time of events, which neither the scheduler nor the number of domains changes much. The paper \
    says neither what a vehicle's event takes nor how dense events are: that goes with the speed limit.";

/// A number that is published or told in words, and that another cost of events would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ratio {
    /// The gain with 64 domains, times that with 32.
    Growth(Gear),
    /// The gain of OPT with 64 domains, times that of CONS.
    Optimism,
    /// The run time of PSX with 64 domains, times that with 32.
    Constancy(Gear),
}

impl Ratio {
    const ALL: [Self; 5] = [
        Self::Growth(Gear::Cons),
        Self::Growth(Gear::Opt),
        Self::Optimism,
        Self::Constancy(Gear::Cons),
        Self::Constancy(Gear::Opt),
    ];

    /// What its check is called.
    fn what(self) -> String {
        match self {
            Self::Growth(gear) => format!("gain of {} at 64 domains, times that at 32", gear.name()),
            Self::Optimism => "gain of OPT at 64 domains, times that of CONS".into(),
            Self::Constancy(gear) => {
                format!("run time of PSX, {}, at 64 domains, times that at 32", gear.name())
            }
        }
    }

    fn published(self) -> String {
        let gains = |gear| PUBLISHED.iter().find(|own| own.0 == gear).expect("both are published").1;
        match self {
            Self::Growth(gear) => format!("{:.1}", gains(gear)[1] / gains(gear)[0]),
            Self::Optimism => format!("{:.1}", gains(Gear::Opt)[1] / gains(Gear::Cons)[1]),
            Self::Constancy(_) => "nearly constant".into(),
        }
    }

    /// What must be true of it, also in words.
    const fn wanted(self) -> (Wanted, &'static str) {
        match self {
            Self::Growth(_) | Self::Optimism => (Wanted::AtLeast(1.0), "at least 1"),
            Self::Constancy(_) => (Wanted::Within(0.85, 1.15), "at most 15 % apart"),
        }
    }

    fn of(self, results: &Results, until_s: u64) -> Result<f64, CellError> {
        let gain = |domains, gear| gain(results, domains, gear, until_s);
        let psx = |domains, gear| seconds(results, domains, gear, Scheduler::Psx, until_s);
        Ok(match self {
            Self::Growth(gear) => gain(64, gear)? / gain(32, gear)?,
            Self::Optimism => gain(64, Gear::Opt)? / gain(64, Gear::Cons)?,
            Self::Constancy(gear) => psx(64, gear)? / psx(32, gear)?,
        })
    }

    fn check(self, results: &Results, until_s: u64) -> Result<Check, CellError> {
        let (ours, (wanted, must)) = (self.of(results, until_s)?, self.wanted());
        Ok(Check {
            what: self.what(),
            published: self.published(),
            ours: format!("{ours:.2}"),
            must: must.into(),
            holds: wanted.miss(ours) == 0.0,
        })
    }

    fn sweep(self, over: &Over, results: &Results, until_s: u64) -> Result<Sweep, CellError> {
        let of = |results: &Results| self.of(results, until_s);
        let curve = over.curve("ratio", self.wanted().0, results, of)?;
        Ok(over.sweep(&self.what(), Axis::linear("ratio", ""), vec![curve], REASON))
    }
}

fn run(domains: u32, gear: Gear, scheduler: Scheduler, until_s: u64) -> Run {
    Run { domains, gear, scheduler, until_s }
}

fn seconds(
    results: &Results,
    domains: u32,
    gear: Gear,
    scheduler: Scheduler,
    until_s: u64,
) -> Result<f64, CellError> {
    results.seconds(&run(domains, gear, scheduler, until_s).key())
}

fn gain(results: &Results, domains: u32, gear: Gear, until_s: u64) -> Result<f64, CellError> {
    let time = |scheduler| seconds(results, domains, gear, scheduler, until_s);
    Ok(time(CSX)? / time(Scheduler::Psx)?)
}

/// The runs with both numbers of domains and both ways of synchronization, under each scheduler.
fn cells(schedulers: &[Scheduler], until_s: u64, setup: &Setup) -> Vec<Cell> {
    let all = DOMAINS.iter().flat_map(|domains| Gear::ALL.map(|gear| (*domains, gear)));
    let each = all.flat_map(|(domains, gear)| {
        schedulers.iter().map(move |scheduler| run(domains, gear, *scheduler, until_s))
    });
    each.map(|run| run.cell(setup)).collect()
}

/// Plans figure 14.
pub fn fig14(setup: &Setup) -> Plan {
    // The whole run takes 16,200 s. Gains fall somewhat as the city fills, all alike, and no check changes its verdict.
    let until_s = if setup.quick { 300 } else { 1_200 };
    let quantity = Axis::log("CPU time of an event", "ns");
    let over = Over::constant("psx.event", quantity, &[30_000, 300_000, 1_000_000], setup);
    let event_us = setup.calibration.get("psx.event") as f64 / 1e3;
    let mut all = cells(&Scheduler::COMPARED, until_s, setup);
    all.extend(over.cells(setup, |_, setup| cells(&[CSX, Scheduler::Psx], until_s, setup)));
    let judge = move |results: &Results| {
        let mut finding = judge(results, until_s)?;
        for ratio in Ratio::ALL {
            let what = ratio.what();
            if finding.fails(&what) {
                finding.sweeps.push(ratio.sweep(&over, results, until_s)?);
            }
        }
        finding.figures.push(over_events(&over, results, until_s)?);
        finding.notes.push(note(results, until_s, event_us)?);
        Ok(finding)
    };
    Plan { cells: all, judge: Box::new(judge) }
}

fn judge(results: &Results, until_s: u64) -> Result<Finding, CellError> {
    let mut table = Table::new(
        "Run times in seconds",
        ["domains", "synchronization", "CSX-32x", "PSX", "PSX+", "gain of PSX"],
    );
    let (mut checks, mut pairs, mut keys, mut series) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (gear, published) in PUBLISHED {
        let mut curves = [const { Vec::new() }; Scheduler::COMPARED.len()];
        for (place, domains) in DOMAINS.into_iter().enumerate() {
            let mut row = vec![domains.to_string(), gear.name().into()];
            for (scheduler, curve) in Scheduler::COMPARED.into_iter().zip(&mut curves) {
                let time = seconds(results, domains, gear, scheduler, until_s)?;
                curve.push((place as f64, time));
                row.push(format!("{time:.2}"));
                keys.push(run(domains, gear, scheduler, until_s).key());
            }
            row.push(format!("{:.2}", gain(results, domains, gear, until_s)?));
            table.row(row);
            pairs.push((
                format!("{domains} domains, {}", gear.name()),
                curves[1][place].1,
                curves[2][place].1,
            ));
        }
        let [few, many] = DOMAINS.map(|domains| gain(results, domains, gear, until_s));
        let (few, many) = (few?, many?);
        checks.push(Check {
            what: format!("gains of {} at 32 and 64 domains", gear.name()),
            published: format!("{} and {}", published[0], published[1]),
            ours: format!("{few:.1} and {many:.1}"),
            must: "above 1".into(),
            holds: few > 1.0 && many > 1.0,
        });
        let bars = Scheduler::COMPARED.iter().zip(curves);
        series.extend(bars.map(|(scheduler, points)| {
            Series::ours(format!("{}, {}", scheduler.name(), gear.name()), Kind::Bars, points)
        }));
    }
    for ratio in Ratio::ALL {
        checks.push(ratio.check(results, until_s)?);
    }
    checks.push(super::claims::faster(pairs));
    checks.push(super::claims::same_digests(results, vec![keys])?);
    let figure = Figure {
        title: "Run time on 32 and 64 domains".into(),
        caption: "Strong scaling: the same city.".into(),
        x: Axis::categories("domains", DOMAINS.map(|domains| domains.to_string())),
        y: Axis::log("run time", "s"),
        series,
    };
    Ok(Finding {
        about: vec![about(until_s)],
        checks,
        figures: vec![figure],
        tables: vec![table],
        ..Finding::default()
    })
}

/// The gains themselves over the CPU time of an event, and those that were published.
fn over_events(over: &Over, results: &Results, until_s: u64) -> Result<Figure, CellError> {
    let (mut series, mut published) = (Vec::new(), Vec::new());
    for (gear, gains) in PUBLISHED {
        for (domains, published_gain) in DOMAINS.into_iter().zip(gains) {
            let name = format!("{}, {domains} domains", gear.name());
            let of = |results: &Results| gain(results, domains, gear, until_s);
            let points = over.curve(&name, Wanted::AtLeast(0.0), results, of)?.points;
            let [first, .., last] = points[..] else { continue };
            let ends = [first, last].map(|(event_ns, _)| (event_ns, published_gain));
            published.push(Series::published(&name, Kind::Steps, ends.into()));
            series.push(Series::ours(name, Kind::Lines, points));
        }
    }
    series.extend(published);
    Ok(Figure {
        title: "Gain of PSX over the CPU time of an event".into(),
        caption: "Steps: what was published; at 32 domains it is 1.5 for both.".into(),
        x: Axis::log("CPU time of an event", "ns"),
        y: Axis::log("gain", "times"),
        series,
    })
}

/// What a window holds, and how long it takes.
fn note(results: &Results, until_s: u64, event_us: f64) -> Result<String, CellError> {
    let windows = until_s as f64;
    let window = |domains, scheduler| -> Result<f64, CellError> {
        Ok(1e3 * seconds(results, domains, Gear::Cons, scheduler, until_s)? / windows)
    };
    let [few, many] = DOMAINS;
    let measure = results.get(&run(few, Gear::Cons, Scheduler::Psx, until_s).key())?;
    let events: f64 = measure.series.iter().filter_map(|points| points.last()).map(|last| last.1).sum();
    let events = events / windows / f64::from(few);
    Ok(format!(
        "A second of this city, a window of CONS, holds {events:.1} events a federate on {few} domains, {:.0} us of CPU time: the run is a chain \
         of reductions. Every hop waits for its VCPU: under CSX for turns of 30 ms, {:.0} ms a window on {few} domains and {:.0} ms \
         on {many}; under PSX for the ticks of 300 us of the polling guests before it, of which there are more with {many} domains than with {few}: \
         {:.1} and {:.1} ms a window. PSX+ puts first who gets a message: {:.1} and {:.1} ms.",
        events * event_us,
        window(few, CSX)?,
        window(many, CSX)?,
        window(few, Scheduler::Psx)?,
        window(many, Scheduler::Psx)?,
        window(few, Scheduler::PsxPlus)?,
        window(many, Scheduler::PsxPlus)?,
    ))
}
