//! Figure 14: the same city on 32 and on 64 guests; and over the CPU time of an event, which the paper does
//! not state.
//!
//! Invariant: what the checks compare and what the sweep draws are the same numbers ([`Ratio`]).

use super::traffic::{Run, about};
use super::{Gear, Reports, Scheduler};
use crate::parameters::kinds::nanos;
use crate::prelude::*;

/// The domains for which gains are published.
const PUBLISHED_AT: [u32; 2] = [32, 64];
const CSX: Scheduler = Scheduler::Csx(32);
/// Gains as published, with 32 and 64 domains, of CONS and OPT.
const PUBLISHED: [(Gear, [f64; 2]); 2] = [(Gear::Cons, [1.5, 4.5]), (Gear::Opt, [1.5, 8.0])];

/// Run times that are nearly constant: at most 15 % apart.
const CONSTANT: Wanted = Wanted::Within(0.85, 1.15);

const REASON: &str = "The longer an event takes, the more of a run is CPU time of events, which neither the scheduler nor the number of domains changes much. The paper \
    says neither what a vehicle's event takes nor how dense events are: that goes with the speed limit.";

/// A number that is published or stated in words, and that another cost of events would change.
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

    fn what(self) -> String {
        match self {
            Self::Growth(gear) => format!("gain of {} at 64 domains, times that at 32", gear.name()),
            Self::Optimism => "gain of OPT at 64 domains, times that of CONS".into(),
            Self::Constancy(gear) => {
                format!("run time of PSX, {}, at 64 domains, times that at 32", gear.name())
            }
        }
    }

    fn criterion(self) -> Criterion {
        let gains =
            |gear| PUBLISHED.iter().find(|published| published.0 == gear).expect("both are published").1;
        let number = |number: f64| {
            let criterion = Criterion::published(number, Tolerance::TIMES).or(Shape::Above(1.0));
            criterion.saying("of the published gains")
        };
        match self {
            Self::Growth(gear) => number(gains(gear)[1] / gains(gear)[0]),
            Self::Optimism => number(gains(Gear::Opt)[1] / gains(Gear::Cons)[1]),
            Self::Constancy(_) => {
                Criterion::stated(Statement::Order, "nearly constant", Shape::Each(CONSTANT))
            }
        }
    }

    fn of(self, results: &Results, until_s: u64) -> Found<f64> {
        let gain = |domains, gear| gain(results, domains, gear, until_s);
        let psx = |domains, gear| seconds(results, domains, gear, Scheduler::Psx, until_s);
        Ok(match self {
            Self::Growth(gear) => gain(64, gear)? / gain(32, gear)?,
            Self::Optimism => gain(64, Gear::Opt)? / gain(64, Gear::Cons)?,
            Self::Constancy(gear) => psx(64, gear)? / psx(32, gear)?,
        })
    }

    fn sweep(self, over: &Over, results: &Results, until_s: u64) -> Found<Sweep> {
        let of = |results: &Results| self.of(results, until_s);
        let wanted = self.criterion().wanted(0).unwrap_or(CONSTANT);
        let curve = over.curve("ratio", wanted, results, of)?;
        Ok(over.sweep(&self.what(), Axis::linear("ratio", ""), vec![curve], REASON))
    }
}

fn run(domains: u32, gear: Gear, scheduler: Scheduler, until_s: u64) -> Run {
    Run { domains, gear, scheduler, until_s, taken: None }
}

fn seconds(results: &Results, domains: u32, gear: Gear, scheduler: Scheduler, until_s: u64) -> Found<f64> {
    results.seconds(&run(domains, gear, scheduler, until_s).key())
}

fn gain(results: &Results, domains: u32, gear: Gear, until_s: u64) -> Found<f64> {
    let time = |scheduler| seconds(results, domains, gear, scheduler, until_s);
    Ok(time(CSX)? / time(Scheduler::Psx)?)
}

/// The runs with all numbers of domains and both ways of synchronization, under each scheduler.
fn cells(domains: &[u32], schedulers: &[Scheduler], until_s: u64, setup: &Setup) -> Vec<Cell> {
    let all = domains.iter().flat_map(|domains| Gear::ALL.map(|gear| (*domains, gear)));
    let each = all.flat_map(|(domains, gear)| {
        schedulers.iter().map(move |scheduler| run(domains, gear, *scheduler, until_s))
    });
    each.map(|run| run.cell(setup)).collect()
}

pub fn fig14(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let domains = parameters.points("domains", &super::domains())?;
    let until_s = parameters.one("until", &super::horizon())?;
    let whole_s = parameters.one("whole", &super::horizon())?;
    let events_ns = parameters.tried("event", &nanos(1..=1_000_000_000))?;
    let quantity = Axis::log("CPU time of an event", "ns");
    let over = Over::constant("psx.vehicle", quantity, &events_ns, setup);
    let event_us = setup.calibration.get("psx.vehicle") as f64 / 1e3;
    let mut all = cells(&domains, &Scheduler::COMPARED, until_s, setup);
    all.extend(over.cells(setup, |_, setup| cells(&domains, &[CSX, Scheduler::Psx], until_s, setup)));
    // No check has it: who only judges checks need not run it.
    if !setup.without_sweeps {
        let both =
            domains.iter().flat_map(|domains| [CSX, Scheduler::Psx].map(|scheduler| (*domains, scheduler)));
        all.extend(both.map(|(domains, scheduler)| run(domains, Gear::Cons, scheduler, whole_s).cell(setup)));
    }
    Ok(Plan::new(all, move |results| {
        let (mut finding, mut claims) = judge(results, &domains, until_s)?;
        let whole =
            claims.if_planned("the whole evacuation", || whole(results, &domains, [until_s, whole_s]))?;
        if let Some((table, note)) = whole {
            finding.tables.push(table);
            finding.notes.push(note);
        }
        let note = claims.if_planned("what a window holds and takes", || note(results, until_s, event_us))?;
        let mut finding = claims.put_into(finding);
        for ratio in Ratio::ALL {
            let what = ratio.what();
            if finding.misses(&what) {
                finding.sweeps.push(ratio.sweep(&over, results, until_s)?);
            }
        }
        finding.figures.push(over_events(&over, results, &domains, until_s)?);
        finding.notes.extend(note);
        Ok(finding)
    }))
}

