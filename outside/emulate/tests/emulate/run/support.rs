//! Machines that need no emulator: they send pings, answer them, or fail.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use paceline_emulate::run::{
    Frame, GrantPolicy, Machine, MachineError, MachineObserver, MachineState, Saved, SavedMachines, Stopped,
    Terms, federates, resumed,
};
use paceline_engine::{Outside, Protocol, Report, RunError, Simulation};
use paceline_kernel::{LpId, Model as _, TieBreak, Time};
use paceline_packets::{Flow, NetOutput, Network, Packets, Stations};

/// What a machine does by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Behaviour {
    /// It first asks for the address of its peer, and from here on sends a ping at each interval.
    pub pings: Option<(u64, u64)>,
    /// How long it takes to answer one.
    pub service_ns: u64,
    /// At its time it does this.
    pub fault: Option<(u64, Fault)>,
    /// How often it is looked at in vain before it has an answer.
    pub delay: u32,
    /// It always has something to do.
    pub computes: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Fault {
    Is(MachineState),
    Dies,
    Hangs,
}

/// The round trips that a machine has seen, in nanoseconds, and each time at which a frame came to it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub round_trips: Vec<u64>,
    pub arrivals: Vec<u64>,
    pub answers: Vec<u64>,
}

pub struct Fake {
    name: String,
    behaviour: Behaviour,
    us: Ipv4Addr,
    peer: Ipv4Addr,
    /// To whose card packets for the peer go.
    pub via: Ipv4Addr,
    clock_ns: u64,
    pings: u16,
    /// What it will send: answers in the order of their times.
    due: VecDeque<Frame>,
    stopped: Option<Stopped>,
    looks: u32,
    since: Option<Instant>,
    bell: (UnixStream, UnixStream),
    pub seen: Arc<Mutex<Seen>>,
}

/// How long a machine that hangs is waited for.
const PATIENCE: Duration = Duration::from_millis(50);

impl Fake {
    pub fn new(name: &str, us: Ipv4Addr, peer: Ipv4Addr, behaviour: Behaviour) -> Self {
        let mut fake = Self {
            name: name.into(),
            behaviour,
            us,
            peer,
            via: peer,
            clock_ns: 0,
            pings: 0,
            due: VecDeque::new(),
            stopped: None,
            looks: 0,
            since: None,
            bell: UnixStream::pair().unwrap(),
            seen: Arc::default(),
        };
        fake.stop(Vec::new(), MachineState::Standing);
        fake
    }

    /// Stands where the machine stood that was saved to `file`.
    pub fn load(&mut self, file: &Path) {
        let due: Vec<(u64, Vec<u8>)>;
        (self.clock_ns, self.pings, due) = postcard::from_bytes(&std::fs::read(file).unwrap()).unwrap();
        self.due = due.into_iter().map(|(time_ns, bytes)| Frame { time_ns, card: 0, bytes }).collect();
        let next_ns = self.next_ns();
        let stopped = self.stopped.as_mut().unwrap();
        (stopped.time_ns, stopped.next_ns) = (self.clock_ns, next_ns);
    }

    fn stop(&mut self, frames: Vec<Frame>, state: MachineState) {
        let next_ns = self.next_ns();
        self.stopped = Some(Stopped { time_ns: self.clock_ns, frames, next_ns, state });
        self.since = Some(Instant::now());
        self.looks = self.behaviour.delay;
        self.bell.0.write_all(&[1]).unwrap();
    }

    fn next_ping_ns(&self) -> Option<u64> {
        let (first, interval) = self.behaviour.pings?;
        Some(first + u64::from(self.pings) * interval)
    }

    fn next_ns(&self) -> Option<u64> {
        if self.behaviour.computes {
            return Some(self.clock_ns);
        }
        self.next_act_ns()
    }

    fn next_act_ns(&self) -> Option<u64> {
        let fault = self.behaviour.fault.map(|(at, _)| at).filter(|at| *at >= self.clock_ns);
        [self.next_ping_ns(), self.due.front().map(|frame| frame.time_ns), fault].into_iter().flatten().min()
    }

