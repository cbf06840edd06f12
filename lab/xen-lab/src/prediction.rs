//! The simulated machine with the scenarios of the lab: its predictions, to be compared with Xen.
//!
//! It has the same domains, pins, programs, messages and work, and the policies that the plug-ins implement.
//! Costs are counted in instructions, of which the emulated machine takes 2 ns each: see `costs`. The
//! emulator gives one clock to both PCPUs in turn, so that two busy ones get half of it each: they are
//! modelled as siblings that share a core.
//!
//! Invariant: no cost depends on the policy.

pub mod side;
mod windows;

use paceline_machine::guests::class::Class;
use paceline_machine::guests::mpi::Mpi;
use paceline_machine::guests::rounds::{self, Pacing, Settings as Rounds};
use paceline_machine::guests::{ep, lu};
use paceline_machine::{
    Costs, DomainSpec, HostSpec, MachineError, MachineSpec, ProcessId, Program, Wait, run,
};
use paceline_policy::Setting;

use crate::sizes::{LU_CLASS, LU_RANKS, PCPUS, Parallel, Phold, ROUND_NS, ROUNDS_PER_MS};
use windows::windows;

/// A scheduler and its settings, as policies of the simulated machine are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    kind: &'static str,
    settings: Vec<(&'static str, Setting)>,
}

impl Policy {
    /// With the settings that policy and plug-in share by default.
    pub fn new(kind: &'static str) -> Self {
        Self { kind, settings: Vec::new() }
    }

    /// With one setting more.
    pub fn with(mut self, name: &'static str, setting: Setting) -> Self {
        self.settings.push((name, setting));
        self
    }

    fn host(&self) -> HostSpec {
        let mut host = HostSpec::new("xen", PCPUS, self.kind);
        host.smt = true;
        for (name, setting) in &self.settings {
            host.policy.settings.set(*name, setting.clone());
        }
        host
    }
}

/// The costs on the emulated machine.
///
/// A packet costs some ten thousand instructions per side in Linux, netfront and netback, many of them in
/// Xen: grant copies, and system calls of PV guests, which pass through it. To be scheduled for packets costs
/// more than each packet: an interrupt through Xen, and threads that it wakes; a guest that has to wait for
/// its PCPU finds several packets at once. A switch is cheap in comparison, because emulation has no caches
/// that become cold.
///
/// They were set by runs that are in no experiment: PHOLD of 200 windows whose guests block instead of
/// polling, on one PCPU. PSX schedules DOM0 for each packet at once, and took 0.553 s with 2 guests and 4.09
/// s with 8; credit2 lets packets pile up, and took 0.532 and 3.07 s. With these costs the simulated machine
/// takes 0.525, 4.10, 0.500 and 3.11 s.
fn costs() -> Costs {
    Costs {
        decision_ns: 4_000,
        examined_ps: 20_000,
        switch_ns: 4_000,
        migration_ns: 0,
        smt_permille: 500,
        page_write_ns: 4_000,
        send_ns: 40_000,
        response_ns: 0,
        receive_ns: 40_000,
        backend_ns: 20_000,
        event_ns: 60_000,
        nic_ns: 0,
        byte_ps: 500,
        ..Costs::default()
    }
}

/// The notes about a comparison, in every experiment.
pub fn notes() -> Vec<String> {
    vec![
        "Xen runs on an emulated machine, whose two PCPUs take turns on one core: each is half as fast while the other is busy. The \
         simulated machine has siblings of 50 % in their place, one cost for every packet, and one for coming to those that wait."
            .into(),
        "The factor says how far the simulated machine is from Xen: the greater of both by the smaller. Absolute times follow the \
         costs of packets, which were set once for all experiments; ratios of schedulers are what is predicted."
            .into(),
    ]
}

/// The binary logarithm of the pairs of EP's class S.
const EP_LOG_PAIRS: u32 = 24;

fn machine(policy: &Policy, domains: impl IntoIterator<Item = DomainSpec>) -> MachineSpec {
    MachineSpec {
        hosts: vec![policy.host()],
        domains: domains.into_iter().collect(),
        costs: costs(),
        ..MachineSpec::default()
    }
}