fn judge(results: &Results, all: &[u32], until_s: u64) -> Found<(Finding, Claims)> {
    let mut table = Table::new(
        "Run times in seconds",
        ["domains", "synchronization", "CSX-32x", "PSX", "PSX+", "gain of PSX"],
    );
    let (mut claims, mut pairs, mut keys, mut series) =
        (Claims::default(), Vec::new(), Vec::new(), Vec::new());
    for (gear, published) in PUBLISHED {
        let mut curves = [const { Vec::new() }; Scheduler::COMPARED.len()];
        for (place, domains) in all.iter().copied().enumerate() {
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
        claims.add(format!("gains of {} at 32 and 64 domains", gear.name()), || {
            let gains = PUBLISHED_AT.map(|domains| gain(results, domains, gear, until_s));
            let gains = gains.into_iter().collect::<Found<Vec<_>>>()?;
            Ok((
                Criterion::each(published, Tolerance::TIMES).or(Shape::Above(1.0)),
                Ours::all(gains, "times"),
            ))
        })?;
        let bars = Scheduler::COMPARED.iter().zip(curves);
        series.extend(bars.map(|(scheduler, points)| {
            Series::ours(format!("{}, {}", scheduler.name(), gear.name()), Kind::Bars, points)
        }));
    }
    for ratio in Ratio::ALL {
        claims.add(ratio.what(), || Ok((ratio.criterion(), Ours::one(ratio.of(results, until_s)?, ""))))?;
    }
    super::claims::faster(&mut claims, pairs)?;
    super::claims::same_digests(&mut claims, results, vec![keys])?;
    let names: Vec<_> = all.iter().map(u32::to_string).collect();
    let figure = plot(
        format!("Run time on {} domains", names.join(" and ")),
        "Strong scaling: the same city.",
        [Axis::categories("domains", names), Axis::log("run time", "s")],
        series,
    );
    let finding = Finding {
        about: vec![about(until_s)],
        figures: vec![figure],
        tables: vec![table],
        ..Finding::default()
    };
    Ok((finding, claims))
}

/// The run times of the whole evacuation, and how its gains differ from those of its first part.
fn whole(results: &Results, all: &[u32], [part_s, whole_s]: [u64; 2]) -> Found<(Table, String)> {
    let columns = ["domains", "events", "CSX-32x", "PSX", "gain of PSX", "in the first part"];
    let title = format!("The whole evacuation, CONS: {whole_s} s, run times in seconds");
    let (mut table, mut changes, gear) = (Table::new(title, columns), Vec::new(), Gear::Cons);
    for domains in all.iter().copied() {
        let time = |scheduler| seconds(results, domains, gear, scheduler, whole_s);
        let [part, whole] = [part_s, whole_s].map(|until_s| gain(results, domains, gear, until_s));
        let (part, whole) = (part?, whole?);
        let measure = results.get(&run(domains, gear, Scheduler::Psx, whole_s).key())?;
        let events: f64 = measure.series.iter().filter_map(|points| points.last()).map(|last| last.1).sum();
        changes.push(whole / part);
        table.row([
            domains.to_string(),
            format!("{events:.0}"),
            format!("{:.2}", time(CSX)?),
            format!("{:.2}", time(Scheduler::Psx)?),
            format!("{whole:.2}"),
            format!("{part:.2}"),
        ]);
    }
    let [least, most] =
        [f64::min, f64::max].map(|pick| changes.iter().copied().reduce(pick).unwrap_or(f64::NAN));
    let note = format!(
        "In the whole evacuation, {whole_s} s, the gains of CONS are {least:.2} to {most:.2} times those of its first {part_s} s, which the checks compare."
    );
    Ok((table, note))
}

/// The gains themselves over the CPU time of an event, and those that were published.
fn over_events(over: &Over, results: &Results, all: &[u32], until_s: u64) -> Found<Figure> {
    let (mut series, mut published) = (Vec::new(), Vec::new());
    for (gear, gains) in PUBLISHED {
        let at_domains = PUBLISHED_AT.into_iter().zip(gains).filter(|(domains, _)| all.contains(domains));
        for (domains, published_gain) in at_domains {
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
    Ok(plot(
        "Gain of PSX over the CPU time of an event",
        "Steps: what was published; at 32 domains it is 1.5 for both.",
        [Axis::log("CPU time of an event", "ns"), Axis::log("gain", "times")],
        series,
    ))
}

/// What a window holds, and how long it takes.
fn note(results: &Results, until_s: u64, event_us: f64) -> Found<String> {
    let windows = until_s as f64;
    let window = |domains, scheduler| -> Found<f64> {
        Ok(1e3 * seconds(results, domains, Gear::Cons, scheduler, until_s)? / windows)
    };
    let [few, many] = PUBLISHED_AT;
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
        window(few, Scheduler::PsxPlus(Reports::AsToPsx))?,
        window(many, Scheduler::PsxPlus(Reports::AsToPsx))?,
    ))
}
