//! The LPs of the wireless model as programs of the machine, in the three runtimes of the ARTIS paper
//! (section 5.2).
//!
//! An LP does the work of the model, but does not compute it: in each step its hosts move and ping, in
//! [`BATCHES`] batches; pings that may be heard in other LPs are sent there, and those of others are handled
//! as they come; then it waits until all others have ended the step. *Multi-threaded*: a main thread
//! computes, a courier moves messages between the LPs, and a third thread, for the network, has nothing to do
//! on one host. *Single-threaded*: one thread does it all, and looks for messages by `select`
//! between batches.
//!
//! Invariants: the messages of a batch are one message of the machine, with the costs of all of them; the
//! work of all LPs is the same whatever the runtime, the scheduler and the machine: only the threads that do
//! it, and their ways to wait, differ.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use paceline_kernel::Rng;
use paceline_machine::{Guest, Op, Outgoing, ProcessId, Program, Wait};

pub const BATCHES: u32 = 8;

/// How many times its work by one CPU a run may take.
const SLOWEST: u64 = 10;

/// How the threads of an LP wait for each other, unless there is only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// They look at intervals of this many nanoseconds.
    TimedWait(u64),
    /// They are woken.
    Signals,
    SingleThreaded,
}

impl Runtime {
    pub const fn threads(self) -> u32 {
        match self {
            Self::SingleThreaded => 1,
            Self::TimedWait(_) | Self::Signals => 3,
        }
    }

    /// What a thread does when it has nothing to do.
    const fn wait(self) -> Op {
        match self {
            Self::TimedWait(span_ns) => Op::Sleep(span_ns),
            Self::Signals | Self::SingleThreaded => Op::Receive(Wait::Block),
        }
    }
}

/// What all LPs do. Times are CPU time in nanoseconds.
#[derive(Clone, Debug)]
pub struct Load {
    pub lps: u32,
    pub steps: u32,
    /// The work of an LP for its own hosts in a step.
    pub own_ns: f64,
    /// The pings that an LP sends to each other LP in a step, by the distance around the torus.
    pub pings: Vec<f64>,
    /// The work to handle a ping of another LP.
    pub ping_ns: f64,
    /// The work to put a message into shared memory, or to take it out.
    pub copy_ns: f64,
    /// The work to look for messages without waiting.
    pub look_ns: u64,
    /// The standard deviation of the work of a batch, as a part of its mean.
    pub spread: f64,
    /// Whether threads report their LVT to the scheduler.
    pub reports_lvt: bool,
}

impl Load {
    /// CPU time of all LPs in a step, but for waiting and waking.
    pub fn work_ns(&self, runtime: Runtime) -> f64 {
        // A message is put into memory and taken out by two threads, or by four.
        let moves = match runtime {
            Runtime::SingleThreaded => 2.0 * (self.copy_ns + self.look_ns as f64),
            Runtime::TimedWait(_) | Runtime::Signals => 4.0 * self.copy_ns,
        };
        let pings = self.pings.iter().sum::<f64>();
        f64::from(self.lps) * (self.own_ns + pings * (self.ping_ns + moves))
    }

    /// How long a run may take at most: many times its work by one CPU, and the waits for a step's end. One
    /// that takes longer does little but switch between threads.
    pub fn limit_ns(&self, runtime: Runtime) -> u64 {
        let wait_ns = match runtime {
            Runtime::TimedWait(span_ns) => span_ns,
            Runtime::Signals | Runtime::SingleThreaded => 0,
        };
        SLOWEST * u64::from(self.steps) * (self.work_ns(runtime) as u64 + wait_ns)
    }
}

/// Messages from one LP to another.
#[derive(Clone, Copy, Debug)]
pub struct Letter {
    pub from: u32,
    pub to: u32,
    pub step: u32,
    /// How many batches of it its sender has done with them.
    pub batch: u32,
    pub pings: f64,
    pub last: bool,
}

/// The end of a thread's work.
#[derive(Debug)]
struct Stop;

fn send(to: ProcessId, payload: Box<dyn Any + Send>) -> Op {
    Op::Send(Outgoing { to, bytes: 0, payload })
}

