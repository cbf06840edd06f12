//! CSMA/CA as in the distributed coordination function of IEEE 802.11, without RTS and CTS.
//!
//! A host with a frame to send waits until the medium has been idle for DIFS, and then counts down a random
//! number of slots. A signal detected meanwhile suspends the countdown, which resumes with the remaining
//! slots after the signal. A frame to one host is acknowledged; without an acknowledgement it is sent again,
//! up to a number of times, each time with a contention window of twice as many slots.
//!
//! A receiver loses a frame if another one overlaps, unless the frame is stronger by the capture margin, or
//! if the receiver sends meanwhile. Signals too weak to be decoded make the medium busy, and collide too.
//!
//! Invariants: as long as frames are queued, the host has a backoff, sends a frame or waits for an
//! acknowledgement, and never two of these for the same frame; events scheduled for an earlier backoff or
//! transmission do nothing.

use paceline_kernel::{Context, Time};

use super::Csma;
use super::event::{Body, CsmaEvent, EVERYBODY, Frame};
use super::host::{Backoff, CsmaHost, Reception};

impl CsmaHost {
    pub(super) fn enqueue(&mut self, network: &Csma, frame: Frame, cx: &mut Context<'_, Csma>) {
        if self.queue.len() == network.access.queue {
            self.tally.overflowed += 1;
            return;
        }
        self.queue.push_back(frame);
        if self.queue.len() == 1 {
            self.back_off(network, cx);
        }
    }

    /// Begins the backoff for the first frame of the queue.
    fn back_off(&mut self, network: &Csma, cx: &mut Context<'_, Csma>) {
        let slots = cx.rng().below(u64::from(self.window) + 1) as u32;
        self.count_down(network, slots, cx);
    }

    fn count_down(&mut self, network: &Csma, slots: u32, cx: &mut Context<'_, Csma>) {
        let idle = cx.now().max(self.busy_until).max(self.sends_until);
        let counts_from = idle.saturating_add(network.access.difs());
        let attempt = counts_from
            .saturating_add(Time::nanos(network.access.slot.as_nanos().saturating_mul(u64::from(slots))));
        self.backoff = Some(Backoff { counts_from, slots });
        self.backoffs = self.backoffs.wrapping_add(1);
        cx.schedule(attempt - cx.now(), CsmaEvent::Attempt { backoff: self.backoffs });
    }

    /// The medium is busy from now on: suspends the countdown.
    fn suspend(&mut self, network: &Csma, cx: &mut Context<'_, Csma>) {
        if let Some(Backoff { counts_from, slots }) = self.backoff {
            let counted = cx.now().saturating_sub(counts_from).as_nanos() / network.access.slot.as_nanos();
            self.count_down(network, slots - slots.min(u32::try_from(counted).unwrap_or(slots)), cx);
        }
    }

    /// Sends the first frame of the queue, unless this backoff has been replaced.
    pub(super) fn attempt(&mut self, network: &Csma, backoff: u32, cx: &mut Context<'_, Csma>) {
        if self.backoff.is_none() || backoff != self.backoffs {
            return;
        }
        let Some(frame) = self.queue.front().copied() else { return };
        self.backoff = None;
        self.transmissions = self.transmissions.wrapping_add(1);
        self.tally.resent += u64::from(self.retries > 0);
        self.send(network, frame, cx);
        if frame.receiver != EVERYBODY {
            self.awaits = Some(self.transmissions);
        }
    }

    fn send(&mut self, network: &Csma, frame: Frame, cx: &mut Context<'_, Csma>) {
        let airtime = airtime(network, &frame);
        self.sends_until = cx.now().saturating_add(airtime);
        self.tally.sent += 1;
        if let Some(reception) = &mut self.reception {
            // While sending, a host receives nothing.
            self.tally.missed += u64::from(reception.readable);
            reception.readable = false;
        }
        let (from, half) = (self.at, network.half_slot());
        network.grid.in_reach(from, |region| {
            let to = paceline_kernel::LpId(network.hosts + region);
            cx.send(to, half, CsmaEvent::Sent { frame, from });
        });
        if frame.body != Body::Acknowledgement {
            cx.schedule(airtime, CsmaEvent::SendingEnds);
        }
    }

