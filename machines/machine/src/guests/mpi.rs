//! Processes of an MPI program: sends that complete locally, receives matched by source and tag, collective
//! operations.
//!
//! A program is a `Script` per rank: a list of `Step`s, refilled whenever it has run out. A `Rank` plays the
//! script on the machine. Small messages are sent eagerly, as MPI libraries send them: a send is over when
//! the packets are in the ring. Large ones are sent eagerly too; the handshake that libraries put before them
//! (beyond 64 KiB over TCP) is left out, as these programs have posted the receive by then.
//!
//! A message leaves in pieces of at most [`Mpi::segment_bytes`]: a guest hands TCP segments of up to 64 KiB
//! to its virtual network card (segmentation offload), and the machine charges by packet and by byte.
//!
//! Invariants: messages from one rank to another are received in the order in which they were sent; both ends
//! of a message agree on its size; time is rounded to nanoseconds over the whole of a process, never step by
//! step.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;

use crate::{Guest, Message, Op, Outgoing, ProcessId, Program, Wait};

/// Ethernet, IP and TCP headers with time stamps.
const ACKNOWLEDGEMENT_BYTES: u32 = 66;

/// What the MPI library and the TCP below it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpi {
    /// How a process waits for a message.
    pub wait: Wait,
    /// The most bytes that go to the network card at once.
    pub segment_bytes: u32,
    /// Whether a message is acknowledged by a packet of its own when the process has taken it, as TCP does.
    pub acknowledges: bool,
    /// How many processes after that of the rank before it a rank is, at least 1: a domain may have other
    /// processes beside its rank.
    pub apart: u32,
}

impl Default for Mpi {
    /// Polls, as Open MPI and MPICH do by default; segments of 64 KiB, no packets for acknowledgements, and
    /// ranks that follow each other.
    fn default() -> Self {
        Self { wait: Wait::Poll, segment_bytes: 65_536, acknowledges: false, apart: 1 }
    }
}

/// What a process has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// When it began.
    pub started_ns: Option<u64>,
    /// When it was done.
    pub done_ns: Option<u64>,
    /// CPU time that it has asked for, without what messages and waiting cost.
    pub computed_ns: u64,
    /// Messages it has sent.
    pub messages: u64,
    /// The sum of their sizes, as the program gives them.
    pub bytes: u64,
}

/// What `program` has done, where it is a process of one of this module's programs: EP, LU, message rounds.
pub fn tally(program: &dyn Program) -> Option<&Tally> {
    (program as &dyn Any).downcast_ref::<Rank>().map(|rank| &rank.tally)
}

/// What a message is for: a receive takes those of its own tag only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// The program's own.
    Data,
    /// Part of a collective operation.
    Collective,
    /// The program's own, that a round is over.
    Closing,
}

/// A part of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Needs the CPU for so many picoseconds, at most half a year of them.
    Compute { ps: u64 },
    /// Sleeps, as after `nanosleep`: the VCPU is free meanwhile.
    Sleep { ns: u64 },
    /// Sends a message.
    Send { to: u32, tag: Tag, bytes: u64 },
    /// Waits for a message: from one rank, or from whomever.
    Receive { from: Option<u32>, tag: Tag, bytes: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub from: u32,
    pub tag: Tag,
    pub bytes: u64,
}

/// What a rank does.
pub(crate) trait Script: Any + Send + fmt::Debug {
    /// Appends the next steps to `steps`, which is empty. Appends nothing when all is done.
    fn refill(&mut self, steps: &mut VecDeque<Step>);

    /// A [`Step::Receive`] is over.
    fn received(&mut self, _message: Arrived, _now_ns: u64) {}
}

