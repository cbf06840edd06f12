//! RDMA over Ethernet: a flow of packets at a rate that DCQCN sets, in order, with go-back-N where one is
//! lost.
//!
//! A sender and a receiver are pure state machines: moments and packets come in, packets go out.
//!
//! Invariants: packets are numbered from 0, and the receiver takes them in that order alone; what is not
//! acknowledged is sent again after a timeout at the latest; a flow of so many bytes ends when the last of
//! its packets has come in order.

mod dcqcn;

use std::sync::Arc;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use crate::clock::PS_PER_SECOND;

pub use dcqcn::{Dcqcn, RateControl};

/// A flow of RDMA writes over a connection of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rdma {
    /// How many bytes are sent; without a number, up to the end of the run.
    pub bytes: Option<u64>,
    /// The most data in a packet, in bytes.
    pub mtu: u32,
    /// The headers of a packet on the wire, in bytes.
    pub header_bytes: u32,
    /// The length of acknowledgements and notifications on the wire.
    pub control_bytes: u32,
    /// After so many packets in order the receiver sends an acknowledgement, and after the last.
    pub ack_every: u32,
    /// What is not acknowledged in this time is sent again, in picoseconds.
    pub timeout_ps: u64,
    /// The rate control; without it the flow always sends at the rate of its link.
    pub dcqcn: Option<Dcqcn>,
}

impl Default for Rdma {
    /// Packets of 1000 bytes behind headers of Ethernet (18), IPv4 (20), UDP (8), BTH (12) and a checksum
    /// (4); endless, under DCQCN.
    fn default() -> Self {
        Self {
            bytes: None,
            mtu: 1_000,
            header_bytes: 62,
            control_bytes: 84,
            ack_every: 1,
            timeout_ps: PS_PER_SECOND / 100,
            dcqcn: Some(Dcqcn::default()),
        }
    }
}

impl Rdma {
    /// What of it makes no sense: the key, its value and what is allowed.
    pub(crate) fn mistake(&self) -> Option<(&'static str, u64, &'static str)> {
        let sizes =
            [("mtu", self.mtu), ("header_bytes", self.header_bytes), ("control_bytes", self.control_bytes)];
        if let Some((key, value)) = sizes.into_iter().find(|(_, bytes)| !(1..=500_000).contains(bytes)) {
            return Some((key, u64::from(value), "from 1 to 500,000"));
        }
        if self.bytes.is_some_and(|bytes| bytes == 0 || bytes > 1 << 50) {
            return Some(("bytes", self.bytes.unwrap_or(0), "from 1 to 2^50"));
        }
        if self.ack_every == 0 {
            return Some(("ack_every", 0, "at least 1"));
        }
        let most_ps = crate::link::MOST_LATENCY_PS;
        if self.timeout_ps == 0 || self.timeout_ps > most_ps {
            return Some(("timeout", self.timeout_ps, "above 0, at most 10^18 ps"));
        }
        self.dcqcn.as_ref().and_then(Dcqcn::mistake)
    }

    /// The number of packets.
    fn packets(&self) -> u64 {
        self.bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(u64::from(self.mtu)))
    }

    /// The data in packet `number`.
    fn data(&self, number: u64) -> u32 {
        let before = number * u64::from(self.mtu);
        self.bytes.map_or(self.mtu, |bytes| (bytes - before).min(u64::from(self.mtu)) as u32)
    }

    /// The longest packet on the wire.
    pub(crate) fn most_bytes(&self) -> u32 {
        (self.mtu + self.header_bytes).max(self.control_bytes)
    }

    /// The least one.
    pub(crate) fn least_bytes(&self) -> u32 {
        let last = match self.bytes {
            Some(bytes) => ((bytes - 1) % u64::from(self.mtu)) as u32 + 1,
            None => self.mtu,
        };
        (last + self.header_bytes).min(self.control_bytes)
    }
}

/// What a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RdmaKind {
    /// Data: the packet of this number.
    Data(u64),
    /// All before this number have come.
    Ack(u64),
    /// The same, and the next one is missing.
    Nak(u64),
    /// A notification of congestion (CNP).
    Notification,
}

/// What of an RDMA packet stays the same on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RdmaBody {
    /// What it says.
    pub kind: RdmaKind,
    /// When it was sent, in picoseconds.
    pub sent_ps: u64,
    /// Its number among the packets of its direction.
    pub count: u32,
    /// Its length on the wire.
    pub bytes: u32,
}

