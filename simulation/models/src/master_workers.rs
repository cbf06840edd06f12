//! Master and workers, the program of SimGrid's tutorial ("Simulating Distributed Algorithms"), placed on a
//! platform by a deployment file: a master deals computations to workers in turn, and sends each worker a
//! stop when all are dealt.
//!
//! Two functions are known. `master TASKS FLOPS BYTES WORKER...` sends TASKS tasks of BYTES bytes and FLOPS
//! flops each to the named mailboxes in turn. `worker` receives from the mailbox that has the name of its
//! host, and computes. SimGrid's examples have a second form: `worker NUMBER` receives from the mailbox
//! `worker-NUMBER`, and where workers have numbers, `master TASKS FLOPS BYTES COUNT` sends to the mailboxes
//! `worker-0` to `worker-(COUNT - 1)`.
//!
//! An actor with a `kill_time` is ended then if it still runs. A task that is stopped by a failure of a host
//! or link is lost, and counted. A worker whose stop message is lost waits on; a run that ends like this
//! names it.

mod results;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use paceline_kernel::Time;
use paceline_network::{Actor, Deployment, HostId, Network, OnFailure, Platform, ReadError};
use paceline_processes::{Process, Simulation};
use paceline_results::Output;
use thiserror::Error;

/// A message: a computation of this many flops, or `None` to stop.
pub type Task = Option<f64>;

#[derive(Clone, Debug, PartialEq)]
enum Role {
    Master { tasks: u64, flops: f64, bytes: f64, workers: Vec<String> },
    Worker { mailbox: String },
}

#[derive(Clone, Debug, PartialEq)]
struct Placed {
    host: HostId,
    start: Time,
    kill: Option<Time>,
    restarts: bool,
    role: Role,
}

/// Masters and workers on the hosts of a platform.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_models::master_workers::MasterWorkers;
/// use paceline_network::{FlowModel, read};
/// use paceline_processes::Simulation;
///
/// let text = r#"<platform version="4.1"><zone id="z" routing="Full">
///     <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <link id="wire" bandwidth="1MBps"/>
///     <route src="a" dst="b"><link_ctn id="wire"/></route>
/// </zone></platform>"#;
/// let platform = read("demo.xml", text, &mut |_| Err("there are no other files".into()))?;
/// let text = r#"<platform version="4.1">
///     <actor host="a" function="master">
///         <argument value="3"/> <argument value="1e9"/> <argument value="0"/> <argument value="b"/>
///     </actor>
///     <actor host="b" function="worker"/>
/// </platform>"#;
/// let program = MasterWorkers::read("deployment.xml", text, &platform)?;
/// let mut simulation = Simulation::on_platform(&platform, FlowModel::CM02);
/// program.spawn(&mut simulation);
/// let report = simulation.run()?;
/// let [done, lost] = ["tasks_done", "tasks_lost"].map(|name| report.outputs.count(name));
/// assert_eq!((report.end_time, done, lost), (Time::secs(3), 3, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MasterWorkers {
    actors: Vec<Placed>,
    permanent_receivers: bool,
}

impl MasterWorkers {
    /// Reads a deployment of these two functions on a platform. `name` is the file's name for messages.
    pub fn read(name: &str, text: &str, platform: &Platform) -> Result<Self, ReadError> {
        let Deployment { actors } = Deployment::read(name, text, platform)?;
        if actors.is_empty() {
            let (problem, allowed) = ("a deployment without actors".to_owned(), FUNCTIONS.to_owned());
            return Err(ReadError { file: name.to_owned(), line: 1, column: 1, problem, allowed });
        }
        let numbered = actors.iter().any(|actor| actor.function == "worker" && !actor.arguments.is_empty());
        let time = |seconds: f64| Time::nanos((seconds * 1e9).round() as u64);
        let place = |actor: &Actor| {
            Ok(Placed {
                host: actor.host,
                start: time(actor.start),
                kill: actor.kill.map(time),
                restarts: actor.on_failure == OnFailure::Restart,
                role: role(actor, platform, numbered)?,
            })
        };
        let place = |actor: &Actor| {
            place(actor).map_err(|(problem, allowed): Mistake| {
                let (line, column) = actor.place;
                ReadError { file: name.to_owned(), line, column, problem, allowed: allowed.to_owned() }
            })
        };
        let actors = actors.iter().map(place).collect::<Result<_, _>>()?;
        Ok(Self { actors, permanent_receivers: false })
    }

