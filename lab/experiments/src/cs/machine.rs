//! The two hosts of the co-scheduling thesis and the applications on them.
//!
//! Hosts: 2 PCPUs each, a gigabit link between them. A VM has one VCPU, pinned to a PCPU, and one MPI
//! process; DOM0 carries all messages, those between VMs of one host too.
//!
//! Invariant: the schedulers that are compared get the same applications, placed alike and started at the
//! same times.

use paceline_machine::guests::{class::Class, ep, lu, mpi::Mpi};
use paceline_machine::{Costs, DomainSpec, HostSpec, LinkSpec, MachineSpec, ProcessId, Program, Wait};
use paceline_policy::Setting;

use super::runs::{Case, Load, Variant};
use crate::prelude::*;

/// Hosts, and PCPUs of each.
pub const HOSTS: u32 = 2;
pub const PCPUS: u32 = 2;

/// Bits per second of the link.
const LINK: u64 = 1_000_000_000;

/// How much later than the first VM the last one may start.
const SPREAD_US: u64 = 20_000;

/// For how long a process polls before it blocks, where it does: some ten times what a system call and a
/// switch take.
const SPIN_NS: u64 = 100_000;

/// Who polls for so long never comes to block.
const POLLS_ON_US: u64 = 1_000_000;

/// An application: its VMs, and whether it is LU.
pub struct Application {
    pub domains: Vec<usize>,
    pub is_lu: bool,
}

/// Which part of the work is done: one in so many of LU's iterations, and of EP's time for each pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub lu: u64,
    pub ep: u64,
}

impl Part {
    /// The same of both.
    pub const fn of(divisor: u64) -> Self {
        Self { lu: divisor, ep: divisor }
    }
}

/// A machine with its applications.
pub struct Rig {
    pub spec: MachineSpec,
    pub applications: Vec<Application>,
    case: Case,
    calibration: Calibration,
    part: Part,
    number: u64,
}

impl Rig {
    /// The machine for run `number` of `case`, with a part of the work.
    pub fn new(case: Case, calibration: &Calibration, part: Part, number: u64) -> Found<Self> {
        let mut spec = MachineSpec { costs: costs(calibration, case.variant), ..MachineSpec::default() };
        spec.hosts.extend((0..HOSTS).map(|host| host_of(case, calibration, host)));
        let latency_ns = calibration.get("cs.latency");
        spec.links.push(LinkSpec { from: 0, to: 1, latency_ns, bits_per_second: LINK });
        let calibration = calibration.clone();
        let mut rig = Self { spec, applications: Vec::new(), case, calibration, part, number };
        let everywhere: Vec<_> =
            (0..HOSTS).flat_map(|host| (0..PCPUS).map(move |pcpu| (host, pcpu))).collect();
        match case.load {
            Load::Ep(class, count) => {
                (0..count).try_for_each(|nth| rig.add(false, class, &format!("EP {nth}"), &everywhere))?;
            }
            Load::Lu(class, count) => {
                (0..count).try_for_each(|nth| rig.add(true, class, &format!("LU {nth}"), &everywhere))?;
            }
            Load::Mixed(vms) | Load::Groups(vms) => {
                if matches!(case.load, Load::Mixed(_)) {
                    rig.add(true, Class::B, "LU", &everywhere)?;
                }
                for host in 0..HOSTS {
                    let places: Vec<_> = (0..vms).map(|vm| (host, vm % PCPUS)).collect();
                    rig.add(false, Class::D, &format!("EP {host}"), &places)?;
                }
            }
        }
        Ok(rig)
    }

    /// Adds an application with a VM at each of `places`: host and PCPU.
    fn add(&mut self, is_lu: bool, class: Class, name: &str, places: &[(u32, u32)]) -> Found<()> {
        let first = self.spec.domains.len() as u32;
        let programs = match is_lu {
            true => self.lu(class, places.len() as u32, ProcessId(first))?,
            false => self.ep(class, places.len() as u32, ProcessId(first))?,
        };
        let mut domains = Vec::new();
        for (program, (host, pcpu)) in programs.into_iter().zip(places) {
            let number = self.spec.domains.len();
            let mut domain = DomainSpec::new(format!("{name} on {host}.{pcpu}"), *host, vec![program]);
            domain.pins = vec![*pcpu];
            // The VMs of LU start together, because a rank can only send to ranks that exist.
            let order = if is_lu { u64::from(first) } else { number as u64 };
            domain.arrives_ns = self.number * (order * 7_919 + 3_331) % SPREAD_US * 1_000;
            domains.push(number);
            self.spec.domains.push(domain);
        }
        self.applications.push(Application { domains, is_lu });
        Ok(())
    }

    fn mpi(&self) -> Mpi {
        let wait = match self.case.variant {
            Variant::Blocking => Wait::Block,
            Variant::Turns { blocks: true, .. } => Wait::PollThenBlock(SPIN_NS),
            Variant::Turns { blocks: false, .. } => Wait::Poll,
            _ => match self.calibration.get("cs.poll") {
                long_us if long_us >= POLLS_ON_US => Wait::Poll,
                poll_us => Wait::PollThenBlock(1_000 * poll_us),
            },
        };
        let acknowledges = self.case.variant != Variant::NoAcknowledgements;
        Mpi { wait, acknowledges, ..Mpi::default() }
    }

    fn lu(&self, class: Class, processes: u32, first: ProcessId) -> Found<Vec<Box<dyn Program>>> {
        let usual = lu::Settings::new(class, processes);
        let iterations = (u64::from(usual.iterations) / self.part.lu).max(1) as u32;
        let point_ps = self.calibration.get("cs.point");
        Ok(lu::programs(&lu::Settings { iterations, point_ps, mpi: self.mpi(), ..usual }, first)?)
    }

    fn ep(&self, class: Class, processes: u32, first: ProcessId) -> Found<Vec<Box<dyn Program>>> {
        let pair_ps = (self.calibration.get("cs.pair") / self.part.ep).max(1);
        let usual = ep::Settings::new(class, processes);
        Ok(ep::programs(&ep::Settings { pair_ps, mpi: self.mpi(), ..usual }, first)?)
    }
}

fn host_of(case: Case, calibration: &Calibration, number: u32) -> HostSpec {
    let mut host = HostSpec::new(format!("host{number}"), PCPUS, case.scheduler.kind);
    if let Some(choice) = case.scheduler.choice {
        let ports = if case.variant == Variant::MorePorts { 4_096 } else { 1_024 };
        host.policy.settings.set("choice", Setting::Word(choice.into()));
        host.policy.settings.set("ports", Setting::Count(ports));
    }
    let turn_us = match case.variant {
        Variant::Turns { turn_us, .. } => turn_us,
        _ => calibration.get("cs.turn"),
    };
    host.policy.settings.set("quantum", Setting::Nanos(turn_us * 1_000));
    if let Variant::Dom0Slice(slice_us) = case.variant {
        host.dom0_settings.set("slice", Setting::Nanos(slice_us * 1_000));
    }
    // SEDF of Xen 4.1 puts a VCPU on the first PCPU that it may use.
    host.dom0_pins = vec![u32::from(case.variant == Variant::Dom0Apart)];
    host
}

fn costs(calibration: &Calibration, variant: Variant) -> Costs {
    let costs = calibration.costs("cs", Costs::default());
    if variant == Variant::NoResponses { Costs { response_ns: 0, ..costs } } else { costs }
}
