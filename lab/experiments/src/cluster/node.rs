//! A process of the engine under "window", with one thread, as a program of the machine.
//!
//! In each window it computes its events, sends each of its receivers what crosses, and contributes to the
//! round: what all below it in the tree have said goes up with what it says itself, and what all have come to
//! comes down. The window is over when that is there and all frames of the window are. As in the engine, what
//! goes to one process at one time is one frame.
//!
//! A process of many sends frames to nearly all others. Up to [`MOST_PACKETS`] of them are packets of the
//! machine; the CPU time of the rest is added to these, on both sides.
//!
//! Invariants: who receives from whom is the same in all windows, and each process receives as many packets
//! as it sends; no process is two windows ahead of another, so that counts of two windows are enough.

use std::collections::VecDeque;
use std::sync::Arc;

use paceline_kernel::Rng;
use paceline_machine::{Guest, Op, Outgoing, ProcessId, Program, Wait};

/// The most packets of a process in a window, but for those of the round.
const MOST_PACKETS: u32 = 8;
/// The most processes directly below one: `FAN_OUT` of `simulation/engine/src/peers/net/rounds.rs`.
const FAN_OUT: u32 = 32;
/// Bytes of an event between processes, and of a frame at most: eight packets of Ethernet, less headers.
const EVENT_BYTES: f64 = 13.4;
const FRAME_BYTES: f64 = 8.0 * 1_448.0;
/// Bytes of what a process says of a round.
const SAYING_BYTES: f64 = 40.0;

/// What all processes do, and what it costs. Times are CPU time in nanoseconds.
#[derive(Clone, Debug)]
pub struct Load {
    pub processes: u32,
    pub windows: u32,
    /// Events of a process in a window, on average.
    pub events: f64,
    /// The part of them that goes to an LP of any receiver, which may be of this node.
    pub remote: f64,
    /// With how many others a process exchanges events.
    pub receivers: u32,
    /// The time of a window by its events, in ascending order; straight lines between and beyond.
    pub window_ns: Vec<(f64, f64)>,
    /// An event that is encoded or decoded.
    pub code_ns: f64,
    /// Saying something of a round, or hearing it.
    pub saying_ns: f64,
    /// A frame that is not simulated, on the sender's side and on the receiver's.
    pub frame_ns: [f64; 2],
    pub wait: Wait,
}

impl Load {
    /// The process above `rank` in the tree.
    pub fn parent(rank: u32) -> Option<u32> {
        rank.checked_sub(1).map(|before| before / FAN_OUT)
    }

    /// Events that a process sends to others in a window.
    fn crossing(&self) -> f64 {
        self.events * self.remote * f64::from(self.receivers) / f64::from(self.receivers + 1)
    }

    /// Frames of a process in a window: to each receiver at least one, if there is an event for it.
    pub fn frames(&self) -> f64 {
        if self.receivers == 0 {
            return 0.0;
        }
        let (receivers, crossing) = (f64::from(self.receivers), self.crossing());
        let reached = receivers * (1.0 - (-crossing / receivers).exp());
        reached * (crossing / reached * EVENT_BYTES / FRAME_BYTES).ceil().max(1.0)
    }

    /// How far the receivers of a process's packets are from it, in ranks counted round.
    pub fn distances(&self) -> impl Iterator<Item = u32> + use<> {
        let packets = (self.frames().round() as u32).clamp(1, MOST_PACKETS).min(self.receivers);
        let (others, near) = (self.processes - 1, self.receivers);
        // Near ones are on both sides.
        let spread = move |number: u32| match near < others {
            true if number % 2 == 1 => others - number / 2,
            true => 1 + number / 2,
            false => 1 + number * others / packets,
        };
        (0..packets).map(spread)
    }