/// What either end counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Traffic {
    pub sent: u32,
    pub arrived: u64,
    pub delay_sum_ps: u128,
}

impl Traffic {
    fn take(&mut self, body: &RdmaBody, now_ps: u64) {
        self.arrived += 1;
        self.delay_sum_ps += u128::from(now_ps - body.sent_ps);
    }

    fn send(&mut self, kind: RdmaKind, now_ps: u64, bytes: u32) -> Arc<RdmaBody> {
        self.sent = self.sent.checked_add(1).expect("an RDMA flow sends less than 2^32 packets");
        Arc::new(RdmaBody { kind, sent_ps: now_ps, count: self.sent - 1, bytes })
    }
}

/// The end that sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RdmaSender {
    pub(crate) traffic: Traffic,
    /// The number of the packet to be sent next, and of the first that was never sent.
    next: u64,
    fresh: u64,
    /// All before this one are acknowledged.
    acknowledged: u64,
    /// The next packet is not sent earlier, in picoseconds.
    next_ps: u64,
    /// When what is not acknowledged is sent again.
    timeout_ps: u64,
    pub(crate) rate: RateControl,
    /// Packets sent again.
    pub(crate) retransmissions: u32,
    pub(crate) timeouts: u32,
    /// Notifications that came.
    pub(crate) notifications: u32,
    /// The event that is to wake it: when, and its number.
    pub(crate) wake: Option<Time>,
    pub(crate) generation: u32,
}

impl RdmaSender {
    /// A flow that begins at `now_ps`, on a link of so many bits a second.
    pub(crate) fn new(rdma: &Rdma, line: u64, now_ps: u64) -> Self {
        Self {
            traffic: Traffic::default(),
            next: 0,
            fresh: 0,
            acknowledged: 0,
            next_ps: now_ps,
            timeout_ps: now_ps.saturating_add(rdma.timeout_ps),
            rate: RateControl::new(line),
            retransmissions: 0,
            timeouts: 0,
            notifications: 0,
            wake: None,
            generation: 0,
        }
    }

    /// When it next has something to do; nothing once all is acknowledged.
    pub(crate) fn deadline_ps(&self, rdma: &Rdma) -> Option<u64> {
        if self.acknowledged == rdma.packets() {
            return None;
        }
        let send_ps = if self.next < rdma.packets() { self.next_ps } else { u64::MAX };
        let timeout_ps = if self.acknowledged < self.next { self.timeout_ps } else { u64::MAX };
        Some(send_ps.min(timeout_ps))
    }

    /// Time has come to send the next packet, or to send again. Where the port has no room, the next try is
    /// one interval later.
    pub(crate) fn on_timer(&mut self, rdma: &Rdma, now_ps: u64, has_room: bool) -> Option<Arc<RdmaBody>> {
        if self.acknowledged < self.next && now_ps >= self.timeout_ps {
            self.timeouts += 1;
            // A receiver keeps nothing behind a gap: all from there on is sent again.
            self.next = self.acknowledged;
            self.timeout_ps = now_ps + rdma.timeout_ps;
        }
        if self.next >= rdma.packets() || now_ps < self.next_ps {
            return None;
        }
        let bytes = rdma.data(self.next) + rdma.header_bytes;
        if has_room && let Some(dcqcn) = &rdma.dcqcn {
            self.rate.on_sent(dcqcn, now_ps, bytes);
        }
        let scaled = u128::from(bytes) * 8 * u128::from(PS_PER_SECOND);
        self.next_ps = now_ps + (scaled / u128::from(self.rate.rate())) as u64;
        if !has_room {
            return None;
        }
        // Nothing else is under way: the time counts from this packet on.
        if self.acknowledged == self.next {
            self.timeout_ps = now_ps + rdma.timeout_ps;
        }
        let number = self.next;
        self.retransmissions += u32::from(number < self.fresh);
        self.next += 1;
        self.fresh = self.fresh.max(self.next);
        Some(self.traffic.send(RdmaKind::Data(number), now_ps, bytes))
    }

