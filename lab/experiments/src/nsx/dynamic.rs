//! A guest comes and goes while the others exchange messages.
//!
//! Invariant: the new guest computes without end, so that a policy under which it catches up with the time of
//! the others would starve them.

use std::collections::BTreeMap;

use paceline_machine::guests::hog::Hog;
use paceline_machine::{DomId, DomainSpec, Observer, PcpuId, VcpuId, run_observed};

use super::runs::{Case, Scheduler, Size, percent_wrong};
use super::variant::Variant;
use crate::parameters::kinds::{count, micros};
use crate::prelude::*;

/// The share of a PCPU that a guest takes which neither catches up with the past nor starves: within a factor
/// of 1.5 of half a PCPU, for four guests share two.
const FAIR: Wanted = Wanted::Within(0.5 / 1.5, 0.5 * 1.5);

#[derive(Clone, Copy, Debug)]
struct Runs {
    case: Case,
    /// When the new guest comes and goes.
    comes_us: u64,
    goes_us: u64,
    /// For how long its share of the machine is measured.
    measured_us: u64,
}

/// Adds up how long the new guest runs in its first time.
struct First {
    dom: DomId,
    until_ns: u64,
    ran_ns: u64,
}

impl Observer for First {
    fn ran(&mut self, _pcpu: PcpuId, dom: DomId, _vcpu: VcpuId, from_ns: u64, to_ns: u64) {
        if dom == self.dom {
            let to_ns = to_ns.min(self.until_ns);
            self.ran_ns += to_ns.saturating_sub(from_ns);
        }
    }
}

pub fn plan(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let span = micros(1..=1_000_000);
    let ticks = parameters.one("dom0_ticks", &count(1..=1_000))?;
    let case = Case {
        scheduler: Scheduler::Nsx(ticks),
        tick_us: parameters.one("tick", &span)?,
        variant: Variant::Usual,
        size: Size::read(parameters)?,
        vcpus: 1,
        adjusted: None,
    };
    let comes_us = parameters.one("comes", &span)?;
    let goes_us = parameters.one("goes", &span)?;
    let measured_us = parameters.one("measured", &span)?;
    if goes_us < comes_us + measured_us {
        let problem = "is before what is measured of the new guest has ended";
        return Err(parameters.refuse("goes", problem, "a time after `comes` and `measured`"));
    }
    let runs = Runs { case, comes_us, goes_us, measured_us };
    let cells = [false, true].map(|comes| runs.cell(setup, comes)).into();
    Ok(Plan::new(cells, move |results| runs.judge(results)))
}

impl Runs {
    fn key(&self, comes: bool) -> String {
        let Self { case, comes_us, goes_us, measured_us } = self;
        format!("nsx/dynamic/{comes}/{comes_us}-{goes_us}us/{measured_us}us/{}", case.key())
    }

    fn cell(self, setup: &Setup, comes: bool) -> Cell {
        let calibration = setup.calibration.of_run(&self.key(comes));
        let [comes_ns, goes_ns, measured_ns] =
            [self.comes_us, self.goes_us, self.measured_us].map(|us| us * 1_000);
        let job = move || {
            let (mut errors, mut shares) = (Vec::new(), Vec::new());
            for seed in 1..=self.case.size.runs {
                let mut spec = self.case.machine(&calibration, seed);
                if comes {
                    let newcomer = DomainSpec::new("newcomer", 0, vec![Box::new(Hog::new(1_000_000, 0))]);
                    spec.domains.push(DomainSpec {
                        arrives_ns: comes_ns,
                        leaves_ns: Some(goes_ns),
                        background: true,
                        ..newcomer
                    });
                }
                // Guests are numbered after the privileged domains of all hosts; the new guest is the last of
                // them.
                let dom = DomId((spec.hosts.len() + spec.domains.len() - 1) as u32);
                let mut first = First { dom, until_ns: comes_ns + measured_ns, ran_ns: 0 };
                let ran = run_observed(spec, &mut first)?;
                errors.push(percent_wrong(self.case.heard(&ran)?));
                shares.push(first.ran_ns as f64 / measured_ns as f64);
            }
            let (errors, shares) = (mean(&errors), mean(&shares));
            let values = BTreeMap::from([
                ("error", errors.mean),
                ("error_half_width", errors.half_width),
                ("share", shares.mean),
            ]);
            Ok(Measure { values, ..Measure::default() })
        };
        Cell { key: self.key(comes), weight: 5.0, alone: false, job: Box::new(job) }
    }

    fn judge(&self, results: &Results) -> Found<Finding> {
        let number = |comes, name| results.value(&self.key(comes), name);
        let (alone, with) = (number(false, "error")?, number(true, "error")?);
        let allowed = number(false, "error_half_width")? + number(true, "error_half_width")?;
        let millis = |us: u64| us as f64 / 1e3;
        // Three guests and a new one on 2 PCPUs; a share is of one PCPU.
        let share = number(true, "share")?;
        let within = Shape::within(-allowed, allowed);
        let checks = vec![
            check(
                format!(
                    "share of a PCPU that the newcomer takes in its first {} ms",
                    millis(self.measured_us)
                ),
                Criterion::stated(Statement::Order, "it starts at sys_lvt", Shape::Each(FAIR)),
                Ours::one(share, ""),
            ),
            check(
                "error of the others with it, less that without",
                Criterion::stated(Statement::Sign, "no detrimental effect", within),
                Ours::one(with - alone, "points")
                    .with(format!("{alone:.2} %, then {with:.2} %; intervals of 95 %")),
            ),
        ];
        let about = format!(
            "The rounds of nsx-fig10 under {} and a tick of {} us, while a guest that computes comes after {} ms and \
             goes after {} ms.",
            self.case.scheduler.name().replace(", ", " with "),
            self.case.tick_us,
            millis(self.comes_us),
            millis(self.goes_us)
        );
        let figure = plot(
            "Time-order errors of the others",
            "Stated is that guests which come and go have no detrimental effect, without a number.",
            [Axis::categories("the new guest", ["stays away", "comes and goes"]), Axis::linear("error", "%")],
            vec![Series::ours("NSX", Kind::Bars, vec![(0.0, alone), (1.0, with)])],
        );
        Ok(Finding { about: vec![about], checks, figures: vec![figure], ..Finding::default() })
    }
}
