//! How far and how wide: finds out from what rollbacks cost how much running ahead pays.
//!
//! A batch should be large enough that a turn is worth its while, and narrow enough that little of it is rolled back. After
//! every batch ahead its width is changed by what was wasted since the last time: events undone and handled again only to
//! come back to a state, and anti-messages, for each event handled. How far a federate may be ahead of GVT is a multiple
//! of the width, so that both shrink where rollbacks are frequent. Copies of states lie as far apart as copying and
//! coming back cost least together (Lin, Preiss, Loucks and Lazowska, 1993).
//!
//! No clock is looked at: costs are counted, so that a run can be repeated.

use super::Rollbacks;
use crate::Time;

/// Events that a batch should have.
const ENOUGH: f64 = 1024.0;
/// A safe batch with this many events is worth its while.
const WORTH: f64 = 24.0;
/// Events of a safe batch, at most.
const MOST: f64 = 16384.0;
/// Widths of a batch that a federate may be ahead of GVT.
const AHEAD: u64 = 3;
/// What may be wasted, for each event handled, before batches get narrower; and below what they get wider.
const MUCH: f64 = 0.10;
const LITTLE: f64 = 0.04;
/// A batch may be narrower than it could be by one part in this many.
const NEARLY: u64 = 8;
/// Events after which the width is looked at again.
const EPOCH: u64 = 1024;

/// The pace of one federate.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    lookahead: Time,
    width_ns: f64,
    /// Events a nanosecond, of late.
    density: f64,
    /// Events handled ahead since the width was changed last; what was wasted, and rolled back, up to then.
    handled: u64,
    wasted: u64,
    rollbacks: u64,
    /// Events from one copy of a state to the next.
    interval: usize,
}

impl Pace {
    pub fn new(lookahead: Time) -> Self {
        let width_ns = lookahead.as_nanos().max(1) as f64;
        Self { lookahead, width_ns, density: 0.0, handled: 0, wasted: 0, interval: 8, rollbacks: 0 }
    }

    /// Whether what is safe from `floor` on is worth a batch of its own.
    pub fn prefers_safe(&self, floor: Time, safe: Time) -> bool {
        let span = safe - floor;
        span >= Time::nanos((self.width_ns / 2.0) as u64) || self.is_worth() && span >= self.worth()
    }

    /// Whether a lookahead holds enough events for a batch.
    pub fn is_worth(&self) -> bool {
        self.lookahead.as_nanos() as f64 * self.density >= WORTH
    }

    /// The part of the lookahead that a safe batch should be able to run: most of it, or enough events.
    pub fn worth(&self) -> Time {
        let most = self.lookahead.as_nanos() / 4 * 3;
        Time::nanos(most.min((ENOUGH / self.density.max(f64::MIN_POSITIVE)) as u64))
    }

    /// Where a safe batch ends.
    pub fn safe_bound(&self, floor: Time, safe: Time) -> Time {
        if self.density == 0.0 {
            return safe;
        }
        let most = Time::nanos((MOST / self.density).max(1.0) as u64);
        self.align(floor, safe.min(floor.saturating_add(most)))
    }

    /// Where a batch ahead ends. Where running safely is worth it, it is kept short: who is away for long keeps the others
    /// from being safe.
    pub fn bound(&self, floor: Time) -> Time {
        let width = Time::nanos(self.width_ns as u64).max(Time::nanos(1));
        let width = if self.is_worth() { width.min(self.lookahead) } else { width };
        self.align(floor, floor.saturating_add(width))
    }

    /// A bound just behind a multiple of the lookahead is put there: batches of a dense model then are whole buckets of the
    /// queue.
    fn align(&self, floor: Time, bound: Time) -> Time {
        let into = bound.as_nanos() % self.lookahead.as_nanos().max(1);
        let cut = Time::nanos(bound.as_nanos() - into);
        let little = into <= (bound - floor).as_nanos() / NEARLY;
        if little && cut > floor { cut } else { bound }
    }

    /// No event at or after this may be handled.
    pub fn limit(&self, gvt: Time) -> Time {
        gvt.saturating_add(Time::nanos((self.width_ns as u64).saturating_mul(AHEAD).max(AHEAD)))
    }

    /// Events from one copy of a state to the next.
    pub fn interval(&self) -> usize {
        self.interval
    }

    pub fn ran_safely(&mut self, events: u64, span: Time) {
        self.note_density(events, span);
    }

    fn note_density(&mut self, events: u64, span: Time) {
        let now = events as f64 / span.as_nanos().max(1) as f64;
        self.density = if self.density == 0.0 { now } else { 0.75 * self.density + 0.25 * now };
    }

    /// A batch of `events`, `span` wide, was handled ahead; `fresh` if part of it is beyond all batches before. What comes
    /// again after a rollback is sparse, and says nothing about the width that a batch should have.
    pub fn ran_ahead(&mut self, events: u64, span: Time, fresh: bool, stats: &Rollbacks) {
        self.handled += events;
        if fresh {
            self.note_density(events, span);
        }
        let wasted = stats.undone + stats.coasted + stats.antis;
        let lost = wasted - self.wasted;
        let small = fresh && events as f64 * 4.0 <= ENOUGH;
        if self.handled < EPOCH && lost < EPOCH / 16 && !small {
            return;
        }
        let share = lost as f64 / self.handled.max(1) as f64;
        let expected = self.width_ns * self.density;
        if share > 4.0 * MUCH {
            self.width_ns *= 0.4;
        } else if share > MUCH {
            self.width_ns *= 0.7;
        } else if share < LITTLE && expected < ENOUGH && fresh {
            self.width_ns *= 1.5;
        } else if expected > 4.0 * ENOUGH {
            self.width_ns *= 0.7;
        }
        self.width_ns = self.width_ns.clamp(1.0, u64::MAX as f64 / 16.0);
        let rollbacks = stats.primary + stats.secondary;
        let each = self.handled as f64 / (rollbacks - self.rollbacks).max(1) as f64;
        // A copy costs about as much as an event; so the best distance is the root of twice the events between rollbacks.
        self.interval = ((2.0 * each).sqrt() as usize).clamp(1, 64);
        (self.handled, self.wasted, self.rollbacks) = (0, wasted, rollbacks);
    }
}
