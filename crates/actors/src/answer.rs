//! Answers to requests, one after the other.

use std::sync::Arc;

use paceline_kernel::{Digest, Time};
use paceline_network::{HostId, Network};

use super::Core;
use super::calendar::Due;
use super::messages::Comm;
use super::objects::Object;
use super::process::{Blocked, Going, Held, Process, Several, Side};
use super::request::{Answer, Failure, Mailbox, ObjectId, ProcessId, Request};

impl<P> Answer<P> {
    /// What enters the digest of it.
    pub(super) fn code(&self) -> u64 {
        match self {
            Self::Done => 0,
            Self::Message(_) => 1,
            Self::Process(_) => 2,
            Self::Truth(truth) => 3 + u64::from(*truth),
            Self::Which(place, _) => 16 + (*place as u64 & 0x3f),
            Self::All(_) => 5,
            Self::Failed(failure) => 8 + *failure as u64,
        }
    }
}

impl<P, N: Network> Core<P, N> {
    /// Takes in what a process asks for. A process that ended meanwhile is not heard. Says which process was spawned, if one was.
    pub fn request(&mut self, id: ProcessId, request: Request<P>) -> Option<ProcessId> {
        let Process { ended, host, .. } = self.processes[id];
        if ended {
            // What its end has let go of is given back.
            if let Request::Release(object) = request {
                self.release(id, object);
            }
            return None;
        }
        if let Some(reach) = self.reach(host, &request) {
            self.reached_out.get_or_insert((id, reach));
            return None;
        }
        match request {
            Request::Yield => self.resume_with(id, Answer::Done),
            Request::Sleep(span) => {
                self.block(id, Blocked::Sleep, Some(span));
            }
            Request::Compute(flops) => {
                let task = self.hosts[host as usize].cpu.begin(self.now, flops, Side::Waiting(id));
                self.block(id, Blocked::On(Going::Computation { host, task }), None);
                self.reschedule(host);
            }
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
                self.hold(id, activity, Held::Asked);
                if let Some(going) = self.send(id, Side::Holding(id, activity), &to, payload, bytes) {
                    self.hold(id, activity, Held::Going(going));
                }
            }
            Request::StartReceive { activity, from } => {
                self.hold(id, activity, Held::Asked);
                if let Some(comm) = self.receive(id, Side::Holding(id, activity), &from) {
                    self.hold(id, activity, Held::Going(Going::Message { comm, sends: false }));
                }
            }
            Request::StartCompute { activity, flops } => {
                let side = Side::Holding(id, activity);
                let task = self.hosts[host as usize].cpu.begin(self.now, flops, side);
                self.hold(id, activity, Held::Going(Going::Computation { host, task }));
                self.reschedule(host);
            }
            Request::Await { activity, limit } => {
                let process = &mut self.processes[id];
                match process.held(activity) {
                    None => self.resume_with(id, Answer::Failed(Failure::Unknown)),
                    Some(Held::Over(_)) => {
                        let over = process.take_over(activity).expect("it is over");
                        self.resume_with(id, over);
                    }
                    Some(_) => self.block(id, Blocked::Activity(activity), limit),
                }
            }
            Request::Wait { activities, all, limit } => self.wait(id, activities, all, limit),
            Request::Test(number) => {
                let answer = match self.processes[id].held(number) {
                    Some(held) => Answer::Truth(matches!(held, Held::Over(_))),
                    None => Answer::Failed(Failure::Unknown),
                };
                self.resume_with(id, answer);
            }
            Request::Cancel(number) => {
                if let Some(Held::Going(going)) = self.processes[id].let_go(number) {
                    self.abandon(going);
                }
            }
            Request::LetGo(number) => {
                if let Some(Held::Going(going)) = self.processes[id].let_go(number) {
                    *self.side(going) = Side::Detached;
                }
            }
            Request::Spawn { host, name } => return self.spawn_child(id, host, name),
            Request::Join { process, limit } => match self.processes.get_mut(process) {
                Some(other) if other.ended => self.resume_with(id, Answer::Done),
                Some(other) => {
                    other.joiners.get_or_insert_default().push(id);
                    self.block(id, Blocked::Join(process), limit);
                }
                None => self.resume_with(id, Answer::Failed(Failure::Unknown)),
            },
            Request::Kill(process) if self.is_there(process) => self.kill(process),
            Request::Suspend(process) if self.is_there(process) => self.suspend(process),
            Request::Resume(process) if self.is_there(process) => self.resume(process),
            Request::Kill(_) | Request::Suspend(_) | Request::Resume(_) => {}
            Request::Daemonize => {
                let process = &mut self.processes[id];
                self.living -= u64::from(!std::mem::replace(&mut process.daemon, true));
            }
            Request::RestartWithHost => self.processes[id].restarts = true,
            Request::Make(number, kind) => {
                self.objects.insert(ObjectId { owner: id, number }, Object::new(kind));
            }
            Request::Acquire { object, limit } => self.acquire(id, object, limit),
            Request::Release(object) => self.release(id, object),
            Request::AwaitNotice { condition, mutex, limit } => {
                if !self.objects.get(&condition).is_some_and(Object::is_condition) {
                    return self.refuse(id);
                }
                self.release(id, mutex);
                self.objects.get_mut(&condition).expect("it was there").wait(id);
                self.block(id, Blocked::Notice { condition, mutex }, limit);
            }
            Request::Notify { condition, all } => {
                while let Some(next) = self.objects.get_mut(&condition).and_then(Object::notify) {
                    if let Blocked::Notice { mutex, .. } = self.processes[next].blocked {
                        self.lock_again(next, mutex);
                    }
                    if !all {
                        break;
                    }
                }
            }
            Request::Meet(object) => match self.objects.get_mut(&object) {
                Some(barrier) if barrier.is_barrier() => match barrier.meet(id) {
                    Some(together) => {
                        for process in together {
                            self.resume_with(process, Answer::Truth(process == id));
                        }
                    }
                    None => self.block(id, Blocked::Meet(object), None),
                },
                _ => return self.refuse(id),
            },
            Request::Put(queue, item) => {
                if let Some((process, item)) = self.objects.get_mut(&queue).and_then(|queue| queue.put(item))
                {
                    self.resume_with(process, Answer::Message(item));
                }
            }
            Request::Get { queue, limit } => match self.objects.get_mut(&queue) {
                Some(object) if object.is_queue() => match object.get() {
                    Some(item) => self.resume_with(id, Answer::Message(item)),
                    None => {
                        object.wait(id);
                        self.block(id, Blocked::Get(queue), limit);
                    }
                },
                _ => return self.refuse(id),
            },
            Request::SwitchOff(host) => self.switch_off(host),
            Request::SwitchOn(host) => self.switch_on(host),
            Request::Abandon => {
                self.withdraw(id);
                let process = &mut self.processes[id];
                // What came meanwhile is lost, and a time limit is over.
                process.answer = None;
            }
            Request::Record(number) => {
                let identity = self.processes[id].identity;
                self.digest.join(Digest::of(&(identity, self.now.as_nanos(), number, 'r')));
            }
        }
        None
    }

    fn refuse(&mut self, id: ProcessId) -> Option<ProcessId> {
        self.resume_with(id, Answer::Failed(Failure::Unknown));
        None
    }

    fn is_there(&self, process: ProcessId) -> bool {
        self.processes.get(process).is_some()
    }

    /// A process waits from now on, at most for the span `limit`. An entry of the calendar that wakes it earlier is moved on then, so
    /// that one who waits again and again until the same time is entered once.
    fn block(&mut self, id: ProcessId, blocked: Blocked, limit: Option<Time>) {
        let process = &mut self.processes[id];
        process.blocked = blocked;
        process.limit = limit.and_then(|limit| self.now.checked_add(limit)).unwrap_or(Time::MAX);
        if process.limit < process.entered {
            process.entered = process.limit;
            self.calendar.enter(process.limit, Due::Wake(id.0));
        }
    }

    fn hold(&mut self, id: ProcessId, number: u32, held: Held<P>) {
        let process = &mut self.processes[id];
        match process.held(number) {
            Some(place) => *place = held,
            None => process.held.push((number, held)),
        }
    }

    /// Sends a message. Gives what goes on, unless it is over already, or nobody is to hear of it.
    fn send(&mut self, id: ProcessId, side: Side, to: &Mailbox, payload: P, bytes: f64) -> Option<Going> {
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
                let comm =
                    Comm { mailbox, sender: side, receiver, from, to, payload, bytes, transfer, arrived };
                Some(self.messages.enter(comm))
            }
        };
        place.map(|comm| Going::Message { comm, sends: true })
    }

    /// Receives a message. Gives where it will be, unless that is over already.
    fn receive(&mut self, id: ProcessId, side: Side, from: &Mailbox) -> Option<u32> {
        let to = self.processes[id].host;
        let mailbox = self.messages.mailbox(from);
        if self.messages.host(mailbox).is_some_and(|host| host != to) {
            self.tell(side, Answer::Failed(Failure::Elsewhere));
            return None;
        }
        match self.messages.partner(mailbox, false) {
            Some(place) if self.messages.comm(place).arrived.is_some() => {
                let comm = self.messages.remove(place).expect("it was in its mailbox");
                self.tell(side, Answer::Message(comm.payload.expect("it came with the message")));
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
                let comm = Comm { mailbox, sender, receiver, from, to, payload, bytes, transfer, arrived };
                Some(self.messages.enter(comm))
            }
        }
    }

    /// A communication has both its sides.
    fn flow(&mut self, place: u32) -> Option<u32> {
        let comm = self.messages.comm(place);
        let (from, to, bytes) = (HostId(comm.from), HostId(comm.to), comm.bytes);
        let on = self.on[from.0 as usize] && self.on[to.0 as usize];
        let failure = match on.then(|| self.network.start(from, to, bytes)) {
            Some(Ok(transfer)) => {
                self.messages.flows(place, transfer);
                return Some(place);
            }
            Some(Err(_)) => Failure::NoRoute,
            None => Failure::HostOff,
        };
        let comm = self.messages.remove(place).expect("it was there");
        self.tell(comm.sender, Answer::Failed(failure));
        self.tell(comm.receiver, Answer::Failed(failure));
        None
    }

    fn wait(&mut self, id: ProcessId, numbers: Vec<u32>, all: bool, limit: Option<Time>) {
        let process = &mut self.processes[id];
        let mut left = 0;
        for (place, number) in numbers.iter().enumerate() {
            match process.held(*number) {
                None => return self.resume_with(id, Answer::Failed(Failure::Unknown)),
                Some(Held::Over(_)) if !all => {
                    let over = process.take_over(*number).expect("it is over");
                    return self.resume_with(id, Answer::Which(place, Box::new(over)));
                }
                Some(Held::Over(_)) => {}
                Some(_) => left += 1,
            }
        }
        if left > 0 {
            let several = Several { numbers, all, left };
            return self.block(id, Blocked::Activities(several.into()), limit);
        }
        let over = numbers.iter().filter_map(|number| process.take_over(*number)).collect();
        let none = if all { Answer::All(over) } else { Answer::Failed(Failure::Unknown) };
        self.resume_with(id, none);
    }

    fn spawn_child(&mut self, id: ProcessId, host: HostId, name: Arc<str>) -> Option<ProcessId> {
        let on = self.on.get(host.0 as usize).copied();
        if on != Some(true) {
            let failure = if on.is_some() { Failure::HostOff } else { Failure::Unknown };
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

    /// Releases a permit or a lock, to the process that has waited longest.
    fn release(&mut self, id: ProcessId, object: ObjectId) {
        if let Some(next) = self.objects.get_mut(&object).and_then(|object| object.release(id)) {
            self.resume_with(next, Answer::Truth(true));
        }
    }

    fn acquire(&mut self, id: ProcessId, object: ObjectId, limit: Option<Time>) {
        let at_once = self.objects.get_mut(&object).and_then(|object| object.try_acquire(id));
        match at_once {
            None => self.resume_with(id, Answer::Failed(Failure::Unknown)),
            Some(false) if limit != Some(Time::ZERO) => {
                self.objects.get_mut(&object).expect("it was there").wait(id);
                self.block(id, Blocked::Acquire(object), limit);
            }
            Some(taken) => self.resume_with(id, Answer::Truth(taken)),
        }
    }

    /// A process that waited for a notice locks its mutex again.
    pub(super) fn lock_again(&mut self, id: ProcessId, mutex: ObjectId) {
        // Its time limit was for the notice.
        self.acquire(id, mutex, None);
    }
}