/// A process of an MPI program.
#[derive(Debug)]
pub(crate) struct Rank {
    /// The process of rank 0.
    first: ProcessId,
    mpi: Mpi,
    script: Box<dyn Script>,
    steps: VecDeque<Step>,
    /// A message on its way out.
    leaving: Option<Leaving>,
    /// Messages that have come and are not received, in the order of arrival.
    stash: VecDeque<Arrived>,
    /// To whom an acknowledgement is due.
    due: VecDeque<ProcessId>,
    /// Time below a nanosecond that is yet to be needed.
    carry_ps: u64,
    tally: Tally,
}

/// A message whose pieces leave one after the other.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    to: u32,
    tag: Tag,
    bytes: u64,
    /// What has left already.
    left: u64,
}

/// Acknowledges a message to its sender.
#[derive(Debug)]
struct Acknowledged;

#[derive(Debug)]
struct Piece {
    tag: Tag,
    /// Of the whole message.
    bytes: u64,
    last: bool,
}

impl Rank {
    /// The processes of the program with these scripts, by rank: they are to be processes `first` and those
    /// after it, each [`Mpi::apart`] after the one before.
    pub fn all(
        mpi: Mpi,
        first: ProcessId,
        scripts: impl IntoIterator<Item = Box<dyn Script>>,
    ) -> Vec<Box<dyn Program>> {
        let rank = |script| -> Box<dyn Program> {
            Box::new(Self {
                first,
                mpi,
                script,
                steps: VecDeque::new(),
                leaving: None,
                stash: VecDeque::new(),
                due: VecDeque::new(),
                carry_ps: 0,
                tally: Tally::default(),
            })
        };
        scripts.into_iter().map(rank).collect()
    }

    /// The script that `program` plays, where it plays one of type `S`.
    pub fn script<S: Script>(program: &dyn Program) -> Option<&S> {
        let rank = (program as &dyn Any).downcast_ref::<Self>()?;
        (&*rank.script as &dyn Any).downcast_ref()
    }

    /// The next piece of the message that is leaving; a message without content is one empty piece.
    fn piece(&mut self) -> Option<Op> {
        let Leaving { to, tag, bytes, left } = self.leaving.take()?;
        let piece = (bytes - left).min(self.mpi.segment_bytes.max(1).into());
        let last = left + piece == bytes;
        if last {
            self.tally.messages += 1;
            self.tally.bytes += bytes;
        } else {
            self.leaving = Some(Leaving { to, tag, bytes, left: left + piece });
        }
        Some(Op::Send(Outgoing {
            to: ProcessId(self.first.0 + to * self.mpi.apart),
            bytes: u32::try_from(piece).expect("a segment's size has 32 bits"),
            payload: Box::new(Piece { tag, bytes, last }),
        }))
    }

    /// Takes in what has come.
    fn arrived(&mut self, Message { from, payload, .. }: Message) {
        // An acknowledgement is for the kernel alone.
        let Ok(piece) = payload.downcast::<Piece>() else { return };
        if piece.last {
            self.due.extend(self.mpi.acknowledges.then_some(from));
            let after = from.0.checked_sub(self.first.0).expect("ranks follow their first process");
            let from = after / self.mpi.apart;
            self.stash.push_back(Arrived { from, tag: piece.tag, bytes: piece.bytes });
        }
    }

    /// The first message that a receive from `from` with `tag` takes.
    fn matched(&mut self, from: Option<u32>, tag: Tag) -> Option<Arrived> {
        let fits = |message: &Arrived| message.tag == tag && from.is_none_or(|from| from == message.from);
        self.stash.iter().position(fits).and_then(|place| self.stash.remove(place))
    }
}

