//! A virtual clock for each VCPU: message rounds of three guests under credit and NSX, with 1 and 2 VCPUs a
//! guest.
//!
//! The time that a VCPU runs without a break is varied: the tick of NSX, from 30 us on, and the slice of
//! credit, which Xen sets in whole milliseconds. One boot serves all ticks.

use paceline_experiments::Setup;
use paceline_policy::Setting;
use paceline_report::{Axis, Figure, Finding, Kind, Ours, Series, Shape, Table};

use super::{goal, invariant};
use crate::prediction::side::factor;
use crate::prediction::{self, Policy, RoundsOutcome};
use crate::sizes::rounds_command;
use crate::{Boot, Domain, Plan, Results, Step, TranscriptError};

const NAMES: [&str; 3] = ["dom-a", "dom-b", "dom-c"];

/// The longest that one run may take, in seconds of the machine's time.
const LIMIT_S: u32 = 600;

/// The longest tick, in microseconds, to which the claims refer.
const LONGEST_US: u64 = 30_000;

fn rounds(quick: bool) -> u32 {
    if quick { 300 } else { 1_000 }
}

/// A run: a scheduler, its tick or slice, and the number of ticks in a turn of DOM0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    nsx: bool,
    tick_us: u64,
    dom0_ticks: u64,
    vcpus: u32,
}

impl Case {
    fn boot(self) -> String {
        format!("{} with {} VCPUs a guest", if self.nsx { "nsx" } else { "credit" }, self.vcpus)
    }

    fn part(self) -> String {
        format!("{} us, DOM0 {}x", self.tick_us, self.dom0_ticks)
    }

    fn policy(self) -> Policy {
        let tick = Setting::Nanos(self.tick_us * 1_000);
        match self.nsx {
            true => Policy::new("nsx").with("tick", tick).with("dom0_ticks", Setting::Count(self.dom0_ticks)),
            // Xen's ticks of 10 ms and less: a third of the slice.
            false => Policy::new("credit").with("slice", tick),
        }
    }

    /// The steps with which dom0 sets it. The credit scheduler of the paper's Xen has no rate limit.
    fn set(self) -> Vec<Step> {
        match self.nsx {
            true => vec![
                Step::Set("nsx-tick-us".into(), self.tick_us.to_string()),
                Step::Set("nsx-dom0-ticks".into(), self.dom0_ticks.to_string()),
            ],
            false => vec![Step::Shell(format!("xl sched-credit -s -t {} -r 0", self.tick_us / 1_000))],
        }
    }
}

fn vcpus(quick: bool) -> &'static [u32] {
    if quick { &[1] } else { &[1, 2] }
}

fn cases(quick: bool, nsx: bool, vcpus: u32) -> Vec<Case> {
    let case = |(tick_us, dom0_ticks)| Case { nsx, tick_us, dom0_ticks, vcpus };
    let ticks: &[(u64, u64)] = match (nsx, quick) {
        (false, false) => &[(1_000, 1), (3_000, 1), (10_000, 1), (30_000, 1)],
        (false, true) => &[(1_000, 1), (30_000, 1)],
        (true, false) => &[
            (30, 1),
            (30, 2),
            (30, 4),
            (60, 1),
            (60, 2),
            (60, 4),
            (100, 1),
            (300, 1),
            (1_000, 1),
            (1_000, 2),
            (3_000, 1),
            (10_000, 1),
            (30_000, 1),
        ],
        (true, true) => &[(60, 1), (60, 2), (1_000, 1), (30_000, 1)],
    };
    ticks.iter().copied().map(case).collect()
}

fn boot(quick: bool, nsx: bool, vcpus: u32) -> Boot {
    let cases = cases(quick, nsx, vcpus);
    let mut boot = Boot::new(cases[0].boot(), if nsx { "nsx" } else { "credit" });
    boot.limit_s = 7_200;
    // Otherwise ticks of less than 50 us would be late by more than a tick.
    boot.options.push("timer_slop=0".into());
    boot.domains = NAMES.iter().map(|name| Domain { vcpus, ..Domain::new(*name) }).collect();
    boot.steps.push(Step::Create(NAMES.map(String::from).to_vec()));
    for case in cases {
        boot.steps.push(Step::Mark(case.part()));
        boot.steps.extend(case.set());
        let commands: Vec<_> =
            (0..3).map(|rank| (NAMES[rank], rounds_command(rank, rounds(quick)))).collect();
        boot.steps.extend(Step::together(&commands, LIMIT_S));
    }
    boot.steps.push(Step::Mark("counters".into()));
    boot.steps.push(Step::Dump);
    boot
}

/// The boots of the experiment, and the judge of what they print.
pub fn plan(setup: &Setup) -> Plan {
    let quick = setup.quick;
    let boots = vcpus(quick).iter().flat_map(|vcpus| [false, true].map(|nsx| boot(quick, nsx, *vcpus)));
    Plan { cells: boots.collect(), judge: Box::new(move |results| judge(results, quick)) }
}

#[derive(Clone, Copy, Debug)]
struct Row {
    case: Case,
    xen: RoundsOutcome,
    predicted: RoundsOutcome,
}

fn rows(results: &Results, quick: bool, vcpus: u32) -> Result<Vec<Row>, TranscriptError> {
    let mut rows = Vec::new();
    for case in [false, true].into_iter().flat_map(|nsx| cases(quick, nsx, vcpus)) {
        let (boot, part) = (case.boot(), case.part());
        let part = results.part(&boot, &part)?;
        let all = f64::from(rounds(quick));
        let xen = RoundsOutcome {
            error: 100.0 * part.guest(NAMES[2], "errors")? / all,
            round_ms: part.guest(NAMES[2], "elapsed_us")? / 1e3 / all,
        };
        let predicted = prediction::message_rounds(&case.policy(), vcpus, rounds(quick))?;
        rows.push(Row { case, xen, predicted });
    }
    Ok(rows)
}

