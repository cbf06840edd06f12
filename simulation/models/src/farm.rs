//! A farm: a master hands out tasks to workers on hosts that fail and are repaired. It is the usual first
//! example of a simulator of distributed applications (Casanova et al., 2014), with failures added.
//!
//! Workers report to the master when they are idle, and send results. The hosts of workers fail after
//! exponentially distributed times and are repaired after exponentially distributed times; a worker restarts
//! with its host. The master runs on a host that does not fail. The master learns that a task is lost when
//! its message fails, when its worker restarts, or when no result has arrived within a time limit. It then
//! hands the task to another worker.
//!
//! Invariant: each task counts as done exactly once, whatever fails; a duplicate result is only counted.

mod assignments;
mod failures;
mod master;
mod results;
mod settings;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_kernel::Time;
use paceline_network::{HostId, Network};
use paceline_processes::{Process, Simulation};
use paceline_results::Output;
use thiserror::Error;

/// Bytes of a message from a worker: that it is idle, or a result.
pub const ANSWER_BYTES: f64 = 100.0;

/// The farm and its parameters.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_models::farm::{Failing, Farm};
/// use paceline_network::Constant;
/// use paceline_processes::Simulation;
///
/// let failing = Failing { between_failures: Time::secs(60), repair: Time::secs(10) };
/// let farm = Farm { workers: 4, tasks: 100, flops: 10e9, failing: Some(failing), ..Farm::default() };
/// let mut simulation = Simulation::new(Constant::new(0.1), &[(1e9, 1); 5]);
/// let outcome = farm.spawn(&mut simulation, 5)?;
/// let report = simulation.run()?;
/// let count = |name| report.outputs.count(name);
/// assert_eq!((count("tasks_done"), outcome.results().iter().flatten().count()), (100, 100));
/// assert!(count("host_failures") > 0 && count("tasks_reassigned") > 0);
/// assert!(report.end_time > Time::secs(250), "25 tasks of 10 s for each worker, some of them more than once");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Farm {
    /// The number of workers, at least one.
    pub workers: u32,
    /// The number of tasks.
    pub tasks: u32,
    /// Flops of a task.
    pub flops: f64,
    /// Bytes of the message that takes a task to a worker.
    pub bytes: f64,
    /// The time after which a task without a result is handed to another worker. A task whose transfer takes
    /// longer is never done.
    pub limit: Time,
    /// How the workers' hosts fail; `None`: they do not.
    pub failing: Option<Failing>,
    /// Whether tasks and answers flow as soon as they are sent, and wait at the host of their receiver
    /// (SimGrid: permanent receivers). The master then learns that a task is lost by its time limit, or when
    /// the worker reports that it is idle, and a run can be divided among federates.
    pub permanent_receivers: bool,
}

/// How hosts fail: the means of two exponential distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failing {
    /// Mean time from a host's start or repair to its next failure.
    pub between_failures: Time,
    /// Mean time from a failure to the host's repair.
    pub repair: Time,
}

impl Default for Farm {
    fn default() -> Self {
        let (workers, tasks, limit) = (10, 1000, Time::secs(100));
        let (failing, permanent_receivers) = (None, false);
        Self { workers, tasks, flops: 1e9, bytes: 1e6, limit, failing, permanent_receivers }
    }
}

/// Why a farm cannot be run.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
pub enum FarmError {
    /// There is no host for workers beside the master's.
    #[error("a farm on {0} hosts; at least 2 are needed, one for the master and one for workers")]
    Hosts(u32),
}

paceline_kernel::debug_tells!(FarmError);

/// The messages between the workers and the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum Message {
    /// A worker is idle.
    Ready { worker: u32 },
    /// A worker has done a task, and is idle.
    Done { worker: u32, task: u32 },
    /// A task to do.
    Task { task: u32 },
}

