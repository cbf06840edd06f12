//! The sequential core: a world of hosts, messages and shared objects that answers what processes ask for.
//!
//! Processes act on the world by requests only, as programs act on a machine by system calls (reference 3, section 2). The
//! core knows nothing of how their code runs: a front end asks for the next round, which is all processes that can go on at
//! one instant, runs their code in any order and on any threads, and then hands in what they asked for, in the order of the
//! round. The core answers in that order. It has no thread and no clock; equal requests give equal answers.
//!
//! Invariants: time does not go backwards; a process is in at most one round at a time; the order of a round is that of
//! process numbers.

mod answer;
mod calendar;
mod cpu;
mod ends;
mod flowing;
mod hosts;
mod messages;
mod objects;
mod process;
mod request;
mod stuck;

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_kernel::{Digest, Time};
use paceline_network::{HostId, Network};

use calendar::{Calendar, Due};
use hosts::Host;
use messages::Messages;
use objects::Object;
use process::{Blocked, Held, Process, Several, Side};

pub use request::{Answer, Failure, Mailbox, ObjectId, ObjectKind, ProcessId, Request};
pub use stuck::Stuck;

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// These processes can go on, now.
    Round,
    /// All processes have ended, but for daemons.
    Ended,
    /// Nothing happens before the horizon.
    Horizon,
    /// Nothing will ever happen, and these processes wait.
    Deadlock(Vec<Stuck>),
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rounds handed out.
    pub rounds: u64,
    /// Processes in all of them: how often one went on.
    pub steps: u64,
    /// Messages that have arrived.
    pub messages: u64,
    /// Processes spawned.
    pub processes: u64,
}

/// See the module.
///
/// ```
/// use paceline_actors::core::{Answer, Core, Request, Step};
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
///
/// let mut core: Core<&str, _> = Core::new(Constant::new(0.5), &[(1e9, 1), (1e9, 1)]);
/// let (a, b) = (core.spawn(HostId(0), "a".into()), core.spawn(HostId(1), "b".into()));
/// let mut round = Vec::new();
/// assert_eq!(core.next_round(Time::MAX, &mut round), Step::Round);
/// assert_eq!(round, [a, b]);
/// core.request(a, Request::Send { to: "door".into(), payload: "hello", bytes: 5.0, limit: None });
/// core.request(b, Request::Receive { from: "door".into(), limit: None });
/// assert_eq!(core.next_round(Time::MAX, &mut round), Step::Round);
/// assert_eq!((core.now(), core.answer(b)), (Time::millis(500), Some(Answer::Message("hello"))));
/// core.end(a);
/// core.end(b);
/// assert_eq!(core.next_round(Time::MAX, &mut round), Step::Ended);
/// ```
#[derive(Clone, Debug)]
pub struct Core<P, N> {
    now: Time,
    /// When somebody went on last.
    acted: Time,
    network: N,
    hosts: Vec<Host>,
    /// Which hosts are on; apart from them, as every message asks.
    on: Vec<bool>,
    processes: Vec<Process<P>>,
    /// Those that have an answer and have not had their turn.
    ready: Vec<ProcessId>,
    calendar: Calendar,
    messages: Messages<P>,
    objects: BTreeMap<ObjectId, Object<P>>,
    /// Processes for which the run goes on.
    living: u64,
    /// Processes that somebody has ended, of which the front end does not know yet.
    killed: Vec<ProcessId>,
    /// Processes that have come back with their host, each with the one that it follows.
    restarted: Vec<(ProcessId, ProcessId)>,
    digest: Digest,
    counts: Counts,
}

impl<P, N: Network> Core<P, N> {
    /// A world at time 0: hosts with a speed in flops a second and a number of cores, and the network between them.
    pub fn new(network: N, hosts: &[(f64, u32)]) -> Self {
        Self {
            now: Time::ZERO,
            acted: Time::ZERO,
            network,
            hosts: hosts.iter().map(|(speed, cores)| Host::new(*speed, *cores)).collect(),
            on: vec![true; hosts.len()],
            processes: Vec::new(),
            ready: Vec::new(),
            calendar: Calendar::default(),
            messages: Messages::default(),
            objects: BTreeMap::new(),
            living: 0,
            killed: Vec::new(),
            restarted: Vec::new(),
            digest: Digest::default(),
            counts: Counts::default(),
        }
    }

