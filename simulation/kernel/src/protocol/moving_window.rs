//! A moving time window (Sokol, Briscoe and Wieland, 1988) whose width is found while a run goes on.
//!
//! Federates that run ahead go forward in strides of one common width, and none goes farther than a few
//! widths beyond GVT. A width that each federate finds for itself does not do: one that finds a wide one runs
//! far ahead of the others, and whatever they send it from then on rolls it back.
//!
//! The width follows from two costs. A turn of a federate costs as much as [`TURN`] events, whatever it does,
//! so that the wider the window, the less turns cost for each event. What is wasted by rollbacks, turns that
//! only run again what was rolled back included, grows with the width. The sum of a cost that falls like `1 /
//! width` and of one that grows like `width` is least where both are equal.
//!
//! No clock is looked at: costs are counted, so that a run can be repeated.

use crate::Time;

/// What a turn costs, in events: an estimate, the same for all models and machines.
const TURN: f64 = 32.0;
/// The share of events wasted that is never borne, however few events a turn has: the more is run that has to
/// be rolled back, the longer it takes until anybody learns of it.
const WASTE: f64 = 0.25;
/// Events of a turn from which on the window gets no wider.
const ENOUGH: f64 = 1024.0;
/// Events of a turn above which it gets narrower.
const MOST: f64 = 4.0 * ENOUGH;
/// Widths that a federate may be ahead of GVT.
const AHEAD: u64 = 4;
/// Turns of every federate after which the width is looked at again, on average.
const TURNS: u64 = 2;
/// The width changes by this factor at most.
const STEP: f64 = 2.0;

/// What federates have done ahead since they were asked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Turns that went farther than the federate had been.
    pub turns: u64,
    /// Events that they handled where the federate had not been.
    pub handled: u64,
    /// Turns that only ran again what had been rolled back.
    pub again: u64,
    /// Events undone, events handled again only to come back to a state, and anti-messages.
    pub wasted: u64,
}

/// How wide the strides are of federates that run ahead, and how far ahead of GVT they may be.
///
/// ```
/// use paceline_kernel::{Effort, MovingWindow, Time};
/// let mut window = MovingWindow::new(Time::millis(1), 2);
/// assert_eq!(window.width(), Time::millis(1));
/// // Turns with few events, and next to nothing rolled back: a wider window is better.
/// window.note(Effort { turns: 4, handled: 80, again: 0, wasted: 1 });
/// assert_eq!(window.width(), Time::millis(2));
/// // Turns are large now, and a fifth of their work is in vain.
/// window.note(Effort { turns: 4, handled: 2000, again: 5, wasted: 240 });
/// assert!(window.width() < Time::millis(2));
/// ```
#[derive(Clone, Debug)]
pub struct MovingWindow {
    width_ticks: f64,
    federates: u64,
    /// Since the width was looked at last.
    sums: Effort,
}

impl MovingWindow {
    /// For this many federates; `width` is that of the first window. Where nothing is known, the lookahead is
    /// a good one.
    pub fn new(width: Time, federates: u32) -> Self {
        let width_ticks = width.as_ticks().max(1) as f64;
        Self { width_ticks, federates: u64::from(federates), sums: Effort::default() }
    }

    /// How much farther than it has been a federate goes in a turn.
    pub fn width(&self) -> Time {
        Time::ticks(self.width_ticks as u64)
    }

    /// No event that is this far beyond GVT or farther is to be run.
    pub fn ahead(&self) -> Time {
        Time::ticks((self.width_ticks as u64).saturating_mul(AHEAD))
    }

    /// A federate has done so much ahead.
    pub fn note(&mut self, Effort { turns, handled, again, wasted }: Effort) {
        self.sums.turns += turns;
        self.sums.handled += handled;
        self.sums.again += again;
        self.sums.wasted += wasted;
        // A few turns say little: one rollback more or less would move the width to and fro.
        if self.sums.turns < TURNS * self.federates {
            return;
        }
        let Effort { turns, handled, again, wasted } = std::mem::take(&mut self.sums);
        let events = handled as f64 / turns as f64;
        let wasted = wasted as f64 + TURN * again as f64;
        // What a turn costs is shared by its events, what is undone is lost: the width is right where both
        // cost the same.
        let turn = (TURN / events.max(1.0)).min(WASTE);
        let waste = wasted / handled.max(1) as f64;
        let factor = (turn / waste.max(f64::MIN_POSITIVE)).sqrt().clamp(1.0 / STEP, STEP);
        // Where nothing is wasted the width would grow without bound.
        let factor = if events > MOST { 1.0 / STEP } else { factor };
        // A turn of enough events costs next to nothing for each of them: a wider window could only waste
        // more.
        if factor < 1.0 || events < ENOUGH {
            // At most a 64th of the clock: `AHEAD` widths still are a time.
            self.width_ticks = (self.width_ticks * factor).clamp(1.0, u64::MAX as f64 / 64.0);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::Rng;

    /// Plays federates whose events are so dense, and of whose work a share that grows with the width is in
    /// vain. Gives the width after a while, in ns.
    fn found(events_per_tick: f64, waste_per_tick: f64, federates: u32, start: Time) -> f64 {
        let mut window = MovingWindow::new(start, federates);
        for _ in 0..400 * u64::from(federates) {
            let width_ticks = window.width().as_ticks() as f64;
            let handled = events_per_tick * width_ticks;
            let wasted = handled * waste_per_tick * width_ticks;
            window.note(Effort { turns: 1, handled: handled as u64, again: 0, wasted: wasted as u64 });
        }
        window.width().as_ticks() as f64
    }

    #[test]
    fn it_finds_the_width_at_which_turns_and_rollbacks_cost_the_same() {
        let mut rng = Rng::new(5, 0);
        for case in 0..300 {
            // Turns of 160 to 800 events are best.
            let best_ticks = 10f64.powf(3.0 + 6.0 * rng.unit());
            let events_per_tick = 160.0 * 5f64.powf(rng.unit()) / best_ticks;
            let waste_per_tick = TURN / (events_per_tick * best_ticks * best_ticks);
            let (federates, most_ticks) = (1 + rng.below(64) as u32, 1 << rng.below(40));
            let start_ticks = 1 + rng.below(most_ticks);
            let width_ticks = found(events_per_tick, waste_per_tick, federates, Time::ticks(start_ticks));
            let ratio = width_ticks / best_ticks;
            assert!(
                (0.7..1.4).contains(&ratio),
                "case {case}: {width_ticks} ticks, where {best_ticks} are best"
            );
        }
    }

    #[test]
    fn it_neither_vanishes_nor_grows_without_bound() {
        let many = found(1.0, 0.0, 4, Time::TICK);
        assert!((ENOUGH..=STEP * MOST).contains(&many), "{many} events a turn, and nothing is wasted");
        assert_eq!(found(1.0, 1e3, 4, Time::ticks(1_000_000)), 1.0, "everything is wasted");
        let mut idle = MovingWindow::new(Time::MAX, 1);
        (0..1000).for_each(|_| idle.note(Effort { turns: 1, ..Effort::default() }));
        assert!(idle.ahead() <= Time::MAX && idle.width() > Time::ZERO);
    }
}
