//! Which communication flows as which transfer.
//!
//! Transfers are numbered in the order of their starts, and most end soon: so the latest stand in a window by
//! number, and the few that outlast many others in a map. Invariant: the window is at most some times as long
//! as there are transfers.

use std::collections::{BTreeMap, VecDeque};

use paceline_network::TransferId;

/// No communication has this number.
const NONE: u32 = u32::MAX;
/// The window may be this long, or so many times as long as there are transfers.
const LENGTH: usize = 1024;
const TIMES: usize = 8;

/// The communication of each transfer that has not ended, by the number of the transfer.
#[derive(Clone, Debug, Default)]
pub(super) struct Flowing {
    /// The number of the first in the window.
    first: u32,
    window: VecDeque<u32>,
    older: BTreeMap<u32, u32>,
    count: usize,
}

impl Flowing {
    /// `comm` flows as `transfer`, which was started after all others.
    pub(super) fn insert(&mut self, transfer: TransferId, comm: u32) {
        if self.window.is_empty() {
            self.first = transfer.0;
        }
        self.window.resize((transfer.0 - self.first) as usize, NONE);
        self.window.push_back(comm);
        self.count += 1;
        while self.window.len() > LENGTH && self.window.len() > TIMES * self.count {
            if let Some(comm) = self.window.pop_front().filter(|comm| *comm != NONE) {
                self.older.insert(self.first, comm);
            }
            self.first += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn get(&self, transfer: TransferId) -> Option<u32> {
        let recent = transfer.0.checked_sub(self.first).and_then(|place| self.window.get(place as usize));
        recent.copied().filter(|comm| *comm != NONE).or_else(|| self.older.get(&transfer.0).copied())
    }

    pub(super) fn remove(&mut self, transfer: TransferId) {
        if let Some(place) = transfer.0.checked_sub(self.first)
            && let Some(comm) = self.window.get_mut(place as usize).filter(|comm| **comm != NONE)
        {
            *comm = NONE;
            self.count -= 1;
        } else if self.older.remove(&transfer.0).is_some() {
            self.count -= 1;
        }
        while self.window.front() == Some(&NONE) {
            self.window.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod test {
    use paceline_kernel::Rng;

    use super::*;

    #[test]
    fn it_is_a_map_however_long_some_flow() {
        let (mut rng, mut flowing, mut expected) = (Rng::new(1, 1), Flowing::default(), BTreeMap::new());
        let (mut number, mut short) = (0, Vec::new());
        for step in 0..200_000u32 {
            // Numbers may be left out: transfers that failed at once.
            number += 1 + u32::from(rng.chance(0.1));
            flowing.insert(TransferId(number), step);
            expected.insert(number, step);
            // One in a hundred flows for ever.
            short.extend((step % 100 > 0).then_some(number));
            if short.len() > 20 {
                let ends = short.swap_remove(rng.below(20) as usize);
                assert_eq!(flowing.get(TransferId(ends)), expected.remove(&ends));
                flowing.remove(TransferId(ends));
                flowing.remove(TransferId(ends));
                assert_eq!(flowing.get(TransferId(ends)), None);
            }
            let most = LENGTH.max(TIMES * (flowing.count + 1));
            assert!(flowing.count == expected.len() && flowing.window.len() <= most);
        }
        assert!(!flowing.older.is_empty(), "some have outlasted the window");
        for (number, comm) in &expected {
            assert_eq!(flowing.get(TransferId(*number)), Some(*comm));
        }
    }
}
