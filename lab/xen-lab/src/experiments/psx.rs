//! Least simulation time first: PHOLD on 2, 4 and 8 guests that poll, under credit, credit2, PSX and PSX+.
//!
//! BLB is balanced: all federates have the same work. ULB is not: the first half has twice the work of the
//! others. One boot of eight guests serves all sizes of a scheduler; guests without a federate are idle.

use paceline_experiments::Setup;
use paceline_policy::Setting;
use paceline_report::{Axis, Check, Figure, Finding, Kind, Ours, Series, Shape, Table};

use super::{goal, invariant};
use crate::prediction::side::{Pair, beside};
use crate::prediction::{self, Policy};
use crate::sizes::Phold;
use crate::{Boot, Domain, Plan, Results, Source, Step, TranscriptError};

/// Schedulers by their names in Xen and on the simulated machine.
const SCHEDULERS: [(&str, &str); 4] =
    [("credit", "credit"), ("psx", "psx"), ("psxplus", "psx-plus"), ("credit2", "credit2")];

/// Loads: what we call them, and what PHOLD calls them.
const LOADS: [(&str, &str); 2] = [("BLB", "equal"), ("ULB", "halves")];

const MOST: usize = 8;

/// The longest that one run may take, in seconds of the machine's time.
const LIMIT_S: u32 = 300;

/// What is run under every scheduler.
#[derive(Clone, Copy, Debug)]
struct Scope {
    loads: &'static [(&'static str, &'static str)],
    sizes: &'static [usize],
    phold: Phold,
}

impl Scope {
    fn new(setup: &Setup) -> Self {
        // With fewer windows the result depends mostly on how the first few coincide with ticks, and little
        // on the scheduler.
        let phold = Phold { windows: 30, cost_us: 1_000 };
        match setup.quick {
            true => Self { loads: &LOADS[..1], sizes: &[2, MOST], phold },
            false => Self { loads: &LOADS, sizes: &[2, 4, MOST], phold },
        }
    }

    /// Every load with every size: what we call it, what PHOLD calls it, and the guests.
    fn parts(self) -> impl Iterator<Item = (&'static str, &'static str, usize)> {
        let sizes = self.sizes;
        self.loads.iter().flat_map(move |(load, word)| sizes.iter().map(move |size| (*load, *word, *size)))
    }
}

fn name(place: usize) -> String {
    format!("federate-{place}")
}

fn key(scheduler: &str) -> String {
    format!("psx {scheduler}")
}

fn part(load: &str, size: usize) -> String {
    format!("{load} {size}")
}

fn boot(scheduler: &str, scope: Scope) -> Boot {
    let mut boot = Boot::new(key(scheduler), scheduler);
    boot.domains = (0..MOST).map(|place| Domain::new(name(place))).collect();
    boot.steps.push(Step::Create((0..MOST).map(name).collect()));
    for (load, word, size) in scope.parts() {
        boot.steps.push(Step::Mark(part(load, size)));
        let names: Vec<String> = (0..size).map(name).collect();
        let command = |rank| scope.phold.command(word, rank, size);
        let commands: Vec<_> =
            names.iter().enumerate().map(|(rank, name)| (name.as_str(), command(rank))).collect();
        boot.steps.extend(Step::together(&commands, LIMIT_S));
    }
    boot.steps.push(Step::Mark("counters".into()));
    boot.steps.push(Step::Dump);
    boot
}

/// The boots of the experiment, and the judge of what they print.
pub fn plan(setup: &Setup) -> Plan {
    let scope = Scope::new(setup);
    let boots = SCHEDULERS.iter().map(|(scheduler, _)| boot(scheduler, scope)).collect();
    Plan { cells: boots, judge: Box::new(move |results| judge(results, scope)) }
}

/// What was measured and predicted of a load and a number of guests, by scheduler.
struct Row {
    load: &'static str,
    size: usize,
    pairs: Vec<Pair>,
}

impl Row {
    /// The speed under `scheduler` over that under `other`, in Xen.
    fn gain(&self, scheduler: &str, other: &str) -> f64 {
        let seconds =
            |name: &str| self.pairs.iter().find(|pair| pair.what == name).map_or(0.0, |pair| pair.xen);
        seconds(other) / seconds(scheduler)
    }
}

/// A scheduler of the simulated machine as Xen boots it: credit and credit2 have a rate limit of a
/// millisecond.
fn as_booted(kind: &'static str) -> Policy {
    let millis = |count: u64| Setting::Nanos(count * 1_000_000);
    let policy = Policy::new(kind);
    match kind {
        "credit" => policy.with("ratelimit", millis(1)),
        "credit2" => policy.with("ratelimit", millis(1)).with("most_slice", millis(10)),
        _ => policy,
    }
}

