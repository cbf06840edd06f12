//! Figures 8 to 11: the gain of PSX over CSX on small loads, with as many guests as PCPUs and with a third
//! more.

use super::{Case, Gear, Load, Scheduler};
use crate::parameters::kinds::{count, pair};
use crate::prelude::*;

/// The gain of PSX with as many guests as PCPUs, which is said to be a little below 1: by the factor that
/// published gains may be off, at most.
pub const EQUAL: Wanted = Wanted::Within(1.0 / 1.5, 1.0);

/// The gain of PSX on more guests than PCPUs, without remote messages: said to be small.
const SMALL: Wanted = Wanted::Within(1.0, 2.0);

/// What decides the gain without remote messages.
fn alone(setup: &Setup) -> String {
    let [rereads, ahead] = ["psx.rereads", "psx.ahead"].map(|name| setup.calibration.get(name));
    format!(
        "Without remote messages (LOC 100) conservative federates wait for nobody: the model declares no \
         channels between them. A federate whose page is read twice without a new LVT between is at max_time, \
         behind all others, which make progress. The paper calls that temporary and does not say for how long: \
         here the page is read again after {rereads} ticks (psx.rereads). Were it not read before the federate \
         has run, this would stand still until all others have finished, and PSX would lose. Were it read at \
         the very next tick, 64 guests would never come to an end: those that poll would be back before the \
         others have had a turn, and no reduction would go on. Optimistic federates do not know that nothing \
         will come: they save states, run {ahead} s (psx.ahead) beyond GVT, and wait for its reductions as \
         they do with remote messages."
    )
}

/// How far the gains with remote messages are beyond the stated one, and what they hang on.
fn above(rows: &[Row], stated: Option<Stated>) -> Option<String> {
    let (words, stated) = stated?;
    let gains = gains(rows.iter().filter(|row| row.load.local < 100)).ok()?;
    let [least, most] =
        [f64::min, f64::max].map(|pick| gains.iter().copied().reduce(pick).unwrap_or(f64::NAN));
    (most > stated).then(|| {
        format!(
            "With remote messages the gains are {least:.2} to {most:.2}, where the paper states {words} {stated}. They hang on how long a \
             federate polls before it leaves its PCPU to others, which the paper does not say: the experiment psx-wait tries several times."
        )
    })
}

/// A gain that the text states, after its words.
pub type Stated = (&'static str, f64);

/// What is checked of the gains.
pub type Judge = fn(&[Row], &mut Claims) -> Found<()>;

/// What a figure states, if that is a number, and how it is judged.
pub type Claim = (Option<Stated>, Judge);

/// Figures 8 and 9.
pub const EQUALLY_MANY: Claim = (None, judge_equal);
/// What figure 10 states for equal loads with remote messages.
const ABOUT: Stated = ("about", 6.0);
/// What figure 11 states for unequal loads at best.
const CLOSE_TO: Stated = ("close to", 20.0);
pub const BALANCED: Claim = (Some(ABOUT), balanced);
pub const UNBALANCED: Claim = (Some(CLOSE_TO), unbalanced);

/// The run times of one load and way of synchronization.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    load: Load,
    gear: Gear,
    csx: f64,
    psx: f64,
    plus: f64,
}

impl Row {
    fn gain(&self) -> f64 {
        self.csx / self.psx
    }

    fn name(&self) -> String {
        let Load { lps, messages, local, .. } = self.load;
        format!("{lps} x {messages}, LOC {local}, {}", self.gear.name())
    }
}