    /// Makes workers permanent receivers of their mailboxes (SimGrid's `set_receiver`): a task flows to its
    /// worker as soon as it is sent, and waits there, and the master goes on when it has arrived. So the run
    /// can be divided among federates. Otherwise a task flows when its worker receives.
    ///
    /// Tasks that are sent are counted then as well: what waits at a worker whose host fails is neither done
    /// nor counted as lost.
    pub fn with_permanent_receivers(mut self) -> Result<Self, SharedMailboxError> {
        let mut hosts = BTreeMap::new();
        let shared =
            self.receivers().find(|(mailbox, host)| *hosts.entry(*mailbox).or_insert(*host) != *host);
        if let Some((mailbox, _)) = shared {
            return Err(SharedMailboxError(mailbox.to_owned()));
        }
        self.permanent_receivers = true;
        Ok(self)
    }

    /// The mailboxes of workers, each with the host of one who receives from it.
    fn receivers(&self) -> impl Iterator<Item = (&str, HostId)> {
        self.actors.iter().filter_map(|placed| match &placed.role {
            Role::Worker { mailbox } => Some((mailbox.as_str(), placed.host)),
            Role::Master { .. } => None,
        })
    }

    /// The number of processes.
    pub fn actors(&self) -> u32 {
        self.actors.len() as u32
    }

    /// Adds all processes, which count tasks that workers have computed, and those that were lost: that did
    /// not reach a worker, or that it did not finish, because a host or a link was off.
    pub fn spawn<N: Network>(&self, simulation: &mut Simulation<Task, N>) {
        simulation.measure([DONE, LOST].map(Output::count));
        if self.permanent_receivers {
            simulation.measure([Output::count(SENT)]);
            self.receivers().for_each(|(mailbox, host)| simulation.place(mailbox, host));
        }
        for placed in &self.actors {
            let (name, host, restarts) = (placed.role.name(), placed.host, placed.restarts);
            let (placed, counts_sent) = (Arc::new(placed.clone()), self.permanent_receivers);
            let make = move |cx| live(cx, Arc::clone(&placed), counts_sent);
            match restarts {
                true => simulation.spawn_restarting(name, host, make),
                false => simulation.spawn(name, host, make),
            };
        }
    }
}

impl Role {
    fn name(&self) -> &'static str {
        match self {
            Self::Master { .. } => "master",
            Self::Worker { .. } => "worker",
        }
    }
}

/// Workers cannot be permanent receivers: those of two hosts receive from this mailbox.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("workers of two hosts receive from mailbox `{0}`, which can stand at one of them only")]
pub struct SharedMailboxError(pub String);

paceline_kernel::debug_tells!(SharedMailboxError);

