//! A guest comes and goes while the others exchange messages.
//!
//! Invariant: the new guest computes without end, so that a policy under which it catches up with the time of the others would
//! starve them.

use std::collections::BTreeMap;

use paceline_machine::guests::hog::Hog;
use paceline_machine::{DomId, DomainSpec, Observer, PcpuId, VcpuId, run_observed};
use paceline_report::{Axis, Check, Figure, Finding, Kind, Series};

use super::assumptions::Variant;
use super::runs::{Case, Scheduler, heard, percent_wrong, size};
use crate::plan::{Cell, CellError, Measure, Plan, Results, Setup};
use crate::sample::mean;

/// When the new guest comes and goes.
const COMES_NS: u64 = 40_000_000;
const GOES_NS: u64 = 80_000_000;

/// For how long the new guest's share of the machine is measured.
const FIRST_NS: u64 = 20_000_000;

const CASE: Case = Case { scheduler: Scheduler::Nsx(2), tick_us: 100, variant: Variant::Usual };

/// Adds up how long the new guest runs in its first time.
struct First {
    dom: DomId,
    ran_ns: u64,
}

impl Observer for First {
    fn ran(&mut self, _pcpu: PcpuId, dom: DomId, _vcpu: VcpuId, from_ns: u64, to_ns: u64) {
        if dom == self.dom {
            let to_ns = to_ns.min(COMES_NS + FIRST_NS);
            self.ran_ns += to_ns.saturating_sub(from_ns);
        }
    }
}

/// Plans the experiment.
pub fn plan(setup: &Setup) -> Plan {
    Plan { cells: vec![cell(setup, false), cell(setup, true)], judge: Box::new(judge) }
}

fn key(comes: bool) -> String {
    format!("nsx/dynamic/{comes}")
}

fn cell(setup: &Setup, comes: bool) -> Cell {
    let calibration = setup.calibration.clone();
    let (runs, rounds) = size(setup);
    let job = move || {
        let (mut errors, mut shares) = (Vec::new(), Vec::new());
        for seed in 1..=runs {
            let mut spec = CASE.machine(&calibration, rounds, seed);
            if comes {
                let newcomer = DomainSpec::new("newcomer", 0, vec![Box::new(Hog::new(1_000_000, 0))]);
                spec.domains.push(DomainSpec {
                    arrives_ns: COMES_NS,
                    leaves_ns: Some(GOES_NS),
                    background: true,
                    ..newcomer
                });
            }
            // Guests are numbered after the privileged domains of all hosts; the new guest is the last of them.
            let dom = DomId((spec.hosts.len() + spec.domains.len() - 1) as u32);
            let mut first = First { dom, ran_ns: 0 };
            let ran = run_observed(spec, &mut first)?;
            errors.push(percent_wrong(heard(&ran)?));
            shares.push(first.ran_ns as f64 / FIRST_NS as f64);
        }
        let (errors, shares) = (mean(&errors), mean(&shares));
        let values = BTreeMap::from([
            ("error", errors.mean),
            ("error_half_width", errors.half_width),
            ("share", shares.mean),
        ]);
        Ok(Measure { values, ..Measure::default() })
    };
    Cell { key: key(comes), weight: 5.0, alone: false, job: Box::new(job) }
}

fn judge(results: &Results) -> Result<Finding, CellError> {
    let number = |comes, name| results.value(&key(comes), name);
    let (alone, with) = (number(false, "error")?, number(true, "error")?);
    let allowed = number(false, "error_half_width")? + number(true, "error_half_width")?;
    // Three guests and a new one on 2 PCPUs; a share is of one PCPU.
    let share = number(true, "share")?;
    let checks = vec![
        Check {
            what: "share of a PCPU that the newcomer takes in its first 20 ms".into(),
            published: "it starts at sys_lvt".into(),
            ours: format!("{share:.2}"),
            must: "well below a whole PCPU: it does not catch up with the past".into(),
            holds: share < 0.75,
        },
        Check {
            what: "error of the others without and with it".into(),
            published: "unchanged".into(),
            ours: format!("{alone:.2} %, {with:.2} %"),
            must: "the same within the intervals of 95 %".into(),
            holds: (with - alone).abs() <= allowed,
        },
    ];
    let about = format!(
        "The rounds of nsx-fig10 under NSX with 2x DOM0 and a tick of 100 us, while a guest that computes comes after {} ms and \
         goes after {} ms.",
        COMES_NS / 1_000_000,
        GOES_NS / 1_000_000
    );
    let figure = Figure {
        title: "Time-order errors of the others".into(),
        caption: "Stated is that a guest that goes does not affect the others: drawn from ours without it."
            .into(),
        x: Axis::categories("the new guest", ["stays away", "comes and goes"]),
        y: Axis::linear("error", "%"),
        series: vec![
            Series::ours("NSX", Kind::Bars, vec![(0.0, alone), (1.0, with)]),
            Series::published("NSX", Kind::Bars, vec![(1.0, alone)]),
        ],
    };
    Ok(Finding { about: vec![about], checks, figures: vec![figure], ..Finding::default() })
}