/// Each load with each way of synchronization. The paper states no horizon. Without remote messages
/// conservative federates wait for nobody and only events take time, so that more of them are needed for a
/// run in which the first and last slices do not dominate; optimistic ones wait for GVT as everywhere.
fn loads(parameters: &mut Parameters) -> Result<Vec<(Load, Gear)>, ScenarioError> {
    let sizes = parameters.distinct("loads", &pair(super::lps(), super::messages()))?;
    let local = parameters.points("local", &super::local())?;
    let until_s = parameters.one("until", &super::horizon())?;
    let events = f64::from(parameters.one("events", &count(1..=1_000_000_000u32))?);
    let each = |(lps, messages)| {
        // A message is handled every two seconds on average.
        let alone_s = ((2.0 * events / (f64::from(lps) * messages)) as u64).max(1);
        let load = move |local| {
            Gear::ALL.map(|gear| {
                let until_s = if local == 100 && gear == Gear::Cons { alone_s } else { until_s };
                (Load { lps, messages, local, until_s }, gear)
            })
        };
        local.iter().copied().flat_map(load).collect::<Vec<_>>()
    };
    Ok(sizes.into_iter().flat_map(each).collect())
}

fn case(load: Load, domains: u32, gear: Gear, scheduler: Scheduler) -> Case {
    Case { load, domains, gear, scheduler, wait: None }
}

pub fn plan(setup: &Setup, parameters: &mut Parameters, claim: Claim) -> Result<Plan, ScenarioError> {
    let (stated, judge) = claim;
    let domains = parameters.one("domains", &super::domains())?;
    let loads = loads(parameters)?;
    let runs = |(load, gear): &(Load, Gear)| {
        Scheduler::COMPARED.map(|scheduler| case(*load, domains, *gear, scheduler).cell(setup))
    };
    let cells = loads.iter().flat_map(runs).collect();
    let alone = alone(setup);
    Ok(Plan::new(cells, move |results| {
        let mut rows = Vec::new();
        for (load, gear) in loads {
            let time = |scheduler| results.seconds(&case(load, domains, gear, scheduler).key());
            let [csx, psx, plus] = Scheduler::COMPARED.map(time);
            rows.push(Row { load, gear, csx: csx?, psx: psx?, plus: plus? });
        }
        let digests = rows.iter().map(|row| {
            Scheduler::COMPARED.map(|scheduler| case(row.load, domains, row.gear, scheduler).key())
        });
        let mut claims = Claims::default();
        judge(&rows, &mut claims)?;
        let pairs = rows.iter().map(|row| (row.name(), row.psx, row.plus));
        super::claims::faster(&mut claims, pairs)?;
        super::claims::same_digests(&mut claims, results, digests.map(Vec::from).collect())?;
        let about = vec![format!(
            "PHOLD, lookahead 1 s; one federate in each of {domains} guests on 24 PCPUs. Gains are run times under CSX with 32x \
             weight for DOM0 over those under PSX."
        )];
        Ok(claims.put_into(Finding {
            about,
            figures: vec![figure(&rows, stated)],
            tables: vec![table(&rows)],
            notes: above(&rows, stated).into_iter().chain([alone.clone()]).collect(),
            ..Finding::default()
        }))
    }))
}

/// Ours, and the stated gain at the loads with remote messages, of which it is stated.
fn figure(rows: &[Row], stated: Option<Stated>) -> Figure {
    let names = rows.iter().filter(|row| row.gear == Gear::Cons).map(|row| {
        let Load { lps, messages, local, .. } = row.load;
        format!("{lps} x {messages}, LOC {local}")
    });
    let names: Vec<String> = names.collect();
    let of = |gear| rows.iter().filter(move |row| row.gear == gear).enumerate();
    let bars = Gear::ALL.map(|gear| {
        let points = of(gear).map(|(place, row)| (place as f64, row.gain())).collect();
        Series::ours(gear.name(), Kind::Bars, points)
    });
    let stated = stated.map(|(words, gain)| {
        let remote = of(Gear::Cons).filter(|(_, row)| row.load.local < 100);
        Series::published(words, Kind::Points, remote.map(|(place, _)| (place as f64, gain)).collect())
    });
    let series = bars.into_iter().chain(stated);
    plot(
        "Gain of PSX over CSX",
        "LPs of a federate x messages of an LP, and the percentage of messages that stay.",
        [Axis::categories("load", names), Axis::linear("gain", "times")],
        series.collect(),
    )
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new("Run times in seconds", ["load", "CSX-32x", "PSX", "PSX+", "gain of PSX"]);
    for row in rows {
        let times = [row.csx, row.psx, row.plus].map(|time| format!("{time:.3}"));
        let [csx, psx, plus] = times;
        table.row([row.name(), csx, psx, plus, format!("{:.2}", row.gain())]);
    }
    table
}