/// What processes count: tasks whose result the master has; how often a task was given up as lost and queued
/// again; results of tasks that were already done; how often a host failed; and the computing time, in
/// nanoseconds, spent on tasks that was lost when hosts failed.
const DONE: &str = "tasks_done";
const REASSIGNED: &str = "tasks_reassigned";
const DUPLICATES: &str = "duplicate_results";
const FAILURES: &str = "host_failures";
const LOST_NS: &str = "lost_computing_ns";

/// When tasks were done. It grows while the simulation runs.
#[derive(Debug)]
pub struct Outcome {
    /// By task: when its first result arrived, in nanoseconds; [`u64::MAX`] if none has.
    done_ns: Vec<AtomicU64>,
}

impl Outcome {
    fn new(tasks: u32) -> Self {
        Self { done_ns: (0..tasks).map(|_| AtomicU64::new(u64::MAX)).collect() }
    }

    /// By task: when its first result arrived at the master.
    pub fn results(&self) -> Vec<Option<Time>> {
        let times = self.done_ns.iter().map(|ns| Time::nanos(ns.load(Ordering::Relaxed)));
        times.map(|time| Some(time).filter(|time| *time < Time::MAX)).collect()
    }
}

/// What all processes of a farm share; read-only during the run.
#[derive(Debug)]
struct Shared {
    farm: Farm,
    outcome: Arc<Outcome>,
}

impl Farm {
    /// The number of the master's mailbox; those of workers come before it.
    fn master(&self) -> u64 {
        u64::from(self.workers)
    }

    /// The number of hosts with workers, out of `hosts` hosts.
    fn hosts_of_workers(&self, hosts: u32) -> u32 {
        self.workers.min(hosts.saturating_sub(1))
    }

    /// The number of processes on `hosts` hosts at the start: the master, the workers, and one for each host
    /// that fails.
    pub fn processes(&self, hosts: u32) -> u32 {
        let failing = if self.failing.is_some() { self.hosts_of_workers(hosts) } else { 0 };
        1 + self.workers + failing
    }

    /// Adds the master on host 0, and the workers, dealt round-robin to the other hosts. The run ends when
    /// the master ends.
    pub fn spawn<N: Network>(
        &self,
        simulation: &mut Simulation<Message, N>,
        hosts: u32,
    ) -> Result<Arc<Outcome>, FarmError> {
        if hosts < 2 {
            return Err(FarmError::Hosts(hosts));
        }
        simulation.measure([DONE, REASSIGNED, DUPLICATES, FAILURES, LOST_NS].map(Output::count));
        let outcome = Arc::new(Outcome::new(self.tasks));
        let shared = Arc::new(Shared { farm: self.clone(), outcome: Arc::clone(&outcome) });
        let master = Arc::clone(&shared);
        let host_of = |worker: u32| HostId(1 + worker % (hosts - 1));
        if self.permanent_receivers {
            simulation.place(self.master(), HostId(0));
            (0..self.workers).for_each(|worker| simulation.place(u64::from(worker), host_of(worker)));
            let run = move |cx: Process<Message>| master::run_apart(cx, master);
            simulation.spawn("master", HostId(0), run);
        } else {
            simulation.spawn("master", HostId(0), move |cx: Process<Message>| master::run(cx, master));
        }
        for number in 0..self.workers {
            let shared = Arc::clone(&shared);
            let run = move |cx: Process<Message>| worker::run(cx, number, Arc::clone(&shared));
            simulation.spawn_restarting("worker", host_of(number), run);
        }
        if let Some(failing) = self.failing {
            for host in 1..=self.hosts_of_workers(hosts) {
                if self.permanent_receivers {
                    let run = move |cx: Process<Message>| failures::run_at_host(cx, failing);
                    simulation.spawn_restarting("failures", HostId(host), run);
                } else {
                    let run = move |cx: Process<Message>| failures::run(cx, HostId(host), failing);
                    simulation.spawn("failures", HostId(0), run);
                }
            }
        }
        Ok(outcome)
    }
}
