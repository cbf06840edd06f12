//! Links: what users say of them, and what a port computes with.
//!
//! Invariant: a [`Wire`] has a rate above zero; serialisation times are exact, see [`Wire::transmission`].

use paceline_kernel::Time;

use crate::clock::{PS_PER_SECOND, PS_PER_TICK};
use crate::loss::{Jitter, JitterDelay, LossModel, Outages};
use crate::queue::{Limit, QueueSettings};

pub(crate) use crate::queue::MOST_BYTES;
/// The greatest rate of a link, in bits a second.
pub(crate) const MOST_RATE: u64 = 1_000_000_000_000_000;
/// The longest latency of a link, in picoseconds.
pub(crate) const MOST_LATENCY_PS: u64 = 1_000_000_000_000_000_000;

/// A link between two nodes; both directions are alike and do not disturb each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkSpec {
    /// Bits a second.
    pub rate: u64,
    /// How long a bit travels, in picoseconds.
    pub latency_ps: u64,
    /// The queue at either end. Its times are those of the kernel.
    pub queue: QueueSettings,
    /// How packets are lost on the way.
    pub loss: Option<LossModel>,
    /// What is added to the latency of each packet. Its times are those of the kernel.
    pub jitter: Option<Jitter>,
    /// When it is down: a packet that would be under way then is lost.
    pub outages: Outages,
    /// What routes that use it add up: a packet takes a way of the least sum.
    pub metric: u32,
    /// Among ways of equal sums, the share of packets or flows that take this one.
    pub weight: u32,
}

impl LinkSpec {
    /// A link of `rate` bits a second and `latency_ps` picoseconds, with endless queues, metric and weight 1.
    pub fn new(rate: u64, latency_ps: u64) -> Self {
        Self {
            rate,
            latency_ps,
            queue: QueueSettings::DropTail(Limit::Endless),
            loss: None,
            jitter: None,
            outages: Outages::default(),
            metric: 1,
            weight: 1,
        }
    }

    /// The same with a drop-tail queue of so many packets at either end.
    pub fn drop_tail(self, packets: u32) -> Self {
        self.queue(QueueSettings::DropTail(Limit::Packets(packets)))
    }

    /// The same with another queue at either end.
    pub fn queue(mut self, queue: QueueSettings) -> Self {
        self.queue = queue;
        self
    }

    /// The same with packets lost on the way.
    pub fn loss(mut self, loss: LossModel) -> Self {
        self.loss = Some(loss);
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
    /// Not special, and nobody captures what is sent.
    pub is_plain: bool,
    /// Both ends obey pause frames.
    pub is_controlled: bool,
    /// Not drop-tail, or something happens to packets on the way: ports remember more.
    pub is_special: bool,
    /// Ports log what they send.
    pub is_captured: bool,
    /// The most packets that may wait, of a plain link.
    pub packets: u32,
    /// The most bytes that may wait, of a plain link.
    pub bytes: u64,
    pub loss: Option<LossModel>,
    /// With times in picoseconds.
    pub jitter: Option<Jitter>,
    pub outages: Outages,
}

impl Wire {
    pub fn new(spec: &LinkSpec) -> Self {
        let exact = (8 * PS_PER_SECOND).is_multiple_of(spec.rate);
        let (is_drop_tail, packets, bytes) = match spec.queue {
            QueueSettings::DropTail(Limit::Packets(packets)) => (true, packets, u64::MAX),
            QueueSettings::DropTail(Limit::Bytes(bytes)) => (true, u32::MAX, bytes),
            QueueSettings::DropTail(Limit::Endless) => (true, u32::MAX, u64::MAX),
            _ => (false, 0, 0),
        };
        let changes_nothing =
            spec.loss.is_none() && spec.jitter.is_none() && spec.outages == Outages::default();
        Self {
            ps_per_byte: if exact { 8 * PS_PER_SECOND / spec.rate } else { 0 },
            rate: spec.rate,
            latency_ps: spec.latency_ps,
            is_plain: is_drop_tail && changes_nothing,
            is_controlled: false,
            is_special: !(is_drop_tail && changes_nothing),
            is_captured: false,
            packets,
            bytes,
            loss: spec.loss,
            jitter: spec.jitter.map(in_picoseconds),
            outages: spec.outages.clone(),
        }
    }

    /// Whether rounding can leave that much.
    pub fn admits_rest(&self, rest: u64) -> bool {
        rest < self.rate
    }

    /// The same wire, at which ports log what they send.
    pub fn captured(&self) -> Self {
        Self { is_plain: false, is_captured: true, ..self.clone() }
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

fn in_picoseconds(jitter: Jitter) -> Jitter {
    let scaled = |time: Time| Time::ticks(time.as_ticks().saturating_mul(PS_PER_TICK));
    let delay = match jitter.delay {
        JitterDelay::Uniform(most) => JitterDelay::Uniform(scaled(most)),
        JitterDelay::Exponential(mean) => JitterDelay::Exponential(scaled(mean)),
    };
    Jitter { delay, ..jitter }
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
