//! Threads that give the core away whenever they wait: they need no slices, and those who are equal share a class, so that a yield
//! hands the core to an equal.
//!
//! Invariant: nobody of them is below the rest of the machine outside of releases, for who waits uses little, and has to see in time
//! that it need not wait any more.

use super::{Class, Planner, Seen};

impl Planner {
    /// As [`Planner::decide`], with all threads equal and before the rest of the machine.
    pub fn decide_together(&mut self, now_ns: u64, seen: &[Seen]) -> &[(usize, Class)] {
        self.pass(now_ns, seen);
        let class = match self.is_released(seen.len()) {
            true => Class::Reserve.min(self.release_class()),
            false => Class::Reserve,
        };
        self.all(seen, class)
    }

    /// As [`Planner::decide`], with all threads as if nobody paced them.
    pub fn decide_unpaced(&mut self, now_ns: u64, seen: &[Seen]) -> &[(usize, Class)] {
        self.pass(now_ns, seen);
        self.all(seen, Class::Normal)
    }

    fn all(&mut self, seen: &[Seen], class: Class) -> &[(usize, Class)] {
        self.classes.clear();
        self.classes.extend(seen.iter().map(|seen| (seen.slot, class)));
        &self.classes
    }

    /// Takes in what has happened while nobody was ahead of anybody.
    fn pass(&mut self, now_ns: u64, seen: &[Seen]) {
        self.released = true;
        self.holds_back = false;
        for Seen { slot, .. } in seen {
            self.threads[*slot].class = Class::Back;
        }
        self.look(now_ns, seen);
        for Seen { slot, .. } in seen {
            self.threads[*slot].ran_ns = now_ns;
        }
    }

    /// Puts the ready threads of least LVT to the front, at least one for each core and all that are equal to the last of these,
    /// and all others behind them.
    pub(super) fn fill_front_of_yielding(&mut self, seen: &[Seen]) {
        self.order.clear();
        for Seen { slot, .. } in seen {
            let rank = self.threads[*slot].rank(self.worked_ns, self.progress_ns);
            self.order.push((rank, *slot));
        }
        self.order.sort_unstable();
        let last = self.order.get(self.machine.cores - 1).map(|((group, lvt_ns, ..), _)| (*group, *lvt_ns));
        self.holds_back = false;
        for ((group, lvt_ns, ..), slot) in &self.order {
            let leads = last.is_none_or(|last| (*group, *lvt_ns) <= last);
            self.threads[*slot].class = if *group == 0 && leads { Class::Front } else { Class::Reserve };
            self.holds_back |= *group == 0 && !leads;
        }
    }
}
