//! Figures 8 to 11: the gain of PSX over CSX on small loads, with as many guests as PCPUs and with a third
//! more.

use paceline_machine::Wait;

use super::{Case, Gear, Load, Scheduler};
use crate::parameters::kinds::{count, pair};
use crate::prelude::*;

/// The gain of PSX with as many guests as PCPUs.
pub const EQUAL: Wanted = Wanted::Within(0.7, 1.05);

/// The gain of PSX on more guests than PCPUs, without remote messages.
const SMALL: Wanted = Wanted::Within(1.0, 2.0);

/// Why PSX gains little without remote messages, and what that hangs on.
fn alone(setup: &Setup) -> String {
    let rereads = setup.calibration.get("psx.rereads");
    format!(
        "Without remote messages (LOC 100) nobody waits for anybody. A federate whose page is read twice without a new LVT between is at max_time, \
         behind all others, which make progress. The paper calls that temporary and does not say for how long: here the page is read again after \
         {rereads} ticks (psx.rereads). Were it not read before the federate has run, this would stand still until all others have finished, and PSX \
         would lose. Were it read at the very next tick, 64 guests would never come to an end: those that poll would be back before the others have had \
         a turn, and no reduction would go on."
    )
}

/// That the gains with remote messages are beyond the stated one, and what they hang on.
fn above(rows: &[Row], (words, stated): Stated) -> Option<String> {
    let (_, most, in_words) = range(rows.iter().filter(|row| row.load.local < 100)).ok()?;
    (stated > 1.0 && most > stated).then(|| {
        format!(
            "With remote messages the gains are {in_words}, where the paper states {words}. They hang on how long a federate polls before it leaves its PCPU \
             to others, which the paper does not say: the experiment psx-wait tries several times, and says with which the gain comes near the \
             stated one. Here federates always poll."
        )
    })
}

