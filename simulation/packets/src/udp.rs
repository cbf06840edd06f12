//! Sources of UDP packets: evenly spaced, at random, in bursts, or by a trace.
//!
//! `flow.rs` makes a source of the settings of a flow; `emit` in `model.rs` asks it when the next packet
//! goes.
//!
//! Invariant: the moments of an evenly spaced flow are multiples of its interval, each rounded down to a
//! picosecond by itself, so that nothing adds up.

mod trace;

use std::sync::Arc;

use paceline_kernel::Draw;

use crate::clock::PS_PER_SECOND;
use crate::host::Sending;

pub use trace::Trace;

/// What a UDP packet has besides its data: headers of IPv4 (20 bytes), UDP (8) and a point-to-point link (2).
pub const UDP_HEADER_BYTES: u32 = 30;

/// How long a burst, or a pause between bursts, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Span {
    /// Always so many picoseconds.
    Fixed(u64),
    /// Exponentially distributed, with this mean in picoseconds.
    Exponential(u64),
}

/// When packets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Drive {
    /// One after each interval, the first at the start.
    Constant,
    /// After exponentially distributed times with the interval as their mean.
    Poisson,
    /// As under `Constant` while `on` lasts, then nothing while `off` lasts, and again.
    OnOff {
        /// How long a burst lasts.
        on: Span,
        /// How long the source is silent after it.
        off: Span,
    },
}

/// A source of UDP packets, all of one length. The interval between packets is what one takes at the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Udp {
    /// Bits on the wire, a second.
    pub rate: u64,
    /// The length of a packet on the wire.
    pub wire_bytes: u32,
    /// When packets are sent.
    pub drive: Drive,
    /// How many packets are sent in all; without a number, up to the end of the run.
    pub packets: Option<u32>,
}

impl Udp {
    /// The `part` / `parts`-th of the interval, in picoseconds: host h of n starting at interval x h / n
    /// keeps hosts from sending at the same moments.
    pub fn stagger_ps(&self, part: u32, parts: u32) -> u64 {
        let scaled = u128::from(self.wire_bytes) * 8 * u128::from(PS_PER_SECOND) * u128::from(part);
        (scaled / (u128::from(self.rate) * u128::from(parts.max(1)))) as u64
    }
}

/// What a source sends when.
#[derive(Clone, Debug)]
enum Plan {
    /// Packets of one length.
    Drive(Drive),
    /// The packets of a trace.
    Trace(Arc<Trace>),
}

/// A source as hosts compute with it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The length of each packet; 0 where the trace says it.
    bytes: u32,
    /// Packets to be sent in all.
    packets: u64,
    plan: Plan,
    start_ps: u64,
    /// The interval is so many picoseconds and `rest` / `rate` of one.
    whole_ps: u64,
    rest: u64,
    rate: u64,
}

impl Source {
    pub fn new(udp: &Udp, start_ps: u64) -> Self {
        let scaled = u64::from(udp.wire_bytes) * 8 * PS_PER_SECOND;
        Self {
            bytes: udp.wire_bytes,
            packets: udp.packets.map_or(u64::MAX, u64::from),
            plan: Plan::Drive(udp.drive),
            start_ps,
            whole_ps: scaled / udp.rate,
            rest: scaled % udp.rate,
            rate: udp.rate,
        }
    }

    /// The source of a flow that follows a trace.
    pub fn of_trace(trace: Arc<Trace>, start_ps: u64) -> Self {
        let packets = trace.count().unwrap_or(u64::MAX);
        Self { bytes: 0, packets, plan: Plan::Trace(trace), start_ps, whole_ps: 0, rest: 0, rate: 1 }
    }

    /// The length of packet `number`.
    #[inline(always)]
    pub fn bytes(&self, number: u64) -> u32 {
        match &self.plan {
            Plan::Drive(_) => self.bytes,
            Plan::Trace(trace) => trace.bytes(number),
        }
    }

    /// Whether a packet with this number, modulo 2^32, may have so many bytes.
    pub fn admits_packet(&self, number: u32, bytes: u32) -> bool {
        match &self.plan {
            Plan::Drive(_) => self.bytes == bytes,
            Plan::Trace(trace) => trace.admits(number, bytes),
        }
    }

    /// Whether so many of its packets may have so many bytes together.
    pub fn admits_sum(&self, packets: u64, bytes: u64) -> bool {
        let (least, most) = match &self.plan {
            Plan::Drive(_) => (self.bytes, self.bytes),
            Plan::Trace(trace) => (trace.least_bytes(), trace.most_bytes()),
        };
        let of = |each: u32| u128::from(packets) * u128::from(each);
        (of(least)..=of(most)).contains(&u128::from(bytes))
    }

