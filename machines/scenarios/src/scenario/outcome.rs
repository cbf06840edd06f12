//! The outcome of a scenario under a policy.
//!
//! Invariant: everything except the measured speed of the simulation follows from the scenario and the
//! policy.

use std::ops::Range;

use paceline_kernel::Digest;
use paceline_machine::guests::{mpi, rounds};
use paceline_machine::{DomainReport, MachineError, Program, Report};
use paceline_results::Summary;
use thiserror::Error;

use super::domains::Group;
use super::federates::Simulated;
use super::workload::Workload;

/// The outcome of a scenario under a policy.
#[derive(Debug)]
pub struct Outcome {
    /// The name of the policy of all hosts.
    pub policy: &'static str,
    /// The machine's report.
    pub report: Report,
    /// When each domain came.
    pub arrives_ns: Vec<u64>,
    /// By group of domains, in the order of the file.
    pub workloads: Vec<WorkloadOutcome>,
}

/// The outcome of a group of domains.
#[derive(Debug)]
pub struct WorkloadOutcome {
    /// The group's name.
    pub name: String,
    /// Its workload, as in [`super::WORKLOADS`].
    pub kind: &'static str,
    /// Whether the run has ended without waiting for it.
    pub background: bool,
    /// Its domains, as indices of [`Report::domains`].
    pub domains: Range<usize>,
    /// From the arrival of its first domain until its last process was done; `None` if one was not.
    pub run_ns: Option<u64>,
    /// The model's digest, of federates that are done.
    pub digest: Option<Digest>,
    /// The workload's own results.
    pub summary: Summary,
}

/// Why there is no outcome.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum OutcomeError {
    /// The machine could not continue.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A program in a guest has failed.
    #[error("{workload}: {problem}")]
    Workload { workload: String, problem: String },
}

impl Outcome {
    /// How unequally the domains of a workload shared the PCPUs: 1 - Jain's fairness index of their CPU
    /// times; 0 if all had the same.
    pub fn unfairness(&self, workload: &WorkloadOutcome) -> f64 {
        let domains = self.report.domains[workload.domains.clone()].to_vec();
        Report { domains, hosts: Vec::new(), ..self.report.clone() }.unfairness()
    }

    /// The part of the PCPU time of a workload in which its processes only polled.
    pub fn polling_share(&self, workload: &WorkloadOutcome) -> f64 {
        share(self.sum(workload, |domain| domain.polled_ns), self.sum(workload, |domain| domain.ran_ns))
    }

    /// The part of their time that the VCPUs of a workload waited for a PCPU, as a part of the time in which
    /// they could have run.
    pub fn waiting_share(&self, workload: &WorkloadOutcome) -> f64 {
        let waited_ns = self.sum(workload, |domain| domain.waited_ns);
        share(waited_ns, waited_ns + self.sum(workload, |domain| domain.ran_ns))
    }

    fn sum(&self, workload: &WorkloadOutcome, of: fn(&DomainReport) -> u64) -> u64 {
        self.report.domains[workload.domains.clone()].iter().map(of).sum()
    }

    /// From the arrival of a domain until its last process was done, in nanoseconds; `None` if it was not.
    pub fn run_ns(&self, domain: usize) -> Option<u64> {
        Some(self.report.domains[domain].done_ns? - self.arrives_ns[domain])
    }

    /// The number of times that a PCPU switched to another VCPU, on all hosts.
    pub fn switches(&self) -> u64 {
        self.report.hosts.iter().map(|host| host.switches).sum()
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The outcome of a group whose domains are `domains` of the machine and whose processes ran `programs`.
pub(super) fn of_group(
    group: &Group,
    domains: Range<usize>,
    report: &Report,
    programs: Vec<Box<dyn Program>>,
) -> Result<WorkloadOutcome, OutcomeError> {
    let done = report.domains[domains.clone()].iter().map(|domain| domain.done_ns);
    // The last of them, if all are done.
    let done_ns = done.collect::<Option<Vec<_>>>().and_then(|done| done.into_iter().max());
    let mut outcome = WorkloadOutcome {
        name: group.name.clone(),
        kind: group.workload.kind().name(),
        background: group.is_background(),
        domains,
        run_ns: done_ns.map(|done_ns| done_ns - group.arrives_ns()),
        digest: None,
        summary: Summary::default(),
    };
    match &group.workload {
        Workload::Hog { .. } => {}
        Workload::Federates(federates) => {
            let simulated = federates
                .finish(programs)
                .map_err(|problem| OutcomeError::Workload { workload: group.name.clone(), problem })?;
            if let Some(Simulated { digest, summary }) = simulated {
                (outcome.digest, outcome.summary) = (Some(digest), summary);
            }
        }
        Workload::Rounds(_) => {
            if let Some(found) = programs.iter().find_map(|program| rounds::outcome(&**program)) {
                outcome.summary.line("rounds", found.ended_ns.len() as u64);
                outcome.summary.line("unit_errors", found.errors);
                outcome.summary.line("overtaken", found.overtaken);
            }
            tell_messages(&mut outcome.summary, &programs);
        }
        Workload::Ep(_) | Workload::Lu(_) => tell_messages(&mut outcome.summary, &programs),
    }
    Ok(outcome)
}

fn tell_messages(summary: &mut Summary, programs: &[Box<dyn Program>]) {
    let tallies: Vec<_> = programs.iter().filter_map(|program| mpi::tally(&**program)).collect();
    summary.line("messages", tallies.iter().map(|tally| tally.messages).sum::<u64>());
    summary.line("sent_bytes", tallies.iter().map(|tally| tally.bytes).sum::<u64>());
    let computed_ns: u64 = tallies.iter().map(|tally| tally.computed_ns).sum();
    summary.line("computed_s", computed_ns as f64 / 1e9);
}
