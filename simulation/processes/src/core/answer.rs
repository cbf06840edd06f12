//! The core's entry for requests: `request` passes each to the part of the core that it concerns. The process
//! is answered at once, or blocked until that part resumes it.
//!
//! To add a request, name it in `request.rs`, handle it here, and give it a method of the handle in
//! `process.rs` of the crate. If it can act beyond its process's host, `reach` in `part.rs` has to know it.

use paceline_kernel::{Digest, Time};
use paceline_network::{HostId, Network};

use super::Core;
use super::calendar::Due;
use super::messages::Comm;
use super::moment::Moment;
use super::process::{Blocked, Going, Process, Side};
use super::request::{Answer, Mailbox, Name, ProcessId, Request, RequestError};
use super::wants::Outcome;

impl<P> Answer<P> {
    /// What enters the digest of it.
    pub(super) fn code(&self) -> u64 {
        match self {
            Self::Done => 0,
            Self::Message(_) => 1,
            Self::Process(_) => 2,
            Self::Truth(truth) => 3 + u64::from(*truth),
            Self::Which(place, _) => 16 + u64::from(*place & 0x3f),
            Self::All(_) => 5,
            Self::Failed(failure) => 8 + *failure as u64,
            Self::ClaimDone(_) => Outcome::Done.code(),
            Self::ClaimGranted(_, waited) => Outcome::Granted(*waited).code(),
            Self::ClaimServed(_, waited) => Outcome::Served { waited: *waited, preemptions: 0 }.code(),
            Self::Claim(_, outcome) => outcome.code(),
            Self::Several(_) => 6,
        }
    }
}

impl<P, N: Network> Core<P, N> {
    /// Takes in what a process asks for. A process that ended meanwhile is not heard. Says which process was
    /// spawned, if one was.
    pub fn request(&mut self, id: ProcessId, request: Request<P>) -> Option<ProcessId> {
        let Process { ended, host, moment, .. } = self.processes[id];
        self.because(moment);
        if ended {
            self.request_of_ended(id, request);
            return None;
        }
        if let Some(reach) = self.reach(host, &request) {
            self.reached_out.get_or_insert((id, reach));
            return None;
        }
        match request {
            Request::Yield => self.resume_with(id, Answer::Done),
            Request::Sleep(span) => self.block(id, Blocked::Sleep, Some(span)),
            Request::SleepUntil(time) => self.sleep_until(id, time),
            Request::Compute(flops) => self.wait_for_computation(id, flops),
            Request::Send { to, payload, bytes, limit } => {
                if let Some(going) = self.send(id, Side::Waiting(id), &to, payload, bytes) {
                    self.block(id, Blocked::On(going), limit);
                }
            }
            Request::Receive { from, limit } => {
                if let Some(comm) = self.receive(id, Side::Waiting(id), &from) {
                    self.block(id, Blocked::On(Going::Message { comm, sends: false }), limit);
                }
            }
            Request::Detach { to, payload, bytes } => {
                self.send(id, Side::Detached, &to, payload, bytes);
            }
            Request::StartSend { activity, to, payload, bytes } => {
                self.start_send(id, activity, &to, payload, bytes);
            }
            Request::StartReceive { activity, from } => self.start_receive(id, activity, &from),
            Request::StartCompute { activity, flops } => self.start_compute(id, activity, flops),
            Request::Await { activity, limit } => self.await_activity(id, activity, limit),
            Request::Wait { activities, all, limit } => self.wait(id, activities, all, limit),
            Request::Test(activity) => self.test(id, activity),
            Request::Cancel(activity) => self.cancel(id, activity),
            Request::ReleaseActivity(activity) => self.release_activity(id, activity),
            Request::Spawn { host, name } => return self.spawn_child(id, host, name),
            Request::Join { process, limit } => self.join(id, process, limit),
            Request::Kill(process) => self.kill(process),
            Request::Suspend(process) => self.suspend(process),
            Request::Resume(process) => self.resume(process),
            Request::Daemonize => self.daemonize(id),
            Request::RestartWithHost => self.processes[id].restarts = true,
            Request::Acquire { object, limit } => self.acquire(id, object, limit),
            Request::Release(object) => self.release(id, object),
            Request::ConditionWait { condition, mutex, limit } => {
                self.wait_for_condition(id, condition, mutex, limit);
            }
            Request::Notify { condition, all } => self.notify(condition, all),
            Request::BarrierWait(barrier) => self.wait_at_barrier(id, barrier),
            Request::Put(queue, item) => self.put(queue, item),
            Request::Get { queue, limit } => self.get(id, queue, limit),
            Request::SwitchOff(host) => self.switch_off(host),
            Request::SwitchOffFor(host, span) => self.switch_off_for(host, span),
            Request::SwitchOn(host) => self.switch_on(host),
            Request::Abandon(answer) => self.abandon_request(id, answer),
            Request::Record(number) => self.record(id, number),
            Request::Measure(name, note) => self.measure(id, name, note),
            Request::Claim { claim, resource, want, limit } => self.claim((id, claim), resource, want, limit),
            Request::ReleaseUnits { holder, claim, units, .. } => self.release_units((holder, claim), units),
            Request::Hold { claim, span } => self.wait_for((id, claim), span),
            request => self.request_resource(id, request),
        }
        None
    }

