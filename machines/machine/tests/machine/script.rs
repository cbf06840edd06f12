//! A program that follows a script, and writes down when it did what and what it received.
//!
//! Every message carries a number that counts the messages from its sender to its receiver, from zero.

use std::any::Any;
use std::collections::BTreeMap;

use paceline_machine::{Guest, Op, Outgoing, ProcessId, Program, Ran, Wait};

/// What a process does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Compute(u64),
    /// To which process, and how many bytes.
    Send(u32, u32),
    /// Takes one message, waiting for it if need be.
    Receive(Wait),
    /// Waits for a message and leaves it where it is.
    Peek(Wait),
    Yield,
    Sleep(u64),
    Lvt(u64),
    Waits(bool),
    Simulates(bool),
}

/// A message that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Got {
    pub at_ns: u64,
    pub from: u32,
    pub number: u64,
    pub bytes: u32,
}

#[derive(Debug)]
pub struct Script {
    acts: Vec<Act>,
    repeats: bool,
    at: usize,
    sent: BTreeMap<u32, u64>,
    /// When each act began; one more for the end of the last one.
    pub began_ns: Vec<u64>,
    pub got: Vec<Got>,
}

/// A process that does `acts` and is done.
pub fn script(acts: &[Act]) -> Box<dyn Program> {
    Box::new(Script::new(acts, false))
}

/// A process that does `acts` over and over.
pub fn repeated(acts: &[Act]) -> Box<dyn Program> {
    Box::new(Script::new(acts, true))
}

impl Script {
    fn new(acts: &[Act], repeats: bool) -> Self {
        let (sent, began_ns, got) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { acts: acts.to_vec(), repeats, at: 0, sent, began_ns, got }
    }

    /// That of process `process` of a machine that has run.
    pub fn of(ran: &Ran, process: usize) -> &Self {
        let program: &dyn Any = ran.programs[process].as_ref();
        program.downcast_ref().expect("all programs here are scripts")
    }

    pub fn got_ns(ran: &Ran, process: usize) -> Vec<u64> {
        Self::of(ran, process).got.iter().map(|got| got.at_ns).collect()
    }

    pub fn done_ns(ran: &Ran, process: usize) -> u64 {
        let script = Self::of(ran, process);
        assert_eq!(script.began_ns.len(), script.acts.len() + 1, "process {process} is done");
        script.began_ns[script.acts.len()]
    }
}

impl Program for Script {
    fn next(&mut self, guest: &mut Guest<'_>) -> Op {
        loop {
            let last = self.at.checked_sub(1).and_then(|last| self.acts.get(last));
            if let Some(Act::Receive(_)) = last {
                let message = guest.take().expect("a process that has received has a message");
                let number = *message.payload.downcast().expect("messages of scripts carry numbers");
                let (at_ns, from) = (guest.now_ns(), message.from.0);
                self.got.push(Got { at_ns, from, number, bytes: message.bytes });
            }
            if let Some(Act::Peek(_)) = last {
                assert!(guest.has_mail());
            }
            if self.repeats && self.at == self.acts.len() {
                self.at = 0;
            }
            if !self.repeats {
                self.began_ns.push(guest.now_ns());
            }
            let act = self.acts.get(self.at).copied();
            self.at += 1;
            return match act {
                Some(Act::Compute(work_ns)) => Op::Compute(work_ns),
                Some(Act::Send(to, bytes)) => {
                    let count = self.sent.entry(to).or_default();
                    let payload = Box::new(*count);
                    *count += 1;
                    Op::Send(Outgoing { to: ProcessId(to), bytes, payload })
                }
                Some(Act::Receive(wait) | Act::Peek(wait)) => Op::Receive(wait),
                Some(Act::Yield) => Op::Yield,
                Some(Act::Sleep(span_ns)) => Op::Sleep(span_ns),
                Some(Act::Lvt(lvt_ns)) => {
                    guest.report_lvt(lvt_ns);
                    continue;
                }
                Some(Act::Waits(waits)) => {
                    guest.flag_waiting(waits);
                    continue;
                }
                Some(Act::Simulates(simulates)) => {
                    guest.flag_simulating(simulates);
                    continue;
                }
                None => Op::Done,
            };
        }
    }

    fn waits_for(&self) -> String {
        format!("a message, with {} taken", self.got.len())
    }
}
