//! What came of a run, or why it ended early.
//!
//! `simulation/run.rs` and `federates.rs` fill it; `simulation/app/src/processes/summary.rs` shows it.

use std::fmt;
use std::io;
use std::time::Duration;

use paceline_engine::EndedBy;
use paceline_kernel::{Digest, PanicNote, Time};
use paceline_results::{Column, OutputError, Outputs, Summary};
use thiserror::Error;

use crate::core::{Counts, Mailbox, ProcessId, Reach, ResourceStatistics, RoundCounts, Stuck};

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Equal for equal runs, on whatever number of threads.
    pub digest: Digest,
    /// The simulated time at the end.
    pub end_time: Time,
    /// Why it ended; never [`EndedBy::NoEvents`].
    pub ended_by: EndedBy,
    /// Rounds, resumptions, messages and processes.
    pub counts: Counts,
    /// How rounds were run.
    pub rounds: RoundCounts,
    /// Into how many federates the world was dealt.
    pub federates: u32,
    /// Windows of simulated time in which these ran side by side.
    pub windows: u64,
    /// Real time that the run took, from its call to its end.
    pub wall: Duration,
    /// The share of one thread's time that the code of rounds of several processes takes, from 0 to 1: all
    /// that many threads can divide. Measured, of small rounds by a part of them; of rounds that ran on
    /// many threads it is the most that one thread would take. Zero in a run on federates.
    pub parallel_share: f64,
    /// Mailboxes with messages that were not received, and their number.
    pub unreceived: Vec<(Mailbox, usize)>,
    /// What processes have measured, up to the end.
    pub outputs: Outputs,
    /// Statistics of the resources, stores and containers that keep them, up to the end: by name, and those
    /// of one name in the order in which they were made.
    pub resources: Vec<ResourceStatistics>,
    /// Processes that have ended by a panic, with what it said, where that does not end the run.
    pub panicked: Vec<(ProcessId, String)>,
}

impl Report {
    /// What processes have measured, as lines and tables; where there are resources, with `resources.csv`.
    pub fn summary(&self) -> Summary {
        let mut summary = self.outputs.summary();
        if !self.resources.is_empty() {
            let resources = self.resources.clone();
            summary.table("resources.csv", RESOURCES, move |to| {
                resources.iter().try_for_each(|resource| write_resource(resource, to))
            });
        }
        summary
    }

    /// Statistics of the first resource of this name.
    pub fn resource(&self, name: &str) -> Option<&ResourceStatistics> {
        self.resources.iter().find(|statistics| statistics.name.as_deref() == Some(name))
    }
}

const RESOURCES: &[Column] = &[
    Column::texts("name"),
    Column::integers("host"),
    Column::reals("utilisation"),
    Column::reals("mean_level"),
    Column::reals("mean_waiting"),
    Column::integers("most_waiting"),
    Column::reals("mean_wait_s"),
    Column::integers("requested"),
    Column::integers("granted"),
    Column::integers("reneged"),
    Column::integers("balked"),
    Column::integers("preempted"),
];

fn write_resource(resource: &ResourceStatistics, to: &mut dyn io::Write) -> io::Result<()> {
    let ResourceStatistics { name, host, counts, most_waiting, .. } = resource;
    // A name with a comma or a quotation mark in it is one cell all the same.
    let name = name.as_deref().unwrap_or_default().replace('"', "\"\"");
    let reals = [resource.utilisation, resource.mean_level, resource.mean_waiting];
    let [utilisation, level, waiting] = reals.map(cell);
    writeln!(
        to,
        "\"{name}\",{host},{utilisation},{level},{waiting},{most_waiting},{},{},{},{},{},{}",
        cell(resource.waits.mean_s()),
        counts.requested,
        counts.granted,
        counts.reneged,
        counts.balked,
        counts.preempted,
    )
}

/// A number of a table, where there is one.
fn cell(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// How many times faster than on one thread a run can be on `threads` threads at most, if a share of its
/// time, from 0 to 1, is divided among them and the rest is not (Amdahl, 1967).
///
/// ```
/// use paceline_processes::amdahl_bound;
/// assert_eq!((amdahl_bound(0.0, 8), amdahl_bound(0.5, 2), amdahl_bound(1.0, 8)), (1.0, 4.0 / 3.0, 8.0));
/// ```
pub fn amdahl_bound(share: f64, threads: u32) -> f64 {
    1.0 / (1.0 - share + share / f64::from(threads.max(1)))
}

/// Why a run ended before its end.
#[derive(Clone, PartialEq, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum RunError {
    /// Nothing can happen any more.
    #[error("deadlock at {time}; waiting: {}{}", counted(.stuck.len(), "process", "processes"), listed(.stuck))]
    Deadlock { time: Time, stuck: Vec<Stuck> },
    /// A process panicked.
    #[error("process {process} `{name}` on host {host} panicked at {time}{}: {}", place(.note), .note.message)]
    Panic { process: ProcessId, name: String, host: u32, time: Time, note: PanicNote },
    /// A process waits for a future that does not belong to the simulation.
    #[error(
        "process {process} `{name}` waits at {time} for a future of something else; a process may only await what its `Process` handle offers"
    )]
    Strays { process: ProcessId, name: String, time: Time },
    /// A process measured what cannot be measured.
    #[error("process {process} `{name}` at {time}: {error}")]
    Output { process: ProcessId, name: String, time: Time, error: OutputError },
    /// Two outputs have one name.
    #[error("output `{name}` is declared twice; allowed: a name for each")]
    MeasuredTwice { name: &'static str },
    /// A process was to run on a host that is not there.
    #[error("process `{name}` cannot run on host {host}; there are {hosts} hosts, from 0")]
    NoHost { name: String, host: u32, hosts: usize },
    /// A mailbox was to stand at a host that is not there.
    #[error("{name} cannot be at host {host}; there are {hosts} hosts, from 0")]
    NoPlace {
        /// The mailbox, in words for people.
        name: String,
        host: u32,
        hosts: usize,
    },
    /// On federates, a process acted at once on another host than its own.
    #[error(
        "process {process} `{name}` on host {host} {reach} at {time}; in a run on federates only messages to mailboxes that stand at a host reach other hosts"
    )]
    ReachedOut {
        process: ProcessId,
        name: String,
        host: u32,
        time: Time,
        /// What it did to the other host.
        reach: Reach,
    },
    /// There cannot be so many federates.
    #[error("{federates} federates; allowed: from 1 to the number of hosts, which is {hosts}")]
    Federates { federates: u32, hosts: usize },
    /// Messages between hosts may take no time, so that federates cannot run side by side.
    #[error("a run on federates needs a network on which messages between hosts take time: at least 4 ns")]
    NoLatency,
    /// Rounds cannot be observed where several run at a time.
    #[error("rounds are not observed in a run on federates")]
    Observed,
    /// The engine under the federates could not run.
    #[error("{0}")]
    Engine(String),
    /// Threads could not be started.
    #[error("{0}")]
    Threads(String),
}

paceline_kernel::debug_tells!(RunError);

/// Where in the source a panic was raised, if that is known.
fn place(note: &PanicNote) -> String {
    note.place.as_ref().map_or_else(String::new, |place| format!(", in {place}"))
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
