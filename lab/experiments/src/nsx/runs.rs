//! Runs of message rounds under a scheduler and a tick.
//!
//! Invariant: everything but the scheduler is the same for all schedulers, DOM0's own work and that of the
//! guests' kernels included. A guest with two VCPUs runs the process of the rounds on one of them
//! ([`second_vcpu`]).

use std::collections::BTreeMap;

use paceline_machine::guests::mpi::{Mpi, tally};
use paceline_machine::guests::rounds::{Outcome, Settings as Rounds, outcome, programs};
use paceline_machine::{Costs, DomainSpec, HostSpec, MachineSpec, ProcessId, Ran, run};
use paceline_policy::Setting;

use super::chores;
use super::second_vcpu::{self, Adjusted, watched};
use super::variant::Variant;
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
    /// Of a guest: one or two.
    pub vcpus: u32,
}

impl Ticks {
    pub fn read(vcpus: u32, parameters: &mut Parameters) -> Result<Self, ScenarioError> {
        let us = parameters.points("ticks", &micros(1..=1_000_000))?;
        Ok(Self { us, size: Size::read(parameters)?, vcpus })
    }

    /// The least and the greatest.
    pub fn ends_us(&self) -> (u64, u64) {
        (self.us[0], self.us[self.us.len() - 1])
    }

    pub fn case(&self, scheduler: Scheduler, tick_us: u64) -> Case {
        let (variant, adjusted) = (Variant::Usual, None);
        Case { scheduler, tick_us, variant, size: self.size, vcpus: self.vcpus, adjusted }
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
    /// Of a guest: one or two.
    pub vcpus: u32,
    /// An adjustment of NSX with another period than the paper's.
    pub adjusted: Option<Adjusted>,
}

impl Case {
    /// Names everything on which the result depends.
    pub fn key(self) -> String {
        let Size { runs, rounds } = self.size;
        let mut key =
            format!("nsx/{}/{}us/{runs}x{rounds}/{:?}", self.scheduler.name(), self.tick_us, self.variant);
        if self.vcpus > 1 {
            key += &format!("/{}vcpus", self.vcpus);
        }
        if let Some(adjusted) = self.adjusted {
            key += &format!("/{adjusted:?}");
        }
        key
    }

    /// The machine of one run. The processes of the rounds are the first three, and so are their domains.
    pub fn machine(self, calibration: &Calibration, seed: u64) -> MachineSpec {
        let rounds = Rounds {
            rounds: self.size.rounds,
            seed,
            pacing: self.variant.pacing(),
            call_ns: calibration.get("nsx.call"),
            mpi: Mpi { wait: self.variant.wait(), apart: self.vcpus, ..Mpi::default() },
            ..Rounds::default()
        };
        let programs = programs(&rounds, ProcessId(0)).into_iter();
        let mut spec =
            MachineSpec { costs: calibration.costs("nsx", Costs::default()), ..MachineSpec::default() };
        let mut host = self.scheduler.host(self.tick_us, self.variant);
        match self.adjusted {
            Some(Adjusted::Vcpus(us)) => host.policy.settings.set("adjust", Setting::Nanos(1_000 * us)),
            Some(Adjusted::Domains(us)) => host.policy.settings.set("adjust_all", Setting::Nanos(1_000 * us)),
            None => {}
        }
        spec.hosts.push(host);
        for (number, (name, program)) in ["DOM-A", "DOM-B", "DOM-C"].into_iter().zip(programs).enumerate() {
            let processes = match self.vcpus {
                1 => vec![program],
                _ => second_vcpu::processes(program, calibration, (seed, number as u64)),
            };
            spec.domains.push(DomainSpec { vcpus: self.vcpus, ..DomainSpec::new(name, 0, processes) });
        }
        if let Some(calibration) = self.variant.chores(calibration) {
            chores::add(&mut spec, &calibration, seed);
        }
        spec
    }

    /// Its cell: the mean of many runs with different seeds.
    pub fn cell(self, setup: &Setup) -> Cell {
        let calibration = setup.calibration.of_run(&self.key());
        let weight = 1.0 + 1_000.0 / self.tick_us as f64;
        let job = move || {
            let (mut errors, mut times) = (Vec::new(), Vec::new());
            for seed in 1..=self.size.runs {
                let ran = run(self.machine(&calibration, seed))?;
                errors.push(percent_wrong(self.heard(&ran)?));
                times.push(self.seconds(&ran));
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

    /// What DOM-C has received.
    pub fn heard(self, ran: &Ran) -> Found<&Outcome> {
        let rank = &*ran.programs[2 * self.vcpus as usize];
        outcome(watched(rank)).ok_or_else(|| CellError::Guests("rank 2 has no outcome".into()))
    }

    /// When the last process of the rounds was done: a guest's kernel ends with its next tick only.
    fn seconds(self, ran: &Ran) -> f64 {
        let ranks = ran.programs.iter().step_by(self.vcpus as usize).take(3);
        let done = ranks.filter_map(|rank| tally(watched(&**rank))?.done_ns).max();
        done.filter(|_| self.vcpus > 1).unwrap_or(ran.report.at_ns) as f64 / 1e9
    }
}

/// How many rounds in a hundred were out of order.
pub fn percent_wrong(outcome: &Outcome) -> f64 {
    100.0 * f64::from(outcome.errors) / outcome.ended_ns.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(scheduler: Scheduler, tick_us: u64, vcpus: u32, calibration: &Calibration) -> Ran {
        let ticks = Ticks { us: vec![tick_us], size: Size { runs: 1, rounds: 50 }, vcpus };
        run(ticks.case(scheduler, tick_us).machine(calibration, 1)).expect("it runs")
    }

    #[test]
    fn a_guest_with_two_vcpus_runs_the_same_rounds_and_uses_both() {
        for scheduler in Scheduler::ALL {
            for tick_us in [60, 1_000] {
                let calibration = Calibration::of_the_table();
                let ran = ran(scheduler, tick_us, 2, &calibration);
                let ticks = Ticks { us: vec![tick_us], size: Size { runs: 1, rounds: 50 }, vcpus: 2 };
                let case = ticks.case(scheduler, tick_us);
                assert_eq!(case.heard(&ran).map(|heard| heard.ended_ns.len()), Ok(50), "{}", case.key());
                assert!(case.seconds(&ran) <= ran.report.at_ns as f64 / 1e9 && case.seconds(&ran) > 0.0);
            }
        }
    }

    #[test]
    fn a_kernel_that_works_more_makes_longer_runs() {
        let work = |factor| Calibration::of_the_table().scaled("nsx.guest_work", factor, 1);
        let at_ns = |factor| ran(Scheduler::Csx, 1_000, 2, &work(factor)).report.at_ns;
        assert!(at_ns(200) > at_ns(1), "{} and {}", at_ns(200), at_ns(1));
    }
}
