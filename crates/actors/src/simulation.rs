//! A simulation of processes, from settings to a report.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use paceline_kernel::{Rng, Time};
use paceline_network::{HostId, Network};

use crate::Process;
use crate::context::{ContextKind, OnThread};
use crate::control::Control;
use crate::core::{Core, ProcessId, Request, Step};
use crate::crew::{Coordination, Crew, Turning, Waiting};
use crate::desk::{Body, Make, Spawned};
use crate::report::{EndedBy, Report, RunError};
use crate::rounds::{Decider, RoundCounts, Rounds};
use crate::task::{Parts, Task, Turn, Turns, message};

/// What the panic of a process ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnPanic {
    /// The run.
    #[default]
    Run,
    /// Only the process.
    Process,
}

/// Processes on hosts with a network between them, and how they are run.
///
/// ```
/// use paceline_actors::{Rounds, Simulation};
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
/// # Ok::<(), paceline_actors::RunError>(())
/// ```
pub struct Simulation<P, N> {
    core: Core<P, N>,
    tasks: Vec<Option<Task>>,
    until: Time,
    seed: u64,
    threads: usize,
    rounds: Rounds,
    coordination: Coordination,
    waiting: Waiting,
    pin: bool,
    context: ContextKind,
    on_panic: OnPanic,
    control: Control,
    /// What was wrong when processes were spawned.
    failed: Option<RunError>,
    panicked: Vec<(ProcessId, String)>,
    /// What makes processes again that come back with their host.
    makes: BTreeMap<ProcessId, Make<P>>,
    /// The name given last: most processes are called like the one before.
    name: Arc<str>,
}

