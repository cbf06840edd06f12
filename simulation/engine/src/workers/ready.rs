//! Which federate next: the one furthest behind in simulated time.
//!
//! Every federate has a *home*, the worker that ran it last and has it in its cache. A worker takes the
//! federate with the least LVT of all; among those within `slack` of the least, it prefers one of its own.
//! `slack` is the lookahead: no federate waits for one that is within it. A federate taken by another worker
//! moves home with it.
//!
//! Invariant: a federate is at most once in here, with its home. The board sees to that, which knows what is
//! ready; here a second entry with another LVT would not be noticed.

use std::collections::BTreeSet;

use paceline_kernel::Time;

#[derive(Debug)]
pub(crate) struct Ready {
    /// By home: the federates that are ready, the least LVT first.
    lists: Vec<BTreeSet<(Time, u32)>>,
    homes: Vec<usize>,
    slack: Time,
    len: usize,
}

impl Ready {
    /// Nothing ready; federates are at home with the workers in equal runs: no cache has any yet.
    pub(crate) fn new(federates: usize, workers: usize, slack: Time) -> Self {
        let homes = (0..federates).map(|federate| federate * workers / federates).collect();
        Self { lists: vec![BTreeSet::new(); workers], homes, slack, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// `federate` can run; nothing it will run is before `lvt`.
    pub(crate) fn push(&mut self, federate: u32, lvt: Time) {
        self.len += usize::from(self.lists[self.homes[federate as usize]].insert((lvt, federate)));
    }

    /// `federate`, which is ready, has gone back from `lvt` to `lower`.
    pub(crate) fn lower(&mut self, federate: u32, lvt: Time, lower: Time) {
        let list = &mut self.lists[self.homes[federate as usize]];
        list.remove(&(lvt, federate));
        list.insert((lower, federate));
    }

    /// The federate for `worker` to run.
    pub(crate) fn take(&mut self, worker: usize) -> Option<u32> {
        let tops = self.lists.iter().enumerate().filter_map(|(home, list)| Some((*list.first()?, home)));
        let ((least, _), mut home) = tops.min()?;
        let limit = least.saturating_add(self.slack);
        // Nobody waits for a federate within the slack, so the cache decides which of them runs.
        if self.lists[worker].first().is_some_and(|(lvt, _)| *lvt <= limit) {
            home = worker;
        }
        let (_, federate) = self.lists[home].pop_first()?;
        self.homes[federate as usize] = worker;
        self.len -= 1;
        Some(federate)
    }

    /// The `nth` federate, whatever its LVT, for `worker` to run.
    pub(crate) fn take_any(&mut self, worker: usize, nth: usize) -> Option<u32> {
        let mut nth = nth;
        for list in &mut self.lists {
            if let Some(entry) = list.iter().nth(nth).copied() {
                list.remove(&entry);
                self.homes[entry.1 as usize] = worker;
                self.len -= 1;
                return Some(entry.1);
            }
            nth -= list.len();
        }
        None
    }

    /// Nothing is ready any more.
    pub(crate) fn clear(&mut self) {
        self.lists.iter_mut().for_each(BTreeSet::clear);
        self.len = 0;
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_furthest_behind_is_taken_first_and_one_of_ones_own_among_equals() {
        let mut ready = Ready::new(4, 2, Time::secs(1));
        // Federates 0 and 1 are at home with worker 0, 2 and 3 with worker 1.
        for (federate, lvt_s) in [(0, 20), (1, 9), (2, 9), (3, 5)] {
            ready.push(federate, Time::secs(lvt_s));
        }
        assert_eq!(ready.take(0), Some(3), "federate 3 is more than the slack behind");
        assert_eq!(ready.take(0), Some(1), "1 and 2 are equal; 1 is at home here");
        ready.push(3, Time::secs(10));
        assert_eq!(ready.take(0), Some(3), "3 moved home when it was taken, and is within the slack of 2");
        assert_eq!((ready.take(1), ready.take(1), ready.take(1)), (Some(2), Some(0), None));
    }
}