/// The gains of some rows; an error if there are none.
fn gains<'a>(rows: impl Iterator<Item = &'a Row>) -> Found<Vec<f64>> {
    let gains: Vec<f64> = rows.map(Row::gain).collect();
    if gains.is_empty() { Err(CellError::NotRun("a load".into())) } else { Ok(gains) }
}

fn judge_equal(rows: &[Row], claims: &mut Claims) -> Found<()> {
    claims.add("gain, all loads", || {
        let words = "CSX performs better";
        let criterion = Criterion::stated(Statement::Sign, words, Shape::Each(EQUAL));
        Ok((criterion, Ours::all(gains(rows.iter())?, "times")))
    })?;
    claims.add("mean gain with the fewest and with the most messages", || {
        let messages = |row: &Row| f64::from(row.load.lps) * row.load.messages;
        let [fewest, most] =
            [f64::min, f64::max].map(|pick| rows.iter().map(messages).reduce(pick).unwrap_or(f64::NAN));
        if fewest >= most {
            return Err(CellError::NotRun("a second load".into()));
        }
        let of = |count: f64| -> Found<f64> {
            Ok(mean(&gains(rows.iter().filter(|row| messages(row) == count))?).mean)
        };
        let ours = Ours::all([of(fewest)?, of(most)?], "times");
        let words = "catches up as the load increases";
        Ok((Criterion::stated(Statement::Order, words, Shape::Rises(0.0)), ours))
    })
}

fn balanced(rows: &[Row], claims: &mut Claims) -> Found<()> {
    claims.add("gain with remote messages", || {
        let (words, stated) = ABOUT;
        let criterion = Criterion::published(stated, Tolerance::TIMES).saying(words).or(Shape::Above(1.0));
        Ok((criterion, Ours::all(gains(rows.iter().filter(|row| row.load.local < 100))?, "times")))
    })?;
    claims.add("gain at LOC 100", || {
        let criterion = Criterion::stated(Statement::Sign, "small", Shape::Each(SMALL));
        Ok((criterion, Ours::all(gains(rows.iter().filter(|row| row.load.local == 100))?, "times")))
    })
}

fn unbalanced(rows: &[Row], claims: &mut Claims) -> Found<()> {
    claims.add("largest gain", || {
        let largest = gains(rows.iter())?.into_iter().fold(f64::NAN, f64::max);
        let (words, stated) = CLOSE_TO;
        let criterion = Criterion::published(stated, Tolerance::TIMES).saying(words).or(Shape::Above(1.0));
        Ok((criterion, Ours::one(largest, "times")))
    })?;
    let pairs: Vec<_> = rows.chunks(2).filter(|pair| pair[0].load.local < 100).collect();
    let all = pairs.len() as f64;
    let counted = |is_so: fn(&[Row]) -> bool| {
        if pairs.is_empty() {
            return Err(CellError::NotRun("a load".into()));
        }
        let count = pairs.iter().filter(|pair| is_so(pair)).count();
        Ok(Ours::one(count as f64, "").with(format!("of {}", pairs.len())))
    };
    claims.add("loads with remote messages in which CONS gains more than OPT", || {
        let criterion = Criterion::stated(Statement::Order, "always", Shape::exactly(all));
        Ok((criterion, counted(|pair| pair[0].gain() > pair[1].gain())?))
    })?;
    claims.add("loads with remote messages in which PSX with OPT has the best run time of all", || {
        let criterion = Criterion::stated(Statement::Order, "most of the cases", Shape::Above(all / 2.0));
        let is_best = |pair: &[Row]| pair[1].psx < pair[0].psx && pair[1].psx < pair[0].csx.min(pair[1].csx);
        Ok((criterion, counted(is_best)?))
    })
}