    /// When the first packet is sent.
    pub fn first(&self, sending: &mut Sending, draw: Draw<'_>) -> Option<u64> {
        if self.packets == 0 {
            return None;
        }
        let drive = match &self.plan {
            Plan::Drive(drive) => drive,
            Plan::Trace(trace) => return self.moment_of(trace, 0),
        };
        match *drive {
            Drive::Constant => Some(self.start_ps),
            Drive::Poisson => Some(self.start_ps.saturating_add(self.gap(draw))),
            Drive::OnOff { on, .. } => {
                sending.burst_end_ps = self.start_ps.saturating_add(length(on, draw));
                Some(self.start_ps)
            }
        }
    }

    /// When packet `number`, not the first, is sent, if there is one; the one before it is sent at `now_ps`.
    #[inline(always)]
    pub fn next(&self, number: u64, now_ps: u64, sending: &mut Sending, draw: Draw<'_>) -> Option<u64> {
        if number >= self.packets {
            return None;
        }
        match self.plan {
            Plan::Drive(Drive::Constant) => Some(self.moment(number)),
            Plan::Drive(Drive::Poisson) => Some(now_ps.saturating_add(self.gap(draw))),
            Plan::Drive(Drive::OnOff { on, off }) => {
                Some(self.next_in_bursts(on, off, now_ps, sending, draw))
            }
            Plan::Trace(ref trace) => self.moment_of(trace, number),
        }
    }

    /// When packet `number` of a trace is sent, if there is one.
    fn moment_of(&self, trace: &Trace, number: u64) -> Option<u64> {
        trace.moment(number).map(|after_ps| self.start_ps.saturating_add(after_ps))
    }

    /// Whether that is what a host can remember of it.
    pub fn admits(&self, sending: &Sending) -> bool {
        sending.rest < self.rate
    }

    /// When packet `number` of an evenly spaced flow is sent.
    #[inline(always)]
    fn moment(&self, number: u64) -> u64 {
        let fraction = match self.rest {
            0 => 0,
            rest => (u128::from(number) * u128::from(rest) / u128::from(self.rate)) as u64,
        };
        self.start_ps.saturating_add(number.saturating_mul(self.whole_ps)).saturating_add(fraction)
    }

    fn next_in_bursts(&self, on: Span, off: Span, now_ps: u64, sending: &mut Sending, draw: Draw<'_>) -> u64 {
        sending.rest += self.rest;
        let carry = u64::from(sending.rest >= self.rate);
        sending.rest -= carry * self.rate;
        let next_ps = now_ps + self.whole_ps + carry;
        if next_ps < sending.burst_end_ps {
            return next_ps;
        }
        // A burst sends its first packet however short it is; the next begins no earlier than that packet's
        // interval has passed, so that time goes on even where both spans are zero.
        let begin_ps = next_ps.max(sending.burst_end_ps.saturating_add(length(off, draw)));
        sending.rest = 0;
        sending.burst_end_ps = begin_ps.saturating_add(length(on, draw));
        begin_ps
    }

    fn gap(&self, draw: Draw<'_>) -> u64 {
        // Whole picoseconds: what is cut off is below a millionth of the interval of any link.
        draw.exponential(self.whole_ps as f64 + self.rest as f64 / self.rate as f64) as u64
    }
}

fn length(span: Span, draw: Draw<'_>) -> u64 {
    match span {
        Span::Fixed(ps) => ps,
        Span::Exponential(mean) => draw.exponential(mean as f64) as u64,
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::UdpPacket;
    use crate::host::Arrivals;
    use crate::queue::Ecn;

    /// 2^32 packets and more: moments stay exact, and numbers that go round are in order.
    #[test]
    fn numbers_of_packets_go_round() {
        // A packet takes 8 x 7 bits at 10^11 + 1 bit/s: 560 ps, less a little.
        let udp = Udp { rate: 100_000_000_001, wire_bytes: 7, drive: Drive::Constant, packets: None };
        let source = Source::new(&udp, 5);
        for number in [1 << 31, u64::from(u32::MAX), 1 << 32, (1 << 33) + 1] {
            let exact = u128::from(number) * 56 * u128::from(PS_PER_SECOND) / u128::from(udp.rate);
            assert_eq!(u128::from(source.moment(number)), 5 + exact, "packet {number}");
        }
        let mut arrivals = Arrivals::default();
        let mut take = |numbers: &[u32]| {
            for &number in numbers {
                let packet =
                    UdpPacket { sent_ps: 0, flow: 0, number, bytes: 7, slack: 0, ecn: Ecn::NotCapable };
                arrivals.take(&packet, 1);
            }
            arrivals.reordered
        };
        assert_eq!(take(&[0, 1 << 30, 1 << 31, 3 << 30, u32::MAX, 0, 1]), 0);
        assert_eq!(take(&[u32::MAX - 1, 0, 2, 3]), 2);
    }
}
