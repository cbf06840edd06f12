//! A driver for guest programs without a machine: it runs them in any order and delivers messages in any
//! order, but for those from one process to another, which stay in the order in which they were sent.
//!
//! Invariant: what happens depends on the programs and the seed alone.

use std::collections::{BTreeMap, VecDeque};

use paceline_kernel::Rng;

use crate::program::Page;
use crate::{Guest, Message, Op, Outgoing, ProcessId, Program};

/// Something a process has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Computed(u64),
    Sent { to: u32, bytes: u64 },
    Slept(u64),
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    pub programs: Vec<Box<dyn Program>>,
    /// By process, in order.
    pub done: Vec<Vec<Done>>,
}

impl Ran {
    /// The sizes of the messages from `from` to `to`.
    pub fn sizes(&self, from: usize, to: u32) -> Vec<u64> {
        let size = |done: &Done| match *done {
            Done::Sent { to: receiver, bytes } if receiver == to => Some(bytes),
            _ => None,
        };
        self.done[from].iter().filter_map(size).collect()
    }

    /// All CPU time of process `process`.
    pub fn computed_ns(&self, process: usize) -> u64 {
        let times = self.done[process].iter();
        times.map(|done| if let Done::Computed(ns) = done { *ns } else { 0 }).sum()
    }
}

/// Runs `programs`, the first of which is process `first`, to the end. What stands in the way comes back: who
/// waits for what.
pub fn drive(mut programs: Vec<Box<dyn Program>>, first: u32, seed: u64) -> Result<Ran, String> {
    let count = programs.len();
    let mut rng = Rng::new(seed, 0);
    let mut inboxes: Vec<VecDeque<Message>> = programs.iter().map(|_| VecDeque::new()).collect();
    let mut done: Vec<Vec<Done>> = programs.iter().map(|_| Vec::new()).collect();
    let mut channels: BTreeMap<(usize, usize), VecDeque<Message>> = BTreeMap::new();
    let (mut waiting, mut over) = (vec![false; count], vec![false; count]);
    let mut now_ns = 0;
    loop {
        let ready: Vec<usize> =
            (0..count).filter(|p| !over[*p] && (!waiting[*p] || !inboxes[*p].is_empty())).collect();
        let choices = ready.len() + channels.len();
        if choices == 0 {
            let stuck = (0..count).filter(|p| !over[*p]).map(|p| format!("{p}: {}", programs[p].waits_for()));
            let stuck: Vec<_> = stuck.collect();
            return if stuck.is_empty() { Ok(Ran { programs, done }) } else { Err(stuck.join("; ")) };
        }
        now_ns += 1;
        let choice = rng.below(choices as u64) as usize;
        let Some(&process) = ready.get(choice) else {
            let place = *channels.keys().nth(choice - ready.len()).expect("chosen among these");
            let messages = channels.get_mut(&place).expect("it is there");
            inboxes[place.1].extend(messages.pop_front());
            if messages.is_empty() {
                channels.remove(&place);
            }
            continue;
        };
        let me = ProcessId(first + process as u32);
        let inbox = &mut inboxes[process];
        let op = programs[process].next(&mut Guest { now_ns, me, inbox, page: Page::default() });
        waiting[process] = false;
        match op {
            Op::Compute(ns) => done[process].push(Done::Computed(ns)),
            Op::Sleep(ns) => done[process].push(Done::Slept(ns)),
            Op::Send(Outgoing { to, bytes, payload }) => {
                let to = (to.0 - first) as usize;
                done[process].push(Done::Sent { to: to as u32, bytes: bytes.into() });
                channels.entry((process, to)).or_default().push_back(Message { from: me, bytes, payload });
            }
            Op::Receive(_) => waiting[process] = true,
            Op::Yield => {}
            Op::Done => over[process] = true,
        }
    }
}

/// Runs `programs` one after the other, each to its end with messages of those before it only; the last one
/// gets its messages in the order of `senders`. Returns the last one.
pub fn last_hears(mut programs: Vec<Box<dyn Program>>, first: u32, senders: &[u32]) -> Box<dyn Program> {
    let last = programs.len() - 1;
    let mut sent: BTreeMap<(u32, u32), VecDeque<Message>> = BTreeMap::new();
    let mut senders = senders.iter().map(|sender| first + sender);
    for (process, program) in programs.iter_mut().enumerate() {
        let me = ProcessId(first + process as u32);
        let mut inbox = VecDeque::new();
        loop {
            match program.next(&mut Guest { now_ns: 0, me, inbox: &mut inbox, page: Page::default() }) {
                Op::Done => break,
                Op::Send(Outgoing { to, bytes, payload }) => {
                    sent.entry((me.0, to.0)).or_default().push_back(Message { from: me, bytes, payload });
                }
                Op::Receive(_) => {
                    let sender = if process == last { senders.next() } else { me.0.checked_sub(1) };
                    let from = sender.expect("there is a message for every receive");
                    inbox.extend(sent.get_mut(&(from, me.0)).and_then(VecDeque::pop_front));
                    assert!(!inbox.is_empty(), "{} hears from {from}", me.0);
                }
                _ => {}
            }
        }
    }
    programs.pop().expect("there is a last one")
}