fn judge(results: &Results, quick: bool) -> Result<Finding, TranscriptError> {
    let mut finding = Finding {
        about: vec![
            "In each round A sends to B and then to C, and B, when it has received, sends to C. An error is a round in which C heard \
             of B first. Three guests that poll, DOM0 that carries their messages, 2 PCPUs that share one emulated core; a barrier \
             after each round."
                .into(),
        ],
        notes: prediction::notes(),
        ..Finding::default()
    };
    finding.notes.push(
        "Credit's slice is 1 ms at least, since Xen has no shorter one; NSX is measured from 30 us on. Credit's rate limit is off, \
         as the Xen of the paper had none."
            .into(),
    );
    for vcpus in vcpus(quick).iter().copied() {
        let rows = rows(results, quick, vcpus)?;
        check(&mut finding, &rows, vcpus);
        finding.tables.push(table(&rows, vcpus));
        finding.figures.push(figure(&rows, vcpus));
    }
    Ok(finding)
}

/// What is wanted: the shape of the paper's figures, and that the simulated machine has it too.
fn check(finding: &mut Finding, rows: &[Row], vcpus: u32) {
    let ticked = |nsx: bool| rows.iter().filter(move |row| row.case.nsx == nsx && row.case.dom0_ticks == 1);
    let last = |nsx: bool| ticked(nsx).find(|row| row.case.tick_us == LONGEST_US);
    let (Some(credit), Some(nsx)) = (last(false), last(true)) else { return };
    let error = |row: &Row| Ours::one(row.xen.error, "%");
    let at = format!("{vcpus} VCPUs a guest, {LONGEST_US} us");
    finding.checks.extend([
        goal(format!("{at}: error of credit"), error(credit), Shape::Above(20.0)),
        goal(format!("{at}: error of NSX"), error(nsx), Shape::at_most(0.5)),
    ]);
    if let Some(first) = ticked(false).next() {
        let what =
            format!("{vcpus} VCPUs a guest: error of credit, {} us and {LONGEST_US} us", first.case.tick_us);
        let ours = Ours::all([first.xen.error, credit.xen.error], "%");
        finding.checks.push(goal(what, ours, Shape::Rises(0.0)));
    }
    for row in rows.iter().filter(|row| row.case.nsx && row.case.dom0_ticks > 1 && row.case.tick_us <= 60) {
        let plain = ticked(true).find(|plain| plain.case.tick_us == row.case.tick_us);
        finding.checks.extend(plain.map(|plain| {
            let (tick_us, ticks) = (row.case.tick_us, row.case.dom0_ticks);
            let what = format!(
                "{vcpus} VCPUs a guest, {tick_us} us: time of a round with DOM0 {ticks}x, of that with 1x"
            );
            goal(what, Ours::one(row.xen.round_ms / plain.xen.round_ms, ""), Shape::at_most(1.05))
        }));
    }
    // How much more credit errs than NSX, in Xen and simulated: of one sign.
    let more = |of: fn(&Row) -> f64| of(credit) - of(nsx);
    let [xen, simulated] = [more(|row| row.xen.error), more(|row| row.predicted.error)];
    let ours =
        Ours::one(xen * simulated, "").with(format!("{xen:.1} points, simulated {simulated:.1} points"));
    let what = format!("{at}: errors of credit beyond NSX's in Xen, times those simulated");
    finding.checks.push(invariant(what, ours, Shape::Above(0.0)));
}

fn table(rows: &[Row], vcpus: u32) -> Table {
    let columns =
        ["scheduler", "tick or slice", "DOM0", "error", "simulated", "a round", "simulated", "factor"];
    let mut table = Table::new(format!("Message rounds, {vcpus} VCPUs a guest"), columns);
    for Row { case, xen, predicted } in rows {
        table.row([
            if case.nsx { "nsx" } else { "credit" }.to_owned(),
            format!("{} us", case.tick_us),
            format!("{}x", case.dom0_ticks),
            format!("{:.2} %", xen.error),
            format!("{:.2} %", predicted.error),
            format!("{:.3} ms", xen.round_ms),
            format!("{:.3} ms", predicted.round_ms),
            format!("{:.2}", factor(xen.round_ms, predicted.round_ms)),
        ]);
    }
    table
}

fn figure(rows: &[Row], vcpus: u32) -> Figure {
    let line = |name: &str, nsx: bool, of: fn(&Row) -> f64| {
        let ticked = rows.iter().filter(|row| row.case.nsx == nsx && row.case.dom0_ticks == 1);
        Series::ours(name, Kind::Lines, ticked.map(|row| (row.case.tick_us as f64, of(row))).collect())
    };
    Figure {
        title: format!("Rounds out of order, {vcpus} VCPUs a guest"),
        caption: "Over the tick of NSX and the slice of credit; DOM0 has one tick.".into(),
        x: Axis::log("tick", "us"),
        y: Axis::linear("error", "%"),
        series: vec![
            line("credit", false, |row| row.xen.error),
            line("NSX", true, |row| row.xen.error),
            line("credit, simulated", false, |row| row.predicted.error),
            line("NSX, simulated", true, |row| row.predicted.error),
        ],
    }
}
