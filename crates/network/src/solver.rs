//! Max-min sharing of links among flows, solved again only where something changed.
//!
//! Every flow has a penalty. Its rate is its **level** divided by its penalty, and the levels of all flows rise together
//! until something stops them: a flow stops at its own bound; on a shared link all flows stop when the weighted sum of
//! their rates is the link's capacity, on a fat pipe when the largest weighted rate is. What stops first stops at that
//! level, the rest goes on. This is the sharing of SimGrid's network models, whose fat pipes stop all of their flows too.
//!
//! [`Solver`] knows flows by numbers that the caller chooses; the work is done in [`Shares`], which knows them by slots.
//! Invariants: after a solution no link carries more than its capacity and no flow more than its bound; every flow is at
//! its bound, or on a full link on which no flow has a higher level; and rates do not depend on the order of changes.

mod shares;
mod solution;

use std::collections::BTreeMap;

use crate::platform::Sharing;

pub(crate) use shares::Shares;

/// Links with capacities, and flows that share them.
///
/// ```
/// use paceline_network::{Sharing, Solver};
///
/// let mut solver = Solver::default();
/// let wire = solver.add_link(10.0, Sharing::Shared);
/// solver.insert(0, 1.0, f64::INFINITY, &[(wire, 1.0)]);
/// solver.insert(1, 1.0, 2.0, &[(wire, 1.0)]);
/// assert_eq!(solver.solve(), [0, 1]);
/// assert_eq!((solver.rate(0), solver.rate(1)), (8.0, 2.0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Solver {
    shares: Shares,
    /// The slots of flows by their numbers, the reverse, and slots without a flow.
    slots: BTreeMap<usize, u32>,
    numbers: Vec<usize>,
    free: Vec<u32>,
}

impl Solver {
    /// Adds a link with a capacity above 0, and says its number: the first is 0.
    pub fn add_link(&mut self, capacity: f64, sharing: Sharing) -> usize {
        self.shares.add_link(capacity, 0.0, sharing)
    }

    /// Changes a link's capacity.
    pub fn set_capacity(&mut self, link: usize, capacity: f64) {
        self.shares.set_capacity(link, capacity);
    }

    /// Adds a flow under a number below 2^32 that none has, with its penalty and bound (above 0, the bound may be infinite)
    /// and the links it is on, each once, with their weights above 0.
    pub fn insert(&mut self, flow: usize, penalty: f64, bound: f64, links: &[(usize, f64)]) {
        let number = u32::try_from(flow).expect("a flow's number is below 2^32");
        let slot = self.free.pop().unwrap_or_else(|| {
            self.numbers.push(flow);
            self.numbers.len() as u32 - 1
        });
        self.numbers[slot as usize] = flow;
        assert!(self.slots.insert(flow, slot).is_none(), "a flow's number is its own");
        let links: Vec<(u32, f64)> = links.iter().map(|(link, weight)| (*link as u32, *weight)).collect();
        self.shares.insert(slot, number, penalty, bound, &links);
    }

    /// Takes a flow out, if it is there.
    pub fn remove(&mut self, flow: usize) {
        let Some(slot) = self.slots.remove(&flow) else { return };
        self.shares.remove(slot);
        self.free.push(slot);
    }

    /// Changes a flow's penalty and bound, if it is there.
    pub fn set_flow(&mut self, flow: usize, penalty: f64, bound: f64) {
        let Some(slot) = self.slots.get(&flow) else { return };
        self.shares.set_flow(*slot, penalty, bound);
    }

    /// The rate of a flow in the last solution; 0 for a flow that is not there.
    pub fn rate(&self, flow: usize) -> f64 {
        self.slots.get(&flow).map_or(0.0, |slot| self.shares.rate(*slot))
    }

    /// Finds rates where something has changed since the last time, and says which flows it looked at, in order. The rates
    /// of all others are what they were.
    pub fn solve(&mut self) -> Vec<usize> {
        self.shares.solve();
        let mut flows: Vec<usize> =
            self.shares.solved().iter().map(|slot| self.numbers[*slot as usize]).collect();
        flows.sort_unstable();
        flows
    }
}