    /// The time of a window with so many events in a process.
    fn work_ns(&self, events: f64) -> f64 {
        let last = self.window_ns.len() - 2;
        let place = self.window_ns.iter().skip(1).position(|(known, _)| events <= *known).unwrap_or(last);
        let [(low, least_ns), (high, most_ns)] = [self.window_ns[place], self.window_ns[place + 1]];
        (least_ns + (events - low) * (most_ns - least_ns) / (high - low)).max(0.0)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Letter {
    window: u32,
    /// Whether there are events.
    frame: bool,
    /// What it and all below it have contributed.
    up: bool,
    /// What all have come to.
    down: bool,
}

#[derive(Debug)]
pub struct Node {
    load: Arc<Load>,
    rank: u32,
    rng: Rng,
    window: u32,
    has_contributed: bool,
    has_passed_on: bool,
    /// Rounds of which it knows what all have come to.
    known: u32,
    /// What has come for even and odd windows: from below, and packets with events.
    ups: [u32; 2],
    frames: [u32; 2],
    queue: VecDeque<Op>,
}

pub fn programs(load: &Arc<Load>) -> Vec<Box<dyn Program>> {
    let node = |rank| Node {
        load: Arc::clone(load),
        rank,
        rng: Rng::new(1, rank.into()),
        window: 0,
        has_contributed: false,
        has_passed_on: false,
        known: 0,
        ups: [0; 2],
        frames: [0; 2],
        queue: VecDeque::new(),
    };
    (0..load.processes).map(|rank| Box::new(node(rank)) as Box<dyn Program>).collect()
}

impl Node {
    fn below(&self) -> impl Iterator<Item = u32> + use<> {
        let first = self.rank * FAN_OUT + 1;
        first..(first + FAN_OUT).min(self.load.processes).max(first)
    }

    fn compute(&mut self, work_ns: f64) {
        if work_ns >= 1.0 {
            self.queue.push_back(Op::Compute(work_ns as u64));
        }
    }

    /// The events that a packet stands for, and its frames besides itself.
    fn share(&self) -> (f64, f64) {
        let packets = self.load.distances().count() as f64;
        (self.load.crossing() / packets, (self.load.frames() / packets - 1.0).max(0.0))
    }

    /// Does the events of the window, and sends what crosses with the contribution.
    fn work(&mut self) {
        let load = Arc::clone(&self.load);
        let events = self.rng.normal(load.events, load.events.sqrt()).max(0.0);
        self.compute(load.work_ns(events) + load.crossing() * load.code_ns);
        self.has_contributed = true;
        let mut sends: Vec<(u32, Letter)> = Vec::new();
        if load.receivers > 0 {
            let letter = Letter { window: self.window, frame: true, ..Letter::default() };
            sends.extend(load.distances().map(|far| ((self.rank + far) % load.processes, letter)));
        }
        for (to, letter) in self.pass_on() {
            match sends.iter_mut().find(|(other, _)| *other == to) {
                Some((_, with)) => *with = Letter { frame: true, ..letter },
                None => sends.push((to, letter)),
            }
        }
        self.send(sends);
    }

    /// What goes up or down, if this process and all below it have contributed.
    fn pass_on(&mut self) -> Vec<(u32, Letter)> {
        let said = self.ups[self.window as usize % 2];
        if !self.has_contributed || self.has_passed_on || said < self.below().count() as u32 {
            return Vec::new();
        }
        self.has_passed_on = true;
        let letter = Letter { window: self.window, ..Letter::default() };
        match Load::parent(self.rank) {
            Some(parent) => vec![(parent, Letter { up: true, ..letter })],
            None => self.conclude(),
        }
    }

    /// Notes that all have contributed, and passes that on to those below.
    fn conclude(&mut self) -> Vec<(u32, Letter)> {
        let letter = Letter { window: self.known, down: true, ..Letter::default() };
        self.known += 1;
        self.below().map(|rank| (rank, letter)).collect()
    }

    fn send(&mut self, sends: Vec<(u32, Letter)>) {
        let (events, more) = self.share();
        for (to, letter) in sends {
            let (mut work_ns, mut bytes) = (0.0, 0.0);
            if letter.up || letter.down {
                (work_ns, bytes) = (self.load.saying_ns, SAYING_BYTES);
            }
            if letter.frame {
                work_ns += more * self.load.frame_ns[0];
                bytes += events * EVENT_BYTES;
            }
            self.compute(work_ns);
            let outgoing = Outgoing { to: ProcessId(to), bytes: bytes as u32, payload: Box::new(letter) };
            self.queue.push_back(Op::Send(outgoing));
        }
    }

    fn read(&mut self, guest: &mut Guest<'_>) {
        let (events, more) = self.share();
        while let Some(message) = guest.take() {
            let letter = message.payload.downcast::<Letter>().expect("processes of a run get letters only");
            let Letter { window, frame, up, down } = *letter;
            let mut work_ns = 0.0;
            if frame {
                self.frames[window as usize % 2] += 1;
                work_ns += events * self.load.code_ns + more * self.load.frame_ns[1];
            }
            if up || down {
                work_ns += self.load.saying_ns;
            }
            self.compute(work_ns);
            self.ups[window as usize % 2] += u32::from(up);
            let sends = if down { self.conclude() } else { self.pass_on() };
            self.send(sends);
        }
    }

    /// Opens the next window if this one is over.
    fn open(&mut self) -> bool {
        let parity = self.window as usize % 2;
        let awaited = if self.load.receivers > 0 { self.load.distances().count() as u32 } else { 0 };
        let is_over = self.known > self.window && self.frames[parity] >= awaited;
        if is_over {
            (self.frames[parity], self.ups[parity]) = (0, 0);
            (self.has_contributed, self.has_passed_on) = (false, false);
            self.window += 1;
        }
        is_over
    }
}

impl Program for Node {
    fn next(&mut self, guest: &mut Guest<'_>) -> Op {
        loop {
            if let Some(op) = self.queue.pop_front() {
                return op;
            }
            self.read(guest);
            if !self.queue.is_empty() {
                continue;
            }
            if self.window == self.load.windows {
                return Op::Done;
            }
            if !self.has_contributed {
                self.work();
            } else if !self.open() {
                return Op::Receive(self.load.wait);
            }
        }
    }

    fn waits_for(&self) -> String {
        format!("the end of window {} in other processes", self.window)
    }
}
