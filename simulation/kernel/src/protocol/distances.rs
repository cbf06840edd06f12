//! Windows whose ends differ: each federate goes as far as its distance from the others allows.
//!
//! The distance from federate `j` to `i` is the least sum of lookaheads along channels that lead from `j` to
//! `i`, one channel at least: whatever happens at `j` from time `t` on reaches `i` at `t` plus the distance
//! or later, on any path. From `i` to itself it is the shortest cycle, since what `i` sends may cause others
//! to send to it. The least event times `next` of all federates thus bound what may still arrive at `i`: `min
//! over j of next[j] + distance(j, i)`. That is the bounded lag (Lubachevsky, 1989); another algorithm uses
//! distances between objects too (Ayani, 1989). The *lag* is how far a federate may be ahead of the least
//! event of all, so that a federate that receives nothing does not fill the memory with its messages: the
//! longest channel's lookahead.
//!
//! Invariants: every bound is above the least event time, so that at least one federate has work in every
//! window; bounds never fall, as long as nothing is sent to arrive before the receiver's bound.

use std::sync::Arc;

use super::channels::FederateChannels;
use crate::{LinkError, Model, Partition, Time};

/// With more federates than this, distances would cost more than they bring: their number grows as the
/// square.
const FEDERATES: u32 = 128;
/// LPs that declare more channels than this on average do not have few neighbours: reading them would cost
/// too much.
const CHANNELS: usize = 16;
/// Distances are worth it where windows get this many times as wide as the lookahead, on average over
/// federates.
const WORTH: u128 = 2;

/// How long whatever happens at one federate takes to reach another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distances {
    federates: usize,
    /// From sender (row) to receiver; [`Time::MAX`] where no channels lead there.
    table: Vec<Time>,
    /// By federate: the least lookahead of channels between two LPs of it.
    within: Vec<Time>,
    /// How far a federate may be ahead of the least event of all.
    lag: Time,
}

impl Distances {
    /// The distances, where they make windows wider: every LP names its channels, at most 16 on average;
    /// there are 2 to 128 federates; and the least lookahead of a federate's incoming channels is at least
    /// twice the model's lookahead, on average over the federates. So wide are windows where all federates
    /// have events all the time. Fails if a declared channel is none that the LP may have.
    pub fn worth<M: Model>(model: &M, partition: &Partition) -> Result<Option<Self>, LinkError> {
        let Some((channels, lag)) = Self::channels(model, partition)? else { return Ok(None) };
        let count = partition.federates();
        // Who receives nothing is held back by the lag alone.
        let mut nearest = vec![lag; count as usize];
        for ((_, to), lookahead) in &channels.between {
            nearest[*to as usize] = nearest[*to as usize].min(*lookahead);
        }
        let worth = is_worth(&nearest, model.lookahead());
        Ok(worth.then(|| Self::of(channels, count as usize, lag)))
    }

    /// The same of a run in which these federates are outside. A window costs each of them more than all that
    /// is inside: so distances are worth it where they reach each other, and themselves, on ways twice as
    /// long as the model's lookahead, on average over them. A federate may then be ahead by the longest of
    /// these ways.
    pub fn worth_outside<M: Model>(
        model: &M,
        partition: &Partition,
        outside: &[u32],
    ) -> Result<Option<Self>, LinkError> {
        let Some((channels, lag)) = Self::channels(model, partition)? else { return Ok(None) };
        let mut found = Self::of(channels, partition.federates() as usize, lag);
        let way = |to: &u32| outside.iter().map(|from| found.between(*from, *to)).min();
        let nearest: Vec<Time> = outside.iter().filter_map(way).filter(|way| *way < Time::MAX).collect();
        found.lag = nearest.iter().copied().max().unwrap_or(lag).max(lag);
        Ok((!nearest.is_empty() && is_worth(&nearest, model.lookahead())).then_some(found))
    }

    /// The channels between federates, where they are few enough for distances, and the longest of them.
    fn channels<M: Model>(
        model: &M,
        partition: &Partition,
    ) -> Result<Option<(FederateChannels, Time)>, LinkError> {
        // The table grows with the square of the federates, and the time to fill it with the cube.
        if !(2..=FEDERATES).contains(&partition.federates()) {
            return Ok(None);
        }
        let most = (partition.lps() as usize).saturating_mul(CHANNELS);
        let Some(channels) = FederateChannels::few(model, partition, most)? else { return Ok(None) };
        let longest = channels.between.values().copied().max();
        Ok(longest.map(|longest| (channels, longest)))
    }