/// The threads of all LPs, which are the processes from 0 on, those of an LP one after the other: main thread
/// first.
pub fn programs(load: &Load, runtime: Runtime) -> Vec<Box<dyn Program>> {
    let load = Arc::new(load.clone());
    let mut programs: Vec<Box<dyn Program>> = Vec::new();
    for lp in 0..load.lps {
        let common =
            Common { load: Arc::clone(&load), runtime, lp, queue: VecDeque::new(), has_begun: false };
        let rng = Rng::new(1, lp.into());
        programs.push(Box::new(Main {
            common: common.clone(),
            rng,
            step: 0,
            batch: 0,
            ended: [0; 2],
            stopped: false,
        }));
        if runtime.threads() > 1 {
            programs
                .push(Box::new(Courier { common: common.clone(), left: 2 * load.steps * (load.lps - 1) }));
            programs.push(Box::new(Idler { common }));
        }
    }
    programs
}

#[derive(Debug)]
struct Common {
    load: Arc<Load>,
    runtime: Runtime,
    lp: u32,
    /// What it does next.
    queue: VecDeque<Op>,
    /// Whether it has said that it simulates.
    has_begun: bool,
}

impl Clone for Common {
    /// One that has nothing to do yet.
    fn clone(&self) -> Self {
        let Self { load, runtime, lp, .. } = self;
        let queue = VecDeque::new();
        Self { load: Arc::clone(load), runtime: *runtime, lp: *lp, queue, has_begun: false }
    }
}

impl Common {
    fn main(&self, lp: u32) -> ProcessId {
        ProcessId(lp * self.runtime.threads())
    }

    /// The process that receives messages for other LPs: the courier, if there is one.
    fn courier(&self, lp: u32) -> ProcessId {
        ProcessId(self.main(lp).0 + u32::from(self.runtime.threads() > 1))
    }

    /// Says at the start that it simulates and does not wait. It says no more of waiting: where it waits it
    /// sleeps, as the scheduler sees. If it set its flag before, it could be put off between the two;
    /// then a message would not wake it, for it is still awake, and it would stay behind all that have
    /// work.
    fn begin(&mut self, guest: &mut Guest<'_>) {
        if self.load.reports_lvt && !std::mem::replace(&mut self.has_begun, true) {
            guest.flag_simulating(true);
            guest.report_lvt(0);
            guest.flag_waiting(false);
        }
    }

    /// Reports an LVT within the step: the part of it that corresponds to the batches that are done.
    fn report(&self, guest: &mut Guest<'_>, step: u32, batches: u32) {
        if self.load.reports_lvt {
            guest.report_lvt((u64::from(step) * u64::from(BATCHES) + u64::from(batches)) * 125_000_000);
        }
    }

    fn compute(&mut self, work_ns: f64) {
        self.queue.push_back(Op::Compute(work_ns as u64));
    }

    /// What a message costs besides copying it.
    fn socket_ns(&self) -> f64 {
        match self.runtime {
            Runtime::SingleThreaded => self.load.look_ns as f64,
            Runtime::TimedWait(_) | Runtime::Signals => 0.0,
        }
    }

    /// Waits, after a look.
    fn rest(&mut self) -> Op {
        self.queue.push_back(self.runtime.wait());
        Op::Compute(self.load.look_ns)
    }
}

#[derive(Debug)]
struct Main {
    common: Common,
    rng: Rng,
    step: u32,
    batch: u32,
    /// How many others have ended the step, for even and odd steps.
    ended: [u32; 2],
    stopped: bool,
}

