//! The run: round after round, until all processes have ended, or up to the horizon.
//!
//! Invariants: the core answers the requests of a round in the order of the round, wherever the code of its
//! processes ran; a process that has ended has no task.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::core::{Core, Decider, Numbered, ProcessId, Request, RoundCounts, Rounds, Step, WaitEnd};
use paceline_kernel::{PanicNote, Rng, Time};
use paceline_network::Network;

use super::{Added, Observer, OnPanic, Settings};
use crate::Process;
use crate::context::{ContextKind, OnCoroutine, OnThread};
use crate::control::Stepping;
use crate::crew::{Crew, Turning};
use crate::desk::{Beginning, Hook, Make, Spawned};
use crate::meter::Meter;
use crate::report::RunError;
use crate::round::RoundRecord;
use crate::standstill::Standstill;
use crate::task::{Task, Turn, Turns};
use crate::watchdog::{Stall, Watch};
use paceline_engine::EndedBy;

/// A run, or the part of one that is in a federate.
pub(crate) struct Run<P, N> {
    pub(crate) core: Core<P, N>,
    /// The code of the processes, by number.
    pub(super) tasks: Numbered<Task>,
    /// While it runs on many threads.
    pub(super) crew: Option<Arc<Crew<P>>>,
    pub(crate) settings: Settings,
    observer: Option<Observer>,
    /// For the observer: processes that others have ended since the last round.
    killed: Vec<ProcessId>,
    /// For the observer: how the waits of those in the round have ended.
    outcomes: Vec<WaitEnd>,
    /// Processes that have panicked: when, which, with what identity, and what they said.
    pub(crate) panicked: Vec<(Time, ProcessId, u64, String)>,
    /// What makes processes again that come back with their host.
    makes: BTreeMap<ProcessId, Make<P>>,
    /// What is to be done when processes have ended, in the order in which they asked for it.
    pub(super) hooks: BTreeMap<ProcessId, Vec<Hook>>,
    pub(crate) counts: RoundCounts,
    decider: Decider,
    pub(crate) meter: Meter,
    pub(super) watch: Watch,
    standstill: Standstill,
    pub(super) stepping: Stepping,
    /// Between rounds: memory for the next.
    round: Vec<ProcessId>,
    turns: Option<Turns<P>>,
    /// Between ends of processes, the same.
    pub(super) ending: Option<Turns<P>>,
}

/// When the code of a round began, how long it took in all, and whether several threads ran it.
#[derive(Clone, Copy)]
struct Coded {
    begin: Instant,
    code: Duration,
    is_parallel: bool,
}

