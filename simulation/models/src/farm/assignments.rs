//! The assignment of tasks to workers: the master's state without its messages.
//!
//! Invariants: a task that is not done either waits in the queue or is assigned to exactly one worker; a
//! worker has at most one task.

use std::collections::{BTreeSet, VecDeque};

use paceline_kernel::Time;

/// What the master knows of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has no task, and has not said that it is idle.
    Silent,
    /// It is idle.
    Idle,
    /// It has this task; the master waits for the result until this time.
    Assigned(u32, Time),
}

/// Which tasks wait, which worker has which task, and which tasks are done.
#[derive(Clone, Debug)]
pub(super) struct Assignments {
    /// By task: whether it is done.
    done: Vec<bool>,
    /// Tasks that are not done.
    left: usize,
    /// Tasks to hand out. A task that has been done meanwhile is skipped.
    waiting: VecDeque<u32>,
    states: Vec<State>,
    /// Idle workers, in the order in which they became idle.
    idle: VecDeque<u32>,
    /// The time limits of assigned workers, earliest first.
    limits: BTreeSet<(Time, u32)>,
}

impl Assignments {
    /// The start: no task is done, and no worker has sent anything.
    pub(super) fn new(tasks: u32, workers: u32) -> Self {
        Self {
            done: vec![false; tasks as usize],
            left: tasks as usize,
            waiting: (0..tasks).collect(),
            states: vec![State::Silent; workers as usize],
            idle: VecDeque::new(),
            limits: BTreeSet::new(),
        }
    }

    /// Whether all tasks are done.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    pub(super) fn next_limit(&self) -> Time {
        self.limits.first().map_or(Time::MAX, |(limit, _)| *limit)
    }

    /// A worker whose time limit has expired at `now`.
    pub(super) fn late(&self, now: Time) -> Option<u32> {
        self.limits.first().filter(|(limit, _)| *limit <= now).map(|(_, worker)| *worker)
    }

    /// Assigns a task to an idle worker until `limit`. Returns the worker and the task; `None` if either is
    /// lacking.
    pub(super) fn assign(&mut self, limit: Time) -> Option<(u32, u32)> {
        while self.waiting.front().is_some_and(|task| self.done[*task as usize]) {
            self.waiting.pop_front();
        }
        let worker = *self.idle.front()?;
        let task = self.waiting.pop_front()?;
        self.idle.pop_front();
        self.states[worker as usize] = State::Assigned(task, limit);
        self.limits.insert((limit, worker));
        Some((worker, task))
    }

    /// A worker is idle. Ignored if the worker has a task or is known to be idle.
    pub(super) fn ready(&mut self, worker: u32) {
        if self.states[worker as usize] == State::Silent {
            self.states[worker as usize] = State::Idle;
            self.idle.push_back(worker);
        }
    }

    /// A result has arrived from a worker. Returns whether it is the first one of its task.
    pub(super) fn finish(&mut self, worker: u32, task: u32) -> bool {
        let is_first = !std::mem::replace(&mut self.done[task as usize], true);
        self.left -= usize::from(is_first);
        if matches!(self.states[worker as usize], State::Assigned(assigned, _) if assigned == task) {
            self.release(worker);
        }
        is_first
    }

    /// A worker has lost its task, which goes to the front of the queue. Returns whether there was a task
    /// that is not done yet.
    pub(super) fn lose(&mut self, worker: u32) -> bool {
        let Some(task) = self.release(worker).filter(|task| !self.done[*task as usize]) else { return false };
        self.waiting.push_front(task);
        true
    }

    /// Takes a worker's task from it; the worker is silent from now on.
    fn release(&mut self, worker: u32) -> Option<u32> {
        let State::Assigned(task, limit) = self.states[worker as usize] else { return None };
        self.states[worker as usize] = State::Silent;
        self.limits.remove(&(limit, worker));
        Some(task)
    }
}

#[cfg(test)]
mod test {
    use paceline_kernel::Rng;

    use super::*;

    #[test]
    fn whatever_comes_no_task_is_lost_or_done_twice() {
        for seed in 0..300 {
            let mut rng = Rng::new(seed, 4);
            let (tasks, workers) = (1 + rng.below(20) as u32, 1 + rng.below(5) as u32);
            let mut assignments = Assignments::new(tasks, workers);
            let (mut given, mut firsts, mut now) = (Vec::new(), 0, 0);
            while !assignments.is_over() {
                now += rng.below(3);
                let worker = rng.below(u64::from(workers)) as u32;
                match rng.below(4) {
                    0 => assignments.ready(worker),
                    1 => {
                        assignments.lose(worker);
                    }
                    2 if !given.is_empty() => {
                        // Results come in any order, and more than once.
                        let (worker, task) = given[rng.below(given.len() as u64) as usize];
                        firsts += u32::from(assignments.finish(worker, task));
                    }
                    _ => given.extend(assignments.assign(Time::nanos(now + 5))),
                }
                while let Some(late) = assignments.late(Time::nanos(now)) {
                    assignments.lose(late);
                }
                assert!(assignments.next_limit() > Time::nanos(now), "seed {seed}");
                for task in (0..tasks).filter(|task| !assignments.done[*task as usize]) {
                    let waiting = assignments.waiting.iter().filter(|other| **other == task).count();
                    let has =
                        |state: &&State| matches!(state, State::Assigned(assigned, _) if *assigned == task);
                    let assigned = assignments.states.iter().filter(has).count();
                    assert_eq!(waiting + assigned, 1, "seed {seed}: task {task} is in one place");
                }
            }
            assert_eq!(firsts, tasks, "seed {seed}");
        }
    }
}
