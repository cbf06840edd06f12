//! What came of a run, or why it ended early.

use std::fmt;
use std::time::Duration;

use paceline_kernel::{Digest, Time};
use thiserror::Error;

use crate::core::{Counts, Mailbox, ProcessId, Stuck};
use crate::rounds::RoundCounts;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// All processes have ended, but for daemons.
    Processes,
    /// The time up to which it was to run was reached.
    Horizon,
    /// Somebody stopped it.
    Interrupted,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Equal for equal runs, on whatever number of threads.
    pub digest: Digest,
    /// The simulated time at the end.
    pub end_time: Time,
    /// How it ended.
    pub ended_by: EndedBy,
    /// What happened.
    pub counts: Counts,
    /// How rounds were run.
    pub rounds: RoundCounts,
    /// Real time.
    pub wall: Duration,
    /// Mailboxes with messages that nobody has received, and how many.
    pub unreceived: Vec<(Mailbox, usize)>,
    /// Processes that have ended by a panic, with what it said, where that does not end the run.
    pub panicked: Vec<(ProcessId, String)>,
}

/// Why a run ended before its end.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RunError {
    /// Nothing can happen any more.
    #[error("at {time} nothing can happen any more; waiting: {}{}", counted(.stuck.len(), "process", "processes"), listed(.stuck))]
    Deadlock {
        /// When.
        time: Time,
        /// Who waits.
        stuck: Vec<Stuck>,
    },
    /// A process panicked.
    #[error("process {process} `{name}` panicked at {time}: {message}")]
    Panic {
        /// Which.
        process: ProcessId,
        /// Its name.
        name: String,
        /// When.
        time: Time,
        /// What the panic said.
        message: String,
    },
    /// A process waits for a future that does not belong to the simulation.
    #[error(
        "process {process} `{name}` waits at {time} for a future of something else; a process may only await what its `Process` handle offers"
    )]
    Strays {
        /// Which.
        process: ProcessId,
        /// Its name.
        name: String,
        /// When.
        time: Time,
    },
    /// A process was to run on a host that is not there.
    #[error("process `{name}` is to run on host {host}; there are {hosts} hosts, from 0")]
    NoHost {
        /// The process.
        name: String,
        /// The host.
        host: u32,
        /// How many there are.
        hosts: usize,
    },
    /// Threads could not be started.
    #[error("{0}")]
    Threads(String),
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The most processes that are listed.
const LISTED: usize = 20;

fn listed(stuck: &[Stuck]) -> impl fmt::Display {
    let mut lines: Vec<String> = stuck.iter().take(LISTED).map(|stuck| format!("\n  {stuck}")).collect();
    if stuck.len() > LISTED {
        lines.push(format!("\n  and {} more", stuck.len() - LISTED));
    }
    lines.concat()
}