fn mpi() -> Mpi {
    Mpi { wait: Wait::Poll, acknowledges: false, ..Mpi::default() }
}

/// How long PHOLD takes on `guests` guests, in seconds. With `halves` the first half of them has twice the
/// work of the others.
pub fn phold(policy: &Policy, guests: usize, halves: bool, phold: Phold) -> Result<f64, MachineError> {
    let programs = windows(phold, guests as u32, halves, ROUNDS_PER_MS * ROUND_NS);
    let domains = programs.into_iter().enumerate();
    let domains =
        domains.map(|(place, program)| DomainSpec::new(format!("federate-{place}"), 0, vec![program]));
    Ok(run(machine(policy, domains))?.report.at_ns as f64 / 1e9)
}

/// The results of message rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundsOutcome {
    /// Rounds in a hundred in which the detour was faster.
    pub error: f64,
    /// How long a round took, in milliseconds.
    pub round_ms: f64,
}

/// The predicted results of message rounds between three guests.
pub fn message_rounds(policy: &Policy, vcpus: u32, rounds: u32) -> Result<RoundsOutcome, MachineError> {
    let settings =
        Rounds { rounds, pacing: Pacing::Barrier, mpi: mpi(), call_ns: 5_000, ..Rounds::default() };
    let programs = rounds::programs(&settings, ProcessId(0)).into_iter();
    let domains = programs.zip(["a", "b", "c"]);
    let domains =
        domains.map(|(program, name)| DomainSpec { vcpus, ..DomainSpec::new(name, 0, vec![program]) });
    let ran = run(machine(policy, domains))?;
    let errors = rounds::outcome(&*ran.programs[2]).map_or(0, |outcome| outcome.errors);
    Ok(RoundsOutcome {
        error: 100.0 * f64::from(errors) / f64::from(rounds),
        round_ms: ran.report.at_ns as f64 / 1e6 / f64::from(rounds),
    })
}

/// How long LU takes, and EP on average if there is any, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beside {
    /// Seconds from the start of LU to the end of its last rank.
    pub lu: f64,
    /// Mean seconds of the EP processes, each alone in a guest; none without EP.
    pub ep: Option<f64>,
}

/// LU on two guests, each on its PCPU, beside guests with EP on these PCPUs. DOM0 is on the first.
pub fn lu_beside_ep(policy: &Policy, pins: &[u32], sizes: Parallel) -> Result<Beside, MachineError> {
    let pinned = |name: String, pin: u32, program: Box<dyn Program>| DomainSpec {
        pins: vec![pin],
        ..DomainSpec::new(name, 0, vec![program])
    };
    let mut domains = Vec::new();
    let usual = lu::Settings::new(LU_CLASS, LU_RANKS);
    let point_ps = sizes.point_rounds * ROUND_NS * 1_000;
    let lu = lu::Settings { iterations: sizes.iterations, point_ps, mpi: mpi(), ..usual };
    for (rank, program) in lu::programs(&lu, ProcessId(0))?.into_iter().enumerate() {
        domains.push(pinned(format!("lu-{rank}"), rank as u32, program));
    }
    let work_ps = sizes.batches * sizes.batch_rounds * ROUND_NS * 1_000;
    for (place, pin) in pins.iter().enumerate() {
        // The time of a pair follows from EP's whole work.
        let pair_ps = work_ps >> EP_LOG_PAIRS;
        let ep = ep::Settings { pair_ps, mpi: mpi(), ..ep::Settings::new(Class::S, 1) };
        let first = ProcessId(LU_RANKS + place as u32);
        for program in ep::programs(&ep, first)? {
            domains.push(pinned(format!("ep-{place}"), *pin, program));
        }
    }
    let mut spec = machine(policy, domains);
    spec.hosts[0].dom0_pins = vec![0];
    let report = run(spec)?.report;
    let mut done = report.domains.iter().map(|domain| domain.done_ns.unwrap_or(report.at_ns) as f64 / 1e9);
    let lu = done.by_ref().take(LU_RANKS as usize).fold(0.0, f64::max);
    let eps: Vec<f64> = done.collect();
    let ep = (!eps.is_empty()).then(|| eps.iter().sum::<f64>() / eps.len() as f64);
    Ok(Beside { lu, ep })
}
