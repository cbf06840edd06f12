//! How federates wait, which the paper does not say: the gain of PSX under each way, at two loads and without
//! remote messages, and under that of the vector, with which all figures run.

use paceline_machine::Wait;

use super::runs::usual_wait;
use super::{Case, Gear, Load, Reports, Scheduler};
use crate::parameters::kinds::choice;
use crate::prelude::*;

const WAITS: [(&str, Wait); 8] = [
    ("poll", Wait::Poll),
    ("poll 200 us, then yield", Wait::PollThenYield(200_000)),
    ("poll 20 ms, then block", Wait::PollThenBlock(20_000_000)),
    ("poll 5 ms, then block", Wait::PollThenBlock(5_000_000)),
    ("poll 3 ms, then block", Wait::PollThenBlock(3_000_000)),
    ("poll 1 ms, then block", Wait::PollThenBlock(1_000_000)),
    ("poll 50 us, then block", Wait::PollThenBlock(50_000)),
    ("block", Wait::Block),
];

/// The name of the way that the vector of the paper has.
const USUAL: &str = "as everywhere here";

/// The gain that the paper states where messages are remote.
const ABOUT: f64 = 6.0;

/// The loads that it states that for, as percentages of messages that stay.
const STATED_AT: [u32; 2] = [50, 90];

/// The percentage of messages that stay at which PSX+ is shown too.
const PLUS_AT: u32 = 90;

#[derive(Clone, Debug)]
struct Runs {
    /// That of the vector, which is none of its own, and others.
    waits: Vec<(&'static str, Option<Wait>)>,
    /// That of the vector, in words.
    usual: String,
    local: Vec<u32>,
    /// The load with remote messages, and the simulated seconds of one without.
    load: Load,
    alone_s: u64,
    domains: u32,
}

pub fn plan(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let known = WAITS.map(|(name, wait)| (name, (name, Some(wait))));
    let mut waits = vec![(USUAL, None)];
    waits.extend(parameters.distinct("waits", &choice(known))?);
    let runs = Runs {
        waits,
        usual: in_words(usual_wait(&setup.calibration)),
        local: parameters.points("local", &super::local())?,
        load: Load {
            lps: parameters.one("lps", &super::lps())?,
            messages: parameters.one("messages", &super::messages())?,
            local: 0,
            until_s: parameters.one("until", &super::horizon())?,
        },
        alone_s: parameters.one("alone", &super::horizon())?,
        domains: parameters.one("domains", &super::domains())?,
    };
    let mut cells = Vec::new();
    for (_, wait) in &runs.waits {
        for local in &runs.local {
            cells
                .extend(Scheduler::COMPARED.map(|scheduler| runs.case(*local, scheduler, *wait).cell(setup)));
        }
    }
    Ok(Plan::new(cells, move |results| runs.judge(results)))
}

/// A way to wait, in words.
fn in_words(wait: Wait) -> String {
    match wait {
        Wait::PollThenBlock(span_ns) => format!("polls for {} us, then blocks", span_ns / 1_000),
        Wait::PollThenYield(span_ns) => format!("polls for {} us, then yields", span_ns / 1_000),
        Wait::Poll => "polls without end".into(),
        Wait::Block => "blocks".into(),
    }
}

impl Runs {
    fn case(&self, local: u32, scheduler: Scheduler, wait: Option<Wait>) -> Case {
        let until_s = if local == 100 { self.alone_s } else { self.load.until_s };
        let load = Load { local, until_s, ..self.load };
        Case { load, domains: self.domains, gear: Gear::Cons, scheduler, wait }
    }

    fn seconds(&self, results: &Results, local: u32, scheduler: Scheduler, wait: Option<Wait>) -> Found<f64> {
        results.seconds(&self.case(local, scheduler, wait).key())
    }

    fn gain(&self, results: &Results, local: u32, scheduler: Scheduler, wait: Option<Wait>) -> Found<f64> {
        let time = |scheduler| self.seconds(results, local, scheduler, wait);
        Ok(time(Scheduler::Csx(32))? / time(scheduler)?)
    }

