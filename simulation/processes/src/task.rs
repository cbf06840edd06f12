//! The code of a process, ready to resume.
//!
//! Invariant: a task that is over is not run again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use paceline_kernel::{PanicNote, Rng, Time, catch};

use crate::core::{Answer, Present, ProcessId, Request};
use crate::desk::{self, Body, Desk, Hook, ProcessState, Spawned};
use crate::watchdog::{Slot, Watch};

/// How a turn of a process ended.
#[derive(Debug)]
pub(crate) enum Turn {
    /// It waits for what it asked for last.
    Waits,
    /// It waits for something that the simulation knows nothing of.
    Strays,
    /// It has ended.
    Ended,
    /// It has ended by a panic.
    Panicked(Box<PanicNote>),
}

/// In the place of code that is gone: of no size, so that it takes no memory.
struct Gone;

impl Future for Gone {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// A process whose code can be resumed.
pub(crate) struct Task {
    body: Body,
    process: ProcessState,
}

impl Task {
    pub(crate) fn new(id: ProcessId, rng: Rng, body: Body) -> Self {
        Self { body, process: ProcessState::new(id, rng) }
    }

    /// The thread on which it must resume, by its place among those that run code; 0 for any.
    pub(crate) fn home(&self) -> u16 {
        self.process.home
    }

    /// The task itself, and one without code in its place.
    pub(crate) fn take(&mut self) -> Self {
        let empty =
            Self { body: Box::pin(Gone), process: ProcessState::new(self.process.id, self.process.rng) };
        std::mem::replace(self, empty)
    }
}

/// What came of turns, one after the other, on one thread.
pub(crate) struct Turns<P> {
    /// There, but while the code of a process runs.
    desk: Option<Box<Desk<P>>>,
    /// How each turn ended, and how many requests there were by then.
    ends: Vec<(Turn, usize)>,
    /// Where a watchdog looks.
    slot: Option<Arc<Slot>>,
}

impl<P: Send + 'static> Turns<P> {
    pub(crate) fn new() -> Self {
        Self { desk: Some(Desk::new()), ends: Vec::new(), slot: None }
    }

    /// Lets a watchdog see whose turn it is.
    pub(crate) fn watch(&mut self, watch: &Watch) {
        self.slot = watch.slot();
        self.desk().slot = self.slot.clone();
    }

    /// Lends to code that runs from now on what it may look at; gives back what was lent before.
    pub(crate) fn lend(&mut self, present: Option<Present>) -> Option<Present> {
        std::mem::replace(&mut self.desk().present, present)
    }

    fn desk(&mut self) -> &mut Desk<P> {
        self.desk.as_mut().expect("no code runs now")
    }

    /// Runs `code` as code of this process.
    fn enter<R>(&mut self, process: &mut ProcessState, code: impl FnOnce() -> R) -> R {
        let mut desk = self.desk.take().expect("no code runs now");
        std::mem::swap(&mut desk.process, process);
        let (mut desk, result) = desk.enter(code);
        std::mem::swap(&mut desk.process, process);
        self.desk = Some(desk);
        result
    }

    /// Resumes a task with its answer at `now`, until it waits or ends, as one of several.
    pub(crate) fn run(&mut self, task: &mut Task, now: Time, answer: Option<Answer<P>>) {
        let turn = self.turn(task, now, answer);
        let requests = self.desk().requests.len();
        self.ends.push((turn, requests));
    }

    /// Resumes a task with its answer at `now`, until it waits or ends. Says how that turn ended.
    pub(crate) fn turn(&mut self, task: &mut Task, now: Time, answer: Option<Answer<P>>) -> Turn {
        let desk = self.desk();
        (desk.now, desk.answer, desk.claims) = (now, answer, false);
        desk.before = desk.requests.len();
        let Task { body, process } = task;
        if let Some(slot) = &self.slot {
            slot.begin(process.id, now);
        }
        let mut context = Context::from_waker(Waker::noop());
        let id = process.id;
        let mut poll = || match body.as_mut().poll(&mut context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => match desk::take_begun::<P>(id) {
                Some(begun) => {
                    *body = begun;
                    body.as_mut().poll(&mut context)
                }
                None => Poll::Ready(()),
            },
        };
        let polled = self.enter(process, || catch(&mut poll));
        if let Some(slot) = &self.slot {
            slot.end();
        }
        let desk = self.desk.as_mut().expect("the code has run");
        let waits = process.waits || desk.claims;
        // A claim may have been answered that it does not await now; other answers are of the past.
        let is_kept = |answer: &Answer<P>| answer.claim().is_some() || matches!(answer, Answer::Several(_));
        if let Some(answer) = desk.answer.take().filter(is_kept) {
            desk.requests.push(Request::Keep(answer));
        }
        match polled {
            Ok(Poll::Pending) if waits => Turn::Waits,
            Ok(Poll::Pending) => Turn::Strays,
            Ok(Poll::Ready(())) => Turn::Ended,
            Err(panic) => Turn::Panicked(Box::new(panic.note)),
        }
    }

    /// Drops the code of a task at `now`, with everything that it holds.
    pub(crate) fn drop_body(&mut self, task: &mut Task, now: Time) {
        let desk = self.desk();
        (desk.now, desk.answer) = (now, None);
        let Task { body, process } = task;
        let body = std::mem::replace(body, Box::pin(Gone));
        // A panic of a process that is ending anyway is of no interest.
        let _ = self.enter(process, || catch_unwind(AssertUnwindSafe(|| drop(body))));
    }

    /// Does what is to be done when a task has ended, the latest first; its code has been dropped. Gives what
    /// those say that panic.
    pub(crate) fn call_hooks(&mut self, task: &mut Task, now: Time, hooks: Vec<Hook>) -> Vec<PanicNote> {
        self.desk().now = now;
        let called = hooks.into_iter().rev();
        let called = called.map(|hook| self.enter(&mut task.process, || catch(hook)));
        called.filter_map(Result::err).map(|panic| panic.note).collect()
    }

    /// What is to be done when processes have ended that had turns, by process in the order in which they
    /// asked for it.
    pub(crate) fn hooks(&mut self) -> &mut Vec<(ProcessId, Hook)> {
        &mut self.desk().hooks
    }

    /// Adds all of `other`, which is empty after that.
    pub(crate) fn append(&mut self, other: &mut Self) {
        let (mine, others) = (self.desk.as_mut(), other.desk.as_mut());
        let (mine, others) = mine.zip(others).expect("no code runs now");
        let before = mine.requests.len();
        mine.requests.append(&mut others.requests);
        mine.spawned.append(&mut others.spawned);
        mine.hooks.append(&mut others.hooks);
        self.ends.extend(other.ends.drain(..).map(|(turn, end)| (turn, before + end)));
    }

    pub(crate) fn parts(&mut self) -> Parts<'_, P> {
        let desk = self.desk.as_mut().expect("no code runs now");
        Parts { requests: &mut desk.requests, spawned: &mut desk.spawned, ends: &mut self.ends }
    }
}

/// What came of turns; each list in their order.
pub(crate) struct Parts<'t, P> {
    /// All that was asked for.
    pub(crate) requests: &'t mut Vec<Request<P>>,
    /// The code of those that it spawns.
    pub(crate) spawned: &'t mut Vec<Spawned<P>>,
    /// How each turn ended, and how many requests there were by then.
    pub(crate) ends: &'t mut Vec<(Turn, usize)>,
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn what_is_kept_of_a_process_is_small() {
        assert!(size_of::<Task>() <= 56, "{}", size_of::<Task>());
    }
}
