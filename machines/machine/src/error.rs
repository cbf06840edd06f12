//! The errors of a simulated machine: why it cannot run, and why it cannot continue, as in a deadlock.

use paceline_policy::PolicyError;
use thiserror::Error;

/// A process that cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The name of its domain.
    pub domain: String,
    /// Its number within the domain.
    pub process: u32,
    /// What it waits for.
    pub waits_for: String,
}

/// Why a machine cannot run, or cannot continue. Either way the run is over: nothing of it is reported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum MachineError {
    /// A value in the spec that is not allowed.
    #[error("{what} cannot be {value}; allowed: {allowed}")]
    BadSpec { what: String, value: String, allowed: String },
    /// The policy of a host refuses its settings or a domain.
    #[error("{place}: {source}")]
    Policy {
        /// Host or domain.
        place: String,
        source: PolicyError,
    },
    /// Two domains on hosts that no link joins.
    #[error("a process of {from} sends to a process of {to}, but no link joins their hosts")]
    NoLink { from: String, to: String },
    /// A message to a process that does not exist.
    #[error("a process of {from} sends to process {to}; there are {processes}")]
    NoProcess { from: String, to: u32, processes: u32 },
    /// No process can ever continue.
    #[error("deadlock at {at_ns} ns: {}", list_waiting(waiting))]
    Deadlock {
        at_ns: u64,
        /// The processes that wait, and what each waits for.
        waiting: Vec<Waiting>,
    },
    /// A process that does more and more in no time.
    #[error("process {process} of {domain} runs forever at {at_ns} ns: none of its operations takes time")]
    Endless { domain: String, process: u32, at_ns: u64 },
}

/// At most eight of the processes, so that the text stays readable where thousands wait.
fn list_waiting(waiting: &[Waiting]) -> String {
    const MOST: usize = 8;
    let shown = waiting.iter().take(MOST);
    let mut parts: Vec<_> = shown
        .map(|Waiting { domain, process, waits_for }| {
            format!("process {process} of {domain} waits for {waits_for}")
        })
        .collect();
    if waiting.len() > MOST {
        parts.push(format!("and {} more", waiting.len() - MOST));
    }
    parts.join("; ")
}
