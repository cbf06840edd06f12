//! Random early detection (Floyd and Jacobson, 1993), with Floyd's gentle form of 2000 and with ECN (RFC
//! 3168).
//!
//! The mean queue is kept with 32 binary places, probabilities with 63; all is integers.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::{Admission, Backlog, Draws, DropReason, Ecn, Limit, QueueError, Share, Verdict};
use crate::clock::MOST_COUNT;

/// The parameters of RED, with the names of the paper in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RedSettings {
    /// How much may wait; its unit is that of the thresholds, packets where it is endless.
    pub limit: Limit,
    /// From this mean queue on packets are marked or dropped (min_th).
    pub low: u64,
    /// Up to this mean queue with a probability below `probability` (max_th).
    pub high: u64,
    /// The probability at `high` (max_p).
    pub probability: Share,
    /// The weight of a new sample in the mean (w_q).
    pub weight: Share,
    /// Beyond `high` the probability grows to 1 at twice `high`, instead of being 1 at once.
    pub is_gentle: bool,
    /// ECN-capable packets are marked instead of dropped, up to `high`, or twice that where gentle. Beyond,
    /// they are dropped (RFC 3168, section 7).
    pub marks: bool,
    /// Nothing is dropped early: what is ECN-capable is marked, also beyond, and the rest passes. So do
    /// switches of lossless networks for DCQCN.
    pub marks_only: bool,
    /// How long a small packet takes on the link (s): an idle link counts as so many arrivals at an empty
    /// queue.
    pub packet_time: Time,
    /// The length in bytes for which the probability is meant: that of other packets is in proportion to
    /// their length. Without it, all are alike.
    pub packet_bytes: Option<u32>,
}

/// The binary places of the mean.
pub(super) const PLACES: u32 = 32;

impl RedSettings {
    /// The queue in the unit of the thresholds.
    const fn size(&self, backlog: &Backlog) -> u64 {
        match self.limit {
            Limit::Packets(_) | Limit::Endless => backlog.packets as u64,
            Limit::Bytes(_) => backlog.bytes,
        }
    }

    pub(super) fn check(&self) -> Result<(), QueueError> {
        self.limit.check()?;
        let refuse = |what: String, allowed| Err(QueueError { what, allowed });
        if self.low >= self.high || self.high >= 1 << (PLACES - 1) {
            return refuse(
                format!("RED with the thresholds {} and {}", self.low, self.high),
                "a lower threshold below the upper one, both below 2^31",
            );
        }
        if matches!(self.limit, Limit::Bytes(most) if most >= 1 << PLACES) {
            return refuse(format!("RED with {:?}", self.limit), "a limit below 2^32 bytes");
        }
        if self.weight == Share::ZERO || self.probability == Share::ZERO {
            return refuse("RED with a weight or a probability of 0".into(), "above 0, up to 1");
        }
        if self.packet_time == Time::ZERO {
            return refuse("RED with a packet time of 0".into(), "above 0");
        }
        if self.packet_bytes == Some(0) {
            return refuse("RED for packets of 0 bytes".into(), "1 byte or more");
        }
        Ok(())
    }

    /// The probability p_b for a packet of `bytes` at the mean queue `mean`; none below the lower threshold.
    pub(super) fn probability(&self, mean: u64, bytes: u32) -> Option<Share> {
        let (low, high) = (self.low << PLACES, self.high << PLACES);
        if mean < low {
            return None;
        }
        let part = |above, span| Share::ratio(above, span).unwrap_or(Share::ONE);
        let of_all = if mean < high {
            self.probability.times(part(mean - low, high - low))
        } else if self.is_gentle {
            self.probability.plus(self.probability.rest().times(part(mean - high, high)))
        } else {
            Share::ONE
        };
        let Some(packet_bytes) = self.packet_bytes else { return Some(of_all) };
        let (whole, rest) = (bytes / packet_bytes, bytes % packet_bytes);
        let of_rest = of_all.times(part(u64::from(rest), u64::from(packet_bytes)));
        Some(of_all.multiple(u64::from(whole)).plus(of_rest))
    }

    /// From this mean on, packets are dropped whatever their ECN field.
    const fn hard(&self) -> u64 {
        let high = if self.is_gentle { 2 * self.high } else { self.high };
        high << PLACES
    }
}

/// The admission of RED.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Red {
    pub(super) settings: RedSettings,
    draws: Draws,
    /// The mean queue (avg), with [`PLACES`] binary places.
    mean: u64,
    /// The packets since the last one that was marked or dropped (count + 1): none while the mean is low.
    pub(super) since: u64,
}

impl Red {
    /// An empty queue, whose random numbers are `draws`.
    ///
    /// # Errors
    ///
    /// A setting makes no sense.
    pub fn new(settings: RedSettings, draws: Draws) -> Result<Self, QueueError> {
        settings.check()?;
        Ok(Self { settings, draws, mean: 0, since: 0 })
    }

    /// Whether its numbers are such as it reaches, and the settings are those of `fresh`.
    pub(super) fn is_consistent(&self, fresh: &Self) -> bool {
        self.settings == fresh.settings && self.since <= MOST_COUNT
    }

    /// The mean queue, in packets or bytes, for people to read.
    pub fn mean(&self) -> f64 {
        self.mean as f64 / (1u64 << PLACES) as f64
    }

    fn sample(&mut self, now: Time, backlog: &Backlog) {
        if let Some(since) = backlog.idle_since {
            let packets = (now - since).as_ticks() / self.settings.packet_time.as_ticks();
            self.mean = self.settings.weight.rest().power(packets).of(self.mean);
            return;
        }
        let size = self.settings.size(backlog).min((1 << PLACES) - 1) << PLACES;
        let weight = self.settings.weight;
        // The mean moves towards the queue from either side by the share of the difference, rounded down.
        self.mean = match size.checked_sub(self.mean) {
            Some(above) => self.mean + weight.of(above),
            None => self.mean - weight.of(self.mean - size),
        };
    }

    /// Whether this packet is the one to be marked or dropped, by the probability p_a, which makes the
    /// distance between two such packets uniform.
    fn is_chosen(&mut self, probability: Share) -> bool {
        let passed = probability.multiple(self.since);
        self.since += 1;
        let chosen = match probability.part_of(passed.rest()) {
            Some(share) => share.covers(self.draws.u64()),
            None => true,
        };
        if chosen {
            self.since = 1;
        }
        chosen
    }
}

impl Admission for Red {
    fn admit(&mut self, now: Time, backlog: &Backlog, bytes: u32, ecn: Ecn) -> Verdict {
        self.sample(now, backlog);
        let chosen = match self.settings.probability(self.mean, bytes) {
            Some(probability) => self.is_chosen(probability),
            None => {
                self.since = 0;
                false
            }
        };
        // The queue may be full though its mean is low.
        if !self.settings.limit.has_room(backlog, bytes) {
            return Verdict::Dropped(DropReason::Full);
        }
        let is_soft = self.settings.marks_only || self.mean < self.settings.hard();
        match chosen {
            false => Verdict::Accepted,
            true if self.settings.marks && ecn.is_capable() && is_soft => Verdict::Marked,
            true if self.settings.marks_only => Verdict::Accepted,
            true => Verdict::Dropped(DropReason::Early),
        }
    }
}
