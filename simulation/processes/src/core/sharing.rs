//! What becomes of requests for shared objects, and of what was given to a process that does not take it.
//!
//! Invariants: time limits are for the notice of a condition, not for the lock after it; a permit, a lock or
//! an item that was given to a process that ended, or dropped its request, before it heard of it goes to
//! whoever is next.

use paceline_kernel::Time;
use paceline_network::Network;

use super::Core;
use super::process::{Blocked, Notice};
use super::request::{Answer, ObjectId, ObjectKind, ProcessId, RequestError};

impl<P, N: Network> Core<P, N> {
    pub(super) fn refuse(&mut self, id: ProcessId) {
        self.resume_with(id, Answer::Failed(RequestError::Unknown));
    }

    /// A process resumes with something of an object, which goes back if the process never learns of that.
    fn grant(&mut self, id: ProcessId, object: ObjectId, answer: Answer<P>) {
        self.resume_with(id, answer);
        if let Some(process) = self.processes.get_mut(id) {
            process.blocked = Blocked::Given(object);
        }
    }

    /// A process did not receive what it was given.
    pub(super) fn give_back(&mut self, id: ProcessId, granted: Option<ObjectId>, answer: Option<Answer<P>>) {
        match (granted, answer) {
            (_, Some(Answer::Several(all))) => {
                all.into_iter().for_each(|answer| self.give_back(id, granted, Some(answer)));
            }
            (Some(object), Some(Answer::Truth(true))) => self.release(id, object),
            (Some(queue), Some(Answer::Message(item))) => {
                if let Some((next, item)) = self.objects.get(queue, self.now).put_back(item) {
                    self.grant(next, queue, Answer::Message(item));
                }
            }
            (_, Some(answer)) => {
                if let Some((number, outcome)) = answer.into_outcome() {
                    self.resources.withdraw(self.cause, (id, number), Some(outcome));
                }
            }
            (_, None) => {}
        }
    }

    /// A process gives up its last request; `answer` is the one that it got and did not look at.
    pub(super) fn abandon_request(&mut self, id: ProcessId, answer: Option<Answer<P>>) {
        let process = &mut self.processes[id];
        let granted = process.take_granted();
        let answer = Answer::take_plain(&mut process.answer).or(answer);
        self.withdraw(id);
        self.give_back(id, granted, answer);
    }

    /// Releases a permit or a lock, to the process that has waited longest.
    pub(super) fn release(&mut self, id: ProcessId, object: ObjectId) {
        let Some(next) = self.objects.get(object, self.now).release(id, self.cause) else { return };
        let answer = Answer::Truth(true);
        match self.processes[next].blocked {
            Blocked::LockAgain(_) => self.resume_with(next, answer),
            _ => self.grant(next, object, answer),
        }
    }

    pub(super) fn acquire(&mut self, id: ProcessId, object: ObjectId, limit: Option<Time>) {
        let entry = self.objects.get(object, self.now);
        match entry.try_acquire(id) {
            None => self.refuse(id),
            Some(false) if limit != Some(Time::ZERO) => {
                entry.wait(id);
                self.block(id, Blocked::Acquire(object), limit);
            }
            Some(false) => self.resume_with(id, Answer::Truth(false)),
            Some(true) => {
                self.cause = self.cause.later(entry.last_given());
                self.grant(id, object, Answer::Truth(true));
            }
        }
    }

    /// A process that waited for a notice locks its mutex again.
    pub(super) fn lock_again(&mut self, id: ProcessId, mutex: ObjectId) {
        let entry = self.objects.get(mutex, self.now);
        match entry.try_acquire(id) {
            None => self.refuse(id),
            Some(true) => {
                self.cause = self.cause.later(entry.given);
                self.resume_with(id, Answer::Truth(true));
            }
            Some(false) => {
                entry.wait(id);
                let process = &mut self.processes[id];
                process.moment = process.moment.later(self.cause);
                self.block(id, Blocked::LockAgain(mutex), None);
            }
        }
    }

    pub(super) fn wait_for_condition(
        &mut self,
        id: ProcessId,
        condition: ObjectId,
        mutex: ObjectId,
        limit: Option<Time>,
    ) {
        if condition.kind != ObjectKind::Condition {
            return self.refuse(id);
        }
        self.release(id, mutex);
        self.objects.get(condition, self.now).wait(id);
        self.block(id, Blocked::Condition(Box::new(Notice { condition, mutex })), limit);
    }

    pub(super) fn notify(&mut self, condition: ObjectId, all: bool) {
        let cause = self.cause;
        while let Some(next) = self.objects.get(condition, self.now).notify() {
            self.cause = cause;
            if let Blocked::Condition(notice) = &self.processes[next].blocked {
                let mutex = notice.mutex;
                self.lock_again(next, mutex);
            }
            if !all {
                break;
            }
        }
    }

    pub(super) fn wait_at_barrier(&mut self, id: ProcessId, object: ObjectId) {
        if !matches!(object.kind, ObjectKind::Barrier(_)) {
            return self.refuse(id);
        }
        let barrier = self.objects.get(object, self.now);
        let together = barrier.arrive(id, self.cause);
        self.cause = barrier.given;
        if together.is_empty() {
            self.block(id, Blocked::Barrier(object), None);
        }
        for process in together {
            self.resume_with(process, Answer::Truth(process == id));
        }
    }

    pub(super) fn put(&mut self, queue: ObjectId, item: P) {
        if let Some((process, item)) = self.objects.get(queue, self.now).put(item, self.cause) {
            self.grant(process, queue, Answer::Message(item));
        }
    }

    pub(super) fn get(&mut self, id: ProcessId, queue: ObjectId, limit: Option<Time>) {
        if queue.kind != ObjectKind::Queue {
            return self.refuse(id);
        }
        let entry = self.objects.get(queue, self.now);
        match entry.get() {
            Some(item) => {
                self.cause = self.cause.later(entry.given);
                self.grant(id, queue, Answer::Message(item));
            }
            None => {
                entry.wait(id);
                self.block(id, Blocked::Get(queue), limit);
            }
        }
    }
}