/// A gain that the text states, with its words.
pub type Stated = (&'static str, f64);

/// What is checked of the gains.
pub type Judge = fn(&[Row], &mut Claims) -> Found<()>;

/// What a figure states, and how it is judged.
pub type Claim = (Stated, Judge);

/// Figures 8 and 9.
pub const EQUALLY_MANY: Claim = (("a little below 1", 1.0), judge_equal);
/// What figure 10 states for equal loads.
pub const BALANCED: Claim = (("about 6 where messages are remote", 6.0), balanced);
/// What figure 11 states for unequal loads.
pub const UNBALANCED: Claim = (("close to 20 at best", 20.0), unbalanced);

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

/// The paper states no horizon. Without remote messages only events take time, so that more of them are
/// needed for a run in which the first and last slices do not dominate.
fn loads(parameters: &mut Parameters) -> Result<Vec<Load>, ScenarioError> {
    let sizes = parameters.distinct("loads", &pair(super::lps(), super::messages()))?;
    let local = parameters.points("local", &super::local())?;
    let until_s = parameters.one("until", &super::horizon())?;
    let events = f64::from(parameters.one("events", &count(1..=1_000_000_000u32))?);
    let each = |(lps, messages)| {
        // A message is handled every two seconds on average.
        let alone_s = ((2.0 * events / (f64::from(lps) * messages)) as u64).max(1);
        let load =
            move |local| Load { lps, messages, local, until_s: if local == 100 { alone_s } else { until_s } };
        local.iter().copied().map(load).collect::<Vec<_>>()
    };
    Ok(sizes.into_iter().flat_map(each).collect())
}

fn case(load: Load, domains: u32, gear: Gear, scheduler: Scheduler) -> Case {
    Case { load, domains, gear, scheduler, wait: Wait::Poll }
}

pub fn plan(setup: &Setup, parameters: &mut Parameters, claim: Claim) -> Result<Plan, ScenarioError> {
    let (stated, judge) = claim;
    let domains = parameters.one("domains", &super::domains())?;
    let loads = loads(parameters)?;
    let mut cells = Vec::new();
    for load in &loads {
        for gear in Gear::ALL {
            let runs = Scheduler::COMPARED.map(|scheduler| case(*load, domains, gear, scheduler).cell(setup));
            cells.extend(runs);
        }
    }
    let alone = alone(setup);
    Ok(Plan::new(cells, move |results| {
        let mut rows = Vec::new();
        for load in loads {
            for gear in Gear::ALL {
                let time = |scheduler| results.seconds(&case(load, domains, gear, scheduler).key());
                let [csx, psx, plus] = Scheduler::COMPARED.map(time);
                rows.push(Row { load, gear, csx: csx?, psx: psx?, plus: plus? });
            }
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

/// Ours, and the stated gain at the loads it is of: it is said of those with remote messages only if it is
/// above 1.
fn figure(rows: &[Row], (words, stated): Stated) -> Figure {
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
    let stated_of = of(Gear::Cons).filter(|(_, row)| stated <= 1.0 || row.load.local < 100);
    let points = stated_of.map(|(place, _)| (place as f64, stated)).collect();
    let series = bars.into_iter().chain([Series::published(words, Kind::Points, points)]);
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

/// The least and the largest gain of some rows, in words, and as numbers.
fn range<'a>(rows: impl Iterator<Item = &'a Row>) -> Found<(f64, f64, String)> {
    let (least, most) = rows
        .fold((f64::INFINITY, 0.0f64), |(least, most), row| (least.min(row.gain()), most.max(row.gain())));
    if least > most {
        return Err(CellError::NotRun("a load".into()));
    }
    Ok((least, most, format!("{least:.2} to {most:.2}")))
}

fn judge_equal(rows: &[Row], claims: &mut Claims) -> Found<()> {
    claims.add("gain, all loads", "a little below 1, catching up with the load", "0.7 to 1.05", || {
        let (least, most, in_words) = range(rows.iter())?;
        Ok((in_words, EQUAL.miss(least) == 0.0 && EQUAL.miss(most) == 0.0))
    })
}

fn balanced(rows: &[Row], claims: &mut Claims) -> Found<()> {
    let remote = || rows.iter().filter(|row| row.load.local < 100);
    let mut percents: Vec<_> = remote().map(|row| row.load.local).collect();
    percents.sort_unstable();
    percents.dedup();
    let percents: Vec<_> = percents.iter().map(u32::to_string).collect();
    let what = match percents[..] {
        [] => "gain with remote messages".into(),
        _ => format!("gain at LOC {}", percents.join(" and ")),
    };
    claims.add(what, "about 6", "at least 4", || {
        let (least, _, in_words) = range(remote())?;
        Ok((in_words, least >= 4.0))
    })?;
    claims.add("gain at LOC 100", "small", "1 to 2", || {
        let (least, most, in_words) = range(rows.iter().filter(|row| row.load.local == 100))?;
        Ok((in_words, SMALL.miss(least) == 0.0 && SMALL.miss(most) == 0.0))
    })
}

fn unbalanced(rows: &[Row], claims: &mut Claims) -> Found<()> {
    claims.add("largest gain", "close to 20", "at least 10", || {
        let (_, most, _) = range(rows.iter())?;
        Ok((format!("{most:.1}"), most >= 10.0))
    })?;
    let pairs: Vec<_> = rows.chunks(2).filter(|pair| pair[0].load.local < 100).collect();
    let remote = || if pairs.is_empty() { Err(CellError::NotRun("a load".into())) } else { Ok(()) };
    claims.add("loads with remote messages in which CONS gains more than OPT", "all", "all", || {
        remote()?;
        let more = pairs.iter().filter(|pair| pair[0].gain() > pair[1].gain()).count();
        Ok((format!("{more} of {}", pairs.len()), more == pairs.len()))
    })?;
    claims.add(
        "loads with remote messages in which PSX with OPT has the best run time",
        "most",
        "more than half",
        || {
            remote()?;
            let fastest = pairs.iter().filter(|pair| pair[1].psx <= pair[0].psx).count();
            Ok((format!("{fastest} of {}", pairs.len()), 2 * fastest > pairs.len()))
        },
    )
}
