//! Traces: packets of UDP whose moments and lengths are given, one by one.
//!
//! Invariants: moments do not decrease; what a source sends is a function of the packet's number alone, so
//! that a checkpoint says nothing of it. Flows that follow one trace share it.

use std::fmt;

use paceline_kernel::Digest;

use crate::PacketError;
use crate::link::{MOST_BYTES, MOST_LATENCY_PS};

use super::UDP_HEADER_BYTES;

/// Packets that were recorded, or computed by somebody else.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Trace {
    /// When each packet is sent, in picoseconds after the start of the flow, and its bytes on the wire.
    packets: Box<[(u64, u32)]>,
    /// So many picoseconds after its beginning the trace begins again.
    period_ps: Option<u64>,
    least_bytes: u32,
    most_bytes: u32,
    /// Of the packets.
    digest: u64,
}

/// Short, since the parameters of a model show every flow, and flows may share a long trace.
impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, digest) = (self.packets.len(), self.digest);
        write!(f, "Trace {{ {count} packets, {digest:016x}, period_ps: {:?} }}", self.period_ps)
    }
}

impl Trace {
    /// The trace of these packets: when each is sent, in picoseconds after the start of the flow, and its
    /// bytes on the wire.
    ///
    /// # Errors
    ///
    /// [`PacketError::Trace`]: there is no packet, or one is sent before the one before it or after 10^18 ps,
    /// or is shorter than its headers or has more than 1,000,000 bytes.
    pub fn new(packets: Vec<(u64, u32)>) -> Result<Self, PacketError> {
        let refuse = |number: usize, problem: String, allowed| {
            Err(PacketError::Trace { packet: number + 1, problem, allowed })
        };
        let Some(&first) = packets.first() else {
            return refuse(0, "is not there".into(), "a trace of at least one packet");
        };
        let mut before_ps = first.0;
        for (number, &(at_ps, bytes)) in packets.iter().enumerate() {
            if at_ps < before_ps {
                let problem = format!("is sent at {at_ps} ps, after one at {before_ps} ps");
                return refuse(number, problem, "packets in the order in which they are sent");
            }
            if at_ps > MOST_LATENCY_PS {
                return refuse(number, format!("is sent at {at_ps} ps"), "at most 10^18 ps, 11 days");
            }
            if !(UDP_HEADER_BYTES..=MOST_BYTES).contains(&bytes) {
                return refuse(
                    number,
                    format!("has {bytes} bytes"),
                    "from 30, headers and no data, to 1,000,000",
                );
            }
            before_ps = at_ps;
        }
        let lengths = packets.iter().map(|packet| packet.1);
        let least_bytes = lengths.clone().min().unwrap_or(first.1);
        let most_bytes = lengths.max().unwrap_or(first.1);
        let digest = Digest::of(&packets).value();
        Ok(Self { packets: packets.into(), period_ps: None, least_bytes, most_bytes, digest })
    }

    /// The same, beginning again and again, each time `period_ps` picoseconds after the time before.
    ///
    /// # Errors
    ///
    /// [`PacketError::Trace`]: the last packet is sent after that, or the period is 0 or above 10^18 ps.
    pub fn repeated(mut self, period_ps: u64) -> Result<Self, PacketError> {
        let last_ps = self.packets.last().map_or(0, |packet| packet.0);
        if period_ps < last_ps || !(1..=MOST_LATENCY_PS).contains(&period_ps) {
            let problem = format!("is sent at {last_ps} ps, and the trace begins again after {period_ps} ps");
            let allowed = "a period above 0, not before the last packet, of at most 10^18 ps";
            return Err(PacketError::Trace { packet: self.packets.len(), problem, allowed });
        }
        self.period_ps = Some(period_ps);
        Ok(self)
    }

    /// The packets: when each is sent, in picoseconds after the start of the flow, and its bytes on the wire.
    pub fn packets(&self) -> &[(u64, u32)] {
        &self.packets
    }

    /// The picoseconds after which it begins again, if it does.
    pub fn period_ps(&self) -> Option<u64> {
        self.period_ps
    }

    /// The bytes of its shortest packet.
    pub(crate) fn least_bytes(&self) -> u32 {
        self.least_bytes
    }

    /// The bytes of its longest packet.
    pub(crate) fn most_bytes(&self) -> u32 {
        self.most_bytes
    }

    /// How many packets are sent in all; nothing where the trace begins again.
    pub(crate) fn count(&self) -> Option<u64> {
        self.period_ps.is_none().then_some(self.packets.len() as u64)
    }

    /// When packet `number` is sent, in picoseconds after the start of the flow, if there is one.
    pub(crate) fn moment(&self, number: u64) -> Option<u64> {
        let (round, place) = self.place(number);
        let begin_ps = match self.period_ps {
            // A moment that no clock reaches is never.
            Some(period_ps) => round.saturating_mul(period_ps),
            None if round > 0 => return None,
            None => 0,
        };
        Some(begin_ps.saturating_add(self.packets[place].0))
    }

    /// The bytes of packet `number` on the wire.
    pub(crate) fn bytes(&self, number: u64) -> u32 {
        self.packets[self.place(number).1].1
    }

    /// The round that packet `number` is of, and its place in the trace.
    fn place(&self, number: u64) -> (u64, usize) {
        let length = self.packets.len() as u64;
        (number / length, (number % length) as usize)
    }

    /// Whether a packet with this number, modulo 2^32, may have so many bytes.
    pub(crate) fn admits(&self, number: u32, bytes: u32) -> bool {
        match self.period_ps {
            // Of a number that has gone round, the place in the trace is not known.
            Some(_) => (self.least_bytes..=self.most_bytes).contains(&bytes),
            None => self.packets.get(number as usize).is_some_and(|packet| packet.1 == bytes),
        }
    }

    /// Bits a second in the long run; 0 for a trace that ends.
    pub(crate) fn mean_rate(&self) -> u128 {
        let bits: u128 = self.packets.iter().map(|packet| u128::from(packet.1) * 8).sum();
        self.period_ps.map_or(0, |period_ps| bits * 1_000_000_000_000 / u128::from(period_ps))
    }
}