    /// A packet of the receiver has come.
    pub(crate) fn take(&mut self, rdma: &Rdma, now_ps: u64, body: &RdmaBody) {
        self.traffic.take(body, now_ps);
        let (before, goes_back) = match body.kind {
            RdmaKind::Ack(before) => (before, false),
            RdmaKind::Nak(before) => (before, true),
            RdmaKind::Notification => {
                self.notifications += 1;
                if let Some(dcqcn) = &rdma.dcqcn {
                    self.rate.on_notification(dcqcn, now_ps);
                }
                return;
            }
            RdmaKind::Data(_) => return,
        };
        if before > self.acknowledged {
            self.acknowledged = before.min(self.fresh);
            self.timeout_ps = now_ps + rdma.timeout_ps;
        }
        // An acknowledgement that was overtaken says nothing of what is missing now.
        self.next = match goes_back && before == self.acknowledged {
            true => self.acknowledged,
            false => self.next.max(self.acknowledged),
        };
    }

    /// Whether it can be the sender of such a flow: for states that come from a file.
    pub(crate) fn is_of(&self, rdma: &Rdma) -> bool {
        self.acknowledged <= self.next
            && self.next <= self.fresh
            && self.fresh <= rdma.packets().min(u64::from(u32::MAX))
            && self.rate.is_consistent()
    }

    /// Bytes that are acknowledged.
    pub(crate) fn acknowledged_bytes(&self, rdma: &Rdma) -> u64 {
        bytes_before(rdma, self.acknowledged)
    }
}

/// The end that receives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RdmaReceiver {
    pub(crate) traffic: Traffic,
    /// The number of the packet that comes next.
    expected: u64,
    /// Packets in order since the last acknowledgement.
    unanswered: u32,
    /// It has said that the next one is missing.
    has_complained: bool,
    /// When it sent a notification last.
    notified_ps: Option<u64>,
    /// Packets with data that came marked.
    pub(crate) marks: u32,
    /// When all had come in order, in picoseconds.
    pub(crate) done_ps: Option<u64>,
}

impl RdmaReceiver {
    /// A packet of the sender has come: what is answered.
    pub(crate) fn take(
        &mut self,
        rdma: &Rdma,
        now_ps: u64,
        body: &RdmaBody,
        is_marked: bool,
    ) -> impl Iterator<Item = Arc<RdmaBody>> + use<> {
        self.traffic.take(body, now_ps);
        let RdmaKind::Data(number) = body.kind else { return [None, None].into_iter().flatten() };
        self.marks += u32::from(is_marked);
        let apart_ps = rdma.dcqcn.as_ref().map_or(u64::MAX, |dcqcn| dcqcn.notification_ps);
        let notifies = is_marked
            && rdma.dcqcn.is_some()
            && self.notified_ps.is_none_or(|last_ps| now_ps.saturating_sub(last_ps) >= apart_ps);
        if notifies {
            self.notified_ps = Some(now_ps);
        }
        let answer = if number == self.expected {
            self.expected += 1;
            self.has_complained = false;
            self.unanswered += 1;
            let is_done = self.expected == rdma.packets();
            if is_done {
                self.done_ps = Some(now_ps);
            }
            (is_done || self.unanswered >= rdma.ack_every).then_some(RdmaKind::Ack(self.expected))
        } else if number > self.expected {
            let is_first = !self.has_complained;
            self.has_complained = true;
            // Once for each gap: what came behind it is sent again anyway.
            is_first.then_some(RdmaKind::Nak(self.expected))
        } else {
            // It was there already: the acknowledgement of it may have been lost.
            Some(RdmaKind::Ack(self.expected))
        };
        if answer.is_some() {
            self.unanswered = 0;
        }
        let notification = notifies.then_some(RdmaKind::Notification);
        let mut send = |kind| self.traffic.send(kind, now_ps, rdma.control_bytes);
        [notification.map(&mut send), answer.map(&mut send)].into_iter().flatten()
    }

    /// Whether it can be the receiver of such a flow: for states that come from a file.
    pub(crate) fn is_of(&self, rdma: &Rdma) -> bool {
        self.expected <= rdma.packets().min(u64::from(u32::MAX))
    }

    /// Bytes that came in order.
    pub(crate) fn delivered(&self, rdma: &Rdma) -> u64 {
        bytes_before(rdma, self.expected)
    }
}

/// The data in the packets before this one.
fn bytes_before(rdma: &Rdma, number: u64) -> u64 {
    (number * u64::from(rdma.mtu)).min(rdma.bytes.unwrap_or(u64::MAX))
}
