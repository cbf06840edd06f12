//! Questions of other threads to a run, and its answers: why a process waits, and the next step.
//!
//! The run looks at a flag before it runs the code of processes, and then answers, between two turns. While
//! it is stepped it waits there for the next question. Invariants: one question is open at a time; whoever
//! asks is answered, or hears that the run has ended or is busy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thiserror::Error;

/// Why a run has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AskError {
    /// It runs on federates, whose processes are at different times.
    #[error("a run on federates cannot be asked, nor stepped; allowed: one without run.federates")]
    Federates,
    /// It has not begun for all of that time.
    #[error("the run has not begun")]
    NotBegun,
    /// It has ended.
    #[error("the run has ended")]
    Ended,
    /// A process has had its turn for all of that time.
    #[error("the run does not answer: the code of a process goes on for long")]
    Busy,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Why the processes of this number or name wait.
    Why(String),
    /// To let one process resume, and to wait then.
    Step,
    /// To wait before the next turn.
    Hold,
    /// To wait no more.
    Go,
}

/// Whether a run is stepped, and what is to be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stepping {
    /// It runs.
    #[default]
    No,
    /// It waits for the next question, before the next turn.
    Holds,
    /// After this turn it says whose it was.
    Steps,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    NotBegun,
    /// The run answers.
    Attended,
    /// The run is not able to answer.
    OnFederates,
    Ended,
}

#[derive(Debug, Default)]
struct Open {
    stage: Stage,
    question: Option<Question>,
    answer: Option<String>,
    /// Somebody waits for an answer.
    is_asking: bool,
}

/// Between a run and those who ask it.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    /// Something is asked: the run has to look.
    asked: AtomicBool,
    open: Mutex<Open>,
    changed: Condvar,
}

impl Exchange {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the run, and waits for its answer, at most so long.
    pub(crate) fn ask(&self, question: Question, patience: Duration) -> Result<String, AskError> {
        let wait = |open, until: &dyn Fn(&Open) -> bool| {
            let goes_on = |open: &mut Open| open.stage != Stage::Ended && !until(open);
            let waited = self.changed.wait_timeout_while(open, patience, goes_on);
            waited.unwrap_or_else(PoisonError::into_inner)
        };
        // One after the other. Whoever asks as soon as a run can be reached may be earlier than the run
        // itself, which then answers when its processes are there.
        let (mut open, late) = wait(self.lock(), &|open| open.stage != Stage::NotBegun && !open.is_asking);
        match open.stage {
            Stage::NotBegun => return Err(AskError::NotBegun),
            Stage::OnFederates => return Err(AskError::Federates),
            Stage::Ended => return Err(AskError::Ended),
            Stage::Attended if late.timed_out() => return Err(AskError::Busy),
            Stage::Attended => {}
        }
        (open.question, open.answer, open.is_asking) = (Some(question), None, true);
        self.asked.store(true, Ordering::Relaxed);
        self.changed.notify_all();
        let (mut open, _) = wait(open, &|open| open.answer.is_some());
        open.is_asking = false;
        // What was not heard is not asked any more.
        open.question = None;
        let answer = open.answer.take();
        let ended = open.stage == Stage::Ended;
        self.changed.notify_all();
        answer.ok_or(if ended { AskError::Ended } else { AskError::Busy })
    }

    /// Asks without waiting for the answer, also where nobody answers yet.
    pub(crate) fn leave(&self, question: Question) {
        self.lock().question = Some(question);
        self.asked.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Whether something is asked.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// What is asked, if anything is; `waits` says whether to wait for that, until `is_over` says that the
    /// run is to end.
    pub(crate) fn question(&self, waits: bool, is_over: impl Fn() -> bool) -> Option<Question> {
        self.asked.store(false, Ordering::Relaxed);
        let mut open = self.lock();
        while waits && open.question.is_none() && !is_over() {
            open = self.changed.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        open.question.take()
    }

    pub(crate) fn answer(&self, answer: String) {
        self.lock().answer = Some(answer);
        self.changed.notify_all();
    }

    /// Wakes a run that waits for a question: it is to end.
    pub(crate) fn wake(&self) {
        // Whoever is about to wait has looked before this, or is woken after it.
        drop(self.lock());
        self.changed.notify_all();
    }

    /// A run answers, until the returned value is dropped.
    pub(crate) fn attend(&self) -> impl Drop + '_ {
        self.begin(Stage::Attended)
    }

    /// A run on federates has begun, which lasts until the returned value is dropped.
    pub(crate) fn refuse(&self) -> impl Drop + '_ {
        self.begin(Stage::OnFederates)
    }

    fn begin(&self, stage: Stage) -> impl Drop + '_ {
        struct Running<'e>(&'e Exchange);
        impl Drop for Running<'_> {
            fn drop(&mut self) {
                self.0.lock().stage = Stage::Ended;
                self.0.changed.notify_all();
            }
        }
        self.lock().stage = stage;
        self.changed.notify_all();
        Running(self)
    }
}
