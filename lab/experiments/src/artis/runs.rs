//! Runs of the wireless model's load on the host of the ARTIS paper, a PC with two hyper-threaded CPUs.
//!
//! No hypervisor is simulated here but an operating system: all threads are VCPUs of one domain, and the
//! policy is the kernel's scheduler. "Linux" stands for the kernels of 2005: time slices of 100 ms, ticks of
//! 1 ms, a thread that wakes runs first while it has used little time. It is modelled by the credit scheduler
//! with these numbers. "Least LVT" is our PSX+.

use std::collections::BTreeMap;

use paceline_machine::{Costs, DomainSpec, Ended, HostSpec, MachineSpec, Siblings, run};
use paceline_policy::Setting;

use super::lp::{Load, Runtime, programs};
use crate::prelude::*;

/// The side of the torus, and the range of a ping.
const SIDE: f64 = 10_000.0;
const RANGE: f64 = 250.0;
/// Steps of a published run.
const STEPS: u32 = 1_000;
/// The part of the ping's disk beyond a line that crosses it, on average over all distances of the host from
/// the line: 2 / (3 pi).
const BEYOND: f64 = 2.0 / (3.0 * std::f64::consts::PI);
/// CPUs of a host.
pub const CPUS: u32 = 2;

named! {
    pub enum Scheduler {
        Linux = "Linux",
        LeastLvt = "least LVT",
    }
}

impl Scheduler {
    pub fn host(self, name: &str, smt: bool, calibration: &Calibration) -> HostSpec {
        let pcpus = if smt { 2 * CPUS } else { CPUS };
        let kind = match self {
            Self::Linux => "credit",
            Self::LeastLvt => "psx-plus",
        };
        let mut host = HostSpec { smt, siblings: Siblings::Apart, ..HostSpec::new(name, pcpus, kind) };
        if self == Self::Linux {
            let settings = &mut host.policy.settings;
            settings.set("slice", Setting::Nanos(calibration.get("artis.slice")));
            settings.set("tick", Setting::Nanos(calibration.get("artis.tick")));
        }
        host
    }
}

named! {
    /// How hosts are assigned to LPs.
    pub enum Dealing {
        /// Regardless of their places.
        Scattered = "scattered",
        /// In strips of the torus.
        Strips = "strips",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub hosts: u32,
    /// Steps that are run; times are scaled up to those of a published run.
    pub steps: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub runtime: Runtime,
    pub lps: u32,
    /// Whether hyper-threading is on.
    pub smt: bool,
    pub scheduler: Scheduler,
    /// Who has which hosts.
    pub dealing: Dealing,
    pub size: Size,
}

pub fn costs(calibration: &Calibration) -> Costs {
    let usual = Costs {
        loopback_ns: calibration.get("artis.signal"),
        // Resuming a thread on its own VCPU is not a switch.
        guest_switch_ns: 0,
        backend_ns: 0,
        ..Costs::default()
    };
    calibration.costs("artis", usual)
}

/// How many other hosts hear a ping, on average.
pub fn neighbours(hosts: u32) -> f64 {
    f64::from(hosts) * std::f64::consts::PI * RANGE * RANGE / (SIDE * SIDE)
}

pub fn load(hosts: u32, lps: u32, steps: u32, dealing: Dealing, calibration: &Calibration) -> Load {
    let get = |name: &str| calibration.get(name) as f64;
    let (lp_hosts, heard) = (f64::from(hosts) / f64::from(lps), neighbours(hosts));
    // Pings by distance of the LP, and the receivers of one there.
    let (pings, receivers) = match dealing {
        Dealing::Scattered => {
            let mean = heard / f64::from(lps);
            let any = 1.0 - (-mean).exp();
            (vec![lp_hosts * any; lps as usize - 1], mean / any)
        }
        Dealing::Strips => {
            let near = f64::from(hosts) * RANGE / SIDE;
            let pings = (1..lps).map(|distance| {
                let borders = u32::from(distance == 1) + u32::from(distance == lps - 1);
                f64::from(borders) * near
            });
            (pings.collect(), heard * BEYOND)
        }
    };
    let foreign = pings.iter().sum::<f64>() * receivers;
    let own_ns = lp_hosts * get("artis.host") + (lp_hosts * heard - foreign) * get("artis.ping");
    Load {
        lps,
        steps,
        own_ns,
        ping_ns: receivers * get("artis.ping"),
        pings,
        copy_ns: get("artis.copy"),
        look_ns: calibration.get("artis.look"),
        // The number of receivers of a batch's pings has a Poisson distribution.
        spread: 1.0 / (lp_hosts * heard / f64::from(super::lp::BATCHES)).sqrt(),
        reports_lvt: false,
    }
}

impl Case {
    /// Everything that decides the result.
    pub fn key(self) -> String {
        let Self { runtime, lps, smt, scheduler, dealing, size: Size { hosts, steps } } = self;
        let (scheduler, dealing) = (scheduler.name(), dealing.name());
        format!("artis/{runtime:?}/{lps}lp/smt-{smt}/{scheduler}/{dealing}/{hosts}hosts/{steps}steps")
    }

    pub fn cell(self, setup: &Setup) -> Cell {
        let calibration = setup.calibration.of_run(&self.key());
        let weight = f64::from(self.lps * self.size.steps);
        let job = move || self.run(&calibration);
        Cell { key: self.key(), weight, alone: false, job: Box::new(job) }
    }

    /// Seconds of all steps of a published run.
    pub fn seconds(self, results: &Results) -> Found<f64> {
        results.seconds(&self.key())
    }

    fn run(self, calibration: &Calibration) -> Found<Measure> {
        let Size { hosts, steps } = self.size;
        let mut load = load(hosts, self.lps, steps, self.dealing, calibration);
        load.reports_lvt = self.scheduler == Scheduler::LeastLvt;
        let processes = programs(&load, self.runtime);
        let mut spec = MachineSpec { costs: costs(calibration), ..MachineSpec::default() };
        spec.hosts.push(self.scheduler.host("host", self.smt, calibration));
        let vcpus = processes.len() as u32;
        spec.domains.push(DomainSpec { threads: true, vcpus, ..DomainSpec::new("LPs", 0, processes) });
        spec.until_ns = Some(load.limit_ns(self.runtime));
        let ran = run(spec)?;
        if ran.report.ended != Ended::Done {
            let (runtime, lps, seconds) = (self.runtime, self.lps, ran.report.at_ns / 1_000_000_000);
            return Err(CellError::Guests(format!(
                "{lps} LPs ({runtime:?}) have not done {steps} steps in {seconds} s: their threads spend the time on switches, with \
                 artis.switch at {} ns",
                calibration.get("artis.switch")
            )));
        }
        let seconds = ran.report.at_ns as f64 / 1e9 * f64::from(STEPS) / f64::from(steps);
        let values = BTreeMap::from([("work", load.work_ns(self.runtime) * f64::from(STEPS) / 1e9)]);
        Ok(Measure { seconds, values, ..Measure::default() })
    }
}
