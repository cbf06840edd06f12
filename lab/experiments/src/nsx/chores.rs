//! DOM0's own work: ticks of its kernel, daemons, the desktop.
//!
//! The machine's DOM0 only carries packets. So its work comes as packets: another machine on the network
//! sends them at random times, DOM0 receives each one, for a domain that has left, and their size corresponds
//! to the length of DOM0's work. They reach no guest.
//!
//! Invariant: what DOM0 has to do depends on the calibration and the seed only.

use paceline_kernel::Rng;
use paceline_machine::{
    DomainSpec, Guest, HostSpec, LinkSpec, MachineSpec, Op, Outgoing, ProcessId, Program,
};

use crate::prelude::*;

/// A stream of random numbers that no other code uses.
const STREAM: u64 = 1_000;

/// Gives DOM0 of the first host its own work. Domains and processes are appended.
pub fn add(spec: &mut MachineSpec, calibration: &Calibration, seed: u64) {
    let processes: usize = spec.domains.iter().map(|domain| domain.processes.len()).sum();
    let sender = Chores {
        rng: Rng::new(seed, STREAM),
        gap_ns: calibration.get("nsx.dom0_gap"),
        bytes: calibration.get("nsx.dom0_work") * 1_000 / spec.costs.byte_ps.max(1),
        to: ProcessId(processes as u32 + 1),
        slept: false,
    };
    spec.hosts.push(HostSpec::new("network", 1, "round-robin"));
    spec.links.push(LinkSpec { from: 0, to: 1, latency_ns: 1_000, bits_per_second: 1_000_000_000_000 });
    let from = DomainSpec::new("network", 1, vec![Box::new(sender)]);
    spec.domains.push(DomainSpec { background: true, ..from });
    let gone = DomainSpec::new("gone", 0, vec![Box::new(Nobody)]);
    spec.domains.push(DomainSpec { background: true, leaves_ns: Some(1), ..gone });
}

#[derive(Debug)]
struct Chores {
    rng: Rng,
    gap_ns: u64,
    bytes: u64,
    to: ProcessId,
    /// Whether its last operation was to sleep.
    slept: bool,
}

impl Program for Chores {
    fn next(&mut self, _guest: &mut Guest<'_>) -> Op {
        self.slept = !self.slept;
        if self.slept {
            return Op::Sleep(1 + self.rng.below(2 * self.gap_ns));
        }
        let bytes = 1 + self.rng.below(2 * self.bytes + 1);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Op::Send(Outgoing { to: self.to, bytes, payload: Box::new(()) })
    }

    fn waits_for(&self) -> String {
        "nothing".into()
    }
}

#[derive(Debug)]
struct Nobody;

impl Program for Nobody {
    fn next(&mut self, _guest: &mut Guest<'_>) -> Op {
        Op::Done
    }

    fn waits_for(&self) -> String {
        "nothing".into()
    }
}
