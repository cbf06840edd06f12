//! One machine with the LP of its host.
//!
//! A hand-over of the engine is a bound with the events before it. Frames among these arrive at the machine,
//! which is then granted time in steps up to the bound; the frames that it sends become events of the LP; and
//! the LP does all before the bound. Then the engine has its answer.
//!
//! Invariants: a machine is granted no more than the time in which the network may answer an ARP request
//! after its earliest next action, so that no answer comes too late; events of a machine are numbered by the
//! machine alone, so that the order among events does not depend on how its time was cut.

mod keep;

use std::collections::VecDeque;
use std::mem;
use std::time::{Duration, Instant};

use paceline_engine::{Door, FederateError, OutsideLps};
use paceline_kernel::{Event, LpId, Outbox, Progress, TieBreak, Time};
use paceline_packets::{FrameBody, NetEvent, Packets, Stations};

use super::frame_log::FrameLog;
use super::machine::{Frame, Machine, MachineError, MachineState, Saved, Stopped};

/// The bytes on the wire of an ARP packet.
const ARP_WIRE_BYTES: u64 = 84;
/// Events that the LP runs before it is asked whether it broke a rule.
const BATCH: usize = 1 << 13;

/// How far a machine is with what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It stands, and nothing is asked of it.
    Idle,
    /// It is to be granted time.
    Waiting,
    /// It runs. Before its first order it does so to its first time.
    Running,
    /// It cannot go on.
    Over,
}

/// What a hand-over needs besides the machine.
struct Stretch {
    lps: Box<OutsideLps<Packets>>,
    door: Door<Packets>,
    outbox: Outbox<NetEvent>,
    bound: Time,
}

pub(super) struct Seat {
    machine: Box<dyn Machine>,
    /// By card: the LP of its host.
    nodes: Vec<LpId>,
    /// By card: its Ethernet address.
    ethernet: Vec<[u8; 6]>,
    /// Its number among the machines, and how many there are.
    place: (u64, u64),
    ties: TieBreak,
    /// By card: how long the network takes to answer an ARP request, in nanoseconds.
    answer_ns: Vec<u64>,
    step: Step,
    /// It runs to its first time.
    is_starting: bool,
    /// Where it was saved, if it goes on from there.
    restored_ns: Option<u64>,
    /// What it has to do once it stands there.
    is_asked: bool,
    /// Since when it runs, and how long its grants take: a moving average in real time.
    running_since: Instant,
    work: Duration,
    clock_ns: u64,
    next_ns: Option<u64>,
    /// It has switched itself off: nothing comes from it any more, and nothing to it.
    is_off: bool,
    /// Frames on their way to it, in the order of their times.
    arriving: VecDeque<Frame>,
    /// The earliest time at which it may do anything in its last grant.
    granted_ns: u64,
    /// What has left and arrived, where somebody looks on.
    frames: Option<FrameLog>,
    sent: u64,
    events: u64,
    stretch: Option<Stretch>,
}

impl Seat {
    pub(super) fn new(
        model: &Packets,
        node: u32,
        machine: Box<dyn Machine>,
        place: (u64, u64),
        ties: TieBreak,
    ) -> Self {
        let stations = model.stations().expect("the model has machines");
        let nodes = stations.cards_of(node);
        let address = |node: &u32| {
            let address = stations.machines().find(|(at, _)| at == node).expect("a machine is there").1;
            Stations::ethernet_address(address)
        };
        let ethernet = nodes.iter().map(address).collect();
        let answer_ns = nodes.iter().map(|node| answer_ns(model, *node)).collect();
        Self {
            machine,
            nodes: nodes.into_iter().map(LpId).collect(),
            ethernet,
            place,
            ties,
            answer_ns,
            step: Step::Running,
            is_starting: true,
            restored_ns: None,
            is_asked: false,
            running_since: Instant::now(),
            work: Duration::ZERO,
            clock_ns: 0,
            next_ns: Some(0),
            is_off: false,
            arriving: VecDeque::new(),
            granted_ns: 0,
            frames: None,
            sent: 0,
            events: 0,
            stretch: None,
        }
    }

    pub(super) fn step(&self) -> Step {
        self.step
    }

    pub(super) fn is_running(&self) -> bool {
        self.step == Step::Running
    }

    pub(super) fn machine(&self) -> &dyn Machine {
        &*self.machine
    }

    pub(super) fn machine_mut(&mut self) -> &mut dyn Machine {
        &mut *self.machine
    }

    /// The earliest time at which the machine may do anything.
    pub(super) fn earliest_ns(&self) -> u64 {
        let next = self.next_ns.unwrap_or(u64::MAX);
        self.arriving.front().map_or(next, |frame| next.min(frame.time_ns)).max(self.clock_ns)
    }