/// What is wrong, and what is allowed instead.
type Mistake = (String, &'static str);

const FUNCTIONS: &str = "master with arguments TASKS FLOPS BYTES WORKER..., and worker without arguments; or master with \
                         TASKS FLOPS BYTES COUNT, and worker with its NUMBER";
/// The most workers of a master.
const MOST_WORKERS: u32 = 1 << 20;
/// What processes count.
const DONE: &str = "tasks_done";
const LOST: &str = "tasks_lost";
const SENT: &str = "tasks_sent";

/// The role of an actor; `numbered` where workers have numbers.
fn role(actor: &Actor, platform: &Platform, numbered: bool) -> Result<Role, Mistake> {
    let Actor { function, arguments, host, .. } = actor;
    match (function.as_str(), &arguments[..]) {
        ("worker", []) => Ok(Role::Worker { mailbox: platform.hosts()[host.0 as usize].name.clone() }),
        ("worker", [number]) => {
            let number: u32 = number.parse().map_err(|_| {
                (format!("`{number}` as the number of a worker"), "a whole number from 0, or no argument")
            })?;
            Ok(Role::Worker { mailbox: format!("worker-{number}") })
        }
        ("worker", _) => Err((format!("a worker with {} arguments", arguments.len()), FUNCTIONS)),
        ("master", [tasks, flops, bytes, workers @ ..]) if !workers.is_empty() => Ok(Role::Master {
            tasks: tasks.parse().map_err(|_| {
                (format!("`{tasks}` as the number of tasks of a master"), "a whole number from 0")
            })?,
            flops: amount(flops, "flops")?,
            bytes: amount(bytes, "bytes")?,
            workers: match workers {
                [count] if numbered => numbered_workers(count)?,
                names => names.to_vec(),
            },
        }),
        ("master", _) => Err((format!("a master with {} arguments", arguments.len()), FUNCTIONS)),
        _ => Err((format!("there is no function `{function}`"), FUNCTIONS)),
    }
}

/// The mailboxes of so many workers that have numbers.
fn numbered_workers(count: &str) -> Result<Vec<String>, Mistake> {
    let count: u32 =
        count.parse().ok().filter(|count| (1..=MOST_WORKERS).contains(count)).ok_or_else(|| {
            (format!("`{count}` as the number of workers of a master"), "a whole number from 1 to 1048576")
        })?;
    Ok((0..count).map(|number| format!("worker-{number}")).collect())
}

fn amount(text: &str, what: &str) -> Result<f64, Mistake> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| (format!("`{text}` as the {what} of a task of a master"), "a finite number from 0"))
}

async fn live(cx: Process<Task>, placed: Arc<Placed>, counts_sent: bool) {
    // An actor that comes back with its host after the time of its end lives on, as in SimGrid.
    if let Some(kill) = placed.kill.filter(|kill| *kill > cx.now()) {
        let (actor, host) = (cx.id(), cx.host());
        let end = move |cx: Process<Task>| async move {
            // The run does not wait for this.
            cx.daemonize();
            cx.sleep_until(kill).await;
            cx.kill(actor);
        };
        cx.spawn("kill_time", host, end).await.expect("the host that it runs on is on");
    }
    cx.sleep_until(placed.start).await;
    match &placed.role {
        Role::Master { tasks, flops, bytes, workers } => {
            for (_, worker) in (0..*tasks).zip(workers.iter().cycle()) {
                if counts_sent {
                    cx.count(SENT, 1);
                }
                if cx.send(worker.as_str(), Some(*flops), *bytes).await.is_err() {
                    cx.count(LOST, 1);
                }
            }
            for worker in workers {
                // A worker that does not receive this waits on; the end of the run names it.
                let _ = cx.send(worker.as_str(), None, 0.0).await;
            }
        }
        Role::Worker { mailbox } => {
            let computes = Arc::new(AtomicBool::new(false));
            let (open, worker) = (Arc::clone(&computes), cx.clone());
            // This runs when the host fails.
            cx.on_exit(move || worker.count(LOST, u64::from(open.load(Ordering::Relaxed))));
            loop {
                match cx.receive(mailbox.as_str()).await {
                    Ok(Some(flops)) => {
                        computes.store(true, Ordering::Relaxed);
                        let done = cx.compute(flops).await.is_ok();
                        computes.store(false, Ordering::Relaxed);
                        cx.count(if done { DONE } else { LOST }, 1);
                    }
                    Ok(None) => return,
                    // The master counts tasks that do not arrive.
                    Err(_) => {}
                }
            }
        }
    }
}
