//! Which federate next: the one furthest behind in simulated time.
//!
//! Every federate has a *home*, the worker that ran it last and has it in its cache. A worker takes the federate with the
//! least LVT of all; among those within `slack` of the least, it prefers one of its own. `slack` is the lookahead: nobody
//! waits for a federate that is within it. A federate taken by another worker moves home with it.
//!
//! Invariant: a federate is in at most one heap, that of its home.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_kernel::Time;

#[derive(Debug)]
pub(crate) struct Ready {
    heaps: Vec<BinaryHeap<Reverse<(Time, u32)>>>,
    homes: Vec<usize>,
    slack: Time,
    len: usize,
}

impl Ready {
    /// Nothing ready; federates are at home with the workers in equal runs.
    pub(crate) fn new(federates: usize, workers: usize, slack: Time) -> Self {
        let homes = (0..federates).map(|federate| federate * workers / federates).collect();
        Self { heaps: vec![BinaryHeap::new(); workers], homes, slack, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// `federate` can run; nothing it will run is before `lvt`.
    pub(crate) fn push(&mut self, federate: u32, lvt: Time) {
        self.heaps[self.homes[federate as usize]].push(Reverse((lvt, federate)));
        self.len += 1;
    }

    /// The federate for `worker` to run.
    pub(crate) fn take(&mut self, worker: usize) -> Option<u32> {
        let top = |heap: &BinaryHeap<Reverse<(Time, u32)>>| heap.peek().map(|Reverse(least)| *least);
        let tops = self.heaps.iter().enumerate().filter_map(|(home, heap)| Some((top(heap)?, home)));
        let ((least, _), mut home) = tops.min()?;
        if top(&self.heaps[worker]).is_some_and(|(lvt, _)| lvt <= least.saturating_add(self.slack)) {
            home = worker;
        }
        let Reverse((_, federate)) = self.heaps[home].pop()?;
        self.homes[federate as usize] = worker;
        self.len -= 1;
        Some(federate)
    }

    /// Nothing is ready any more.
    pub(crate) fn clear(&mut self) {
        self.heaps.iter_mut().for_each(BinaryHeap::clear);
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
