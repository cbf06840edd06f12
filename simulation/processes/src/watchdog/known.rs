//! How processes are called and where they run, for a watchdog: kept apart from the core, which nobody may
//! touch while code runs.
//!
//! Most processes are called like the one before, so names are kept by ranges of numbers; of a process there
//! is no more than its host. Invariants: ranges do not overlap; each has a process that has not ended, but
//! for the last one.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use paceline_network::HostId;

use crate::core::{Name, Numbered, ProcessId};

/// A range of processes of one name.
#[derive(Debug)]
struct Range {
    name: Name,
    /// The last number in it.
    last: u32,
    /// How many of them have not ended.
    living: u32,
}

/// The names and hosts of the processes that have not ended.
#[derive(Debug)]
pub(super) struct Known {
    /// By the first number of each.
    ranges: BTreeMap<u32, Range>,
    /// The number of the host, plus one.
    hosts: Numbered<NonZeroU32>,
}

impl Known {
    /// Nobody yet; numbers begin at `first`.
    pub(super) fn from(first: u32) -> Self {
        Self { ranges: BTreeMap::new(), hosts: Numbered::from(first) }
    }

    pub(super) fn know(&mut self, ProcessId(process): ProcessId, name: &Name, host: HostId) {
        let Some(host) = NonZeroU32::new(host.0.wrapping_add(1)) else { return };
        self.hosts.put(process, host);
        let before = self.ranges.range_mut(..process).next_back().map(|(_, range)| range);
        match before.filter(|range| range.last.wrapping_add(1) == process && range.name == *name) {
            Some(range) => (range.last, range.living) = (process, range.living + 1),
            None => {
                self.ranges.insert(process, Range { name: name.clone(), last: process, living: 1 });
            }
        }
    }

    pub(super) fn forget(&mut self, ProcessId(process): ProcessId) {
        if self.hosts.take(process).is_none() {
            return;
        }
        let Some((first, range)) = self.ranges.range_mut(..=process).next_back() else { return };
        range.living -= 1;
        if range.living == 0 {
            let first = *first;
            self.ranges.remove(&first);
        }
    }

    pub(super) fn get(&self, ProcessId(process): ProcessId) -> Option<(Name, HostId)> {
        let host = self.hosts.get(process)?;
        let (_, range) = self.ranges.range(..=process).next_back()?;
        Some((range.name.clone(), HostId(host.get() - 1)))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn names_are_kept_by_ranges_and_nothing_of_who_has_ended() {
        let mut known = Known::from(7);
        let names: Vec<Name> = ["guest", "guest", "cook"].map(Name::from).to_vec();
        // Two may come in another order than that of their numbers.
        let order = (7..1000).map(|number| if number / 2 == 50 { number ^ 1 } else { number });
        for number in order {
            let name = &names[if number < 900 { number as usize % 2 } else { 2 }];
            known.know(ProcessId(number), name, HostId(number * 2));
        }
        assert!(known.ranges.len() <= 4, "{:?}", known.ranges);
        for number in 7..1000 {
            let (name, host) = known.get(ProcessId(number)).unwrap();
            assert_eq!((&*name, host), (if number < 900 { "guest" } else { "cook" }, HostId(number * 2)));
        }
        for number in (7..1000).filter(|number| number % 100 != 0) {
            known.forget(ProcessId(number));
            known.forget(ProcessId(number));
            assert_eq!(known.get(ProcessId(number)), None);
        }
        assert_eq!(known.get(ProcessId(300)).unwrap().1, HostId(600));
        (7..1000).for_each(|number| known.forget(ProcessId(number)));
        assert!(known.ranges.is_empty());
    }
}
