//! Co-scheduling by pending messages: LU on two guests beside 1, 3 and 7 guests with EP, under SEDF, CSDE and
//! CSDD.
//!
//! VCPUs are pinned: each rank of LU to its PCPU, DOM0 to the first, and EP to the second, the first, the
//! second, and so on. EP is long enough to run for the whole time of LU. One boot serves all sizes of a
//! scheduler.

use paceline_experiments::Setup;
use paceline_report::{Axis, Check, Figure, Finding, Kind, Ours, Series, Shape, Table};

use super::{goal, invariant};
use crate::prediction::side::{Pair, beside};
use crate::prediction::{self, Beside, Policy};
use crate::sizes::{LU_RANKS, PCPUS, Parallel};
use crate::{Boot, Domain, Plan, Results, Source, Step, TranscriptError};

/// Schedulers, by the same names in Xen and on the simulated machine. The others are compared with the first.
const SCHEDULERS: [&str; 3] = ["sedf", "csde", "csdd"];

/// What is run under every scheduler.
#[derive(Clone, Copy, Debug)]
struct Scope {
    /// The numbers of guests with EP, the greatest last.
    eps: &'static [usize],
    work: Parallel,
}

/// The longest that one run may take, in seconds of the machine's time.
const LIMIT_S: u32 = 600;

impl Scope {
    fn new(setup: &Setup) -> Self {
        let (eps, iterations): (&[usize], _) = if setup.quick { (&[0, 3], 8) } else { (&[0, 1, 3, 7], 24) };
        // A third of a millisecond of work per plane of LU in each sweep, less than a turn: with more work LU
        // would wait for its share of the PCPU, and not for messages.
        let batches = 20 * u64::from(iterations);
        Self { eps, work: Parallel { iterations, point_rounds: 25, batches, batch_rounds: 100_000 } }
    }

    fn most(self) -> usize {
        self.eps[self.eps.len() - 1]
    }
}

fn lu(rank: usize) -> String {
    format!("lu-{rank}")
}

fn ep(place: usize) -> String {
    format!("ep-{place}")
}

/// The PCPUs of `eps` guests with EP: DOM0 shares the other one.
fn pins(eps: usize) -> Vec<u32> {
    (0..eps as u32).map(|place| (place + 1) % PCPUS).collect()
}

fn part(eps: usize) -> String {
    format!("LU beside {eps} EP")
}

fn boot(scheduler: &str, scope: Scope) -> Boot {
    let mut boot = Boot::new(format!("cs {scheduler}"), scheduler);
    boot.options.push("dom0_vcpus_pin".into());
    let pinned = |name: String, pin: u32| Domain { pins: vec![pin], ..Domain::new(name) };
    boot.domains.extend((0..LU_RANKS).map(|rank| pinned(lu(rank as usize), rank)));
    boot.domains
        .extend(pins(scope.most()).into_iter().enumerate().map(|(place, pin)| pinned(ep(place), pin)));
    boot.steps.push(Step::Create(boot.domains.iter().map(|domain| domain.name.clone()).collect()));
    for eps in scope.eps.iter().copied() {
        boot.steps.push(Step::Mark(part(eps)));
        let eps_programs = (0..eps).map(|place| (ep(place), scope.work.ep()));
        let commands: Vec<_> =
            eps_programs.chain((0..LU_RANKS as usize).map(|rank| (lu(rank), scope.work.lu(rank)))).collect();
        let commands: Vec<_> =
            commands.iter().map(|(name, command)| (name.as_str(), command.clone())).collect();
        boot.steps.extend(Step::together(&commands, LIMIT_S));
    }
    boot.steps.push(Step::Mark("counters".into()));
    boot.steps.push(Step::Dump);
    boot
}

/// The boots of the experiment, and the judge of what they print.
pub fn plan(setup: &Setup) -> Plan {
    let scope = Scope::new(setup);
    let boots = SCHEDULERS.iter().map(|scheduler| boot(scheduler, scope)).collect();
    Plan { cells: boots, judge: Box::new(move |results| judge(results, scope)) }
}

/// What was measured and predicted beside so many EP, by scheduler.
struct Row {
    eps: usize,
    xen: Vec<Beside>,
    predicted: Vec<Beside>,
}

impl Row {
    fn pairs(&self, of: fn(&Beside) -> f64) -> Vec<Pair> {
        let both = SCHEDULERS.iter().zip(self.xen.iter().zip(&self.predicted));
        both.map(|(what, (xen, predicted))| Pair {
            what: (*what).into(),
            xen: of(xen),
            predicted: of(predicted),
        })
        .collect()
    }
}

