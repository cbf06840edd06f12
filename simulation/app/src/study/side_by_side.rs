//! The runs of a study side by side: each lane takes the next run that is needed, runs it in a process, and
//! keeps its row in the journal before it takes another.
//!
//! Invariant: a row is in the journal, on the disk, before it counts. Where it cannot be kept, no further run
//! begins, and those that run try to keep theirs.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use paceline_engine::RunError;
use paceline_kernel::catch;
use paceline_scenario::ScenarioError;
use paceline_study::Study;
use paceline_study::course::{Course, Wanted};
use paceline_study::journal::{Journal, Rows};
use paceline_study::row::{Row, Status, metric_names};

use super::child::{self, Answer, Lifelines};
use super::plan::Plan;
use crate::failure::CommandError;
use crate::progress::Progress;

/// The runs of a study.
#[derive(Debug)]
pub struct Runs<'p> {
    plan: &'p Plan,
    shared: Arc<Shared>,
    lifelines: Arc<Lifelines>,
}

/// What is shared with who looks at them.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stopped: AtomicBool,
}

#[derive(Debug)]
struct State {
    course: Course,
    rows: Rows,
    /// Those to be run though they have a row.
    again: BTreeSet<String>,
    journal: Journal,
    /// The metric of the stop rule, once a run has ended.
    metric: Option<String>,
    /// Rows that were added.
    new: usize,
    /// Runs that are needed and have a row.
    settled: u64,
    /// Of these, those that have failed.
    failed: usize,
    running: u32,
    failure: Option<CommandError>,
}

/// What the runs have come to.
#[derive(Debug)]
pub struct Done {
    /// All rows.
    pub rows: Rows,
    /// How many replications of each point are needed.
    pub targets: Vec<u32>,
    /// How many rows are new.
    pub new: usize,
    /// Whether it was asked to stop.
    pub is_stopped: bool,
    /// Why it ended before its end.
    pub failure: Option<CommandError>,
}

/// Stops the runs of a study.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Shared>, Arc<Lifelines>);

impl Stopper {
    /// Ends all runs, and lets no other begin.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::SeqCst);
        self.1.cut();
        // Nobody is between looking whether it is stopped and waiting.
        drop(self.0.state());
        self.0.changed.notify_all();
    }
}

/// Looks at the runs of a study from another thread.
#[cfg(feature = "live")]
#[derive(Clone, Debug)]
pub struct Looker(Arc<Shared>);

/// How far the runs of a study are.
#[cfg(feature = "live")]
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub points: usize,
    /// Runs that are needed as far as is known, and of these those that have a row.
    pub needed: u64,
    pub settled: u64,
    /// Rows that were added, and rows of runs that have failed.
    pub new: usize,
    pub failed: usize,
    pub running: u32,
    pub is_stopped: bool,
}

#[cfg(feature = "live")]
impl Looker {
    /// How far they are.
    pub fn standing(&self) -> Standing {
        let state = self.0.state();
        let targets = state.course.targets();
        Standing {
            points: targets.len(),
            needed: targets.iter().copied().map(u64::from).sum::<u64>().max(state.settled),
            settled: state.settled,
            new: state.new,
            failed: state.failed,
            running: state.running,
            is_stopped: self.0.is_stopped(),
        }
    }

    /// How many replications of each point are needed, and all rows.
    pub fn rows(&self) -> (Vec<u32>, Rows) {
        let state = self.0.state();
        (state.course.targets().to_vec(), state.rows.clone())
    }
}

/// How many runs are side by side where each has so many threads.
pub fn room(threads: u32) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get) as u32;
    (cores / threads.max(1)).max(1)
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

impl<'p> Runs<'p> {
    /// Those that `course` asks for and that have no row yet, or are to be run `again`.
    pub fn new(
        plan: &'p Plan,
        course: Course,
        rows: Rows,
        again: BTreeSet<String>,
        journal: Journal,
        lifelines: Arc<Lifelines>,
    ) -> Self {
        let state = State {
            course,
            rows,
            again,
            journal,
            metric: None,
            new: 0,
            settled: 0,
            failed: 0,
            running: 0,
            failure: None,
        };
        let (changed, stopped) = (Condvar::new(), AtomicBool::new(false));
        Self { plan, shared: Arc::new(Shared { state: Mutex::new(state), changed, stopped }), lifelines }
    }