impl Program for Rank {
    fn next(&mut self, guest: &mut Guest<'_>) -> Op {
        self.tally.started_ns.get_or_insert(guest.now_ns());
        loop {
            // A message that has begun to leave is finished first: a later one must not be complete before
            // it.
            if let Some(op) = self.piece() {
                return op;
            }
            // A kernel acknowledges what the process has taken, before the process does anything else.
            if let Some(to) = self.due.pop_front() {
                return Op::Send(Outgoing {
                    to,
                    bytes: ACKNOWLEDGEMENT_BYTES,
                    payload: Box::new(Acknowledged),
                });
            }
            let Some(step) = self.steps.pop_front() else {
                self.script.refill(&mut self.steps);
                if self.steps.is_empty() {
                    self.tally.done_ns.get_or_insert(guest.now_ns());
                    return Op::Done;
                }
                continue;
            };
            match step {
                Step::Compute { ps } => {
                    let all_ps = self.carry_ps.saturating_add(ps);
                    self.carry_ps = all_ps % 1_000;
                    if all_ps >= 1_000 {
                        self.tally.computed_ns += all_ps / 1_000;
                        return Op::Compute(all_ps / 1_000);
                    }
                }
                Step::Sleep { ns: 0 } => {}
                Step::Sleep { ns } => return Op::Sleep(ns),
                Step::Send { to, tag, bytes } => {
                    self.leaving = Some(Leaving { to, tag, bytes, left: 0 });
                }
                Step::Receive { from, tag, bytes } => {
                    while let Some(message) = guest.take() {
                        self.arrived(message);
                    }
                    let Some(message) = self.matched(from, tag) else {
                        // Tried again when a message has come; acknowledgements that are due leave before it
                        // waits.
                        self.steps.push_front(step);
                        if self.due.is_empty() {
                            return Op::Receive(self.mpi.wait);
                        }
                        continue;
                    };
                    assert_eq!(message.bytes, bytes, "both ends of a message agree on its size");
                    self.script.received(message, guest.now_ns());
                }
            }
        }
    }

    fn waits_for(&self) -> String {
        match self.steps.front() {
            Some(Step::Receive { from: Some(from), .. }) => {
                format!("a message of rank {from}, which is process {}", self.first.0 + from)
            }
            Some(Step::Receive { from: None, .. }) => "a message of any rank".into(),
            _ => "nothing".into(),
        }
    }
}

/// An all-reduce of `bytes` over `ranks`, as `rank` takes part: recursive doubling between the greatest power
/// of two of them; each rank beyond that hands its share to a neighbour first and gets the result last
/// (Thakur, Rabenseifner and Gropp, 2005; what Open MPI and MPICH do with short messages).
pub(crate) fn allreduce(steps: &mut VecDeque<Step>, rank: u32, ranks: u32, bytes: u64) {
    let tag = Tag::Collective;
    let send = |to| Step::Send { to, tag, bytes };
    let receive = |from| Step::Receive { from: Some(from), tag, bytes };
    let power = 1 << ranks.ilog2();
    let beyond = ranks - power;
    let paired = rank < 2 * beyond;
    if paired && rank.is_multiple_of(2) {
        steps.extend([send(rank + 1), receive(rank + 1)]);
        return;
    }
    if paired {
        steps.push_back(receive(rank - 1));
    }
    let place = if paired { rank / 2 } else { rank - beyond };
    for bit in 0..power.ilog2() {
        let other = place ^ 1 << bit;
        let other = if other < beyond { 2 * other + 1 } else { other + beyond };
        steps.extend([send(other), receive(other)]);
    }
    if paired {
        steps.push_back(send(rank - 1));
    }
}

/// A barrier of `ranks`, as `rank` takes part: in step `s` every rank sends to the rank 2^s after it
/// (Hensgen, Finkel and Manber, 1988, dissemination).
pub(crate) fn barrier(steps: &mut VecDeque<Step>, rank: u32, ranks: u32) {
    let tag = Tag::Collective;
    let mut distance = 1;
    while distance < ranks {
        steps.push_back(Step::Send { to: (rank + distance) % ranks, tag, bytes: 0 });
        steps.push_back(Step::Receive { from: Some((rank + ranks - distance) % ranks), tag, bytes: 0 });
        distance *= 2;
    }
}
