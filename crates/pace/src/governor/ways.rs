//! How threads are scheduled now: which way, how often it is decided, and the classes that follow.
//!
//! Invariant: who goes back goes first, so that never more threads are before the others than there are cores.

use std::time::Duration;

use super::{Governor, Place, nanos, notes};
use crate::plan::Class;
use crate::plan::trial::{Facts, Way};

/// The slice, unless the user has said it, until it is known how long events take.
pub const SLICE_FIRST: Duration = Duration::from_micros(200);
/// Of that the shortest and the longest, and how many there are in an event.
const SLICE_LEAST_NS: u64 = 200_000;
const SLICE_MOST_NS: u64 = 500_000;
const SLICES_IN_EVENT: u64 = 8;
/// A slice is so many times longer than a decision takes, up to that limit.
const DECISIONS_IN_SLICE: u64 = 20;
const SLICE_DEAR_NS: u64 = 500_000;
/// For how long threads that all yield are taken to do so.
const YIELDING_KEPT: Duration = Duration::from_millis(100);

impl Governor {
    /// The slice that fits how long events take, and what a decision costs.
    pub(super) fn slice_ns(&self) -> u64 {
        let by_event_ns = match self.planner.usual_event_ns() {
            0 => nanos(SLICE_FIRST),
            event_ns => (event_ns / SLICES_IN_EVENT).clamp(SLICE_LEAST_NS, SLICE_MOST_NS),
        };
        by_event_ns.max((self.costs.decision_ns() * DECISIONS_IN_SLICE).min(SLICE_DEAR_NS))
    }

    /// Decides how the threads are to be scheduled, by what they do and by what was found to be best.
    pub(super) fn choose_way(&mut self) {
        let threads = self.places.iter().filter_map(|place| match place {
            Place::Paced(thread) => Some(thread),
            _ => None,
        });
        let crowded = self.crowd.look(self.now_ns, threads);
        self.planner.note_crowded(crowded);
        let Some(trial) = &mut self.trial else { return };
        if self.seen.is_empty() {
            return;
        }
        if self.seen.iter().all(|seen| seen.yields) {
            self.yielding_ns = self.now_ns;
        }
        // A thread that closes its publisher is back a moment later, as its library's.
        let yields = self.now_ns - self.yielding_ns < nanos(YIELDING_KEPT);
        let (way, change) = trial.decide(self.now_ns, Facts { progress: self.progress, yields, crowded });
        self.way = way;
        if let Some(note) = change.and_then(notes::of_change) {
            self.notes.push(note);
        }
    }

    pub(super) fn set_classes(&mut self) {
        let decided = match self.way {
            Way::Ordered => self.planner.decide(self.now_ns, &self.seen),
            Way::Together => self.planner.decide_together(self.now_ns, &self.seen),
            Way::Unpaced => self.planner.decide_unpaced(self.now_ns, &self.seen),
        };
        // Who goes back goes first, so that never more are before the others than there are cores.
        for forward in [false, true] {
            for (slot, class) in decided.iter().filter(|(_, class)| (*class > Class::Normal) == forward) {
                let Place::Paced(thread) = &mut self.places[*slot] else { continue };
                match thread.put(self.mode.class(*class, thread.normal)) {
                    Ok(took_ns) => self.costs.note_class(took_ns),
                    Err(_) => self.places[*slot] = Place::Refused(thread.owner),
                }
            }
        }
    }
}
