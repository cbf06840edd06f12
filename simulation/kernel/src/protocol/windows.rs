//! Common windows of simulated time, with a barrier between them. Steps of time without an event are passed
//! over; the others are counted as they open, as those by distance are (`distances.rs`).

use crate::Time;

/// A window may be shorter than the lookahead by one part in this many.
const NEARLY: u64 = 8;

/// Says where the next window ends.
///
/// ```
/// use paceline_kernel::{Time, Windows};
/// let mut windows = Windows::lookahead(Time::secs(2));
/// assert_eq!(windows.open(Time::secs(5), Time::secs(100)), Some(Time::secs(7)));
/// let mut steps = Windows::steps(Time::secs(2));
/// assert_eq!(steps.open(Time::secs(5), Time::secs(100)), Some(Time::secs(6)));
/// assert_eq!(steps.open(Time::secs(200), Time::secs(100)), None);
/// assert_eq!(steps.opened(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Windows {
    /// The width of a window, above zero.
    width: Time,
    /// Every window ends at a multiple of the width.
    aligned: bool,
    opened: u64,
}

impl Windows {
    /// Synchronous windows for a lookahead above zero: from the least event time of all, as wide as the
    /// lookahead (which makes their end the lower bound on time stamps, LBTS), or an eighth less.
    pub const fn lookahead(lookahead: Time) -> Self {
        Self { width: lookahead, aligned: false, opened: 0 }
    }

    /// Fixed steps from time zero, each above zero and at most the lookahead; those without events are
    /// passed over.
    pub const fn steps(step: Time) -> Self {
        Self { width: step, aligned: true, opened: 0 }
    }

    /// The bound of the next window, where `least` is the least event time of all. `None` if that is not
    /// before `until`.
    pub fn open(&mut self, least: Time, until: Time) -> Option<Time> {
        if least >= until {
            return None;
        }
        self.opened += 1;
        let width_ticks = self.width.as_ticks();
        let into_ticks = least.as_ticks() % width_ticks;
        // A window that starts just behind a multiple of its width ends at the next: in a dense model all
        // windows then are whole buckets of the queue.
        let cut = if self.aligned || into_ticks < width_ticks / NEARLY { into_ticks } else { 0 };
        Some(Time::ticks(least.as_ticks() - cut).saturating_add(self.width).min(until))
    }

    /// How many windows were opened.
    pub const fn opened(&self) -> u64 {
        self.opened
    }
}