    /// The time reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// A number for all that has happened: equal for equal runs.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// What has happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The number of hosts.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Mailboxes with messages that nobody has received, and how many.
    pub fn unreceived(&self) -> Vec<(Mailbox, usize)> {
        self.messages.unreceived()
    }

    /// A number of a process that depends only on who spawned it and as the how manieth.
    pub fn identity(&self, process: ProcessId) -> u64 {
        self.processes[process.0 as usize].identity
    }

    /// The name of a process, and where it runs.
    pub fn about(&self, process: ProcessId) -> (&Arc<str>, HostId) {
        let Process { name, host, .. } = &self.processes[process.0 as usize];
        (name, HostId(*host))
    }

    /// A new process on a host, from outside; it is in the next round.
    pub fn spawn(&mut self, host: HostId, name: Arc<str>) -> ProcessId {
        let identity = self.processes.len() as u64;
        self.add(Process::new(name, host.0, identity))
    }

    fn add(&mut self, process: Process<P>) -> ProcessId {
        let id = ProcessId(u32::try_from(self.processes.len()).expect("fewer than 2^32 processes"));
        self.processes.push(process);
        self.ready.push(id);
        self.living += 1;
        self.counts.processes += 1;
        id
    }

    /// Goes on to the next instant at which somebody can go on, but not beyond `until`. Who that is stands in `round`, if it is
    /// a round; all of them are to be run, and what they ask for to be handed in, before the next call.
    pub fn next_round(&mut self, until: Time, round: &mut Vec<ProcessId>) -> Step {
        round.clear();
        loop {
            self.muster(round);
            if !round.is_empty() {
                self.counts.rounds += 1;
                self.acted = self.now;
                self.counts.steps += round.len() as u64;
                return Step::Round;
            }
            if self.living == 0 {
                return Step::Ended;
            }
            let network = self.network.next().map(from_secs);
            let next = match (self.calendar.next(), network) {
                (Some(one), Some(other)) => one.min(other),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => {
                    // Entries that were out of date do not count.
                    self.now = self.acted;
                    return Step::Deadlock(self.stuck());
                }
            };
            if next > until {
                self.now = self.now.max(until);
                return Step::Horizon;
            }
            self.now = self.now.max(next);
            self.advance_network();
            while let Some(due) = self.calendar.take(self.now) {
                match due {
                    Due::Wake(process) => self.wake(process),
                    Due::Computed { host, stamp } => self.computed(host, stamp),
                }
            }
        }
    }

    /// Puts those that can go on into `round`.
    fn muster(&mut self, round: &mut Vec<ProcessId>) {
        if self.ready.is_empty() {
            return;
        }
        let processes = &self.processes;
        let goes_on = |id: &ProcessId| {
            let Process { ended, suspended, .. } = processes[id.0 as usize];
            !ended && !suspended
        };
        round.extend(self.ready.drain(..).filter(goes_on));
        round.sort_unstable();
        round.dedup();
    }

    /// Brings the network to the present, with what arrives until then.
    fn advance_network(&mut self) {
        // What is due in the nanosecond reached is due now.
        let due = self.network.next().filter(|next| from_secs(*next) <= self.now);
        let to = due.unwrap_or(0.0).max(self.now.as_secs_f64()).max(self.network.now());
        for end in self.network.advance(to) {
            let Some(comm) = self.messages.landed(end.transfer) else { continue };
            let (sent, received) = match comm.payload {
                Some(payload) if end.arrived => {
                    self.counts.messages += 1;
                    (Answer::Done, Answer::Message(payload))
                }
                _ => (Answer::Failed(Failure::LinkOff), Answer::Failed(Failure::LinkOff)),
            };
            self.tell(comm.sender, sent);
            self.tell(comm.receiver, received);
        }
    }

