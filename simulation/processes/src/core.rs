//! The sequential core of process-oriented simulations: a world of hosts, messages and shared objects that
//! answers what processes ask for.
//!
//! Processes act on the world by requests only, as programs act on a machine by system calls (SimGrid report,
//! section 2). The core knows nothing of how their code runs: a front end asks for the next round, which is
//! all processes that can run at one instant, runs their code in any order and on any threads, and then hands
//! in what they asked for, in the order of the round. The core answers in that order. It has no thread and no
//! clock; equal requests give equal answers. The rest of this crate is a front end; [`Decider`] says which of
//! its rounds run faster on many threads.
//!
//! Invariants: time does not go backwards; a process is in at most one round at a time; the order of a round
//! is that of process numbers.

#![forbid(unsafe_code)]

mod activities;
mod alone;
mod answer;
mod calendar;
mod carrier;
mod cpu;
mod ends;
mod flowing;
mod hosts;
mod ids;
mod line;
mod measured;
mod messages;
mod moment;
mod numbered;
mod objects;
mod outcomes;
mod parcels;
mod part;
mod present;
mod process;
mod profiles;
mod request;
mod resources;
mod resume;
mod rounds;
mod sharing;
mod statistics;
mod stuck;
mod suspension;
#[cfg(test)]
mod test;
mod wants;

use paceline_kernel::{Digest, Time};
use paceline_network::{HostId, Network};

use calendar::{Calendar, Due};
use hosts::Host;
use measured::Measured;
use messages::Messages;
use moment::Moment;
use objects::Objects;
use parcels::Parcels;
use present::Lendable;
use process::{Process, Processes};

pub use carrier::{Carrier, Landed, Start, Whose};
pub use numbered::Numbered;
pub use parcels::{Leaving, Parcel};
pub use part::Reach;
pub(crate) use present::Present;
pub use profiles::Profiles;
pub use request::{Answer, Mailbox, Name, ObjectId, ObjectKind, ProcessId, Request, RequestError};
pub use resources::WaitsFor;
pub use resume::WaitEnd;
pub use rounds::{Decider, How, KINDS, RoundCounts, Rounds};
pub use stuck::{Stuck, WaitReason};
pub use wants::*;

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// These processes can run, now.
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
    /// The sum of their sizes: how often a process was resumed.
    pub steps: u64,
    /// Messages that have arrived.
    pub messages: u64,
    /// Processes spawned, those that have ended included.
    pub processes: u64,
}

/// A world of hosts, messages and objects that answers requests, one instant after the other.
///
/// ```
/// use paceline_processes::core::{Answer, Core, Request, Step};
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
    /// The time at which a process last ran.
    acted: Time,
    /// The exact time, in the present instant, of what is being dealt with: whoever resumes by it does so
    /// then.
    cause: Moment,
    network: N,
    hosts: Vec<Host>,
    on: Vec<bool>, // apart from the hosts, as every message asks
    processes: Processes<P>,
    /// Those that have an answer and have not had their turn.
    ready: Vec<ProcessId>,
    calendar: Calendar,
    /// Hosts on which computations have ended, and that are to be scheduled again.
    ended: Vec<u32>,
    profiles: Profiles,
    messages: Messages<P>,
    objects: Objects<P>,
    resources: Lendable,
    parcels: Parcels<P>,
    /// The process that first acted beyond its host, in a part of a world.
    reached_out: Option<(ProcessId, Reach)>,
    /// Processes that keep the run from ending.
    living: u64,
    /// Processes that others have ended, and that the front end does not know of yet.
    killed: Vec<ProcessId>,
    /// Processes that have come back with their host, each with the one that it follows.
    restarted: Vec<(ProcessId, ProcessId)>,
    measured: Measured,
    digest: Digest,
    counts: Counts,
}

