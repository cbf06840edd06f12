//! Activities: what a process begins and waits for later - sends, receives and computations with a number
//! each.
//!
//! Invariant: the number of an activity belongs to the process that began it, which holds it until it has
//! taken its result, or has cancelled or released it.

use paceline_kernel::Time;
use paceline_network::Network;

use super::Core;
use super::moment::Moment;
use super::process::{Blocked, Going, Held, Several, Side};
use super::request::{Answer, Mailbox, ProcessId, RequestError};

impl<P, N: Network> Core<P, N> {
    pub(super) fn start_send(&mut self, id: ProcessId, activity: u32, to: &Mailbox, payload: P, bytes: f64) {
        // It is held before it is sent: it may be over at once, and its end is noted where it is held.
        self.hold(id, activity, Held::Asked);
        if let Some(going) = self.send(id, Side::Holding(id, activity), to, payload, bytes) {
            self.hold(id, activity, Held::Going(going));
        }
    }

    pub(super) fn start_receive(&mut self, id: ProcessId, activity: u32, from: &Mailbox) {
        // As for a send.
        self.hold(id, activity, Held::Asked);
        if let Some(comm) = self.receive(id, Side::Holding(id, activity), from) {
            self.hold(id, activity, Held::Going(Going::Message { comm, sends: false }));
        }
    }

    pub(super) fn start_compute(&mut self, id: ProcessId, activity: u32, flops: f64) {
        let going = self.compute(id, flops, Side::Holding(id, activity));
        self.hold(id, activity, Held::Going(going));
    }

    pub(super) fn await_activity(&mut self, id: ProcessId, activity: u32, limit: Option<Time>) {
        let process = &mut self.processes[id];
        let moment = process.moment;
        match process.held(activity) {
            None => self.resume_with(id, Answer::Failed(RequestError::Unknown)),
            Some(Held::Over(..)) => {
                let (over, since) = process.take_over(activity).expect("it is over");
                // It resumes when both have happened: that it asked, and that the activity ended.
                self.cause = moment.later(since);
                self.resume_with(id, over);
            }
            Some(_) => self.block(id, Blocked::Activity(activity), limit),
        }
    }

    pub(super) fn test(&mut self, id: ProcessId, activity: u32) {
        let answer = match self.processes[id].held(activity) {
            Some(held) => Answer::Truth(matches!(held, Held::Over(..))),
            None => Answer::Failed(RequestError::Unknown),
        };
        self.resume_with(id, answer);
    }

    pub(super) fn cancel(&mut self, id: ProcessId, activity: u32) {
        if let Some(Held::Going(going)) = self.processes[id].remove_held(activity) {
            self.abandon(going);
        }
    }

    pub(super) fn release_activity(&mut self, id: ProcessId, activity: u32) {
        if let Some(Held::Going(going)) = self.processes[id].remove_held(activity) {
            self.detach(going);
        }
    }

    fn hold(&mut self, id: ProcessId, number: u32, held: Held<P>) {
        self.processes[id].hold(number, held);
    }

    pub(super) fn wait(&mut self, id: ProcessId, numbers: Vec<u32>, all: bool, limit: Option<Time>) {
        let process = &mut self.processes[id];
        let mut left = 0;
        for (place, number) in numbers.iter().enumerate() {
            match process.held(*number) {
                None => return self.resume_with(id, Answer::Failed(RequestError::Unknown)),
                Some(Held::Over(..)) if !all => {
                    let (over, since) = process.take_over(*number).expect("it is over");
                    self.cause = self.cause.later(since);
                    return self.resume_with(id, Answer::Which(place as u32, Box::new(over)));
                }
                Some(Held::Over(..)) => {}
                Some(_) => left += 1,
            }
        }
        if left > 0 {
            let several = Several { numbers, all, left };
            return self.block(id, Blocked::Activities(several.into()), limit);
        }
        // All are over: their results are taken in the order of the list.
        let over = numbers.iter().filter_map(|number| process.take_over(*number));
        let (over, ends): (Vec<_>, Vec<_>) = over.unzip();
        self.cause = ends.into_iter().fold(self.cause, Moment::later);
        let none = if all { Answer::All(Box::new(over)) } else { Answer::Failed(RequestError::Unknown) };
        self.resume_with(id, none);
    }
}
