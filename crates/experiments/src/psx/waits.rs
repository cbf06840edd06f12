//! How federates wait, which the paper does not say: the gain of PSX under each way, at two loads and without remote messages.

use paceline_machine::Wait;
use paceline_report::{Axis, Check, Figure, Finding, Kind, Series, Table};

use super::{Case, Gear, Load, Scheduler};
use crate::plan::{CellError, Plan, Results, Setup};

/// Ways to wait.
const WAITS: [(&str, Wait); 5] = [
    ("poll", Wait::Poll),
    ("poll 200 us, then yield", Wait::PollThenYield(200_000)),
    ("poll 1 ms, then block", Wait::PollThenBlock(1_000_000)),
    ("poll 50 us, then block", Wait::PollThenBlock(50_000)),
    ("block", Wait::Block),
];

const LOCAL: [u32; 3] = [50, 90, 100];

/// The gain that the paper states where messages are remote.
const ABOUT: f64 = 6.0;

fn case(local: u32, scheduler: Scheduler, wait: Wait) -> Case {
    let until_s = if local == 100 { 1_000 } else { 40 };
    let load = Load { lps: 1, messages: 100.0, local, until_s };
    Case { load, domains: 32, gear: Gear::Cons, scheduler, wait }
}

/// Plans it.
pub fn plan(setup: &Setup) -> Plan {
    let mut cells = Vec::new();
    for (_, wait) in WAITS {
        for local in LOCAL {
            cells.extend(Scheduler::COMPARED.map(|scheduler| case(local, scheduler, wait).cell(setup)));
        }
    }
    Plan { cells, judge: Box::new(judge) }
}

fn judge(results: &Results) -> Result<Finding, CellError> {
    let columns = [
        "wait",
        "CSX, LOC 50",
        "LOC 90",
        "LOC 100",
        "gain of PSX, LOC 50",
        "LOC 90",
        "LOC 100",
        "gain of PSX+, LOC 90",
    ];
    let mut table = Table::new("BLB on 32 domains, CONS: run times in seconds, and gains", columns);
    let (mut fits, mut curves) = (Vec::new(), LOCAL.map(|_| Vec::new()));
    for (place, (name, wait)) in WAITS.into_iter().enumerate() {
        let time = |local, scheduler| results.seconds(&case(local, scheduler, wait).key());
        let mut gains = Vec::new();
        let mut row = vec![name.to_owned()];
        for local in LOCAL {
            row.push(format!("{:.3}", time(local, Scheduler::Csx(32))?));
            gains.push(time(local, Scheduler::Csx(32))? / time(local, Scheduler::Psx)?);
        }
        for (curve, gain) in curves.iter_mut().zip(&gains) {
            curve.push((place as f64, *gain));
        }
        row.extend(gains.iter().map(|gain| format!("{gain:.2}")));
        row.push(format!("{:.2}", time(90, Scheduler::Csx(32))? / time(90, Scheduler::PsxPlus)?));
        table.row(row);
        if gains[0] >= 4.0 && gains[1] >= 4.0 {
            fits.push(name);
        }
    }
    let check = Check {
        what: "ways to wait that give a gain of at least 4 at LOC 50 and 90".into(),
        published: "about 6; how federates wait is not said".into(),
        ours: if fits.is_empty() { "none".into() } else { fits.join("; ") },
        must: "polling is among them, blocking is not".into(),
        holds: fits.contains(&"poll") && !fits.contains(&"block"),
    };
    let notes = vec![
        "A federate that blocks leaves its PCPU to others and is boosted when its message comes: CSX then loses next to nothing. \
         The published gains need federates that poll."
            .into(),
        "At LOC 100 nothing arrives from other federates. A federate that waits for LBTS nevertheless would gain as much as at \
         LOC 90; the small gain that was published tells that it does not, as here: the model declares no channels between \
         federates, and reductions go on beside the events."
            .into(),
    ];
    let figures = vec![figure(curves)];
    Ok(Finding { checks: vec![check], figures, tables: vec![table], notes, ..Finding::default() })
}

/// The gain of PSX over the ways to wait, by [`LOCAL`], and where it is stated.
fn figure(curves: [Vec<(f64, f64)>; LOCAL.len()]) -> Figure {
    let mut series = Vec::new();
    for (local, points) in LOCAL.into_iter().zip(curves) {
        let name = format!("LOC {local}");
        let stated = WAITS.iter().enumerate().map(|(place, _)| (place as f64, ABOUT)).collect();
        series.push(Series::ours(&name, Kind::Bars, points));
        series.extend((local < 100).then(|| Series::published(name, Kind::Bars, stated)));
    }
    Figure {
        title: "Gain of PSX by how federates wait".into(),
        caption: "Published is about 6 where messages are remote, and not how federates wait.".into(),
        x: Axis::categories("wait", WAITS.map(|(name, _)| name)),
        y: Axis::log("gain", "times"),
        series,
    }
}
