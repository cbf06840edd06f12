//! The thread of an LP that carries its messages to an LP on another host: each in a packet of its own, or
//! marshalled in frames (ARTIS paper, section 6).
//!
//! A frame is sent when no further message fits into the path's MTU, when its first message has waited for
//! the time limit (which is checked whenever the main thread hands over messages), and at the end of a step,
//! for which others wait.
//!
//! Without marshalling, too, the kernel may join messages: while TCP waits for an acknowledgement it holds
//! back a packet that is not full (Nagle's algorithm, RFC 896). What one batch of the main thread hands over
//! may be joined here, up to [`Frames::joined`] messages and the MTU; each of them costs a system call of its
//! own.
//!
//! Invariant: what an LP sends in a step is the same with marshalling and without; only packets differ.

use std::collections::VecDeque;
use std::sync::Arc;

use paceline_machine::{Guest, Op, Outgoing, ProcessId, Program, Wait};

use super::lp::Letter;

/// Headers of TCP and IP, with options, that count in the MTU, and those of Ethernet that do not.
const HEADERS_BYTES: u32 = 52;
const ETHERNET_BYTES: u32 = 38;

/// How messages go over the network.
#[derive(Clone, Debug)]
pub struct Frames {
    pub message_bytes: u32,
    /// Bytes of a packet at most, headers of TCP and IP included.
    pub mtu_bytes: u32,
    /// How long a message waits in a frame at most; `None` for no marshalling.
    pub limit_ns: Option<u64>,
    /// Without marshalling: messages that the kernel joins in a packet, at most.
    pub joined: u32,
    /// The CPU time to put a message into a frame, or to take it out.
    pub marshal_ns: f64,
    pub look_ns: u64,
}

impl Frames {
    /// Messages that fit into a packet.
    fn most(&self) -> u32 {
        let fit = (self.mtu_bytes.saturating_sub(HEADERS_BYTES) / self.message_bytes).max(1);
        if self.limit_ns.is_some() { fit } else { fit.min(self.joined) }
    }

    /// The CPU time of a thread for the messages of a packet, besides the packet itself: to marshal each, or
    /// a system call for each but the first.
    fn messages_ns(&self, messages: f64) -> u64 {
        match self.limit_ns {
            Some(_) => (messages * self.marshal_ns) as u64,
            None => ((messages - 1.0).max(0.0) * self.look_ns as f64) as u64,
        }
    }
}

#[derive(Debug)]
pub struct Carrier {
    frames: Arc<Frames>,
    lp: u32,
    /// The carrier of the other LP.
    peer: ProcessId,
    main: ProcessId,
    /// How many ends of steps, of both LPs, are still to be carried.
    left: u32,
    queue: VecDeque<Op>,
    /// The number of messages that wait, possibly with a fraction, and since when they wait.
    waiting: f64,
    since_ns: u64,
}

impl Carrier {
    /// The thread of LP `lp` of two, for `steps` steps.
    pub fn new(frames: &Arc<Frames>, lp: u32, main: ProcessId, peer: ProcessId, steps: u32) -> Self {
        let (frames, queue) = (Arc::clone(frames), VecDeque::new());
        Self { frames, lp, peer, main, left: 2 * steps, queue, waiting: 0.0, since_ns: 0 }
    }

    fn compute(&mut self, messages: f64) {
        let work_ns = self.frames.messages_ns(messages);
        if work_ns > 0 {
            self.queue.push_back(Op::Compute(work_ns));
        }
    }

    fn packet(&mut self, letter: Letter, messages: u32, last: bool) {
        let bytes = ETHERNET_BYTES + HEADERS_BYTES + messages.max(1) * self.frames.message_bytes;
        let pings = f64::from(messages);
        self.waiting -= pings;
        self.compute(pings);
        let payload = Box::new(Letter { pings, last, ..letter });
        self.queue.push_back(Op::Send(Outgoing { to: self.peer, bytes, payload }));
    }

    fn handed_over(&mut self, now_ns: u64, letter: Letter) {
        if self.waiting < 1.0 {
            self.since_ns = now_ns;
        }
        self.waiting += letter.pings;
        let most = self.frames.most();
        while self.waiting >= f64::from(most) {
            self.packet(letter, most, false);
            self.since_ns = now_ns;
        }
        let late = self.frames.limit_ns.is_none_or(|limit_ns| now_ns - self.since_ns >= limit_ns);
        let whole = self.waiting as u32;
        if letter.last {
            self.packet(letter, whole, true);
            self.waiting = 0.0;
        } else if late && whole > 0 {
            self.packet(letter, whole, false);
        }
    }
}

impl Program for Carrier {
    fn next(&mut self, guest: &mut Guest<'_>) -> Op {
        loop {
            if let Some(op) = self.queue.pop_front() {
                return op;
            }
            if self.left == 0 {
                return Op::Done;
            }
            let Some(message) = guest.take() else {
                self.queue.push_back(Op::Receive(Wait::Block));
                return Op::Compute(self.frames.look_ns);
            };
            let letter = message.payload.downcast::<Letter>().expect("carriers get letters only");
            self.left -= u32::from(letter.last);
            if letter.from == self.lp {
                self.handed_over(guest.now_ns(), *letter);
            } else {
                self.compute(letter.pings);
                self.queue.push_back(Op::Send(Outgoing { to: self.main, bytes: 0, payload: letter }));
            }
        }
    }

    fn waits_for(&self) -> String {
        format!("{} ends of steps", self.left)
    }
}
