//! Programs that run in guests, and the operations open to them.
//!
//! Invariant: a program sees nothing of the machine but the time, its inbox and the page it shares with the
//! hypervisor; what it does takes time only by the [`Op`]s it gives out.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;

/// A process of a guest, by number over all guests: domains in the order of the spec, and their processes in
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u32);

impl ProcessId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A message that has come.
#[derive(Debug)]
pub struct Message {
    /// Who sent it.
    pub from: ProcessId,
    /// Its size in bytes.
    pub bytes: u32,
    /// What the sender gave as [`Outgoing::payload`].
    pub payload: Box<dyn Any + Send>,
}

/// A message that is to be sent.
#[derive(Debug)]
pub struct Outgoing {
    /// Who gets it, in any guest of any host that a link joins.
    pub to: ProcessId,
    /// Its size in bytes.
    pub bytes: u32,
    /// What the sender gave as [`Outgoing::payload`].
    pub payload: Box<dyn Any + Send>,
}

/// How a process waits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It polls, without end (`spin` in the co-scheduling thesis, table 2).
    Poll,
    /// It polls for so many nanoseconds, then yields, and repeats this (`spin-yield`).
    PollThenYield(u64),
    /// It polls for so many nanoseconds, then blocks (`spin-block`).
    PollThenBlock(u64),
    /// It blocks at once (`block`).
    Block,
}

/// What a process does next.
#[derive(Debug)]
pub enum Op {
    /// Needs the CPU for so many nanoseconds, with the core for itself.
    Compute(u64),
    /// Sends a message. Costs CPU time here; stalls while the ring to the privileged domain is full.
    Send(Outgoing),
    /// Waits until there is a message in its inbox.
    Receive(Wait),
    /// Yields to other processes of the guest, or, if there are none, to other VCPUs.
    Yield,
    /// Is asleep for so many nanoseconds.
    Sleep(u64),
    /// Ends: the process asks for nothing more, and what comes for it is dropped.
    Done,
}

/// What a program can read and publish between two [`Op`]s.
#[derive(Debug)]
pub struct Guest<'a> {
    pub(crate) now_ns: u64,
    pub(crate) me: ProcessId,
    pub(crate) inbox: &'a mut VecDeque<Message>,
    pub(crate) page: Page,
}

/// What was written on the page that is shared with the hypervisor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Page {
    pub lvt_ns: Option<u64>,
    pub waiting: Option<bool>,
    pub simulating: Option<bool>,
    pub writes: u32,
}

impl Guest<'_> {
    /// The machine's real time in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// The process that asks.
    pub fn me(&self) -> ProcessId {
        self.me
    }

    /// The next message, in the order of arrival.
    pub fn take(&mut self) -> Option<Message> {
        self.inbox.pop_front()
    }

    /// Whether there is a message.
    pub fn has_mail(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Puts the LVT on the shared page (PSX paper, section 3.1). Costs one write.
    pub fn report_lvt(&mut self, lvt_ns: u64) {
        self.page.lvt_ns = Some(lvt_ns);
        self.page.writes += 1;
    }

    /// Puts on the shared page whether the process only waits for others. Costs one write.
    pub fn flag_waiting(&mut self, waits: bool) {
        self.page.waiting = Some(waits);
        self.page.writes += 1;
    }

    /// Puts on the shared page whether the process simulates (`switch_scheduler` of the PSX paper). Costs one
    /// write.
    pub fn flag_simulating(&mut self, simulates: bool) {
        self.page.simulating = Some(simulates);
        self.page.writes += 1;
    }
}

/// A process of a guest.
///
/// After a run the programs come back and can be asked for their results: `Box<dyn Program>` can be made
/// `Box<dyn Any>`.
pub trait Program: Any + Send + fmt::Debug {
    /// What to do now that the last [`Op`] is done.
    fn next(&mut self, guest: &mut Guest<'_>) -> Op;

    /// What it waits for, in words: asked when the machine is deadlocked.
    fn waits_for(&self) -> String;
}