impl<P, N: Network> Core<P, N> {
    /// A world at time 0: hosts with a speed in flops a second and a number of cores, and the network between
    /// them.
    pub fn new(network: N, hosts: &[(f64, u32)]) -> Self {
        let parcels = Parcels::new(network.least_latency());
        Self {
            now: Time::ZERO,
            acted: Time::ZERO,
            cause: Moment::default(),
            network,
            hosts: hosts.iter().map(|(speed, cores)| Host::new(*speed, *cores)).collect(),
            on: vec![true; hosts.len()],
            processes: Processes::default(),
            ready: Vec::new(),
            calendar: Calendar::default(),
            ended: Vec::new(),
            profiles: Profiles::default(),
            messages: Messages::default(),
            objects: Objects::default(),
            resources: Lendable::default(),
            parcels,
            reached_out: None,
            living: 0,
            killed: Vec::new(),
            restarted: Vec::new(),
            measured: Measured::default(),
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

    /// Mailboxes with messages that were not received, and their number.
    pub fn unreceived(&self) -> Vec<(Mailbox, usize)> {
        self.messages.unreceived(Time::MAX)
    }

    /// A number of a process that depends only on who spawned it and as the how manieth. Panics, as all that
    /// asks about a process, where it has ended in an earlier instant: then it is forgotten.
    pub fn identity(&self, process: ProcessId) -> u64 {
        self.processes[process].identity
    }

    /// The name of a process, and where it runs; `None` where it has ended in an earlier instant.
    pub fn try_about(&self, process: ProcessId) -> Option<(&Name, HostId)> {
        self.processes.get(process).map(|process| (&process.name, HostId(process.host)))
    }

    /// The name of a process, and where it runs.
    pub fn about(&self, process: ProcessId) -> (&Name, HostId) {
        let Process { name, host, .. } = &self.processes[process];
        (name, HostId(*host))
    }

    /// A new process on a host, from outside; it is in the next round.
    pub fn spawn(&mut self, host: HostId, name: Name) -> ProcessId {
        let identity = u64::from(self.processes.given());
        self.spawn_as(host, name, identity)
    }

    /// The same, with an identity that is its number among all processes of a world of which this is a part.
    pub fn spawn_as(&mut self, host: HostId, name: Name, identity: u64) -> ProcessId {
        self.because(Moment::at(self.now));
        self.add(Process::new(name, host.0, identity))
    }

    fn add(&mut self, process: Process<P>) -> ProcessId {
        let process = Process { moment: self.cause, ..process };
        self.living += u64::from(!process.daemon);
        let id = self.processes.push(process);
        self.ready.push(id);
        self.counts.processes += 1;
        id
    }

    /// What happens from now on happens at this moment, or in this instant where it was due earlier.
    fn because(&mut self, moment: Moment) {
        self.cause = if moment.at == self.now { moment } else { Moment::at(self.now) };
    }

    /// Advances to the next instant at which a process can run, but not beyond `until`. Who that is stands in
    /// `round`, if it is a round; all of them are to be run, and what they ask for to be handed in,
    /// before the next call.
    pub fn next_round(&mut self, until: Time, round: &mut Vec<ProcessId>) -> Step {
        round.clear();
        self.processes.forget();
        loop {
            self.follow_profiles();
            self.muster(round);
            if !round.is_empty() {
                self.counts.rounds += 1;
                self.acted = self.now;
                self.counts.steps += round.len() as u64;
                return Step::Round;
            }
            let (next, others) = self.upcoming();
            if self.living == 0 && !self.parcels.is_part() && next.is_none_or(|next| next > self.now) {
                return Step::Ended;
            }
            let Some(next) = next else {
                if self.parcels.is_part() {
                    self.now = self.now.max(until);
                    return Step::Horizon;
                }
                // Entries that were out of date do not count.
                self.now = self.acted;
                let stuck = self.stuck();
                return if stuck.is_empty() { Step::Ended } else { Step::Deadlock(stuck) };
            };
            if next > until {
                self.now = self.now.max(until);
                return Step::Horizon;
            }
            self.catch_up(next);
            self.now = self.now.max(next);
            if others {
                self.advance_resources();
                self.advance_network();
                self.arrivals();
            }
            while let Some(due) = self.calendar.take(self.now) {
                match due {
                    Due::Wake(process) => self.wake(process),
                    Due::Claim { process, number } => self.claim_due(ProcessId(process), number),
                    Due::Computed { host, stamp } => self.computed(host, stamp),
                }
            }
            while let Some(host) = self.ended.pop() {
                self.reschedule(host);
            }
        }
    }

    /// The time of the next change that a process may notice, if no process can run now.
    pub fn next_time(&mut self) -> Option<Time> {
        self.upcoming().0
    }

    /// The same, and whether anything but the calendar has something to come.
    #[inline]
    fn upcoming(&mut self) -> (Option<Time>, bool) {
        let (processes, hosts, resources) = (&self.processes, &self.hosts, &self.resources);
        self.calendar.tidy(|at, due| match due {
            Due::Wake(number) => {
                processes.get(ProcessId(number)).is_some_and(|process| process.entered == at)
            }
            Due::Claim { process, number } => resources.is_due(ProcessId(process), number, at),
            Due::Computed { host, stamp } => hosts[host as usize].stamp == stamp,
        });
        let (calendar, parcels) = (self.calendar.next(), self.parcels.next());
        let network = self.network.next().map(|at| Moment::of_secs(at).at);
        let (profiles, shifts) = (self.profiles.next(), self.resources.next_shift());
        let others = [parcels, network, profiles, shifts].into_iter().flatten().min();
        let Some(other) = others else { return (calendar, false) };
        let next = Some(calendar.map_or(other, |calendar| calendar.min(other)));
        // Profiles of hosts and links, and plans of resources, may be endless.
        let planned = || self.profiles_matter() || self.resources.shifts_matter();
        let goes_on = || calendar.is_some() || parcels.is_some() || self.flows() || planned();
        (next.filter(|_| goes_on()), true)
    }

    /// Puts the processes that can run into `round`.
    fn muster(&mut self, round: &mut Vec<ProcessId>) {
        if self.ready.is_empty() {
            return;
        }
        let processes = &self.processes;
        let goes_on =
            |id: &ProcessId| processes.get(*id).is_some_and(|process| !process.ended && !process.suspended);
        // The lists change places: a large one is there once.
        std::mem::swap(round, &mut self.ready);
        round.retain(goes_on);
        round.sort_unstable();
        round.dedup();
    }

    /// Brings the network to the present, with what arrives until then.
    fn advance_network(&mut self) {
        let mut landed = Vec::new();
        while self.advance_once(&mut landed) {}
        self.landed(landed);
    }

    /// The same, and starts the parcels that are due. Says whether there were any: they may have ended
    /// already.
    fn advance_once(&mut self, landed: &mut Vec<Landed<P>>) -> bool {
        for end in carrier::advance(&mut self.network, self.now) {
            if self.parcels.carrier.ended(end, self.now, landed) {
                continue;
            }
            let Some(comm) = self.messages.landed(end.transfer) else { continue };
            self.because(Moment::of_secs(end.at));
            let (sent, received) = match comm.payload {
                Some(payload) if end.arrived => {
                    self.counts.messages += 1;
                    (Answer::Done, Answer::Message(payload))
                }
                _ => (Answer::Failed(RequestError::LinkOff), Answer::Failed(RequestError::LinkOff)),
            };
            self.inform(comm.sender, sent);
            self.inform(comm.receiver, received);
        }
        self.parcels.carrier.start(&mut self.network, self.now, landed)
    }

    /// The answer to a process in the round; once.
    pub fn answer(&mut self, process: ProcessId) -> Option<Answer<P>> {
        self.processes[process].answer.take()
    }

    /// The kind of the answer to a process in the round: done, a message, a failure, or something else.
    pub fn kind(&self, process: ProcessId) -> usize {
        match &self.processes[process].answer {
            Some(Answer::Done) => 0,
            Some(Answer::Message(_)) => 1,
            Some(Answer::Failed(_)) => 2,
            _ => 3,
        }
    }
}