    /// Run times and gains of all ways, and the gains by [`Runs::local`] and way.
    fn table(&self, results: &Results) -> Found<(Table, Vec<Vec<f64>>)> {
        let of = |what: &str, local: &[u32]| -> Vec<String> {
            let name = |(place, local)| match place {
                0 => format!("{what}, LOC {local}"),
                _ => format!("LOC {local}"),
            };
            local.iter().enumerate().map(name).collect()
        };
        let plus: Vec<u32> = self.local.iter().copied().filter(|local| *local == PLUS_AT).collect();
        let columns = [
            vec!["wait".to_owned()],
            of("CSX", &self.local),
            of("gain of PSX", &self.local),
            of("gain of PSX+", &plus),
        ]
        .concat();
        let title = format!("BLB on {} domains, CONS: run times in seconds, and gains", self.domains);
        let mut table = Table::new(title, columns);
        let mut gains = vec![Vec::new(); self.local.len()];
        for (name, wait) in &self.waits {
            let mut row = vec![(*name).to_owned()];
            for local in &self.local {
                row.push(format!("{:.3}", self.seconds(results, *local, Scheduler::Csx(32), *wait)?));
            }
            for (local, gains) in self.local.iter().zip(&mut gains) {
                let gain = self.gain(results, *local, Scheduler::Psx, *wait)?;
                row.push(format!("{gain:.2}"));
                gains.push(gain);
            }
            for local in &plus {
                row.push(format!(
                    "{:.2}",
                    self.gain(results, *local, Scheduler::PsxPlus(Reports::AsToPsx), *wait)?
                ));
            }
            table.row(row);
        }
        Ok((table, gains))
    }

    fn judge(&self, results: &Results) -> Found<Finding> {
        let (table, gains) = self.table(results)?;
        let mut claims = Claims::default();
        let published = || {
            let criterion = Criterion::published(ABOUT, Tolerance::TIMES).or(Shape::Above(1.0));
            criterion.saying("about; how federates wait is not said")
        };
        claims.add("gains at LOC 50 and 90 as everywhere here", || {
            Ok((published(), Ours::all(self.both(results, None)?, "times").with(&self.usual)))
        })?;
        let mut notes = vec![
            "At LOC 100 nothing arrives from other federates, and the small gain that is published is that of federates which do not wait \
             for LBTS then: the model declares no channels between federates, and reductions go on beside the events."
                .to_owned(),
        ];
        if let Ok((name, [few, most])) = self.nearest(results) {
            notes.push(format!(
                "Of these ways \"{name}\" comes nearest to the stated gain, with {few:.2} and {most:.2}. It was chosen after the runs, so that it \
                 reproduces nothing."
            ));
        }
        let block = self.waits.iter().find(|(name, _)| *name == "block");
        if let Some(Ok([few, most])) = block.map(|(_, wait)| self.both(results, *wait)) {
            notes.push(format!(
                "A federate that blocks leaves its PCPU to others and is boosted when its message comes: the gains are then {few:.2} and \
                 {most:.2} at LOC {} and {}.",
                STATED_AT[0], STATED_AT[1]
            ));
        }
        let figures = vec![self.figure(gains)];
        Ok(claims.put_into(Finding { figures, tables: vec![table], notes, ..Finding::default() }))
    }

    /// The gains of PSX at the loads that one is stated for.
    fn both(&self, results: &Results, wait: Option<Wait>) -> Found<[f64; 2]> {
        let [few, most] = STATED_AT.map(|local| self.gain(results, local, Scheduler::Psx, wait));
        Ok([few?, most?])
    }

    /// Which of the ways comes nearest to the stated gain, as a ratio, with its gains.
    fn nearest(&self, results: &Results) -> Found<(&'static str, [f64; 2])> {
        let off = |gains: &[f64; 2]| gains.iter().map(|gain| (gain / ABOUT).ln().abs()).sum::<f64>();
        let ways = self.waits.iter().map(|(name, wait)| Ok((*name, self.both(results, *wait)?)));
        let ways = ways.collect::<Found<Vec<_>>>()?;
        let nearest = ways.into_iter().min_by(|one, other| off(&one.1).total_cmp(&off(&other.1)));
        nearest.ok_or_else(|| CellError::NotRun("a way to wait".into()))
    }

    /// The gain of PSX over the ways to wait, by [`Runs::local`], and where it is stated.
    fn figure(&self, gains: Vec<Vec<f64>>) -> Figure {
        let mut series = Vec::new();
        for (local, gains) in self.local.iter().zip(gains) {
            let name = format!("LOC {local}");
            let places = || (0..self.waits.len()).map(|place| place as f64);
            let stated = places().map(|place| (place, ABOUT)).collect();
            series.push(Series::ours(&name, Kind::Bars, places().zip(gains).collect()));
            series.extend((*local < 100).then(|| Series::published(name, Kind::Bars, stated)));
        }
        plot(
            "Gain of PSX by how federates wait",
            "Published is about 6 where messages are remote, and not how federates wait.",
            [Axis::categories("wait", self.waits.iter().map(|(name, _)| *name)), Axis::log("gain", "times")],
            series,
        )
    }
}
