//! Rounds with tasks that block on coroutines: each of them resumes on its home, the thread that has its
//! coroutine.
//!
//! Each thread has a list. The coordinating thread fills the lists, and every thread does its own and no
//! other. What came of the tasks is put together in the order of the round, so that the core is asked in the
//! same order as ever.
//!
//! Invariants: a list is filled whole and done whole under its lock; `left` counts lists before the first of
//! them is filled.

use std::sync::MutexGuard;

use crate::core::{Present, Request};

use super::{Crew, Ordering, PoisonError, Shared, Time, Turning};
use crate::context::COORDINATOR;
use crate::desk::Spawned;
use crate::task::{Parts, Task, Turn, Turns};
use crate::watchdog::Watch;

/// What is to be done with the tasks of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Job {
    #[default]
    Nothing,
    /// They resume at this time.
    Run(Time),
    /// Their code is dropped.
    Drop(Time),
}

/// Tasks that one thread has to run, and their results.
pub(super) struct List<P> {
    job: Job,
    tasks: Vec<Turning<P>>,
    turns: Turns<P>,
}

impl<P: Send + 'static> Default for List<P> {
    fn default() -> Self {
        Self { job: Job::Nothing, tasks: Vec::new(), turns: Turns::new() }
    }
}

impl<P: Send + 'static> Shared<P> {
    fn list(&self, place: usize) -> MutexGuard<'_, List<P>> {
        self.at_home[place].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watch_list(&self, place: usize, watch: &Watch) {
        self.list(place).turns.watch(watch);
    }

    /// Does what this thread has to.
    pub(super) fn work_at_home(&self, place: usize) {
        let mut list = self.list(place);
        let List { job, tasks, turns } = &mut *list;
        match std::mem::take(job) {
            Job::Nothing => return,
            Job::Run(now) => tasks.iter_mut().for_each(|(task, answer)| turns.run(task, now, answer.take())),
            Job::Drop(now) => tasks.iter_mut().for_each(|(task, _)| turns.drop_body(task, now)),
        }
        drop(list);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.change(self.waiting);
        }
    }
}

impl<P: Send + 'static> Crew<P> {
    /// Resumes all tasks, whose code may look at what is `present`; `turns` gets the result of each, in their
    /// order, in which the tasks are returned, with what was lent. Tasks without a home run on many threads
    /// if they are to be `spread`, otherwise on this one.
    pub(crate) fn run_at_home(
        &self,
        now: Time,
        present: Option<Present>,
        tasks: Vec<Turning<P>>,
        spread: bool,
        turns: &mut Turns<P>,
    ) -> (Vec<Task>, Option<Present>) {
        let (size, first) = (self.shared.at_home.len(), usize::from(!self.coordinator_works));
        let (count, helping) = (tasks.len(), size - first);
        let place = |number: usize, task: &Task| match task.home() {
            0 if spread => first + number * helping / count,
            0 => 0,
            home => usize::from(home - COORDINATOR),
        };
        let mut lists: Vec<Vec<Turning<P>>> = (0..size).map(|_| Vec::new()).collect();
        let mut places = Vec::with_capacity(count);
        for (number, turning) in tasks.into_iter().enumerate() {
            let place = place(number, &turning.0);
            places.push(place);
            lists[place].push(turning);
        }
        let (present, lent) = Present::for_threads(present, size);
        (0..size).zip(lent).for_each(|(place, lent)| drop(self.shared.list(place).turns.lend(Some(lent))));
        self.have_done(Job::Run(now), lists);
        let mut lists: Vec<MutexGuard<'_, List<P>>> =
            (0..size).map(|place| self.shared.list(place)).collect();
        lists.iter_mut().for_each(|list| drop(list.turns.lend(None)));
        lists.iter_mut().for_each(|list| turns.hooks().append(list.turns.hooks()));
        let mut done: Vec<_> = lists.iter_mut().map(|list| Done::of(list)).collect();
        (places.into_iter().map(|place| done[place].next(turns)).collect(), present)
    }

    /// Drops the code of a task that has a home.
    pub(crate) fn drop_at_home(&self, task: &mut Task, now: Time, turns: &mut Turns<P>) {
        let place = usize::from(task.home() - COORDINATOR);
        let mut lists: Vec<Vec<Turning<P>>> = (0..=place).map(|_| Vec::new()).collect();
        lists[place].push((task.take(), None));
        self.have_done(Job::Drop(now), lists);
        let mut list = self.shared.list(place);
        turns.append(&mut list.turns);
        *task = list.tasks.pop().expect("it is given back").0;
    }

    /// Has every thread do its list.
    fn have_done(&self, job: Job, lists: Vec<Vec<Turning<P>>>) {
        let Shared { left, begun, done, waiting, .. } = &*self.shared;
        let seen = done.value();
        left.store(lists.iter().filter(|list| !list.is_empty()).count(), Ordering::Release);
        let mut others = false;
        for (place, tasks) in lists.into_iter().enumerate().filter(|(_, tasks)| !tasks.is_empty()) {
            others |= place > 0;
            let mut list = self.shared.list(place);
            (list.job, list.tasks) = (job, tasks);
        }
        if others {
            begun.change(*waiting);
        }
        self.shared.work_at_home(0);
        done.wait(seen, *waiting);
    }
}

/// What came of the tasks of a list, to be taken one after the other.
struct Done<'l, P> {
    tasks: std::vec::Drain<'l, Turning<P>>,
    requests: std::vec::Drain<'l, Request<P>>,
    spawned: std::vec::Drain<'l, Spawned<P>>,
    ends: std::vec::Drain<'l, (Turn, usize)>,
    /// How many requests were taken.
    taken: usize,
}

impl<'l, P: Send + 'static> Done<'l, P> {
    fn of(list: &'l mut List<P>) -> Self {
        let Parts { requests, spawned, ends } = list.turns.parts();
        let (requests, spawned, ends) = (requests.drain(..), spawned.drain(..), ends.drain(..));
        Self { tasks: list.tasks.drain(..), requests, spawned, ends, taken: 0 }
    }

    /// Adds to `turns` what came of the next task, and gives it back.
    fn next(&mut self, turns: &mut Turns<P>) -> Task {
        let (task, _) = self.tasks.next().expect("whoever was put in a list is in it");
        let (turn, end) = self.ends.next().expect("every task has had its turn");
        let Parts { requests, spawned, ends } = turns.parts();
        for request in self.requests.by_ref().take(end - std::mem::replace(&mut self.taken, end)) {
            let spawns = matches!(request, Request::Spawn { .. });
            spawned.extend(spawns.then(|| self.spawned.next()).flatten());
            requests.push(request);
        }
        ends.push((turn, requests.len()));
        task
    }
}
