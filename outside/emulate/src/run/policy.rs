//! Which of the machines that wait for time is granted it next.
//!
//! Invariants: a machine waits in the queue once; under each policy every machine gets its turn, since
//! whoever is picked goes to the end of the order or ahead in virtual time. No policy changes what machines
//! do.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

/// Which machine is granted time first where more wait than may run at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrantPolicy {
    /// The one furthest behind in virtual time: all others wait for it sooner or later. Of several that are
    /// equally far behind, as at a window's end, the one whose grants took longest in real time: a long one
    /// that comes last runs alone while other cores have nothing to do.
    #[default]
    FurthestBehind,
    /// The next in number after the one that was granted time last.
    RoundRobin,
    /// The one that has waited longest.
    Arrival,
}

impl GrantPolicy {
    /// All of them, each with its name in settings and tables.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::FurthestBehind, "furthest-behind"),
        (Self::RoundRobin, "round-robin"),
        (Self::Arrival, "arrival"),
    ];
}

/// The machines that wait for time, by their numbers.
pub(super) struct Queue {
    policy: GrantPolicy,
    /// In the order in which they came.
    waiting: VecDeque<usize>,
    /// The number after the one that was picked last.
    next: usize,
}

impl Queue {
    pub(super) fn new(policy: GrantPolicy) -> Self {
        Self { policy, waiting: VecDeque::new(), next: 0 }
    }

    /// The machine waits, unless it does so already.
    pub(super) fn join(&mut self, number: usize) {
        if !self.waiting.contains(&number) {
            self.waiting.push_back(number);
        }
    }

    /// Takes out the machine that is granted time next; `standing` says of each how far it is, and how long
    /// its grants take in real time.
    pub(super) fn pick(&mut self, standing: impl Fn(usize) -> (u64, Duration)) -> Option<usize> {
        let waiting = self.waiting.iter().copied().enumerate();
        let (place, number) = match self.policy {
            GrantPolicy::FurthestBehind => waiting.min_by_key(|(_, number)| {
                let (earliest_ns, work) = standing(*number);
                (earliest_ns, Reverse(work), *number)
            }),
            // Those before the next one come after all others.
            GrantPolicy::RoundRobin => waiting.min_by_key(|(_, number)| (*number < self.next, *number)),
            GrantPolicy::Arrival => waiting.into_iter().next(),
        }?;
        self.waiting.remove(place);
        self.next = number + 1;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_has_its_order() {
        let standing =
            [(30, 9), (10, 1), (20, 9), (10, 2), (10, 1)].map(|(ns, ms)| (ns, Duration::from_millis(ms)));
        for (policy, expected) in [
            // Of three that are equally far behind, the one of long grants, then the others by number.
            (GrantPolicy::FurthestBehind, [3, 1, 4, 2, 0]),
            (GrantPolicy::RoundRobin, [0, 1, 2, 3, 4]),
            (GrantPolicy::Arrival, [2, 0, 3, 4, 1]),
        ] {
            let mut queue = Queue::new(policy);
            [2, 0, 2, 3, 4, 1, 0].into_iter().for_each(|number| queue.join(number));
            let picked: Vec<usize> = std::iter::from_fn(|| queue.pick(|number| standing[number])).collect();
            assert_eq!(picked, expected, "{policy:?}");
        }
    }

    #[test]
    fn round_robin_goes_on_where_it_was() {
        let mut queue = Queue::new(GrantPolicy::RoundRobin);
        let mut picked = Vec::new();
        for coming in [[0, 1, 2], [0, 1, 2], [0, 1, 2]] {
            coming.into_iter().for_each(|number| queue.join(number));
            picked.extend(queue.pick(|_| (0, Duration::ZERO)));
        }
        assert_eq!(picked, [0, 1, 2]);
    }
}