    /// Shortest paths between all pairs (Floyd, 1962; Warshall, 1962).
    fn of(channels: FederateChannels, federates: usize, lag: Time) -> Self {
        let mut table = vec![Time::MAX; federates * federates];
        for ((from, to), lookahead) in channels.between {
            table[from as usize * federates + to as usize] = lookahead;
        }
        // By way of one more federate each time: who gets a message may send another at that very time.
        for via in 0..federates {
            let onward = table[via * federates..(via + 1) * federates].to_vec();
            for from in table.chunks_exact_mut(federates) {
                let first = from[via];
                if first < Time::MAX {
                    let pairs = from.iter_mut().zip(&onward);
                    pairs.for_each(|(known, rest)| *known = (*known).min(first.saturating_add(*rest)));
                }
            }
        }
        Self { federates, table, within: channels.within, lag }
    }

    /// From federate `from` to `to`; [`Time::MAX`] where no channels lead there.
    pub fn between(&self, from: u32, to: u32) -> Time {
        self.table[from as usize * self.federates + to as usize]
    }

    /// The least lookahead of channels between two LPs of a federate; [`Time::MAX`] where there are none.
    pub fn within(&self, federate: u32) -> Time {
        self.within[federate as usize]
    }
}

/// Whether windows as wide as these are worth their cost on average.
fn is_worth(widths: &[Time], lookahead: Time) -> bool {
    let sum: u128 = widths.iter().map(|width| u128::from(width.as_ticks())).sum();
    sum >= WORTH * widths.len() as u128 * u128::from(lookahead.as_ticks())
}

/// Computes where the next window ends for each federate.
///
/// ```
/// use std::sync::Arc;
/// use paceline_kernel::{Channels, Context, DistanceWindows, Distances, LpId, Model, Partition, Time};
///
/// /// Two LPs close together, and a third one far away.
/// struct Island;
///
/// impl Model for Island {
///     type State = ();
///     type Event = ();
///     type Output = ();
///
///     fn lps(&self) -> u32 {
///         3
///     }
///     fn lookahead(&self) -> Time {
///         Time::millis(1)
///     }
///     fn channels(&self, lp: LpId) -> Channels {
///         Channels::Only(match lp.0 {
///             0 => vec![(LpId(1), Time::millis(1))],
///             1 => vec![(LpId(0), Time::millis(1)), (LpId(2), Time::secs(1))],
///             _ => vec![(LpId(1), Time::secs(1))],
///         })
///     }
///     fn init(&self, _lp: LpId, _cx: &mut Context<Self>) {}
///     fn handle(&self, _state: &mut (), _event: &(), _cx: &mut Context<Self>) {}
/// }
///
/// let distances = Distances::worth(&Island, &Partition::runs(3, 3))?.expect("most windows get wider");
/// assert_eq!(distances.between(0, 2), Time::millis(1001));
/// assert_eq!(distances.between(0, 0), Time::millis(2), "what 0 sends comes back");
/// let mut windows = DistanceWindows::new(Arc::new(distances));
/// let next = [Time::secs(5), Time::secs(5), Time::secs(5)];
/// assert!(windows.open(&next, Time::secs(100)));
/// assert_eq!([0, 1, 2].map(|federate| windows.bound(federate)), [5_001, 5_001, 6_000].map(Time::millis));
/// # Ok::<(), paceline_kernel::LinkError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DistanceWindows {
    distances: Arc<Distances>,
    bounds: Vec<Time>,
    opened: u64,
}

impl DistanceWindows {
    /// No window is open yet.
    pub fn new(distances: Arc<Distances>) -> Self {
        let bounds = vec![Time::ZERO; distances.federates];
        Self { distances, bounds, opened: 0 }
    }

    /// Opens the next window, where `next` holds each federate's least event time, messages under way to it
    /// included. Says whether there is one: not if all of that is at or after `until`.
    pub fn open(&mut self, next: &[Time], until: Time) -> bool {
        let least = next.iter().copied().min().unwrap_or(Time::MAX);
        if least >= until {
            return false;
        }
        self.opened += 1;
        // Not farther: one that receives nothing could run to the end of the run, and fill the inboxes of
        // others.
        let most = least.saturating_add(self.distances.lag).min(until);
        self.bounds.fill(most);
        for (next, row) in next.iter().zip(self.distances.table.chunks_exact(self.distances.federates)) {
            // Whoever has nothing to do before all bounds holds nobody back.
            if *next < most {
                let pairs = self.bounds.iter_mut().zip(row);
                pairs.for_each(|(bound, distance)| *bound = (*bound).min(next.saturating_add(*distance)));
            }
        }
        true
    }

    /// Where the window ends for `federate`.
    pub fn bound(&self, federate: u32) -> Time {
        self.bounds[federate as usize]
    }

    /// Where it ends for each federate.
    pub fn bounds(&self) -> &[Time] {
        &self.bounds
    }

    /// How far a federate may be ahead of the least event of all.
    pub fn lag(&self) -> Time {
        self.distances.lag
    }

    /// How many windows were opened.
    pub const fn opened(&self) -> u64 {
        self.opened
    }
}

#[cfg(test)]
mod test;