impl<P: Send + 'static, N: Network> Simulation<P, N> {
    /// A world at time 0: hosts with a speed in flops a second and a number of cores, and the network between them.
    pub fn new(network: N, hosts: &[(f64, u32)]) -> Self {
        Self {
            core: Core::new(network, hosts),
            tasks: Vec::new(),
            until: Time::MAX,
            seed: 1,
            threads: 1,
            rounds: Rounds::default(),
            coordination: Coordination::default(),
            waiting: Waiting::default(),
            pin: false,
            context: ContextKind::default(),
            on_panic: OnPanic::default(),
            control: Control::default(),
            failed: None,
            panicked: Vec::new(),
            makes: BTreeMap::new(),
            name: "".into(),
        }
    }

    /// Runs up to this time.
    pub fn until(mut self, until: Time) -> Self {
        self.until = until;
        self
    }

    /// Draws random numbers from this seed. To be said before processes are spawned.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Runs the code of processes on this many threads, where that pays.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// When a round runs on many threads.
    pub fn rounds(mut self, rounds: Rounds) -> Self {
        self.rounds = rounds;
        self
    }

    /// What the coordinating thread does while a round runs on many threads.
    pub fn coordination(mut self, coordination: Coordination) -> Self {
        self.coordination = coordination;
        self
    }

    /// How threads wait for each other.
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.waiting = waiting;
        self
    }

    /// Binds threads to cores.
    pub fn pin(mut self, pin: bool) -> Self {
        self.pin = pin;
        self
    }

    /// On what the code of processes runs. To be said before processes are spawned.
    pub fn context(mut self, context: ContextKind) -> Self {
        self.context = context;
        self
    }

    /// What the panic of a process ends.
    pub fn on_panic(mut self, on_panic: OnPanic) -> Self {
        self.on_panic = on_panic;
        self
    }

    /// Watches and stops the run through `control`.
    pub fn control(mut self, control: &Control) -> Self {
        self.control = control.clone();
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
        self.add(
            name,
            host,
            Spawned::Once(Box::new(move |cx| Box::pin(async move { body(cx).await }) as Body)),
        )
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

    fn add(&mut self, name: &str, host: HostId, spawned: Spawned<P>) -> ProcessId {
        let hosts = self.core.hosts();
        if host.0 as usize >= hosts {
            self.failed.get_or_insert(RunError::NoHost { name: name.into(), host: host.0, hosts });
            return ProcessId(u32::MAX);
        }
        if *self.name != *name {
            self.name = name.into();
        }
        let id = self.core.spawn(host, Arc::clone(&self.name));
        self.attach(id, spawned);
        id
    }

    /// Gives a process of the core its code.
    fn attach(&mut self, id: ProcessId, spawned: Spawned<P>) {
        let (name, host) = self.core.about(id);
        let cx = Process::new(id, host, Arc::clone(name));
        let body = match spawned {
            Spawned::Once(body) => body(cx),
            Spawned::Again(make) => {
                self.core.request(id, Request::RestartWithHost);
                let own = Arc::clone(&make);
                self.makes.insert(id, make);
                // Not before its turn.
                Box::pin(async move { own(cx).await })
            }
        };
        let body = match self.context {
            ContextKind::Future => body,
            ContextKind::Thread => Box::pin(OnThread::new(body)),
        };
        let task = Task::new(id, Rng::new(self.seed, self.core.identity(id)), body);
        let place = id.0 as usize;
        if self.tasks.len() <= place {
            self.tasks.resize_with(place + 1, || None);
        }
        self.tasks[place] = Some(task);
    }

    /// Runs all processes, until all of them but daemons have ended, or up to the horizon.
    pub fn run(mut self) -> Result<Report, RunError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let start = Instant::now();
        let crew = Crew::start(self.threads, self.coordination, self.waiting, self.pin);
        let crew = crew.map_err(|error| RunError::Threads(format!("{} threads: {error}", self.threads)))?;
        let (counts, ended_by) = self.work(crew.as_ref())?;
        let Self { core, panicked, .. } = self;
        Ok(Report {
            digest: core.digest(),
            end_time: core.now(),
            ended_by,
            counts: core.counts(),
            rounds: counts,
            wall: start.elapsed(),
            unreceived: core.unreceived(),
            panicked,
        })
    }

    /// Round after round, some of them by the `crew`, where there is one.
    fn work(&mut self, crew: Option<&Crew<P>>) -> Result<(RoundCounts, EndedBy), RunError> {
        let mut decider = Decider::new(if crew.is_some() { self.rounds } else { Rounds::Never });
        let (mut round, mut running, mut turns) = (Vec::new(), Vec::new(), Turns::new());
        let mut counts = RoundCounts::default();
        loop {
            match self.core.next_round(self.until, &mut round) {
                Step::Round => {}
                Step::Ended => return Ok((counts, EndedBy::Processes)),
                Step::Horizon => return Ok((counts, EndedBy::Horizon)),
                Step::Deadlock(stuck) => return Err(RunError::Deadlock { time: self.core.now(), stuck }),
            }
            counts.largest = counts.largest.max(round.len() as u64);
            counts.shared_steps += if round.len() > 1 { round.len() as u64 } else { 0 };
            let kind = self.core.kind(round[0]);
            let how = decider.decide(round.len(), kind);
            let start = how.timed.then(Instant::now);
            match crew.filter(|_| how.parallel) {
                Some(crew) => {
                    counts.parallel_rounds += 1;
                    counts.parallel_steps += round.len() as u64;
                    self.run_together(crew, &round, &mut running, &mut turns);
                }
                None => self.run_in_turn(&round, &mut turns),
            }
            if let Some(start) = start {
                decider.took(round.len(), kind, how.parallel, start.elapsed().as_nanos() as f64);
            }
            let Parts { requests, spawned, ends } = turns.parts();
            let (mut requests, mut spawned, mut before) = (requests.drain(..), spawned.drain(..), 0);
            for (id, (turn, end)) in round.iter().zip(ends.drain(..)) {
                let own = requests.by_ref().take(end - std::mem::replace(&mut before, end));
                self.hand_in(*id, own, &mut spawned);
                if !matches!(turn, Turn::Waits) {
                    self.settle(*id, turn)?;
                }
            }
            drop((requests, spawned));
            self.clear_away();
            self.control.went_on(self.core.now(), self.core.counts().steps);
            if self.control.stopped() {
                return Ok((counts, EndedBy::Interrupted));
            }
        }
    }

    /// Lets all of a round go on, one after the other.
    fn run_in_turn(&mut self, round: &[ProcessId], turns: &mut Turns<P>) {
        let now = self.core.now();
        for id in round {
            let task = self.tasks[id.0 as usize].as_mut().expect("who is in a round has code");
            turns.run(task, now, self.core.answer(*id));
        }
    }

    /// Lets all of a round go on, on many threads.
    fn run_together(
        &mut self,
        crew: &Crew<P>,
        round: &[ProcessId],
        running: &mut Vec<Turning<P>>,
        turns: &mut Turns<P>,
    ) {
        let now = self.core.now();
        for id in round {
            let task = self.tasks[id.0 as usize].take().expect("who is in a round has code");
            running.push((task, self.core.answer(*id)));
        }
        crew.run(now, running, turns);
        for (id, (task, _)) in round.iter().zip(running.drain(..)) {
            self.tasks[id.0 as usize] = Some(task);
        }
    }

    /// A process does not wait, after its turn.
    fn settle(&mut self, id: ProcessId, turn: Turn) -> Result<(), RunError> {
        match turn {
            Turn::Waits => unreachable!("who waits is not settled"),
            Turn::Ended => self.core.end(id),
            Turn::Strays => {
                let name = self.core.about(id).0.to_string();
                return Err(RunError::Strays { process: id, name, time: self.core.now() });
            }
            Turn::Panicked(panic) => {
                let message = message(&*panic);
                if self.on_panic == OnPanic::Run {
                    let (name, time) = (self.core.about(id).0.to_string(), self.core.now());
                    return Err(RunError::Panic { process: id, name, time, message });
                }
                self.panicked.push((id, message));
                self.core.end(id);
            }
        }
        self.dismiss(id);
        Ok(())
    }

    /// Hands in what a process has asked for.
    fn hand_in(
        &mut self,
        id: ProcessId,
        requests: impl Iterator<Item = Request<P>>,
        spawned: &mut impl Iterator<Item = Spawned<P>>,
    ) {
        for request in requests {
            let code = if matches!(request, Request::Spawn { .. }) { spawned.next() } else { None };
            let child = self.core.request(id, request);
            if let Some((child, code)) = child.zip(code) {
                self.attach(child, code);
            }
        }
    }

    /// A process has ended: its code is dropped, what it holds is let go, and its hooks are called.
    fn dismiss(&mut self, id: ProcessId) {
        let Some(mut task) = self.tasks[id.0 as usize].take() else { return };
        let mut turns = Turns::new();
        turns.drop_body(&mut task);
        let Parts { requests, spawned, .. } = turns.parts();
        self.hand_in(id, requests.drain(..), &mut spawned.drain(..));
        task.into_hooks().into_iter().rev().for_each(|hook| hook());
    }

    /// Ends the code of processes that others have ended, and starts those that have come back.
    fn clear_away(&mut self) {
        loop {
            let (killed, restarted) = (self.core.take_killed(), self.core.take_restarted());
            if killed.is_empty() && restarted.is_empty() {
                return;
            }
            for (before, after) in restarted {
                if let Some(make) = self.makes.remove(&before) {
                    self.attach(after, Spawned::Again(make));
                }
            }
            killed.into_iter().for_each(|id| self.dismiss(id));
        }
    }
}
