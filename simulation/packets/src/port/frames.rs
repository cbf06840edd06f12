//! Ports of a network with flow control: they obey the pause frames of their neighbour, and send frames of
//! their own before data.
//!
//! Invariants: a frame waits for the packet that is being sent, and no longer; at most one frame waits, since
//! it says of every class whether it is paused; frames that say what the one before said are not sent.

use super::Port;
use super::controlled::Controlled;
use super::special::{Queueing, Sent};
use crate::link::Wire;
use crate::packet::Held;
use crate::queue::pfc::PAUSE_BYTES;
use crate::queue::{Classes, Discipline, Packet};

impl Port {
    fn controlled(&self) -> Option<&Controlled> {
        match &self.special.as_ref()?.queueing {
            Queueing::Controlled(controlled) => Some(controlled),
            Queueing::Admission(_) | Queueing::Queue(_) => None,
        }
    }

    fn controlled_mut(&mut self) -> &mut Controlled {
        match self.special.as_mut().map(|special| &mut special.queueing) {
            Some(Queueing::Controlled(controlled)) => controlled,
            _ => unreachable!("in a network with flow control every port is under it"),
        }
    }

    /// Whether it obeys pause frames.
    pub(crate) fn is_controlled(&self) -> bool {
        self.controlled().is_some()
    }

    /// Whether something is being sent, so that an event says when the link is free.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// When the link is free, in picoseconds.
    pub(crate) fn free_ps(&self) -> u64 {
        self.free_ps
    }

    /// The neighbour has said what is paused from now on.
    pub(crate) fn obey(&mut self, paused: Classes) {
        self.controlled_mut().paused = paused;
    }

    /// The neighbour is to pause a class, or to go on.
    pub(crate) fn want(&mut self, class: u8, is_paused: bool) {
        self.controlled_mut().wanted.set(class, is_paused);
    }

    /// Sends the frame that is due, if there is one, at `now_ps` or when the link is free, whichever is
    /// later: what it says, and when. It is never lost and knows no jitter.
    pub(crate) fn send_frame(&mut self, wire: &Wire, now_ps: u64) -> Option<(Classes, Sent)> {
        let controlled = self.controlled_mut();
        let (wanted, announced) = (controlled.wanted, controlled.announced);
        if wanted == announced {
            return None;
        }
        controlled.announced = wanted;
        controlled.pauses +=
            u64::from((0..8).any(|class| wanted.contains(class) && !announced.contains(class)));
        let start_ps = now_ps.max(self.free_ps);
        if start_ps > self.free_ps {
            self.rest = 0;
        }
        self.free_ps = start_ps + wire.transmission(PAUSE_BYTES, &mut self.rest);
        self.is_busy = true;
        Some((wanted, Sent { free_ps: self.free_ps, arrival_ps: Some(self.free_ps + wire.latency_ps) }))
    }

    /// The packet that has just been sent.
    pub(crate) fn take_sent(&mut self) -> Option<Held> {
        self.controlled_mut().sending.take()
    }

    /// The packets that wait or are being sent.
    pub(crate) fn held(&self) -> Vec<Held> {
        let Some(controlled) = self.controlled() else { return Vec::new() };
        let mut held: Vec<Held> = controlled.sending.into_iter().collect();
        controlled.queue.look(&mut |packet| held.push(packet.held()));
        held
    }

    /// Frames sent that paused a class.
    pub(crate) fn pauses(&self) -> u64 {
        self.controlled().map_or(0, |controlled| controlled.pauses)
    }

    /// What cannot leave since the neighbour has paused it: the packets that wait, and the class and flow of
    /// the first that is paused.
    pub(crate) fn held_up(&self) -> Option<(usize, u8, Option<u32>)> {
        let controlled = self.controlled().filter(|controlled| !controlled.paused.is_empty())?;
        let mut queue = controlled.queue.clone();
        let time = self.special.as_ref()?.latest();
        let waiting = queue.len();
        while let Some(packet) = queue.dequeue(time, Classes::NONE, &mut Vec::new()) {
            if controlled.paused.contains(packet.class()) {
                return Some((waiting, packet.class(), packet.flow()));
            }
        }
        None
    }
}
