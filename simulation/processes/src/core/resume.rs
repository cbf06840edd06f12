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

impl<P, N: Network> Core<P, N> {
    pub(super) fn resume_with(&mut self, id: ProcessId, answer: Answer<P>) {
        let Some(process) = self.processes.get_mut(id).filter(|process| !process.ended) else { return };
        let late = std::mem::take(&mut process.late);
        let answer = if late { Answer::Failed(RequestError::TimedOut) } else { answer };
        (process.blocked, process.granted) = (Blocked::No, None);
        process.moment = process.moment.later(self.cause);
        process.stamp = process.stamp.wrapping_add(1);
        let place = (u64::from(process.stamp) << 8) | answer.code();
        self.digest.join(Digest::of(&(process.identity, self.now.as_nanos(), place)));
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
                let over = numbers
                    .iter()
                    .filter_map(|number| process.take_over(*number))
                    .map(|(over, _)| over)
                    .collect();
                self.resume_with(id, Answer::All(over));
            }
        } else if let Some((answer, _)) = process.take_over(number) {
            self.resume_with(id, Answer::Which(place, Box::new(answer)));
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
        if process.ended || process.blocked == Blocked::No || process.limit == Time::MAX {
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
        let notice = match process.blocked {
            Blocked::Condition { mutex, .. } => Some(mutex),
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