fn rows(results: &Results, scope: Scope) -> Result<Vec<Row>, TranscriptError> {
    let mut rows = Vec::new();
    for eps in scope.eps.iter().copied() {
        let (mut xen, mut predicted) = (Vec::new(), Vec::new());
        for scheduler in SCHEDULERS {
            let (key, part) = (format!("cs {scheduler}"), part(eps));
            let part = results.part(&key, &part)?;
            let ran = (0..eps).map(|place| part.guest(&ep(place), "elapsed_us"));
            let ran = ran.collect::<Result<Vec<f64>, _>>()?;
            let mean = ran.iter().sum::<f64>() / eps as f64 / 1e6;
            let lu = part.guest(&lu(0), "elapsed_us")? / 1e6;
            xen.push(Beside { lu, ep: (eps > 0).then_some(mean) });
            predicted.push(prediction::lu_beside_ep(&Policy::new(scheduler), &pins(eps), scope.work)?);
        }
        rows.push(Row { eps, xen, predicted });
    }
    Ok(rows)
}

/// How many checksums of LU and of EP are not that of the first run, and how many there are.
fn checksums(results: &Results, scope: Scope) -> Result<(usize, usize), TranscriptError> {
    let (mut all, mut differ) = (0, 0);
    for name in [lu(0), ep(0)] {
        let mut found = Vec::new();
        for scheduler in SCHEDULERS {
            for eps in scope.eps.iter().copied() {
                let (key, part) = (format!("cs {scheduler}"), part(eps));
                let said = results.part(&key, &part)?.lines(&Source::Guest(name.clone()));
                found.extend(said.iter().filter_map(|values| values.get("checksum").cloned()));
            }
        }
        differ += if found.is_empty() { 1 } else { found.iter().filter(|other| **other != found[0]).count() };
        all += found.len();
    }
    Ok((differ, all))
}

fn judge(results: &Results, scope: Scope) -> Result<Finding, TranscriptError> {
    let rows = rows(results, scope)?;
    let mut checks: Vec<Check> = rows.iter().filter(|row| row.eps > 0).flat_map(check).collect();
    let (differ, all) = checksums(results, scope)?;
    let ours = Ours::one(differ as f64, "").with(format!("of {all}"));
    checks.push(invariant("checksums of LU and EP that differ", ours, Shape::exactly(0.0)));
    let mut tables = vec![table(&rows)];
    for row in rows.iter().filter(|row| row.eps > 0) {
        let title = format!("LU beside {} EP: run time of LU in seconds", row.eps);
        let (table, besides) = beside(&title, &row.pairs(|one| one.lu));
        tables.push(table);
        checks.extend(besides);
    }
    Ok(Finding {
        about: vec![format!(
            "LU of class W, {} iterations on two guests, one on each PCPU, with guests of EP beside; LU polls for its edges, which \
             DOM0 carries. The PCPUs share one emulated core.",
            scope.work.iterations
        )],
        checks,
        figures: vec![figure(&rows)],
        tables,
        notes: prediction::notes(),
        ..Finding::default()
    })
}

/// What is wanted: LU is faster than under SEDF, and EP loses less than 10 %.
fn check(row: &Row) -> Vec<Check> {
    let mut checks = Vec::new();
    for (scheduler, measured) in SCHEDULERS.iter().zip(&row.xen).skip(1) {
        let gain = 100.0 * (1.0 - measured.lu / row.xen[0].lu);
        let what = format!("LU under {scheduler} beside {} EP: shorter than under SEDF by", row.eps);
        checks.push(goal(what, Ours::one(gain, "%"), Shape::Above(0.0)));
        if let (Some(measured), Some(sedf)) = (measured.ep, row.xen[0].ep) {
            let loss = 100.0 * (measured / sedf - 1.0);
            let what = format!("{} EP under {scheduler} beside LU: longer than under SEDF by", row.eps);
            checks.push(goal(what, Ours::one(loss, "%"), Shape::Below(10.0)));
        }
    }
    checks
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(
        "Run times in seconds, Xen and simulated",
        ["EP", "scheduler", "LU", "simulated", "mean of EP", "simulated"],
    );
    for row in rows {
        for (scheduler, (xen, predicted)) in SCHEDULERS.iter().zip(row.xen.iter().zip(&row.predicted)) {
            let time = |time: Option<f64>| time.map_or_else(String::new, |time| format!("{time:.3}"));
            let [lu, lu_predicted] = [xen.lu, predicted.lu].map(|lu| time(Some(lu)));
            let [ep, ep_predicted] = [xen.ep, predicted.ep].map(time);
            table.row([row.eps.to_string(), (*scheduler).into(), lu, lu_predicted, ep, ep_predicted]);
        }
    }
    table
}

fn figure(rows: &[Row]) -> Figure {
    let names: Vec<_> = rows.iter().map(|row| row.eps.to_string()).collect();
    let series = SCHEDULERS.iter().enumerate().map(|(place, scheduler)| {
        let points = rows.iter().enumerate().map(|(at, row)| (at as f64, row.xen[place].lu)).collect();
        Series::ours(*scheduler, Kind::Bars, points)
    });
    Figure {
        title: "Run time of LU".into(),
        caption: "Over the number of guests with EP.".into(),
        x: Axis::categories("EP", names),
        y: Axis::linear("run time", "s"),
        series: series.collect(),
    }
}