    /// What a process in the round is told; once.
    pub fn answer(&mut self, process: ProcessId) -> Option<Answer<P>> {
        self.processes[process.0 as usize].answer.take()
    }

    /// Of what kind the answer is that a process in the round is told: done, a message, a failure, or something else.
    pub fn kind(&self, process: ProcessId) -> usize {
        match &self.processes[process.0 as usize].answer {
            Some(Answer::Done) => 0,
            Some(Answer::Message(_)) => 1,
            Some(Answer::Failed(_)) => 2,
            _ => 3,
        }
    }

    /// Processes that others have ended since the last call: their code is not to run any more.
    pub fn take_killed(&mut self) -> Vec<ProcessId> {
        std::mem::take(&mut self.killed)
    }

    /// Processes that have come back with their host since the last call: the one that has ended, and the new one.
    pub fn take_restarted(&mut self) -> Vec<(ProcessId, ProcessId)> {
        std::mem::take(&mut self.restarted)
    }

    /// A process has ended by itself.
    pub fn end(&mut self, process: ProcessId) {
        self.bury(process);
    }

    /// A process goes on with this answer.
    fn resume_with(&mut self, id: ProcessId, answer: Answer<P>) {
        let process = &mut self.processes[id.0 as usize];
        if process.ended {
            return;
        }
        let late = std::mem::take(&mut process.late);
        let answer = if late { Answer::Failed(Failure::TimedOut) } else { answer };
        process.blocked = Blocked::No;
        process.stamp = process.stamp.wrapping_add(1);
        let place = (u64::from(process.stamp) << 8) | answer.code();
        self.digest.join(Digest::of(&(process.identity, self.now.as_nanos(), place)));
        process.answer = Some(answer);
        if !process.suspended {
            self.ready.push(id);
        }
    }

    /// Tells a side of a communication or computation that it is over.
    fn tell(&mut self, side: Side, answer: Answer<P>) {
        match side {
            Side::Absent | Side::Detached => {}
            Side::Waiting(process) => self.resume_with(process, answer),
            Side::Holding(process, number) => self.activity_over(process, number, answer),
        }
    }

    /// An activity that a process began is over.
    fn activity_over(&mut self, id: ProcessId, number: u32, answer: Answer<P>) {
        let process = &mut self.processes[id.0 as usize];
        if process.blocked == Blocked::Activity(number) {
            process.let_go(number);
            return self.resume_with(id, answer);
        }
        let Some(held) = process.held(number) else { return };
        *held = Held::Over(answer);
        let Blocked::Activities(several) = &mut process.blocked else { return };
        let Several { numbers, all, left } = &mut **several;
        let Some(place) = numbers.iter().position(|waited| *waited == number) else { return };
        if *all {
            *left -= 1;
            if *left == 0 {
                let numbers = std::mem::take(numbers);
                let over = numbers.iter().filter_map(|number| process.take_over(*number)).collect();
                self.resume_with(id, Answer::All(over));
            }
        } else if let Some(answer) = process.take_over(number) {
            self.resume_with(id, Answer::Which(place, Box::new(answer)));
        }
    }

    /// A process has waited long enough, if it still waits and not for longer.
    fn wake(&mut self, number: u32) {
        let (id, process) = (ProcessId(number), &mut self.processes[number as usize]);
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
        let answer = match process.blocked {
            Blocked::Sleep => Answer::Done,
            _ => Answer::Failed(Failure::TimedOut),
        };
        let notice = match process.blocked {
            Blocked::Notice { mutex, .. } => Some(mutex),
            _ => None,
        };
        self.withdraw(id);
        match notice {
            Some(mutex) => {
                self.processes[number as usize].late = true;
                self.lock_again(id, mutex);
            }
            None => self.resume_with(id, answer),
        }
    }
}

/// A time of the network, in seconds, as simulated time: the nearest nanosecond, so that what a number of 64 bits cannot hold
/// of a sum of times does not add up.
fn from_secs(seconds: f64) -> Time {
    let ns = (seconds * 1e9).round();
    if ns < u64::MAX as f64 { Time::nanos(ns as u64) } else { Time::MAX }
}
