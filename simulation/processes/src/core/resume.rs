//! How processes get what they waited for.
//!
//! Invariant: a process that gets an answer waits for it, or holds it; it resumes in the next round, unless
//! it is suspended.

use paceline_kernel::{Digest, Time};
use paceline_network::Network;

use super::Core;
use super::calendar::Due;
use super::moment::Moment;
use super::process::{Blocked, Held, Several, Side};
use super::request::{Answer, ProcessId, RequestError};

/// How a wait of a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// What it waited for has happened.
    Done,
    /// A message, or an item of a queue, has come.
    Message,
    /// Whether it is so.
    Truth(bool),
    /// It did not come about.
    Failed(RequestError),
}

impl<P, N: Network> Core<P, N> {
    /// How the wait of a process in the round has ended; before its answer is taken.
    pub fn outcome(&self, process: ProcessId) -> WaitEnd {
        match &self.processes[process].answer {
            Some(Answer::Message(_)) => WaitEnd::Message,
            Some(Answer::Truth(truth)) => WaitEnd::Truth(*truth),
            Some(Answer::Failed(failure)) => WaitEnd::Failed(*failure),
            _ => WaitEnd::Done,
        }
    }

    pub(super) fn resume_with(&mut self, id: ProcessId, answer: Answer<P>) {
        let Some(process) = self.processes.get_mut(id).filter(|process| !process.ended) else { return };
        let late = std::mem::take(&mut process.late);
        let answer = if late { Answer::Failed(RequestError::TimedOut) } else { answer };
        process.blocked = Blocked::No;
        process.moment = process.moment.later(self.cause);
        process.stamp = process.stamp.wrapping_add(1);
        let place = (u64::from(process.stamp) << 8) | answer.code();
        self.digest.join(Digest::of(&(process.identity, self.now.as_nanos(), place)));
        // One to an earlier request, which the process did not look at, is of the past.
        let _ = Answer::take_plain(&mut process.answer);
        Answer::add(&mut process.answer, answer);
        if !process.suspended {
            self.ready.push(id);
        }
    }

    /// Informs a side of a communication or computation that it is over.
    pub(super) fn inform(&mut self, side: Side, answer: Answer<P>) {
        match side {
            Side::Absent | Side::Detached => {}
            Side::Waiting(process) => self.resume_with(process, answer),
            Side::Holding(process, number) => self.activity_over(process, number, answer),
        }
    }

    /// An activity that a process began is over.
    fn activity_over(&mut self, id: ProcessId, number: u32, answer: Answer<P>) {
        let process = &mut self.processes[id];
        if process.blocked == Blocked::Activity(number) {
            process.remove_held(number);
            return self.resume_with(id, answer);
        }
        let Some(held) = process.held(number) else { return };
        *held = Held::Over(answer, self.cause);
        let Blocked::Activities(several) = &mut process.blocked else { return };
        let Several { numbers, all, left } = &mut **several;
        let Some(place) = numbers.iter().position(|waited| *waited == number) else { return };
        if *all {
            *left -= 1;
            if *left == 0 {
                let numbers = std::mem::take(numbers);
                let over =
                    numbers.iter().filter_map(|number| process.take_over(*number)).map(|(over, _)| over);
                let over = over.collect();
                self.resume_with(id, Answer::All(Box::new(over)));
            }
        } else if let Some((answer, _)) = process.take_over(number) {
            self.resume_with(id, Answer::Which(place as u32, Box::new(answer)));
        }
    }

    /// A process has waited long enough, if it still waits and not for longer.
    pub(super) fn wake(&mut self, number: u32) {
        let id = ProcessId(number);
        let Some(process) = self.processes.get_mut(id) else { return };
        if process.entered > self.now {
            // It was entered for earlier once more, and has had that.
            return;
        }
        process.entered = Time::MAX;
        if process.ended || !process.waits() || process.limit == Time::MAX {
            return;
        }
        if process.limit > self.now {
            process.entered = process.limit;
            return self.calendar.enter(process.limit, Due::Wake(number));
        }
        // It waited for whole ticks since it asked.
        let exact = Moment { at: self.now, ..process.moment };
        let answer = match process.blocked {
            Blocked::Sleep => Answer::Done,
            _ => Answer::Failed(RequestError::TimedOut),
        };
        let notice = match &process.blocked {
            Blocked::Condition(notice) => Some(notice.mutex),
            _ => None,
        };
        self.because(exact);
        self.withdraw(id);
        match notice {
            Some(mutex) => {
                self.processes[id].late = true;
                self.lock_again(id, mutex);
            }
            None => self.resume_with(id, answer),
        }
    }
}
