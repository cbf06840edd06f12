//! A simulation of processes: how it is set up and run.
//!
//! What is set here changes nothing of the results, but for the horizon, the seed, where mailboxes stand, and
//! what a panic ends. The run itself is in `run`; who watches its rounds gets a [`RoundRecord`].

mod alone;
mod asked;
mod batches;
mod measuring;
mod platform;
pub(crate) mod run;
mod turns;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_kernel::Time;
use paceline_network::{HostId, Network};
use paceline_results::Output;

use crate::Process;
use crate::context::{self, ContextKind};
use crate::control::Control;
use crate::core::{Core, Mailbox, Name, ProcessId, Profiles, ResourceId, ResourceSpec, Rounds};
use crate::crew::{Coordination, Waiting};
use crate::desk::{Beginning, Body, Spawned};
use crate::report::{Report, RunError};
use crate::round::RoundRecord;
use crate::watchdog::{ExitListener, ProgramExit, Stall, StallListener, Watchdog};
use run::Run;

/// The observer of rounds.
type Observer = Box<dyn FnMut(&RoundRecord<'_>) + Send>;

/// What the panic of a process ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnPanic {
    /// The run ends with an error that names the process.
    #[default]
    Run,
    /// Only the process ends; all others go on.
    Process,
}

/// Processes on hosts with a network between them, and how they are run.
///
/// ```
/// use paceline_processes::{Rounds, Simulation};
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
///
/// let mut simulation = Simulation::new(Constant::new(1.0), &[(1e9, 4)]);
/// for number in 0..10 {
///     simulation.spawn("sleeper", HostId(0), async move |cx| {
///         cx.sleep(Time::secs(number)).await;
///         cx.send_detached("list", number, 0.0);
///     });
/// }
/// let report = simulation.threads(2).rounds(Rounds::Auto).until(Time::secs(5)).run()?;
/// assert_eq!((report.end_time, report.unreceived[0].1), (Time::secs(5), 6));
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
pub struct Simulation<P, N> {
    pub(crate) network: N,
    pub(crate) hosts: Vec<(f64, u32)>,
    /// What hosts follow.
    pub(crate) profiles: Profiles,
    pub(crate) placed: Vec<(Mailbox, HostId)>,
    pub(crate) added: Vec<Added<P>>,
    /// Resources that are there when the run begins.
    pub(crate) resources: Vec<(ResourceId, ResourceSpec)>,
    pub(crate) settings: Settings,
    pub(crate) observer: Option<Observer>,
    /// Into how many federates the world is dealt, if it is, and what runs it then.
    pub(crate) federates: Option<(u32, OnFederates<P, N>)>,
    /// What was wrong when processes were spawned.
    failed: Option<RunError>,
    /// The name given last: most processes are called like the one before.
    name: Name,
}

/// Runs a simulation on so many federates.
type OnFederates<P, N> = fn(Simulation<P, N>, u32) -> Result<Report, RunError>;

/// A process that is there when the run begins.
pub(crate) struct Added<P> {
    pub(crate) name: Name,
    pub(crate) host: HostId,
    pub(crate) code: Spawned<P>,
}

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) until: Time,
    pub(crate) seed: u64,
    pub(crate) outputs: Vec<Output>,
    pub(crate) threads: usize,
    pub(crate) rounds: Rounds,
    pub(crate) coordination: Coordination,
    pub(crate) waiting: Waiting,
    pub(crate) pin: bool,
    pub(crate) context: ContextKind,
    pub(crate) on_panic: OnPanic,
    /// The real time that a turn may take, and the function that is called when it takes longer.
    pub(crate) stall: (Duration, Option<StallListener>),
    pub(crate) on_exit: ExitListener,
    pub(crate) control: Control,
    /// From when on what is measured counts.
    pub(crate) measure_from: Time,
}

