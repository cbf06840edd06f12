//! What links do to packets: random and burst loss, jitter, failures and repairs at given times.
//!
//! All are small states that an LP keeps for each of its links. Invariants: a packet takes a fixed number of
//! draws whatever becomes of it, so that loss and jitter of the `n`th packet of a link are a function of the
//! seed, the link and, where packets depend on each other, those before it; the same on every machine.
//!
//! As in [`queue`](crate::queue), times are only added and compared: a caller chooses their unit.

use paceline_kernel::{Rng, Time};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::queue::{Draws, Share};

/// How a link loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LossModel {
    /// Each packet alike and by itself (Bernoulli).
    Random(Share),
    /// Packets are lost in bursts, by a chain of two states.
    GilbertElliott(GilbertElliott),
}

/// The channel of Gilbert and Elliott (Gilbert, 1960; Elliott, 1963): it is good or bad, and loses packets
/// with a probability for each. It may change after each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GilbertElliott {
    /// The probability that it turns bad after a packet, while good (p).
    pub to_bad: Share,
    /// The probability that it turns good after a packet, while bad (r): bursts last 1 / r packets.
    pub to_good: Share,
    /// The loss while good (1 - k).
    pub good_loss: Share,
    /// The loss while bad (1 - h).
    pub bad_loss: Share,
}

impl LossModel {
    /// The share of packets that is lost in the long run, for people to read: for [`GilbertElliott`] the
    /// losses of both states by the time that the channel spends in them, p / (p + r) of it bad. None where
    /// it may stay in either state for ever, and the share depends on how it begins.
    pub fn long_run_loss(&self) -> Option<f64> {
        match self {
            Self::Random(loss) => Some(loss.as_f64()),
            Self::GilbertElliott(channel) => {
                let (to_bad, to_good) = (channel.to_bad.as_f64(), channel.to_good.as_f64());
                let bad = to_bad / (to_bad + to_good);
                let loss = bad * channel.bad_loss.as_f64() + (1.0 - bad) * channel.good_loss.as_f64();
                (to_bad + to_good > 0.0).then_some(loss)
            }
        }
    }
}

/// The state of a link that loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LossState {
    is_bad: bool,
    draws: Draws,
}

impl LossState {
    /// A link that is good, with the stream `stream` of its own of the run's `seed`.
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self { is_bad: false, draws: Draws::new(seed, stream) }
    }

    /// Whether the next packet is lost.
    pub const fn is_lost(&mut self, model: &LossModel) -> bool {
        match model {
            LossModel::Random(loss) => loss.covers(self.draws.u64()),
            LossModel::GilbertElliott(channel) => {
                let (loss, change) = match self.is_bad {
                    true => (channel.bad_loss, channel.to_good),
                    false => (channel.good_loss, channel.to_bad),
                };
                let is_lost = loss.covers(self.draws.u64());
                self.is_bad ^= change.covers(self.draws.u64());
                is_lost
            }
        }
    }
}

/// How the latency of a link varies. It never gets less, so that the latency stays the lookahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Jitter {
    /// What is added to the latency of a packet.
    pub delay: JitterDelay,
    /// Packets arrive in the order in which they were sent: one that would overtake arrives with the one
    /// before it. Otherwise each has its delay, and packets overtake each other.
    pub keeps_order: bool,
}

/// The distribution of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum JitterDelay {
    /// From zero to this, both included, all alike.
    Uniform(Time),
    /// Exponential with this mean, cut off at twenty times the mean, so that no packet stays out for ever.
    Exponential(Time),
}

/// The state of a link with jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JitterState {
    draws: Draws,
    last: Time,
}

/// Where an exponential delay is cut off, in means: one of 5 x 10^8 packets gets there.
const MEANS_MAX: u64 = 20;

impl JitterState {
    /// A link on which nothing was sent, with the stream `stream` of its own of the run's `seed`.
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self { draws: Draws::new(seed, stream), last: Time::ZERO }
    }

    /// When a packet arrives that would arrive at `at` without jitter.
    pub fn arrival(&mut self, jitter: &Jitter, at: Time) -> Time {
        let draw = self.draws.u64();
        let ticks = match jitter.delay {
            JitterDelay::Uniform(most) => {
                ((u128::from(draw) * (u128::from(most.as_ticks()) + 1)) >> 64) as u64
            }
            JitterDelay::Exponential(mean) => {
                // A stream of its own for each packet: the logarithm is the kernel's, the same everywhere.
                let delay = Rng::new(draw, 0).exponential(mean.as_ticks() as f64);
                (delay as u64).min(mean.as_ticks().saturating_mul(MEANS_MAX))
            }
        };
        let arrival = at.saturating_add(Time::ticks(ticks));
        if !jitter.keeps_order {
            return arrival;
        }
        self.last = self.last.max(arrival);
        self.last
    }
}

/// When a link fails and is repaired: the times at which it goes down and up, by turns, from down.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Outages(Vec<Time>);

/// A list of failures and repairs that makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a link goes {change} at {at}, {problem}; allowed: failures and repairs by turns, each after the last"
)]
pub struct OutageError {
    change: &'static str,
    at: Time,
    problem: &'static str,
}

paceline_kernel::debug_tells!(OutageError);

impl Outages {
    /// From changes in any order: when, and whether the link goes up then.
    ///
    /// # Errors
    ///
    /// Two changes fall on one time, or a link would fail that is down, or be repaired that is up.
    pub fn new(mut changes: Vec<(Time, bool)>) -> Result<Self, OutageError> {
        changes.sort_unstable();
        let mut times: Vec<Time> = Vec::with_capacity(changes.len());
        for (at, goes_up) in changes {
            let is_up = times.len().is_multiple_of(2);
            let problem = match times.last() {
                Some(last) if *last == at => Some("where it changes already"),
                _ if goes_up == is_up => Some("where it is so already"),
                _ => None,
            };
            if let Some(problem) = problem {
                let change = if goes_up { "up" } else { "down" };
                return Err(OutageError { change, at, problem });
            }
            times.push(at);
        }
        Ok(Self(times))
    }

    /// Whether the link is up at `at`; a change counts from its own time on.
    pub fn is_up(&self, at: Time) -> bool {
        self.0.partition_point(|change| *change <= at).is_multiple_of(2)
    }

    /// The first change after `at`, and whether the link goes up then.
    pub fn next_after(&self, at: Time) -> Option<(Time, bool)> {
        let number = self.0.partition_point(|change| *change <= at);
        self.0.get(number).map(|time| (*time, number % 2 == 1))
    }

    /// Whether the link is up all the time from `from` to `until`, both included: a packet that is on the way
    /// for that time arrives.
    pub fn is_up_through(&self, from: Time, until: Time) -> bool {
        self.is_up(from) && self.next_after(from).is_none_or(|(change, _)| change > until)
    }

    /// All changes in the order of time, and whether the link goes up.
    pub fn changes(&self) -> impl Iterator<Item = (Time, bool)> + '_ {
        self.0.iter().enumerate().map(|(number, time)| (*time, number % 2 == 1))
    }
}

#[cfg(test)]
mod test;
