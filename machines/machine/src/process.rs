//! The processes of guests while the machine runs: what each is in the middle of, its inbox, and whether it
//! waits.
//!
//! Invariant: a process is `alive` in the count of its domain until it is done or its domain has left; `idle`
//! processes are those that wait for a message and have none.

use std::collections::VecDeque;

use crate::ids::GuestId;
use crate::program::{Message, Outgoing, Program, Wait};

/// What a process is in the middle of.
#[derive(Debug)]
pub enum Stage {
    /// Its program is to be asked what comes next.
    Fresh,
    /// It needs the CPU for so long.
    Compute(u64),
    /// It needs the CPU for so long, and then sends.
    Sending(u64, Outgoing),
    /// It waits for a place in the ring.
    Stalled(Outgoing),
    /// It waits for a message; if it polls, for so much longer before it does something else.
    Waiting(Wait, u64),
    /// It needs the CPU for so long, and then yields.
    Yielding(u64),
    /// It needs the CPU for so long, and then sleeps for so long.
    Retiring(u64, u64),
    /// It needs the CPU for so long, and then continues with that.
    Paying(u64, Box<Stage>),
    Asleep,
    /// It is done, or its domain has left.
    Done,
}

#[derive(Debug)]
pub struct Process {
    pub program: Box<dyn Program>,
    /// Its domain, as an index of the spec.
    pub guest: GuestId,
    pub stage: Stage,
    pub inbox: VecDeque<Message>,
    /// Whether it counts among those that wait for a message and have none.
    pub idle: bool,
    /// Whether it is neither on a VCPU nor in the guest's queue of those that are ready.
    pub off: bool,
    /// Whether it is done, or its domain has left.
    pub ended: bool,
    /// The VCPU it ran on last, as an offset within its domain.
    pub last_vcpu: u32,
    /// When its program was last asked what comes next, and how often at that instant.
    pub asked_ns: u64,
    pub asked: u32,
}

impl Stage {
    /// What is left of the part of it that needs the CPU, if there is such a part.
    pub fn left(&mut self) -> Option<&mut u64> {
        match self {
            Self::Compute(left)
            | Self::Sending(left, _)
            | Self::Yielding(left)
            | Self::Retiring(left, _)
            | Self::Paying(left, _) => Some(left),
            _ => None,
        }
    }
}
