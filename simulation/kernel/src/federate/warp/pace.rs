//! How much at a time: whether it is worth waiting to run safely, how wide batches are, how far apart copies
//! of states lie.
//!
//! A batch should be large enough that a turn is worth its while. How wide batches ahead are is one decision
//! for all federates of a host ([`MovingWindow`](crate::MovingWindow)). Copies of states lie as far apart as
//! copying and coming back cost least together (Lin, Preiss, Loucks and Lazowska, 1993).
//!
//! No clock is looked at: costs are counted, so that a run can be repeated.

use super::Rollbacks;
use crate::Time;

/// Events that a batch should have.
const ENOUGH: f64 = 1024.0;
/// A safe batch with this many events is worth its while.
const WORTH: f64 = 128.0;
/// Events of a safe batch, at most.
const MOST: f64 = 16384.0;
/// Lookaheads that a federate may be ahead of GVT where running safely is worth it.
const STRIDES: u64 = 3;
/// A batch may be narrower than it could be by one part in this many.
const NEARLY: u64 = 8;
/// Events after which the distance of copies is looked at again.
const EPOCH: u64 = 1024;

#[derive(Clone, Debug)]
pub(super) struct Pace {
    lookahead: Time,
    /// Events a tick of simulated time: a recent average; zero where nothing is known.
    density: f64,
    /// Events handled ahead since the distance of copies was changed last, and rollbacks up to then.
    handled: u64,
    rollbacks: u64,
    /// Events from one copy of a state to the next.
    interval: usize,
}

impl Pace {
    pub fn new(lookahead: Time) -> Self {
        // Until it is known how often events are rolled back, a copy for every eighth event.
        Self { lookahead, density: 0.0, handled: 0, rollbacks: 0, interval: 8 }
    }

    /// Whether what is safe from `floor` on is worth a batch of its own, where batches ahead are `width`
    /// wide.
    pub fn prefers_safe(&self, floor: Time, safe: Time, width: Time) -> bool {
        // Half of a batch ahead is enough, or a good part of a lookahead that is worth a batch.
        let span = safe - floor;
        span >= Time::ticks(self.width(width).as_ticks() / 2) || self.safe_pays() && span >= self.safe_span()
    }

    /// Whether running safely pays: a lookahead holds enough events for a batch.
    pub fn safe_pays(&self) -> bool {
        self.lookahead.as_ticks() as f64 * self.density >= WORTH
    }

    /// How far ahead of GVT to run where running safely is worth it.
    pub fn safe_strides(&self) -> Time {
        Time::ticks(self.lookahead.as_ticks().saturating_mul(STRIDES))
    }

    /// The part of the lookahead that a safe batch should be able to run: most of it, or enough events.
    pub fn safe_span(&self) -> Time {
        let most = self.lookahead.as_ticks() / 4 * 3;
        Time::ticks(most.min((ENOUGH / self.density.max(f64::MIN_POSITIVE)) as u64))
    }

    /// Where a safe batch ends.
    pub fn safe_bound(&self, floor: Time, safe: Time) -> Time {
        if self.density == 0.0 {
            return safe;
        }
        let most = Time::ticks((MOST / self.density).max(1.0) as u64);
        self.align(floor, safe.min(floor.saturating_add(most)))
    }

    /// How wide batches ahead are where they may be `width` wide.
    fn width(&self, width: Time) -> Time {
        if self.safe_pays() { width.min(self.safe_span()).max(Time::TICK) } else { width }
    }

    /// Where a batch ahead from `floor` on ends that goes `width` farther than `front`. Where running safely
    /// is worth it, it is kept short: who is away for long keeps the others from being safe.
    pub fn bound(&self, floor: Time, front: Time, width: Time) -> Time {
        let width = self.width(width);
        self.align(floor.max(front), floor.max(front).saturating_add(width))
    }

    /// A bound just behind a multiple of the lookahead is put there: batches of a dense model then are whole
    /// buckets of the queue.
    fn align(&self, floor: Time, bound: Time) -> Time {
        let into = bound.as_ticks() % self.lookahead.as_ticks().max(1);
        let cut = Time::ticks(bound.as_ticks() - into);
        let little = into <= (bound - floor).as_ticks() / NEARLY;
        if little && cut > floor { cut } else { bound }
    }

    /// Events from one copy of a state to the next.
    pub fn interval(&self) -> usize {
        self.interval
    }

    /// There were so many `events` in a `span` where nothing had been run before. What comes again after a
    /// rollback is sparse, and says nothing.
    pub fn note_density(&mut self, events: u64, span: Time) {
        let now = events as f64 / span.as_ticks().max(1) as f64;
        self.density = if self.density == 0.0 { now } else { 0.75 * self.density + 0.25 * now };
    }

    /// A batch of `events` was handled ahead.
    pub fn ran_ahead(&mut self, events: u64, stats: &Rollbacks) {
        self.handled += events;
        if self.handled < EPOCH {
            return;
        }
        let rollbacks = stats.primary + stats.secondary;
        let each = self.handled as f64 / (rollbacks - self.rollbacks).max(1) as f64;
        // A copy costs about as much as an event; so the best distance is the root of twice the events
        // between rollbacks.
        self.interval = ((2.0 * each).sqrt() as usize).clamp(1, 64);
        (self.handled, self.rollbacks) = (0, rollbacks);
    }
}