    /// The end of a process has dropped the guards that it held: mutexes are unlocked, and levels lowered,
    /// all the same. Nothing else of it is heard.
    fn request_of_ended(&mut self, id: ProcessId, request: Request<P>) {
        match request {
            Request::Release(object) => self.release(id, object),
            Request::Measure(name, note) => self.measure(id, name, note),
            _ => {}
        }
    }

    fn sleep_until(&mut self, id: ProcessId, time: Time) {
        if time > self.now {
            // Whoever wakes at a time that it names is at a whole tick, whatever part of one it carried until
            // then.
            self.processes[id].moment = Moment::at(self.now);
        }
        self.block(id, Blocked::Sleep, Some(time.saturating_sub(self.now)));
    }

    fn wait_for_computation(&mut self, id: ProcessId, flops: f64) {
        let going = self.compute(id, flops, Side::Waiting(id));
        self.block(id, Blocked::On(going), None);
    }

    fn daemonize(&mut self, id: ProcessId) {
        let process = &mut self.processes[id];
        // It may have been a daemon before; then nobody waits for it already.
        self.living -= u64::from(!std::mem::replace(&mut process.daemon, true));
    }

    fn record(&mut self, id: ProcessId, number: u64) {
        let identity = self.processes[id].identity;
        self.digest.join(Digest::of(&(identity, self.now.as_nanos(), number, 'r')));
    }

    /// A process waits for the end of another.
    fn join(&mut self, id: ProcessId, process: ProcessId, limit: Option<Time>) {
        let known = self.processes.knows(process);
        match self.processes.get_mut(process) {
            Some(other) if !other.ended => {
                other.add_joiner(id);
                self.block(id, Blocked::Join(process), limit);
            }
            Some(over) => {
                self.cause = self.cause.later(over.moment);
                self.resume_with(id, Answer::Done);
            }
            None if known => self.resume_with(id, Answer::Done),
            None => self.resume_with(id, Answer::Failed(RequestError::Unknown)),
        }
    }

    /// A process waits from now on, at most for the span `limit`. An entry of the calendar that wakes it
    /// earlier is moved on then, so that one who waits again and again until the same time is entered
    /// once.
    pub(super) fn block(&mut self, id: ProcessId, blocked: Blocked, limit: Option<Time>) {
        let process = &mut self.processes[id];
        process.blocked = blocked;
        process.limit = limit.and_then(|limit| self.now.checked_add(limit)).unwrap_or(Time::MAX);
        if process.limit < process.entered {
            process.entered = process.limit;
            self.calendar.enter(process.limit, Due::Wake(id.0));
        }
        self.notice_interrupt(id);
    }