fn rows(results: &Results, scope: Scope) -> Result<Vec<Row>, TranscriptError> {
    let mut rows = Vec::new();
    for (load, word, size) in scope.parts() {
        let mut pairs = Vec::new();
        for (scheduler, policy) in SCHEDULERS {
            let (key, part) = (key(scheduler), part(load, size));
            let xen = results.part(&key, &part)?.guest(&name(0), "elapsed_us")? / 1e6;
            let predicted = prediction::phold(&as_booted(policy), size, word == "halves", scope.phold)?;
            pairs.push(Pair { what: scheduler.into(), xen, predicted });
        }
        rows.push(Row { load, size, pairs });
    }
    Ok(rows)
}

/// How many runs have another checksum than the first of their load and size, or none, and how many there
/// are.
fn checksums(results: &Results, scope: Scope) -> Result<(usize, usize), TranscriptError> {
    let (mut all, mut differ) = (0, 0);
    for (load, _, size) in scope.parts() {
        let mut found = Vec::new();
        for (scheduler, _) in SCHEDULERS {
            let (key, part) = (key(scheduler), part(load, size));
            let said = results.part(&key, &part)?.lines(&Source::Guest(name(0)));
            found.extend(said.iter().filter_map(|values| values.get("checksum").cloned()));
        }
        let missing = SCHEDULERS.len().saturating_sub(found.len());
        differ += missing + found.iter().filter(|other| **other != found[0]).count();
        all += SCHEDULERS.len();
    }
    Ok((differ, all))
}

fn judge(results: &Results, scope: Scope) -> Result<Finding, TranscriptError> {
    let rows = rows(results, scope)?;
    let mut checks = Vec::new();
    for row in &rows {
        for scheduler in ["psx", "psxplus"] {
            for other in ["credit", "credit2"] {
                checks.extend(check(row, scheduler, other));
            }
        }
    }
    let (differ, all) = checksums(results, scope)?;
    let ours = Ours::one(differ as f64, "").with(format!("of {all}"));
    checks.push(invariant("checksums of PHOLD that differ between schedulers", ours, Shape::exactly(0.0)));
    let mut tables = Vec::new();
    for row in &rows {
        let title = format!("{}, {} guests: run time in seconds", row.load, row.size);
        let (table, beside) = beside(&title, &row.pairs);
        checks.extend(beside);
        tables.push(table);
    }
    tables.insert(0, gains(&rows));
    Ok(Finding {
        about: vec![format!(
            "PHOLD on {} windows of {} us a federate, one in each guest, over TCP through DOM0; federates poll. 2 PCPUs, which share \
             one emulated core.",
            scope.phold.windows, scope.phold.cost_us
        )],
        checks,
        figures: vec![figure(&rows)],
        tables,
        notes: prediction::notes(),
        ..Finding::default()
    })
}

/// What is wanted: at 8 guests at least 3 times credit's speed, at 2 guests at most 20 % slower.
fn check(row: &Row, scheduler: &str, other: &str) -> Option<Check> {
    let gain = row.gain(scheduler, other);
    let what = format!("{}, {} guests: speed of {scheduler} over {other}", row.load, row.size);
    let ours = Ours::one(gain, "times");
    match (row.size, other) {
        (8, "credit") => Some(goal(what, ours, Shape::at_least(3.0))),
        (8, _) => Some(goal(what, ours, Shape::Above(1.0))),
        (2, "credit") => Some(goal(what, ours, Shape::at_least(0.8))),
        _ => None,
    }
}

fn gains(rows: &[Row]) -> Table {
    let mut table = Table::new("Speed over credit", ["load", "guests", "credit2", "psx", "psxplus"]);
    for row in rows {
        let gain = |scheduler| format!("{:.2}", row.gain(scheduler, "credit"));
        table.row([row.load.into(), row.size.to_string(), gain("credit2"), gain("psx"), gain("psxplus")]);
    }
    table
}

fn figure(rows: &[Row]) -> Figure {
    let names = rows.iter().map(|row| format!("{} {}", row.load, row.size)).collect::<Vec<_>>();
    let series = ["credit2", "psx", "psxplus"].map(|scheduler| {
        let points = rows.iter().enumerate();
        let points = points.map(|(place, row)| (place as f64, row.gain(scheduler, "credit"))).collect();
        Series::ours(scheduler, Kind::Bars, points)
    });
    Figure {
        title: "Speed over credit".into(),
        caption: "Load and number of guests.".into(),
        x: Axis::categories("load", names),
        y: Axis::linear("speed", "times"),
        series: series.into(),
    }
}