    /// An ICMP echo: whether it is an answer, and its number.
    fn echo(&self, is_answer: bool, number: u16, sent_ns: u64) -> Vec<u8> {
        let mut bytes = [Stations::ethernet_address(self.via), Stations::ethernet_address(self.us)].concat();
        bytes.extend([8, 0, 0x45, 0, 0, 84, 0, 0, 0, 0, 64, 1, 0, 0]);
        bytes.extend(self.us.octets());
        bytes.extend(self.peer.octets());
        bytes.extend([if is_answer { 0 } else { 8 }, 0, 0, 0, 0, 7]);
        bytes.extend(number.to_be_bytes());
        bytes.extend(sent_ns.to_be_bytes());
        bytes.resize(98, 0);
        bytes
    }

    fn arp_request(&self) -> Vec<u8> {
        let us = Stations::ethernet_address(self.us);
        let mut bytes = [[0xff; 6], us].concat();
        bytes.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        bytes.extend([&us[..], &self.us.octets(), &[0; 6], &self.peer.octets()].concat());
        bytes
    }

    fn take(&mut self, frame: &Frame) {
        assert!(frame.time_ns >= self.clock_ns, "{}: a frame for {}", self.name, frame.time_ns);
        assert_eq!(frame.bytes[..6], Stations::ethernet_address(self.us));
        let mut seen = self.seen.lock().unwrap();
        seen.arrivals.push(frame.time_ns);
        if frame.bytes[12..14] == [8, 6] {
            seen.answers.push(frame.time_ns);
            return;
        }
        let number = u16::from_be_bytes([frame.bytes[40], frame.bytes[41]]);
        let sent_ns = u64::from_be_bytes(frame.bytes[42..50].try_into().unwrap());
        if frame.bytes[34] == 0 {
            seen.round_trips.push(frame.time_ns - sent_ns);
            return;
        }
        let bytes = self.echo(true, number, sent_ns);
        self.due.push_back(Frame { time_ns: frame.time_ns + self.behaviour.service_ns, card: 0, bytes });
    }
}

impl Machine for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn grant(&mut self, until_ns: u64, frames: &[Frame]) -> Result<(), MachineError> {
        assert!(self.stopped.is_none() && until_ns > self.clock_ns, "{}: to {until_ns}", self.name);
        let mut frames = frames.iter().peekable();
        let mut sent = Vec::new();
        loop {
            let arrival = frames.peek().map_or(u64::MAX, |frame| frame.time_ns);
            let next = self.next_act_ns().unwrap_or(u64::MAX);
            if arrival.min(next) >= until_ns {
                break;
            }
            if arrival <= next {
                self.take(frames.next().unwrap());
                self.clock_ns = arrival;
                continue;
            }
            self.clock_ns = next;
            match self.behaviour.fault {
                Some((at, Fault::Is(state))) if at == next => {
                    self.stop(sent, state);
                    return Ok(());
                }
                Some((at, Fault::Dies)) if at == next => {
                    return Err(format!("guest {} was killed after {next} ns", self.name).into());
                }
                Some((at, Fault::Hangs)) if at == next => {
                    self.since = Some(Instant::now());
                    return Ok(());
                }
                _ => {}
            }
            if self.due.front().is_some_and(|frame| frame.time_ns == next) {
                sent.extend(self.due.pop_front());
                continue;
            }
            let bytes = if self.pings == 0 { self.arp_request() } else { self.echo(false, self.pings, next) };
            self.pings += 1;
            sent.push(Frame { time_ns: next, card: 0, bytes });
        }
        self.clock_ns = until_ns;
        self.stop(sent, MachineState::Standing);
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Stopped>, MachineError> {
        if self.looks > 0 && self.stopped.is_some() {
            self.looks -= 1;
            return Ok(None);
        }
        if self.stopped.is_some() {
            self.since = None;
            self.bell.1.read_exact(&mut [0]).unwrap();
        } else if self.since.is_some_and(|since| since.elapsed() > PATIENCE) {
            return Err(format!("guest {} has not answered after {} ns", self.name, self.clock_ns).into());
        }
        Ok(self.stopped.take())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.bell.1.as_fd()
    }

