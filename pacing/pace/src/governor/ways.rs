//! How threads are scheduled now: the way, the length of a slice, and the classes that follow.
//!
//! Invariant: threads are lowered before others are raised, so that never more threads are above the others
//! than there are cores.

use std::time::Duration;

use super::{Governor, Place, nanos, notes};
use crate::plan::Class;
use crate::plan::trial::{Facts, Trial, Way};

/// The slice until it is known how long events take, unless the user has set one.
pub const SLICE_FIRST: Duration = Duration::from_micros(200);
/// Where slices cannot be compared because progress is seen too seldom: the shortest and the longest slice by
/// the length of events, and the number of slices in an event.
const SLICE_LEAST_NS: u64 = 200_000;
const SLICE_MOST_NS: u64 = 500_000;
const SLICES_IN_EVENT: u64 = 8;
/// A slice is at least this many times longer than a decision takes, up to the limit below.
const DECISIONS_IN_SLICE: u64 = 20;
const SLICE_DEAR_NS: u64 = 500_000;
/// For how long after all threads were seen to yield they count as yielding.
const YIELDING_KEPT: Duration = Duration::from_millis(100);

impl Governor {
    /// Chooses the slice by the progress that the program makes, unless the user has set it.
    pub(super) fn choose_slice(&mut self) {
        if self.slice.is_some() || self.seen.is_empty() {
            return;
        }
        // A trial changes the progress too, and threads that yield need no slices.
        let undisturbed = self.trial.as_ref().is_none_or(Trial::is_holding);
        let comparable = self.way == Way::Ordered && undisturbed && !self.seen.iter().all(|seen| seen.yields);
        let chosen = self.slices.decide(self.now_ns, self.progress, comparable);
        self.slice_ns = chosen.unwrap_or_else(|| self.usual_slice_ns());
        self.planner.set_slice(self.slice_ns);
    }

    /// The slice that suits the length of events and the cost of a decision.
    fn usual_slice_ns(&self) -> u64 {
        let by_event_ns = match self.planner.usual_event_ns() {
            0 => nanos(SLICE_FIRST),
            event_ns => (event_ns / SLICES_IN_EVENT).clamp(SLICE_LEAST_NS, SLICE_MOST_NS),
        };
        by_event_ns.max((self.costs.decision_ns() * DECISIONS_IN_SLICE).min(SLICE_DEAR_NS))
    }

    /// Decides how the threads are scheduled, by what they do and by the results of the trials.
    pub(super) fn choose_way(&mut self) {
        let threads = self.places.iter().filter_map(|place| match place {
            Place::Paced(thread) => Some(thread),
            _ => None,
        });
        // Without trials as well: the length of releases depends on it.
        let crowded = self.crowd.look(self.now_ns, threads);
        self.planner.note_crowded(crowded);
        let Some(trial) = &mut self.trial else { return };
        // There is no progress to compare.
        if self.seen.is_empty() {
            return;
        }
        if self.seen.iter().all(|seen| seen.yields) {
            self.yielding_ns = self.now_ns;
        }
        // A thread whose program closes its publisher leaves the page for a moment, until the MPI shim claims
        // a slot for it again.
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
        // Threads are lowered before others are raised, so that never more are above the others than there
        // are cores.
        for forward in [false, true] {
            for (slot, class) in decided.iter().filter(|(_, class)| (*class > Class::Normal) == forward) {
                let Place::Paced(thread) = &mut self.places[*slot] else { continue };
                match thread.put(self.mode.class(*class, thread.normal)) {
                    Ok(took_ns) => self.costs.note_class(took_ns),
                    // It has ended, or may not be changed: it is not tried again in every slice.
                    Err(_) => self.places[*slot] = Place::Refused(thread.owner),
                }
            }
        }
    }
}
