//! A host: its state, its motion, and the dispatch of its events.

use std::collections::{BTreeMap, VecDeque};

use paceline_kernel::{Context, Time};
use serde::{Deserialize, Serialize};

use super::event::{CsmaEvent, Frame};
use super::{Csma, Motion};
use crate::wireless::MOST;
use crate::wireless::space::{Point, Velocity};

/// Counts of what a host has done.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tally {
    /// Frames sent, including acknowledgements.
    pub sent: u64,
    /// Of these, frames sent again because no acknowledgement came.
    pub resent: u64,
    /// Frames of other hosts that were strong enough to be decoded.
    pub in_range: u64,
    /// Of these, frames received.
    pub received: u64,
    /// Of these, frames lost because another one overlapped.
    pub collided: u64,
    /// Of these, frames lost because the host was sending, or began to send before their end.
    pub missed: u64,
    /// Frames given up after the last try.
    pub given_up: u64,
    /// Frames for which the queue had no room.
    pub overflowed: u64,
    /// Requests to other hosts that it has begun.
    pub asked: u64,
    /// Of these, answered.
    pub answered: u64,
    /// The total time from requests to their replies.
    pub waited_ns: u64,
    /// By number of hops: how many routes were found.
    pub hops: Vec<u64>,
}

/// A countdown before a frame is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Backoff {
    /// When the countdown of slots begins.
    pub(super) counts_from: Time,
    pub(super) slots: u32,
}

/// A frame that is being received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reception {
    pub(super) frame: Frame,
    pub(super) power: i32,
    pub(super) ends: Time,
    /// So far, the frame can be decoded.
    pub(super) readable: bool,
}

/// What a host knows of the latest request of another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Heard {
    pub(super) number: u32,
    /// The host from which its first copy came.
    pub(super) from: u32,
}

/// The state of a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CsmaHost {
    pub(crate) at: Point,
    pub(super) velocity: Velocity,
    /// Moves until direction and speed are redrawn.
    pub(super) moves_left: u32,
    /// Frames to send; the first one is being sent or waits to be.
    pub(super) queue: VecDeque<Frame>,
    pub(super) backoff: Option<Backoff>,
    /// The number of backoffs and of transmissions so far; identifies events that were scheduled for an
    /// earlier one.
    pub(super) backoffs: u32,
    pub(super) transmissions: u32,
    /// The transmission whose acknowledgement the host waits for.
    pub(super) awaits: Option<u32>,
    pub(super) retries: u32,
    pub(super) window: u32,
    pub(super) sends_until: Time,
    pub(super) busy_until: Time,
    pub(super) reception: Option<Reception>,
    /// The latest request of each origin, and the host from which its first copy came.
    pub(super) heard: BTreeMap<u32, Heard>,
    /// The number of requests that this host has made; and when it made the last one, until that is
    /// answered.
    pub(super) requests: u32,
    pub(super) asked_at: Option<Time>,
    pub(crate) tally: Tally,
}

impl Tally {
    /// Whether a run can have counted so, if it has been read from somewhere: no counter is near its end.
    pub(super) fn can_be(&self) -> bool {
        let Self { sent, resent, in_range, received, collided, missed, given_up, overflowed, .. } = self;
        let counts = [sent, resent, in_range, received, collided, missed, given_up, overflowed];
        let rest = [&self.asked, &self.answered, &self.waited_ns];
        self.hops.len() <= 1 << 8
            && counts.into_iter().chain(rest).chain(&self.hops).all(|count| *count < MOST)
    }
}

impl CsmaHost {
    /// Whether it can be the state of a host, in a run that has been read from somewhere.
    pub(super) fn can_be(&self, network: &Csma) -> bool {
        let moves = match network.motion {
            Motion::Random { .. } => self.moves_left > 0,
            Motion::Traced(_) => true,
        };
        moves
            && self.retries <= network.access.retries
            && self.window <= network.access.window_most
            && self.requests < u32::MAX / 2
            && self.tally.can_be()
    }

    /// A host at its initial place.
    pub(super) fn new(network: &Csma, number: u32, cx: &mut Context<'_, Csma>) -> Self {
        let mut host = Self {
            at: network.starts[number as usize],
            velocity: Velocity { x: 0, y: 0 },
            moves_left: 0,
            queue: VecDeque::new(),
            backoff: None,
            backoffs: 0,
            transmissions: 0,
            awaits: None,
            retries: 0,
            window: network.access.window_least,
            sends_until: Time::ZERO,
            busy_until: Time::ZERO,
            reception: None,
            heard: BTreeMap::new(),
            requests: 0,
            asked_at: None,
            tally: Tally::default(),
        };
        host.draw_motion(network, cx);
        cx.send(network.region_lp(host.at), Time::ZERO, CsmaEvent::Enter { host: number, at: host.at });
        cx.schedule(network.step, CsmaEvent::Move);
        host.schedule_request(network, cx);
        host
    }

    /// The approximate memory that a copy of the state takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let heard = self.heard.len() * size_of::<(u32, Heard)>();
        size_of::<Self>() + heard + self.queue.len() * size_of::<Frame>() + self.tally.hops.len() * 8
    }

    pub(super) fn handle(&mut self, network: &Csma, event: &CsmaEvent, cx: &mut Context<'_, Csma>) {
        match event {
            CsmaEvent::Signal { frame, power } => self.notice(network, *frame, *power, cx),
            CsmaEvent::Received => self.end_reception(network, cx),
            CsmaEvent::Attempt { backoff } => self.attempt(network, *backoff, cx),
            CsmaEvent::SendingEnds => self.end_sending(network, cx),
            CsmaEvent::Acknowledge { receiver } => self.acknowledge(network, *receiver, cx),
            CsmaEvent::AckTimeout { transmission } => self.time_out(network, *transmission, cx),
            CsmaEvent::Move => self.advance(network, cx),
            CsmaEvent::Ask => self.ask(network, cx),
            event => unreachable!("{event:?} is for regions: nobody sends it to a host"),
        }
    }

    fn draw_motion(&mut self, network: &Csma, cx: &mut Context<'_, Csma>) {
        if let Motion::Random { speed, redraw_steps } = network.motion {
            self.velocity = network.space.draw_velocity(cx.rng(), speed);
            self.moves_left = 1 + cx.rng().below(u64::from(redraw_steps)) as u32;
        }
    }

    /// Moves, and reports that to the regions of its old and its new place.
    fn advance(&mut self, network: &Csma, cx: &mut Context<'_, Csma>) {
        let (lp, before) = (cx.lp().0, network.region_lp(self.at));
        match &network.motion {
            Motion::Random { .. } => {
                self.at = self.at.moved(self.velocity);
                self.moves_left -= 1;
                if self.moves_left == 0 {
                    self.draw_motion(network, cx);
                }
            }
            Motion::Traced(trace) => self.at = trace.place(network.space, lp, cx.now()),
        }
        let (after, delay) = (network.region_lp(self.at), network.half_slot());
        if after != before {
            cx.send(before, delay, CsmaEvent::Leave { host: lp });
        }
        cx.send(after, delay, CsmaEvent::Enter { host: lp, at: self.at });
        cx.schedule(network.step, CsmaEvent::Move);
    }
}