impl Main {
    /// Computes a batch, and sends its messages.
    fn work(&mut self) {
        let load = Arc::clone(&self.common.load);
        let last = self.batch == BATCHES;
        let mean_ns = load.own_ns / f64::from(BATCHES);
        self.common.compute(self.rng.normal(mean_ns, mean_ns * load.spread).max(0.0));
        let from = self.common.lp;
        for (distance, pings) in (1..load.lps).zip(&load.pings) {
            let to = (from + distance) % load.lps;
            let letter = Letter {
                from,
                to,
                step: self.step,
                batch: self.batch,
                pings: pings / f64::from(BATCHES),
                last,
            };
            if letter.pings == 0.0 && !last {
                continue;
            }
            // `select` waits for descriptors only: without other threads messages go through sockets, with a
            // system call each.
            let put_ns = load.copy_ns + self.common.socket_ns();
            let hand_over = if self.common.runtime.threads() > 1 { from } else { to };
            // Its thread puts each message somewhere: for the courier, or for the other LP.
            self.common.compute(letter.pings * put_ns);
            self.common.queue.push_back(send(self.common.courier(hand_over), Box::new(letter)));
        }
        if self.common.runtime.threads() == 1 {
            self.common.compute(load.look_ns as f64);
        }
    }

    fn read(&mut self, guest: &mut Guest<'_>) {
        while let Some(message) = guest.take() {
            let letter = message.payload.downcast::<Letter>().expect("main threads get letters only");
            let load = &self.common.load;
            let work_ns = letter.pings * (load.copy_ns + self.common.socket_ns() + load.ping_ns);
            self.ended[letter.step as usize % 2] += u32::from(letter.last);
            self.common.compute(work_ns);
        }
    }
}

impl Program for Main {
    fn next(&mut self, guest: &mut Guest<'_>) -> Op {
        loop {
            if let Some(op) = self.common.queue.pop_front() {
                return op;
            }
            if self.step == self.common.load.steps {
                if self.common.runtime.threads() > 1 && !std::mem::replace(&mut self.stopped, true) {
                    return send(ProcessId(guest.me().0 + 2), Box::new(Stop));
                }
                return Op::Done;
            }
            self.common.begin(guest);
            self.read(guest);
            if self.batch < BATCHES {
                self.common.report(guest, self.step, self.batch);
                self.batch += 1;
                self.work();
                continue;
            }
            let ended = &mut self.ended[self.step as usize % 2];
            if *ended == self.common.load.lps - 1 {
                (*ended, self.batch) = (0, 0);
                self.step += 1;
            } else if self.common.queue.is_empty() {
                return self.common.rest();
            }
        }
    }

    fn waits_for(&self) -> String {
        format!("the end of step {} in other LPs", self.step)
    }
}

/// The thread that moves messages between LPs through shared memory. Its LVT is that of what it last took
/// from its main thread: if it reported the ends of steps only, the scheduler's estimate in between could put
/// it behind main threads that have a whole step to do.
#[derive(Debug)]
struct Courier {
    common: Common,
    /// How many ends of steps, of this LP and of the others, are still to be moved.
    left: u32,
}

impl Program for Courier {
    fn next(&mut self, guest: &mut Guest<'_>) -> Op {
        loop {
            if let Some(op) = self.common.queue.pop_front() {
                return op;
            }
            if self.left == 0 {
                return Op::Done;
            }
            self.common.begin(guest);
            let Some(message) = guest.take() else {
                return self.common.rest();
            };
            let letter = message.payload.downcast::<Letter>().expect("couriers get letters only");
            self.left -= u32::from(letter.last);
            let Letter { from, to, step, batch, pings, last: _ } = *letter;
            let is_here = from == self.common.lp;
            if is_here {
                self.common.report(guest, step, batch);
            }
            let receiver = if is_here { self.common.courier(to) } else { self.common.main(to) };
            self.common.compute(pings * self.common.load.copy_ns);
            self.common.queue.push_back(send(receiver, letter));
        }
    }

    fn waits_for(&self) -> String {
        format!("{} ends of steps", self.left)
    }
}

/// The thread for the network, from which nothing comes on one host.
#[derive(Debug)]
struct Idler {
    common: Common,
}

impl Program for Idler {
    fn next(&mut self, guest: &mut Guest<'_>) -> Op {
        if let Some(op) = self.common.queue.pop_front() {
            return op;
        }
        if guest.take().is_some() { Op::Done } else { self.common.rest() }
    }

    fn waits_for(&self) -> String {
        "the end of the run".into()
    }
}