impl<P: Send + 'static, N: Network> Run<P, N> {
    /// A run of this world, which has no processes yet; their numbers begin at `first`.
    pub(crate) fn new(
        mut core: Core<P, N>,
        first: u32,
        settings: Settings,
        observer: Option<Observer>,
        watch: Watch,
    ) -> Self {
        core.gather(settings.outputs());
        let threads = settings.threads;
        Self {
            core,
            tasks: Numbered::from(first),
            crew: None,
            settings,
            observer,
            killed: Vec::new(),
            outcomes: Vec::new(),
            panicked: Vec::new(),
            makes: BTreeMap::new(),
            hooks: BTreeMap::new(),
            counts: RoundCounts::default(),
            decider: Decider::new(Rounds::Never),
            meter: Meter::new(threads, Instant::now()),
            watch,
            standstill: Standstill::default(),
            stepping: Stepping::No,
            round: Vec::new(),
            turns: None,
            ending: None,
        }
    }

    /// Gives a process of the core its code.
    fn attach(&mut self, id: ProcessId, spawned: Spawned<P>) {
        let (name, host) = self.core.about(id);
        self.watch.know(id, name, host);
        let cx = Process::new(id, host, name.clone());
        let mut code = match spawned {
            Spawned::Once(code) => code,
            Spawned::Again(make) => {
                self.core.request(id, Request::RestartWithHost);
                self.makes.insert(id, Arc::clone(&make));
                Beginning::new(move |cx| make(cx))
            }
        };
        code.give(cx);
        let body = match self.settings.context {
            ContextKind::Future => Box::into_pin(code as Box<dyn Future<Output = ()> + Send>),
            ContextKind::Coroutine => Box::pin(OnCoroutine::<P>::new(code.whole())),
            ContextKind::Thread => Box::pin(OnThread::new(code.whole())),
        };
        let task = Task::new(id, Rng::new(self.settings.seed, self.core.identity(id)), body);
        self.tasks.put(id.0, task);
    }

    /// A process is there when the run begins, under this number in the world.
    pub(crate) fn add(&mut self, number: u64, added: Added<P>) {
        let id = self.core.spawn_as(added.host, added.name, number);
        self.attach(id, added.code);
    }

    /// Runs all processes, on as many threads as there are to be.
    pub(super) fn run_on_crew(&mut self) -> Result<EndedBy, RunError> {
        let Settings { threads, rounds, pin, until, .. } = self.settings;
        if threads > 1 {
            self.decider = Decider::new(rounds);
            // In many worlds no round is worth a second thread: there none is started.
            if rounds != Rounds::Auto || pin {
                self.start_crew()?;
            }
        }
        self.work(until)
    }

    fn start_crew(&mut self) -> Result<(), RunError> {
        let Settings { threads, coordination, waiting, pin, .. } = self.settings;
        let crew = Crew::start(threads, coordination, waiting, pin);
        let crew = crew.map_err(|error| RunError::Threads(format!("{threads} threads: {error}")))?;
        crew.iter().for_each(|crew| crew.watch(&self.watch));
        self.crew = crew.map(Arc::new);
        Ok(())
    }

    /// Round after round up to `until`, some of them by the crew, where there is one.
    pub(crate) fn work(&mut self, until: Time) -> Result<EndedBy, RunError> {
        let (mut round, mut running) = (std::mem::take(&mut self.round), Vec::new());
        let mut turns = self.turns.take().unwrap_or_else(|| {
            let mut turns = Turns::new();
            turns.watch(&self.watch);
            turns
        });
        let ended = self.rounds(until, &mut round, &mut running, &mut turns);
        (self.round, self.turns) = (round, Some(turns));
        ended
    }

    fn rounds(
        &mut self,
        until: Time,
        round: &mut Vec<ProcessId>,
        running: &mut Vec<Turning<P>>,
        turns: &mut Turns<P>,
    ) -> Result<EndedBy, RunError> {
        let mut crew = self.crew.clone();
        loop {
            let step = self.core.next_round(until, round);
            // Hosts have perhaps gone or come back meanwhile.
            self.clear_away()?;
            match step {
                Step::Round => {}
                Step::Ended => return Ok(EndedBy::Processes),
                Step::Horizon => return Ok(EndedBy::Horizon),
                Step::Deadlock(stuck) => return Err(RunError::Deadlock { time: self.core.now(), stuck }),
            }
            let (rounds, coded) = match round[..] {
                [process] if self.is_plain() => (self.run_alone(process, turns)?, None),
                _ => (1, self.run_round(&mut crew, round, running, turns)?),
            };
            self.clear_away()?;
            self.check_outputs()?;
            self.observe(round, coded);
            if let Some(rounds) = self.standstill.rounds(rounds, self.core.now(), self.settings.stall.0) {
                self.report_standstill(round[0], rounds);
            }
            self.settings.control.went_on(self.core.now(), self.core.counts().steps);
            // Who has reached out may try again in this instant, for ever.
            if self.settings.control.stopped() || self.core.reached_out().is_some() {
                return Ok(EndedBy::Interrupted);
            }
        }
    }

    /// Runs the code of all processes of a round, by the crew where that is worth it or where they are at
    /// home there, and hands in what it asks for. Says in what time, if anybody wants to know. Where there is
    /// no crew yet and it is worth one, it is started.
    fn run_round(
        &mut self,
        crew: &mut Option<Arc<Crew<P>>>,
        round: &[ProcessId],
        running: &mut Vec<Turning<P>>,
        turns: &mut Turns<P>,
    ) -> Result<Option<Coded>, RunError> {
        let counts = &mut self.counts;
        counts.largest = counts.largest.max(round.len() as u64);
        counts.shared_steps += if round.len() > 1 { round.len() as u64 } else { 0 };
        let kind = self.core.kind(round[0]);
        let how = self.decider.decide(round.len(), kind);
        let is_parallel = how.parallel && self.stepping == Stepping::No;
        if is_parallel && crew.is_none() {
            self.start_crew()?;
            crew.clone_from(&self.crew);
        }
        let is_metered = self.meter.wants(round.len(), is_parallel);
        let is_timed = how.timed || is_metered || self.observer.is_some();
        if is_parallel {
            self.counts.parallel_rounds += 1;
            self.counts.parallel_steps += round.len() as u64;
        }
        if self.observer.is_some() {
            self.outcomes.clear();
            self.outcomes.extend(round.iter().map(|id| self.core.outcome(*id)));
        }
        let begin = is_timed.then(Instant::now);
        let code = self.run_batches(crew.as_deref(), round, is_parallel, is_timed, (running, turns))?;
        if how.timed {
            self.decider.took(round.len(), kind, is_parallel, code.as_nanos() as f64);
        }
        if is_metered {
            self.meter.took(round.len(), is_parallel, code);
        }
        Ok(begin.map(|begin| Coded { begin, code, is_parallel }))
    }

    /// Whether somebody is shown the rounds.
    pub(super) fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    /// Shows a round to the observer.
    fn observe(&mut self, processes: &[ProcessId], coded: Option<Coded>) {
        if let Some((observer, Coded { begin, code, is_parallel })) = self.observer.as_mut().zip(coded) {
            observer(&RoundRecord {
                time: self.core.now(),
                processes,
                outcomes: &self.outcomes,
                is_parallel,
                start: begin - self.meter.begun,
                code,
                answers: begin.elapsed().saturating_sub(code),
                killed: &self.killed,
                world: &self.core,
            });
            self.killed.clear();
        }
    }

    /// Whether a process measured what is not declared.
    fn check_outputs(&self) -> Result<(), RunError> {
        let Some((process, error)) = self.core.misused_output() else { return Ok(()) };
        let name = self.core.try_about(*process).map_or_else(String::new, |(name, _)| name.to_string());
        Err(RunError::Output { process: *process, name, time: self.core.now(), error: error.clone() })
    }

    /// A process was in the latest of so many rounds at one time.
    fn report_standstill(&self, process: ProcessId, rounds: u64) {
        if let Some(listener) = &self.settings.stall.1 {
            let (name, host) = self.core.about(process);
            let (name, time, rounds) = (name.clone(), self.core.now(), Some(rounds));
            listener(&Stall { process, name, host, time, rounds });
        }
    }

    /// A process does not wait, after its turn.
    pub(super) fn settle(&mut self, id: ProcessId, turn: Turn) -> Result<(), RunError> {
        match turn {
            Turn::Waits => unreachable!("who waits is not settled"),
            Turn::Ended => {
                self.makes.remove(&id);
                self.core.end(id);
            }
            Turn::Strays => {
                let name = self.core.about(id).0.to_string();
                return Err(RunError::Strays { process: id, name, time: self.core.now() });
            }
            Turn::Panicked(panic) => {
                self.panicked(id, *panic)?;
                self.makes.remove(&id);
                self.core.end(id);
            }
        }
        self.dismiss(id)
    }

    /// A process, or what it had done at its end, has panicked: that is noted, where it does not end the run.
    pub(super) fn panicked(&mut self, id: ProcessId, note: PanicNote) -> Result<(), RunError> {
        let ((name, host), time) = (self.core.about(id), self.core.now());
        if self.settings.on_panic == OnPanic::Run {
            return Err(RunError::Panic { process: id, name: name.to_string(), host: host.0, time, note });
        }
        let place = note.place.map_or_else(String::new, |place| format!(" ({place})"));
        self.panicked.push((time, id, self.core.identity(id), format!("{}{place}", note.message)));
        Ok(())
    }

    /// Hands in what a process has asked for.
    pub(super) fn hand_in(
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

    /// Ends the code of processes that others have ended, and starts those that have come back.
    #[inline]
    fn clear_away(&mut self) -> Result<(), RunError> {
        if self.core.has_news() { self.clear_some_away() } else { Ok(()) }
    }

    fn clear_some_away(&mut self) -> Result<(), RunError> {
        while self.core.has_news() {
            let (killed, restarted) = (self.core.take_killed(), self.core.take_restarted());
            for (before, after) in restarted {
                if let Some(make) = self.makes.remove(&before) {
                    self.attach(after, Spawned::Again(make));
                }
            }
            if self.observer.is_some() {
                self.killed.extend(&killed);
            }
            for id in killed {
                if !self.makes.is_empty() && !self.core.comes_back(id) {
                    self.makes.remove(&id);
                }
                self.dismiss(id)?;
            }
        }
        Ok(())
    }
}