    /// A handle that stops them.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.shared), Arc::clone(&self.lifelines))
    }

    /// A handle that looks at them.
    #[cfg(feature = "live")]
    pub fn looker(&self) -> Looker {
        Looker(Arc::clone(&self.shared))
    }

    /// Starts to show how far they are, if `wanted` and there is a terminal.
    pub fn show(&self, wanted: bool) -> Progress {
        let shared = Arc::clone(&self.shared);
        let most = shared.state().course.most();
        let look = move || {
            let state = shared.state();
            let said = match shared.is_stopped() {
                true => "stopping".to_owned(),
                false => format!("{} runs done, {} running", state.settled, state.running),
            };
            (state.settled, said)
        };
        Progress::show(Some(most), wanted, look, || ())
    }

    /// Runs them, so many side by side, until none is needed.
    pub fn run(&self, at_once: u32) -> Result<(), CommandError> {
        std::thread::scope(|scope| {
            for number in 0..at_once {
                let lane = || {
                    if let Err(panic) = catch(|| self.lane()) {
                        self.fail(&mut self.shared.state(), RunError::from(panic).into());
                    }
                };
                let started = std::thread::Builder::new().name("study".into()).spawn_scoped(scope, lane);
                match started {
                    Ok(_) => {}
                    Err(error) if number == 0 => {
                        return Err(RunError::Threads(format!("no run can begin: {error}")).into());
                    }
                    // Fewer at once come to the same.
                    Err(_) => break,
                }
            }
            Ok(())
        })
    }

    /// What they have come to, once they have run; nobody looks at them any more.
    pub fn conclude(self) -> Done {
        let mut state = self.shared.state();
        Done {
            rows: std::mem::take(&mut state.rows),
            targets: state.course.targets().to_vec(),
            new: state.new,
            is_stopped: self.shared.is_stopped(),
            failure: state.failure.take(),
        }
    }

    fn lane(&self) {
        while let Some(wanted) = self.next() {
            let (seed, name) = self.plan.run(wanted);
            let answer = child::run(&self.plan.source(wanted), &self.lifelines);
            let mut state = self.shared.state();
            state.running -= 1;
            match answer {
                // It was ended, or may have been.
                Ok(_) if self.shared.is_stopped() => return,
                Ok(answer) => self.keep(&mut state, wanted, row_of(name, seed, answer)),
                Err(reason) => {
                    let problem = format!("no process can be started for a run: {reason}");
                    self.fail(&mut state, CommandError::Study(problem));
                }
            }
            drop(state);
            self.shared.changed.notify_all();
        }
    }

    /// The next run without a row. Waits while none is needed that those that run may lead to.
    fn next(&self) -> Option<Wanted> {
        let mut state = self.shared.state();
        loop {
            if state.failure.is_some() {
                return None;
            }
            let Some(wanted) = state.course.take_next() else {
                if state.course.is_over() || self.shared.is_stopped() {
                    self.shared.changed.notify_all();
                    return None;
                }
                state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (_, name) = self.plan.run(wanted);
            match state.rows.get(&name).cloned() {
                Some(row) if !state.again.contains(&name) => self.settle(&mut state, wanted, &row),
                // What has rows already is looked at to the end.
                _ if self.shared.is_stopped() => {}
                _ => {
                    state.running += 1;
                    return Some(wanted);
                }
            }
        }
    }

    fn keep(&self, state: &mut State, wanted: Wanted, row: Row) {
        if let Err(reason) = state.journal.add(&row) {
            let path = state.journal.path().to_owned();
            self.fail(state, CommandError::Write(path, reason));
            return;
        }
        state.new += 1;
        state.again.remove(&row.run);
        self.settle(state, wanted, &row);
        state.rows.insert(row.run.clone(), row);
    }

    /// Counts a row that is in the journal.
    fn settle(&self, state: &mut State, wanted: Wanted, row: &Row) {
        state.settled += 1;
        state.failed += usize::from(row.status == Status::Failed);
        if state.metric.is_none() && row.status == Status::Ended {
            match metric_of(&self.plan.study, row) {
                Ok(metric) => state.metric = Some(metric),
                Err(error) => self.fail(state, error.into()),
            }
        }
        let value = state.metric.as_ref().and_then(|metric| row.value(metric));
        state.course.settle(wanted, value);
    }

    /// Ends the study for this reason, unless there is one already.
    fn fail(&self, state: &mut State, failure: CommandError) {
        state.failure.get_or_insert(failure);
        self.shared.changed.notify_all();
    }
}

/// The metric of the stop rule, none called by the empty name where there is no rule; checks all names of
/// metrics.
fn metric_of(study: &Study, row: &Row) -> Result<String, ScenarioError> {
    let known = metric_names([row]);
    for metric in &study.metrics {
        metric.find(&known)?;
    }
    study.stop.as_ref().map_or(Ok(String::new()), |stop| stop.metric.find(&known).map(str::to_owned))
}

fn row_of(run: String, seed: u64, answer: Answer) -> Row {
    match answer {
        Answer::Ended { ended_by, digest, metrics } => {
            Row { run, seed, status: Status::Ended, error: String::new(), ended_by, digest, metrics }
        }
        Answer::Failed(error) => {
            let (ended_by, digest) = (String::new(), String::new());
            Row { run, seed, status: Status::Failed, error, ended_by, digest, metrics: Default::default() }
        }
    }
}
