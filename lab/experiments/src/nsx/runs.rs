//! Runs of message rounds under a scheduler and a tick.
//!
//! Invariant: everything but the scheduler is the same for all schedulers, DOM0's own work included.
//!
//! A guest runs one process, so that a second VCPU of it never has anything to do: runs with 2 VCPUs a guest
//! are those with 1 (a test compares them), and are not repeated.

use std::collections::BTreeMap;

use paceline_machine::guests::mpi::Mpi;
use paceline_machine::guests::rounds::{Outcome, Settings as Rounds, outcome, programs};
use paceline_machine::{Costs, DomainSpec, HostSpec, MachineSpec, ProcessId, Ran, run};
use paceline_policy::Setting;

use super::assumptions::Variant;
use super::chores;
use crate::parameters::kinds::{Kind, count, micros};
use crate::prelude::*;

/// How many runs with different seeds, and of how many rounds each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub runs: u64,
    pub rounds: u32,
}

impl Size {
    pub fn read(parameters: &mut Parameters) -> Result<Self, ScenarioError> {
        Ok(Self {
            runs: parameters.one("runs", &runs())?,
            rounds: parameters.one("rounds", &count(1..=1_000_000))?,
        })
    }
}

pub fn runs() -> Kind<u64> {
    count(1..=10_000)
}

/// The ticks and time slices of a figure, in microseconds, in order, and the size of its cells.
#[derive(Clone, Debug)]
pub struct Ticks {
    pub us: Vec<u64>,
    pub size: Size,
}

impl Ticks {
    pub fn read(parameters: &mut Parameters) -> Result<Self, ScenarioError> {
        let us = parameters.points("ticks", &micros(1..=1_000_000))?;
        Ok(Self { us, size: Size::read(parameters)? })
    }

    /// The least and the greatest.
    pub fn ends_us(&self) -> (u64, u64) {
        (self.us[0], self.us[self.us.len() - 1])
    }

    pub fn case(&self, scheduler: Scheduler, tick_us: u64) -> Case {
        Case { scheduler, tick_us, variant: Variant::Usual, size: self.size }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Xen's credit scheduler, all weights the same, no caps.
    Csx,
    /// The scheduler of the NSX paper, with this many ticks in a turn of DOM0.
    Nsx(u64),
    /// NSX+, with its own default for DOM0.
    NsxPlus,
}

impl Scheduler {
    pub const ALL: [Self; 5] = [Self::Csx, Self::Nsx(1), Self::Nsx(2), Self::Nsx(4), Self::NsxPlus];

    pub fn name(self) -> String {
        match self {
            Self::Csx => "CSX".into(),
            Self::Nsx(1) => "NSX".into(),
            Self::Nsx(ticks) => format!("NSX, {ticks}x DOM0"),
            Self::NsxPlus => "NSX+".into(),
        }
    }

    /// A host of 2 PCPUs under it. A turn is one tick everywhere, unless that is varied: the paper set the
    /// ticks of a slice to one.
    pub fn host(self, tick_us: u64, variant: Variant) -> HostSpec {
        let tick_ns = tick_us * 1_000;
        let mut host = match self {
            Self::Csx => HostSpec::new("host", 2, "credit"),
            Self::Nsx(_) => HostSpec::new("host", 2, "nsx"),
            Self::NsxPlus => HostSpec::new("host", 2, "nsx-plus"),
        };
        let settings = &mut host.policy.settings;
        settings.set("tick", Setting::Nanos(tick_ns));
        match self {
            Self::Csx => settings.set("slice", Setting::Nanos(variant.credit_ticks() * tick_ns)),
            Self::Nsx(ticks) => {
                settings.set("dom0_ticks", Setting::Count(ticks));
                settings.set("stagger", Setting::Flag(variant != Variant::Together));
            }
            Self::NsxPlus => {}
        }
        host
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub scheduler: Scheduler,
    /// With which tick or slice.
    pub tick_us: u64,
    pub variant: Variant,
    pub size: Size,
}

impl Case {
    /// Names everything on which the result depends.
    pub fn key(self) -> String {
        let Size { runs, rounds } = self.size;
        format!("nsx/{}/{}us/{runs}x{rounds}/{:?}", self.scheduler.name(), self.tick_us, self.variant)
    }

    /// The machine of one run. The processes of the rounds are the first three, and so are their domains.
    pub fn machine(self, calibration: &Calibration, seed: u64) -> MachineSpec {
        let rounds = Rounds {
            rounds: self.size.rounds,
            seed,
            pacing: self.variant.pacing(),
            call_ns: calibration.get("nsx.call"),
            mpi: Mpi { wait: self.variant.wait(), ..Mpi::default() },
            ..Rounds::default()
        };
        let programs = programs(&rounds, ProcessId(0)).into_iter();
        let mut spec =
            MachineSpec { costs: calibration.costs("nsx", Costs::default()), ..MachineSpec::default() };
        spec.hosts.push(self.scheduler.host(self.tick_us, self.variant));
        for (name, program) in ["DOM-A", "DOM-B", "DOM-C"].into_iter().zip(programs) {
            spec.domains.push(DomainSpec::new(name, 0, vec![program]));
        }
        if let Some(calibration) = self.variant.chores(calibration) {
            chores::add(&mut spec, &calibration, seed);
        }
        spec
    }

    /// Its cell: the mean of many runs with different seeds.
    pub fn cell(self, setup: &Setup) -> Cell {
        let calibration = setup.calibration.clone();
        let weight = 1.0 + 1_000.0 / self.tick_us as f64;
        let job = move || {
            let (mut errors, mut times) = (Vec::new(), Vec::new());
            for seed in 1..=self.size.runs {
                let ran = run(self.machine(&calibration, seed))?;
                errors.push(percent_wrong(heard(&ran)?));
                times.push(ran.report.at_ns as f64 / 1e9);
            }
            let (errors, times) = (mean(&errors), mean(&times));
            let values = BTreeMap::from([
                ("error", errors.mean),
                ("error_half_width", errors.half_width),
                ("time", times.mean),
            ]);
            Ok(Measure { seconds: times.mean, values, ..Measure::default() })
        };
        Cell { key: self.key(), weight, alone: false, job: Box::new(job) }
    }
}

/// What DOM-C has received.
pub fn heard(ran: &Ran) -> Found<&Outcome> {
    outcome(&*ran.programs[2]).ok_or_else(|| CellError::Guests("rank 2 has no outcome".into()))
}

/// How many rounds in a hundred were out of order.
pub fn percent_wrong(outcome: &Outcome) -> f64 {
    100.0 * f64::from(outcome.errors) / outcome.ended_ns.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_vcpu_of_a_guest_changes_nothing() {
        for scheduler in Scheduler::ALL {
            for tick_us in [30, 60, 1_000, 30_000] {
                let outcome = |vcpus: u32| {
                    let ticks = Ticks { us: vec![tick_us], size: Size { runs: 1, rounds: 50 } };
                    let mut spec = ticks.case(scheduler, tick_us).machine(&Calibration::default(), 1);
                    spec.domains[..3].iter_mut().for_each(|domain| domain.vcpus = vcpus);
                    let ran = run(spec).expect("it runs");
                    (heard(&ran).cloned().expect("rank 2 is there"), ran.report.at_ns)
                };
                assert_eq!(outcome(1), outcome(2), "{} at {tick_us} us", scheduler.name());
            }
        }
    }
}
