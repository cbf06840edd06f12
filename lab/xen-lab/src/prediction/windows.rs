//! PHOLD as in examples/c/phold.c over TCP: in each window every process works, writes to every other, and
//! waits for all.
//!
//! Invariant: a letter for a window is counted for that window, however early it comes.

use paceline_machine::{Guest, Op, Outgoing, ProcessId, Program, Wait};

use crate::sizes::Phold;

/// A window in simulated time: the lookahead.
const WINDOW_NS: u64 = 1_000_000;
/// Events of a process in a window: 16 in all, each of which comes back after two lookaheads on average.
const EVENTS: u64 = 8;
/// The bytes of a letter: the next time and the number of events, 16 bytes for each event to this process,
/// the header, and TCP's.
const LETTER_BYTES: u32 = 16 + 16 + 8 + 66;

/// A letter: the window for which it is.
#[derive(Debug)]
struct Letter(u32);

/// The processes: `first`, of all guests, is process 0 of the machine. A millisecond of `phold`'s work takes
/// `ms_ns`.
pub fn windows(phold: Phold, processes: u32, halves: bool, ms_ns: u64) -> Vec<Box<dyn Program>> {
    let mean_ns = phold.cost_us * ms_ns / 1_000;
    let process = |rank: u32| -> Box<dyn Program> {
        let shares = u64::from(processes + processes / 2);
        let parts = if rank < processes / 2 { 2 } else { 1 };
        let window_ns = if halves { mean_ns * parts * u64::from(processes) / shares } else { mean_ns };
        Box::new(Process {
            rank,
            processes,
            windows: phold.windows,
            chunk_ns: window_ns / (EVENTS + 1),
            window: 0,
            doing: Doing::Start,
            letters: vec![0; phold.windows as usize + 3],
        })
    };
    (0..processes).map(process).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// Says that it simulates.
    Start,
    Write(u32),
    Read,
    Work(u64),
    Over,
}

#[derive(Debug)]
struct Process {
    rank: u32,
    processes: u32,
    windows: u32,
    chunk_ns: u64,
    /// 0 for the first agreement, before which nothing is done.
    window: u32,
    doing: Doing,
    /// Letters that have come, by window.
    letters: Vec<u32>,
}

impl Process {
    fn bound_ns(&self) -> u64 {
        u64::from(self.window) * WINDOW_NS
    }

    fn begin(&mut self) {
        self.doing = if self.processes == 1 { Doing::Read } else { Doing::Write(1) };
    }
}

impl Program for Process {
    fn next(&mut self, guest: &mut Guest<'_>) -> Op {
        loop {
            match self.doing {
                Doing::Start => {
                    guest.flag_simulating(true);
                    guest.report_lvt(0);
                    self.begin();
                }
                Doing::Write(distance) => {
                    self.doing =
                        if distance + 1 < self.processes { Doing::Write(distance + 1) } else { Doing::Read };
                    let to = ProcessId((self.rank + distance) % self.processes);
                    let payload = Box::new(Letter(self.window));
                    return Op::Send(Outgoing { to, bytes: LETTER_BYTES, payload });
                }
                Doing::Read => {
                    while let Some(message) = guest.take() {
                        if let Some(Letter(window)) = message.payload.downcast_ref() {
                            self.letters[*window as usize] += 1;
                        }
                    }
                    if self.letters[self.window as usize] + 1 < self.processes {
                        return Op::Receive(Wait::Poll);
                    }
                    self.window += 1;
                    self.doing = if self.window > self.windows + 1 { Doing::Over } else { Doing::Work(0) };
                }
                Doing::Work(_) if self.window > self.windows => self.begin(),
                Doing::Work(event) if event > EVENTS => {
                    guest.report_lvt(self.bound_ns());
                    self.begin();
                }
                Doing::Work(event) => {
                    let before_ns = (EVENTS - event) * WINDOW_NS / (EVENTS + 1);
                    guest.report_lvt(self.bound_ns() - before_ns.min(self.bound_ns()));
                    self.doing = Doing::Work(event + 1);
                    return Op::Compute(self.chunk_ns.max(1));
                }
                Doing::Over => {
                    guest.flag_simulating(false);
                    return Op::Done;
                }
            }
        }
    }

    fn waits_for(&self) -> String {
        format!("the letters of window {}", self.window)
    }
}