    fn save(&mut self, file: &Path) -> Result<Saved, MachineError> {
        let due: Vec<_> = self.due.iter().map(|frame| (frame.time_ns, frame.bytes.clone())).collect();
        std::fs::write(file, postcard::to_stdvec(&(self.clock_ns, self.pings, due))?)?;
        Ok(Saved::default())
    }

    fn deadline(&self) -> Option<Instant> {
        self.since.map(|since| since + PATIENCE)
    }
}

/// `network` with machines at some of its hosts.
pub fn model(network: Network, flows: Vec<Flow>, machines: &[&str]) -> Packets {
    let at: Vec<_> = machines.iter().map(|name| (network.node(name).unwrap(), None)).collect();
    let stations = Stations::new(&network, &at).unwrap();
    Packets::new(network, flows).unwrap().machines(stations).unwrap()
}

/// A machine's host, that of its peer, and what it does.
pub type Paired = (&'static str, &'static str, Behaviour);

/// How a run is done; nothing of it may show in a result.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub protocol: Protocol,
    pub threads: u32,
    /// Federates of what is simulated.
    pub federates: u32,
    pub at_once: usize,
    pub policy: GrantPolicy,
    pub delay: u32,
    /// The only one of them that a result depends on.
    pub ties: TieBreak,
}

pub const PLAIN: How = How {
    protocol: Protocol::Window,
    threads: 1,
    federates: 1,
    at_once: 1,
    policy: GrantPolicy::FurthestBehind,
    delay: 0,
    ties: TieBreak::Fixed,
};

/// A run of `model` with these machines, each with the peer that it pings, and what each will have seen. The
/// machines start anew or from a checkpoint.
pub fn joined(
    model: &Packets,
    machines: &[Paired],
    until: Time,
    how: How,
    saved: Option<&SavedMachines>,
) -> (Simulation<Packets>, Vec<Arc<Mutex<Seen>>>) {
    observed(model, machines, until, how, (saved, None))
}

/// The same, with somebody who looks on.
pub fn observed(
    model: &Packets,
    machines: &[Paired],
    until: Time,
    how: How,
    (saved, observer): (Option<&SavedMachines>, Option<Arc<dyn MachineObserver>>),
) -> (Simulation<Packets>, Vec<Arc<Mutex<Seen>>>) {
    let node = |name: &str| model.network().node(name).unwrap();
    let address = |name: &str| model.stations().unwrap().address(node(name)).unwrap();
    let fake = |(name, peer, behaviour): &Paired| {
        let behaviour = Behaviour { delay: how.delay, ..*behaviour };
        let mut fake = Fake::new(name, address(name), address(peer), behaviour);
        saved.into_iter().for_each(|saved| fake.load(&saved.state(node(name)).unwrap()));
        fake
    };
    let fakes: Vec<Fake> = machines.iter().map(fake).collect();
    let seen: Vec<_> = fakes.iter().map(|fake| fake.seen.clone()).collect();
    let nodes: Vec<u32> = machines.iter().map(|(name, ..)| node(name)).collect();
    let count = how.federates + nodes.len() as u32;
    let partition = model.partition(count);
    let boxed = nodes.iter().zip(fakes).map(|(node, fake)| (*node, Box::new(fake) as Box<dyn Machine>));
    let terms = Terms { at_once: how.at_once, policy: how.policy, ties: how.ties, observer };
    let guests = match saved {
        None => federates(model, boxed.collect(), terms).unwrap(),
        Some(saved) => resumed(model, boxed.collect(), terms, saved).unwrap(),
    };
    let simulation =
        Simulation::new(model.clone()).protocol(how.protocol).threads(how.threads).ties(how.ties);
    let mut simulation = simulation.federates(count).until(until);
    for (node, guest) in nodes.iter().zip(guests) {
        simulation = simulation.outside(partition.place(LpId(*node)).0, Outside::new(guest));
    }
    (simulation, seen)
}

/// Runs `model` with these machines, each with the peer that it pings, and gives what each has seen.
pub fn run(
    model: &Packets,
    machines: &[Paired],
    until: Time,
    how: How,
) -> (Result<Report<NetOutput>, RunError>, Vec<Seen>) {
    let (simulation, seen) = joined(model, machines, until, how, None);
    let report = simulation.run();
    (report, seen.iter().map(|seen| seen.lock().unwrap().clone()).collect())
}