    /// The same while it runs, and of what it does in the time that it is granted.
    pub(super) fn promise_ns(&self) -> u64 {
        if self.is_running() { self.granted_ns } else { self.earliest_ns() }
    }

    /// From here on its frames are kept for who looks on.
    pub(super) fn log_frames(&mut self) {
        self.frames = Some(FrameLog::default());
    }

    pub(super) fn frames(&mut self) -> Option<&mut FrameLog> {
        self.frames.as_mut()
    }

    pub(super) fn clock_ns(&self) -> u64 {
        self.clock_ns
    }

    pub(super) fn is_starting(&self) -> bool {
        self.is_starting
    }

    pub(super) fn is_off(&self) -> bool {
        self.is_off
    }

    /// Whether a stretch of the run has begun for it, and not ended.
    pub(super) fn has_begun(&self) -> bool {
        self.stretch.is_some()
    }

    /// The last nanosecond up to which it may be granted time.
    pub(super) fn bound_ns(&self) -> u64 {
        let bound = self.stretch.as_ref().map_or(Time::ZERO, |stretch| stretch.bound);
        bound.as_ticks() / Time::TICKS_PER_NANO
    }

    /// How long its grants take in real time. Decides which machine is first, never what one does.
    pub(super) fn work(&self) -> Duration {
        self.work
    }

    pub(super) fn begin(&mut self, lps: Box<OutsideLps<Packets>>, door: Door<Packets>) {
        let outbox = Outbox::new(lps.partition.federates());
        self.stretch = Some(Stretch { lps, door, outbox, bound: Time::ZERO });
    }

    pub(super) fn advance(&mut self, model: &Packets, bound: Time, events: Vec<Event<NetEvent>>) {
        for event in &events {
            if let NetEvent::Frame(packet) = &event.payload {
                let card = self.nodes.iter().position(|node| *node == event.to());
                self.arrive(event.time(), card.expect("an event is for a host of its"), packet.bytes());
                let time_ns = event.time().as_ticks().div_ceil(Time::TICKS_PER_NANO);
                let log = self.frames.as_mut().filter(|_| !self.is_off);
                log.into_iter().for_each(|log| log.comes(time_ns, &packet.body));
            }
        }
        let stretch = self.stretch.as_mut().expect("a stretch has begun");
        stretch.bound = bound;
        stretch.lps.federate.receive(events);
        self.is_asked = true;
        // One that still runs to its first time goes on once it stands there.
        if self.step == Step::Idle {
            self.go_on(model);
        }
    }

    /// A frame comes at the first nanosecond that is not before its event. The card takes what is for its own
    /// address: a frame that was sent to the network as a gateway gets it, as at any router.
    fn arrive(&mut self, at: Time, card: usize, mut bytes: Vec<u8>) {
        if self.is_off {
            return;
        }
        let time_ns = at.as_ticks().div_ceil(Time::TICKS_PER_NANO);
        if let Some(to) = bytes.get_mut(..6).filter(|to| to[0] & 1 == 0) {
            to.copy_from_slice(&self.ethernet[card]);
        }
        let place = self.arriving.partition_point(|frame| frame.time_ns <= time_ns);
        self.arriving.insert(place, Frame { time_ns, card, bytes });
    }

    /// The end of its next grant, if it does anything before the bound.
    fn until_ns(&self) -> Option<u64> {
        let (bound_ns, earliest_ns) = (self.bound_ns(), self.earliest_ns());
        let answer_ns = self.answer_ns.iter().copied().min().unwrap_or(1);
        // No further than to where a request that it sends at once could be answered.
        (earliest_ns < bound_ns).then(|| bound_ns.min(earliest_ns.saturating_add(answer_ns)))
    }

    /// Waits for a grant, or answers the engine.
    fn go_on(&mut self, model: &Packets) {
        if self.until_ns().is_some() {
            self.step = Step::Waiting;
            return;
        }
        self.step = Step::Idle;
        self.answer(model);
    }

    pub(super) fn grant(&mut self) {
        let until_ns = self.until_ns().expect("it waits for time");
        let count = self.arriving.partition_point(|frame| frame.time_ns < until_ns);
        self.granted_ns = self.earliest_ns();
        let frames: Vec<Frame> = self.arriving.drain(..count).collect();
        self.frames.iter_mut().for_each(|log| log.granted(until_ns));
        self.step = Step::Running;
        self.running_since = Instant::now();
        if let Err(error) = self.machine.grant(until_ns, &frames) {
            self.fail(&error);
        }
    }