    /// A frame of the queue has been sent completely.
    pub(super) fn end_sending(&mut self, network: &Csma, cx: &mut Context<'_, Csma>) {
        match self.awaits {
            Some(transmission) => {
                cx.schedule(network.access.patience(), CsmaEvent::AckTimeout { transmission });
            }
            None => self.next_frame(network, cx),
        }
    }

    fn next_frame(&mut self, network: &Csma, cx: &mut Context<'_, Csma>) {
        self.queue.pop_front();
        (self.retries, self.window, self.awaits) = (0, network.access.window_least, None);
        if !self.queue.is_empty() {
            self.back_off(network, cx);
        }
    }

    /// The time limit of this transmission is over: if its acknowledgement is missing, sends the frame again
    /// or gives it up.
    pub(super) fn time_out(&mut self, network: &Csma, transmission: u32, cx: &mut Context<'_, Csma>) {
        if self.awaits != Some(transmission) {
            return;
        }
        self.awaits = None;
        if self.retries == network.access.retries {
            self.tally.given_up += 1;
            return self.next_frame(network, cx);
        }
        self.retries += 1;
        self.window = (self.window * 2 + 1).min(network.access.window_most);
        self.back_off(network, cx);
    }

    /// Acknowledges a frame, unless the host is sending.
    pub(super) fn acknowledge(&mut self, network: &Csma, receiver: u32, cx: &mut Context<'_, Csma>) {
        if self.sends_until > cx.now() {
            return;
        }
        self.send(network, Frame { sender: cx.lp().0, receiver, body: Body::Acknowledgement }, cx);
        self.suspend(network, cx);
    }

    /// A frame that this host detects begins.
    pub(super) fn notice(&mut self, network: &Csma, frame: Frame, power: i32, cx: &mut Context<'_, Csma>) {
        let now = cx.now();
        let ends = now.saturating_add(airtime(network, &frame));
        self.busy_until = self.busy_until.max(ends);
        self.suspend(network, cx);
        let in_range = power >= network.radio.sensitivity;
        self.tally.in_range += u64::from(in_range);
        if self.sends_until > now {
            self.tally.missed += u64::from(in_range);
            return;
        }
        let current = self.reception.filter(|reception| reception.ends > now);
        let margin = network.radio.capture;
        let survives = current.is_none_or(|current| power >= current.power.saturating_add(margin));
        if let Some(current) = current {
            if current.power >= power.saturating_add(margin) {
                // The frame that came first is so strong that it is not disturbed.
                self.tally.collided += u64::from(in_range);
                return;
            }
            self.tally.collided += u64::from(current.readable);
            if !survives && current.ends >= ends {
                // Both frames are lost. Keep the one that ends last, because it makes others collide.
                self.tally.collided += u64::from(in_range);
                self.reception = Some(Reception { readable: false, ..current });
                return;
            }
        }
        self.tally.collided += u64::from(in_range && !survives);
        self.reception = Some(Reception { frame, power, ends, readable: in_range && survives });
        cx.schedule(ends - now, CsmaEvent::Received);
    }

    pub(super) fn end_reception(&mut self, network: &Csma, cx: &mut Context<'_, Csma>) {
        let Some(reception) = self.reception.take_if(|reception| reception.ends == cx.now()) else { return };
        if !reception.readable {
            return;
        }
        let Frame { sender, receiver, body } = reception.frame;
        self.tally.received += 1;
        if receiver != EVERYBODY && receiver != cx.lp().0 {
            return;
        }
        match body {
            Body::Acknowledgement => {
                if self.awaits.is_some() && self.queue.front().is_some_and(|frame| frame.receiver == sender) {
                    self.next_frame(network, cx);
                }
            }
            Body::Request { .. } => self.route(network, sender, body, cx),
            Body::Reply { .. } => {
                cx.schedule(network.access.sifs, CsmaEvent::Acknowledge { receiver: sender });
                self.route(network, sender, body, cx);
            }
        }
    }
}

fn airtime(network: &Csma, frame: &Frame) -> Time {
    match frame.body {
        Body::Acknowledgement => network.access.ack_airtime,
        Body::Request { .. } | Body::Reply { .. } => network.access.airtime,
    }
}