    /// Sends a message. Gives what goes on, unless it is over already, or no process is to learn of it.
    pub(super) fn send(
        &mut self,
        id: ProcessId,
        side: Side,
        to: &Mailbox,
        payload: P,
        bytes: f64,
    ) -> Option<Going> {
        let from = self.processes[id].host;
        let mailbox = self.messages.mailbox(to);
        if let Some(host) = self.messages.host(mailbox) {
            return self.post(id, side, HostId(host), to, payload, bytes);
        }
        let place = match self.messages.partner(mailbox, true) {
            Some(place) => {
                let comm = self.messages.comm(place);
                (comm.sender, comm.from, comm.payload, comm.bytes) = (side, from, Some(payload), bytes);
                self.flow(place)
            }
            None => {
                let (receiver, to) = (Side::Absent, 0);
                let (payload, transfer, arrived) = (Some(payload), None, None);
                let (sender, since) = (side, self.cause);
                let comm =
                    Comm { mailbox, sender, receiver, from, to, payload, bytes, transfer, arrived, since };
                Some(self.messages.enter(comm))
            }
        };
        place.map(|comm| Going::Message { comm, sends: true })
    }

    /// Receives a message. Gives where it will be, unless that is over already.
    pub(super) fn receive(&mut self, id: ProcessId, side: Side, from: &Mailbox) -> Option<u32> {
        let to = self.processes[id].host;
        let mailbox = self.messages.mailbox(from);
        if self.messages.host(mailbox).is_some_and(|host| host != to) {
            self.inform(side, Answer::Failed(RequestError::Elsewhere));
            return None;
        }
        match self.messages.partner(mailbox, false) {
            Some(place) if self.messages.comm(place).arrived.is_some() => {
                let comm = self.messages.remove(place).expect("it was in its mailbox");
                self.cause = self.cause.later(comm.since);
                self.inform(side, Answer::Message(comm.payload.expect("it came with the message")));
                None
            }
            Some(place) => {
                let comm = self.messages.comm(place);
                (comm.receiver, comm.to) = (side, to);
                self.flow(place)
            }
            None => {
                let (sender, receiver, from) = (Side::Absent, side, 0);
                let (payload, bytes, transfer, arrived) = (None, 0.0, None, None);
                let since = self.cause;
                let comm =
                    Comm { mailbox, sender, receiver, from, to, payload, bytes, transfer, arrived, since };
                Some(self.messages.enter(comm))
            }
        }
    }

    /// A communication has both its sides.
    fn flow(&mut self, place: u32) -> Option<u32> {
        let comm = self.messages.comm(place);
        let (from, to, bytes) = (HostId(comm.from), HostId(comm.to), comm.bytes);
        // It flows when the later of its sides was there.
        comm.since = comm.since.later(self.cause);
        let since = comm.since.as_secs();
        let on = self.on[from.0 as usize] && self.on[to.0 as usize];
        let failure = match on.then(|| self.network.start_since(from, to, bytes, since)) {
            Some(Ok(transfer)) => {
                self.messages.flows(place, transfer);
                return Some(place);
            }
            Some(Err(_)) => RequestError::NoRoute,
            None => RequestError::HostOff,
        };
        let comm = self.messages.remove(place).expect("it was there");
        self.inform(comm.sender, Answer::Failed(failure));
        self.inform(comm.receiver, Answer::Failed(failure));
        None
    }

    fn spawn_child(&mut self, id: ProcessId, host: HostId, name: Name) -> Option<ProcessId> {
        let on = self.on.get(host.0 as usize).copied();
        if on != Some(true) {
            let failure = if on.is_some() { RequestError::HostOff } else { RequestError::Unknown };
            self.resume_with(id, Answer::Failed(failure));
            return None;
        }
        let parent = &mut self.processes[id];
        parent.children += 1;
        let (identity, daemon) = (Digest::of(&(parent.identity, parent.children)).value(), parent.daemon);
        let child = self.add(Process { daemon, ..Process::new(name, host.0, identity) });
        self.resume_with(id, Answer::Process(child));
        Some(child)
    }
}