    /// Takes in what the machine did, if it stands again.
    pub(super) fn read(&mut self, model: &Packets) {
        match self.machine.read() {
            Ok(None) => {}
            Err(error) => self.fail(&error),
            Ok(Some(Stopped { time_ns, frames, next_ns, state })) => {
                (self.clock_ns, self.next_ns) = (time_ns, next_ns);
                if mem::take(&mut self.is_starting) {
                    self.step = Step::Idle;
                    if let Some(reason) = self.not_restored() {
                        return self.fail(&reason.into());
                    }
                } else {
                    self.work = (3 * self.work + self.running_since.elapsed()) / 4;
                }
                // What it sent before it ended is on its way like all else.
                frames.into_iter().for_each(|frame| self.emit(model, frame));
                if state == MachineState::ShutDown {
                    (self.is_off, self.next_ns) = (true, None);
                    self.arriving.clear();
                }
                match self.over(state) {
                    Some(error) => self.fail(&error),
                    None if self.is_asked => self.go_on(model),
                    None => {}
                }
            }
        }
    }

    /// Why a machine in such a state ends the run.
    fn over(&self, state: MachineState) -> Option<MachineError> {
        let how = match state {
            MachineState::Standing | MachineState::ShutDown => return None,
            MachineState::Reset => "has reset itself",
            MachineState::Crashed => "has crashed",
        };
        let (name, ns) = (self.machine.name(), self.clock_ns);
        let time = format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000);
        Some(format!("guest {name} {how} after {time} of virtual time").into())
    }

    /// A frame that the machine sent is an event of its host; an ARP request has an answer besides.
    fn emit(&mut self, model: &Packets, frame: Frame) {
        let (at, card) = (Time::nanos(frame.time_ns), frame.card);
        let Some(node) = self.nodes.get(card).copied() else { return };
        // Its card may have another address than the one it was given: that of the snapshot it started from.
        if let Some(from) = frame.bytes.get(6..12) {
            self.ethernet[card].copy_from_slice(from);
        }
        let Some(body) = FrameBody::new(frame.bytes, frame.time_ns * 1_000, self.sent as u32) else { return };
        self.sent += 1;
        self.frames.iter_mut().for_each(|log| log.leaves(&body));
        let answer = model.stations().and_then(|stations| stations.answer(node.0, &body));
        self.happen(at, node, NetEvent::Emit(body));
        if let Some(bytes) = answer {
            let time_ns = frame.time_ns + self.answer_ns[card];
            let body = FrameBody::new(bytes.clone(), time_ns * 1_000, 0).expect("an ARP packet is short");
            self.happen(Time::nanos(time_ns), node, NetEvent::Answer(body));
            // The event counts the answer at the host; the machine has it from here.
            self.arrive(Time::nanos(time_ns), card, bytes);
        }
    }

    fn happen(&mut self, at: Time, node: LpId, event: NetEvent) {
        let (number, machines) = self.place;
        let event = Event::from_outside(self.ties, self.events * machines + number, at, node, event);
        self.events += 1;
        let stretch = self.stretch.as_mut().expect("a machine that sends was granted time");
        stretch.lps.federate.receive([event]);
    }

    /// The LP does all before the bound, and the engine hears of it.
    fn answer(&mut self, model: &Packets) {
        self.is_asked = false;
        let earliest_ns = self.earliest_ns();
        let Some(Stretch { lps, door, outbox, bound }) = &mut self.stretch else { return };
        let mut sent = Vec::new();
        loop {
            let progress = lps.federate.advance(model, &lps.partition, *bound, BATCH, outbox);
            outbox.flush(|_, events, _| sent.append(events));
            match progress {
                Progress::More => {}
                Progress::Idle => break,
                Progress::Faulty => {
                    let error = lps.federate.trouble().expect("a faulty federate has trouble");
                    self.step = Step::Over;
                    return door.failed(FederateError::Event(Box::new(error)));
                }
            }
        }
        let earliest = if earliest_ns == u64::MAX { Time::MAX } else { Time::nanos(earliest_ns) };
        door.done(earliest.min(lps.federate.lvt()), sent);
    }

    fn fail(&mut self, error: &MachineError) {
        self.step = Step::Over;
        if let Some(stretch) = &self.stretch {
            stretch.door.failed(FederateError::Other(error.to_string()));
        }
    }

    pub(super) fn end(&mut self) {
        if let Some(Stretch { lps, door, .. }) = self.stretch.take() {
            door.ended(*lps);
        }
    }
}

/// How long the network takes to answer an ARP request of the machine at a host: to the network and back, and
/// to a nanosecond that is not before that.
fn answer_ns(model: &Packets, node: u32) -> u64 {
    let links = (0..model.network().ports(node)).map(|port| model.network().link(node, port));
    let there = links.map(|link| {
        let wire_ps = u128::from(ARP_WIRE_BYTES) * 8 * 1_000_000_000_000 / u128::from(link.rate);
        link.latency_ps + wire_ps as u64
    });
    (2 * there.min().unwrap_or(0)).div_ceil(1_000).max(1)
}
