//! Threads that yield the core whenever they wait: they need no slices, and equal ones share a class, so that
//! a yield hands the core to an equal.
//!
//! Some threads only claim to yield, and keep the core from all that are not above them. Therefore a thread
//! that had no CPU time for [`DUE_MAX_NS`] gets a turn. Threads that do yield need no turns while there are
//! so few of them per core that releases serve all in that time.
//!
//! Invariant: outside of releases none of them is below the rest of the machine: a waiting thread uses little
//! CPU time, and must soon notice that its wait is over.

use super::{Class, DUE_MAX_NS, Planner, Seen};

impl Planner {
    /// Like [`Planner::decide`], with all threads equal and before the rest of the machine.
    pub fn decide_together(&mut self, now_ns: u64, seen: &[Seen]) -> &[(usize, Class)] {
        self.look(now_ns, seen);
        self.released = self.is_released(seen.len());
        self.holds_back = false;
        // A thread that yields runs soon anyway: a turn is for those that only claim to.
        self.grant_turns(seen, DUE_MAX_NS);
        for Seen { slot, .. } in seen {
            let thread = &mut self.threads[*slot];
            if thread.class != Class::Turn {
                // The lowest class that is before the rest of the machine, so that turns are still above it.
                thread.class = Class::Reserve;
            }
        }
        self.classes_of(seen)
    }

    /// Like [`Planner::decide`], with all threads as if they were not paced.
    pub fn decide_unpaced(&mut self, now_ns: u64, seen: &[Seen]) -> &[(usize, Class)] {
        // Set before `look`: no thread holds the front in this time, and none learns or stalls.
        self.released = true;
        self.holds_back = false;
        for Seen { slot, .. } in seen {
            self.threads[*slot].class = Class::Back;
        }
        self.look(now_ns, seen);
        self.classes.clear();
        for Seen { slot, .. } in seen {
            // The kernel lets all of them run, so none is due for a turn when pacing goes on.
            self.threads[*slot].ran_ns = now_ns;
            self.classes.push((*slot, Class::Normal));
        }
        &self.classes
    }

    /// Puts the ready threads of least LVT to the front: one per core, and all with the same LVT as the last
    /// of these. All others are put into the reserve.
    pub(super) fn fill_front_of_yielding(&mut self, seen: &[Seen]) {
        self.order.clear();
        for Seen { slot, .. } in seen {
            let thread = &self.threads[*slot];
            if thread.class != Class::Turn {
                self.order.push((thread.rank(self.worked_ns, self.progress_ns), *slot));
            }
        }
        self.order.sort_unstable();
        let last = self.order.get(self.machine.cores - 1).map(|((group, lvt_ns, ..), _)| (*group, *lvt_ns));
        self.holds_back = false;
        for ((group, lvt_ns, ..), slot) in &self.order {
            let leads = last.is_none_or(|last| (*group, *lvt_ns) <= last);
            let thread = &mut self.threads[*slot];
            thread.class = if *group == 0 && leads { Class::Front } else { Class::Reserve };
            // Its equals, or those in a turn, may keep it from running.
            thread.doubt();
            self.holds_back |= *group == 0 && !leads;
        }
    }
}

#[cfg(test)]
mod tests;