impl<P: Send + 'static, N: Network> Simulation<P, N> {
    /// A world at time 0: hosts with a speed in flops a second and a number of cores, and the network between
    /// them.
    pub fn new(network: N, hosts: &[(f64, u32)]) -> Self {
        let settings = Settings {
            until: Time::MAX,
            seed: 1,
            outputs: Vec::new(),
            threads: 1,
            rounds: Rounds::default(),
            coordination: Coordination::default(),
            waiting: Waiting::default(),
            pin: false,
            context: ContextKind::default(),
            on_panic: OnPanic::default(),
            stall: (Duration::from_secs(1), None),
            on_exit: ExitListener::default(),
            control: Control::default(),
            measure_from: Time::ZERO,
        };
        let (placed, added, name) = (Vec::new(), Vec::new(), "".into());
        let (observer, federates, failed) = (None, None, None);
        let hosts = hosts.to_vec();
        let profiles = Profiles::default();
        let resources = Vec::new();
        Self {
            network,
            hosts,
            profiles,
            placed,
            added,
            resources,
            settings,
            observer,
            federates,
            failed,
            name,
        }
    }

    /// Runs up to this time. What happens at it still happens, unlike at the horizon of a model of LPs.
    ///
    /// ```
    /// use paceline_kernel::Time;
    /// use paceline_network::{Constant, HostId};
    /// use paceline_processes::Simulation;
    ///
    /// let ends = |until| {
    ///     let mut simulation = Simulation::<(), _>::new(Constant::new(0.0), &[(1e9, 1)]).until(until);
    ///     simulation.spawn("sleeper", HostId(0), async |cx| cx.sleep(Time::secs(3)).await);
    ///     simulation.run().map(|report| report.ended_by)
    /// };
    /// assert_ne!(ends(Time::secs(3))?, paceline_processes::EndedBy::Horizon);
    /// assert_eq!(ends(Time::secs(3) - Time::TICK)?, paceline_processes::EndedBy::Horizon);
    /// # Ok::<(), paceline_processes::RunError>(())
    /// ```
    pub fn until(mut self, until: Time) -> Self {
        self.settings.until = until;
        self
    }

    /// Draws random numbers from this seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Runs the code of processes on this many threads, where that pays.
    pub fn threads(mut self, threads: usize) -> Self {
        self.settings.threads = threads.max(1);
        self
    }

    /// When a round runs on many threads.
    pub fn rounds(mut self, rounds: Rounds) -> Self {
        self.settings.rounds = rounds;
        self
    }

    /// What the coordinating thread does while a round runs on many threads.
    pub fn coordination(mut self, coordination: Coordination) -> Self {
        self.settings.coordination = coordination;
        self
    }

    /// How threads wait for each other.
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.settings.waiting = waiting;
        self
    }

    /// Binds threads to cores.
    pub fn pin(mut self, pin: bool) -> Self {
        self.settings.pin = pin;
        self
    }

    /// On what the code of processes runs.
    pub fn context(mut self, context: ContextKind) -> Self {
        self.settings.context = context;
        self
    }

    /// What the panic of a process ends.
    pub fn on_panic(mut self, on_panic: OnPanic) -> Self {
        self.settings.on_panic = on_panic;
        self
    }

    /// Has `listener` called during the run with every process that keeps its thread for a second of real
    /// time or more (on a thread of its own), and with one that resumes again and again for three seconds
    /// at one simulated time.
    pub fn on_stall(mut self, listener: impl Fn(&Stall) + Send + Sync + 'static) -> Self {
        self.settings.stall.1 = Some(Arc::new(listener));
        self
    }

    /// Has `listener` called where the code of a process ends the whole program, by calling `exit`, on the
    /// thread that does so, before the program is gone.
    pub fn on_program_exit(mut self, listener: impl Fn(&ProgramExit) + Send + Sync + 'static) -> Self {
        self.settings.on_exit = ExitListener(Some(Arc::new(listener)));
        self
    }

    /// Watches and stops the run through `control`.
    pub fn control(mut self, control: &Control) -> Self {
        self.settings.control = control.clone();
        self
    }

    /// Calls `observer` after each round. Without an observer, rounds are not timed.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// use paceline_kernel::Time;
    /// use paceline_network::{Constant, HostId};
    /// use paceline_processes::Simulation;
    ///
    /// static TURNS: AtomicUsize = AtomicUsize::new(0);
    /// let simulation = Simulation::<(), _>::new(Constant::new(1.0), &[(1e9, 1)]);
    /// let mut simulation = simulation.observe(|round| drop(TURNS.fetch_add(round.processes.len(), Relaxed)));
    /// for _ in 0..3 {
    ///     simulation.spawn("sleeper", HostId(0), async |cx| cx.sleep(Time::secs(1)).await);
    /// }
    /// let report = simulation.run()?;
    /// assert_eq!((report.counts.rounds, TURNS.load(Relaxed)), (2, 6));
    /// # Ok::<(), paceline_processes::RunError>(())
    /// ```
    pub fn observe(mut self, observer: impl FnMut(&RoundRecord<'_>) + Send + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Adds a process; all that are added before the run start at time 0.
    pub fn spawn<F>(
        &mut self,
        name: &str,
        host: HostId,
        body: impl FnOnce(Process<P>) -> F + Send + 'static,
    ) -> ProcessId
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.add(name, host, Spawned::Once(Beginning::new(body)))
    }

    /// Adds a process that starts again, from the beginning, when its host comes back.
    pub fn spawn_restarting<F>(
        &mut self,
        name: &str,
        host: HostId,
        body: impl Fn(Process<P>) -> F + Send + Sync + 'static,
    ) -> ProcessId
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.add(name, host, Spawned::Again(Arc::new(move |cx| Box::pin(body(cx)) as Body)))
    }

    /// Has a mailbox stand at a host: messages to it flow there as soon as they are sent, and wait there to
    /// be received, by processes on that host only. A send is complete when the message arrives. What has
    /// arrived is lost when the host goes off, and so is what comes while it is off. SimGrid calls it a
    /// mailbox with a permanent receiver. With a matched one, all stand there that have its receiver.
    ///
    /// ```
    /// use paceline_kernel::Time;
    /// use paceline_network::{Constant, HostId};
    /// use paceline_processes::Simulation;
    ///
    /// let mut simulation = Simulation::new(Constant::new(1.0), &[(1e9, 1), (1e9, 1)]);
    /// simulation.place("door", HostId(1));
    /// simulation.spawn("visitor", HostId(0), async |cx| {
    ///     cx.send("door", "hello", 5.0).await.unwrap();
    ///     assert_eq!(cx.now(), Time::secs(1));
    /// });
    /// simulation.spawn("host", HostId(1), async |cx| {
    ///     cx.sleep(Time::secs(60)).await;
    ///     assert_eq!((cx.receive("door").await, cx.now()), (Ok("hello"), Time::secs(60)));
    /// });
    /// simulation.run()?;
    /// # Ok::<(), paceline_processes::RunError>(())
    /// ```
    pub fn place(&mut self, mailbox: impl Into<Mailbox>, host: HostId) {
        let (mailbox, hosts) = (mailbox.into(), self.hosts.len());
        if host.0 as usize >= hosts {
            let name = mailbox.to_string();
            self.failed.get_or_insert(RunError::NoPlace { name, host: host.0, hosts });
            return;
        }
        self.placed.push((mailbox, host));
    }

    fn add(&mut self, name: &str, host: HostId, code: Spawned<P>) -> ProcessId {
        let hosts = self.hosts.len();
        if host.0 as usize >= hosts {
            self.failed.get_or_insert(RunError::NoHost { name: name.into(), host: host.0, hosts });
            return ProcessId(u32::MAX);
        }
        if *self.name != *name {
            self.name = name.into();
        }
        self.added.push(Added { name: self.name.clone(), host, code });
        ProcessId(self.added.len() as u32 - 1)
    }

    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// The number of processes added so far.
    pub fn processes(&self) -> u32 {
        self.added.len() as u32
    }

    /// Runs all processes, until all of them but daemons have ended, or up to the horizon.
    pub fn run(mut self) -> Result<Report, RunError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        if let Some((federates, run)) = self.federates.take() {
            return run(self, federates);
        }
        let start = Instant::now();
        let _outer = context::set_aside();
        let mut core = Core::new(self.network, &self.hosts);
        core.follow(self.profiles);
        self.placed.into_iter().for_each(|(mailbox, host)| core.place(&mailbox, host));
        core.measure_from(self.settings.measure_from);
        self.resources.into_iter().for_each(|(id, spec)| core.make(id, spec));
        let watchdog = Watchdog::start(self.settings.stall.clone(), self.settings.on_exit.clone());
        let mut run = Run::new(core, 0, self.settings, self.observer, watchdog.watch(0));
        self.added.reverse();
        let mut number = 0;
        while let Some(added) = self.added.pop() {
            run.add(number, added);
            number += 1;
            if self.added.len() < self.added.capacity() / 2 {
                // While processes come into being, what is known of them before goes.
                self.added.shrink_to_fit();
            }
        }
        let control = run.settings.control.clone();
        let attending = control.exchange().attend();
        let ended_by = run.run_on_crew()?;
        drop(attending);
        let wall = start.elapsed();
        let Run { mut core, counts, panicked, meter, .. } = run;
        let resources = core.statistics(core.now()).into_iter().map(|(_, statistics)| statistics).collect();
        let mut outputs = core.outputs(core.now());
        outputs.end(core.now());
        Ok(Report {
            outputs,
            digest: core.digest(),
            end_time: core.now(),
            ended_by,
            counts: core.counts(),
            rounds: counts,
            federates: 1,
            windows: 0,
            wall,
            parallel_share: meter.share(wall),
            unreceived: core.unreceived(),
            resources,
            panicked: panicked.into_iter().map(|(_, process, _, message)| (process, message)).collect(),
        })
    }
}
