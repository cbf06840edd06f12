//! Links: what users say of them, and what a port computes with.
//!
//! Invariant: a [`Wire`] has a rate above zero; serialisation times are exact, see [`Wire::transmission`].

use crate::clock::PS_PER_SECOND;

/// The longest packet, in bytes on the wire: eight times as many bits in picoseconds at 1 bit/s fit 64 bits.
pub(crate) const MOST_BYTES: u32 = 1_000_000;
/// The greatest rate of a link, in bits a second.
pub(crate) const MOST_RATE: u64 = 1_000_000_000_000_000;
/// The longest latency of a link, in picoseconds.
pub(crate) const MOST_LATENCY_PS: u64 = 1_000_000_000_000_000_000;

/// What waits at a port, and what happens to a packet that finds no room.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueueSpec {
    /// First in, first out; a packet that finds the limit reached is dropped. The packet that is being sent
    /// does not count as waiting.
    DropTail {
        /// The most packets that wait.
        packets: Option<u32>,
        /// The most bytes of packets that wait.
        bytes: Option<u64>,
    },
}

impl Default for QueueSpec {
    /// First in, first out, without a limit.
    fn default() -> Self {
        Self::DropTail { packets: None, bytes: None }
    }
}

/// A link between two nodes; both directions are alike and do not disturb each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkSpec {
    /// Bits a second.
    pub rate: u64,
    /// How long a bit travels, in picoseconds.
    pub latency_ps: u64,
    /// The queue at either end.
    pub queue: QueueSpec,
    /// What routes that use it add up: a packet takes a way of the least sum.
    pub metric: u32,
    /// Among ways of equal sums, the share of packets or flows that take this one.
    pub weight: u32,
}

impl LinkSpec {
    /// A link of `rate` bits a second and `latency_ps` picoseconds, with endless queues, metric and weight 1.
    pub fn new(rate: u64, latency_ps: u64) -> Self {
        Self { rate, latency_ps, queue: QueueSpec::default(), metric: 1, weight: 1 }
    }

    /// The same with a drop-tail queue of so many packets at either end.
    pub fn drop_tail(mut self, packets: u32) -> Self {
        self.queue = QueueSpec::DropTail { packets: Some(packets), bytes: None };
        self
    }

    /// The same with another queue at either end.
    pub fn queue(mut self, queue: QueueSpec) -> Self {
        self.queue = queue;
        self
    }
}

/// What a port computes with: one for all links that are alike.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// Picoseconds a byte; zero where the rate does not divide so.
    ps_per_byte: u64,
    rate: u64,
    pub latency_ps: u64,
    /// The most packets that may wait.
    pub packets: u32,
    /// The most bytes that may wait.
    pub bytes: u64,
}

impl Wire {
    pub fn new(spec: &LinkSpec) -> Self {
        let exact = (8 * PS_PER_SECOND).is_multiple_of(spec.rate);
        let QueueSpec::DropTail { packets, bytes } = spec.queue;
        Self {
            ps_per_byte: if exact { 8 * PS_PER_SECOND / spec.rate } else { 0 },
            rate: spec.rate,
            latency_ps: spec.latency_ps,
            packets: packets.unwrap_or(u32::MAX),
            bytes: bytes.unwrap_or(u64::MAX),
        }
    }

    /// How long `bytes`, at most [`MOST_BYTES`], take to be sent, in picoseconds. Where the rate does not
    /// divide, what rounding leaves is in `rest`, and the next packet gets it: packets that follow each other
    /// take together, to the picosecond, what their sum takes.
    #[inline(always)]
    pub fn transmission(&self, bytes: u32, rest: &mut u64) -> u64 {
        if self.ps_per_byte != 0 {
            return u64::from(bytes) * self.ps_per_byte;
        }
        let scaled = u64::from(bytes) * 8 * PS_PER_SECOND + *rest;
        *rest = scaled % self.rate;
        scaled / self.rate
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn packets_in_a_row_take_what_their_sum_takes() {
        for rate in [1, 3, 7_000_003, 10_000_000_000, 100_000_000_000, 999_999_999_999, MOST_RATE] {
            let wire = Wire::new(&LinkSpec::new(rate, 0));
            let (mut rest, mut sum) = (0, 0u128);
            for packet in 1..=1_000u128 {
                sum += u128::from(wire.transmission(1_501, &mut rest));
                let whole = packet * 1_501 * 8 * u128::from(PS_PER_SECOND) / u128::from(rate);
                assert_eq!(sum, whole, "{rate} bit/s, packet {packet}");
            }
        }
    }
}
