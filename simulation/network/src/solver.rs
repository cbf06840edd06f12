//! Max-min sharing of links among flows, with incremental solutions: only what a change may affect is solved
//! again.
//!
//! Every flow has a penalty. Its rate is its **level** divided by its penalty, and the levels of all flows
//! rise together until something stops them. A flow stops at its own bound. A shared link stops all its flows
//! when the weighted sum of their rates reaches its capacity; a fat pipe does when the largest weighted rate
//! reaches it. Stopped flows keep their level while the other levels rise on. This is the sharing of
//! SimGrid's network models, in which a fat pipe also stops all of its flows.
//!
//! [`Solver`] identifies flows by numbers that the caller chooses; [`Shares`] does the work and identifies
//! them by slots. Invariants: after a solution no link carries more than its capacity and no flow more than
//! its bound; every flow is at its bound, or on a full link on which no flow has a higher level; and rates do
//! not depend on the order of changes.

mod shares;
mod solution;
mod stop;

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
    /// The slots of flows by their numbers, the numbers by slot, and the free slots.
    slots: BTreeMap<usize, u32>,
    numbers: Vec<usize>,
    free: Vec<u32>,
}

impl Solver {
    /// Adds a link with a capacity above 0, and returns its number: the first is 0.
    pub fn add_link(&mut self, capacity: f64, sharing: Sharing) -> usize {
        self.shares.add_link(capacity, 0.0, sharing)
    }

    /// Changes a link's capacity.
    pub fn set_capacity(&mut self, link: usize, capacity: f64) {
        self.shares.set_capacity(link, capacity);
    }

    /// Adds a flow under an unused number below 2^32, with its penalty and bound (above 0, the bound may be
    /// infinite) and the links it uses, each once, with their weights above 0.
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

    /// Removes a flow, if it exists.
    pub fn remove(&mut self, flow: usize) {
        let Some(slot) = self.slots.remove(&flow) else { return };
        self.shares.remove(slot);
        self.free.push(slot);
    }

    /// Changes a flow's penalty and bound, if it exists.
    pub fn set_flow(&mut self, flow: usize, penalty: f64, bound: f64) {
        let Some(slot) = self.slots.get(&flow) else { return };
        self.shares.set_flow(*slot, penalty, bound);
    }

    /// The rate of a flow in the last solution; 0 if it does not exist.
    pub fn rate(&self, flow: usize) -> f64 {
        self.slots.get(&flow).map_or(0.0, |slot| self.shares.rate(*slot))
    }

    /// Updates the rates after changes, and returns the flows that were examined, in order. The rates of all
    /// other flows are unchanged.
    pub fn solve(&mut self) -> Vec<usize> {
        self.shares.solve();
        let mut flows: Vec<usize> =
            self.shares.solved().iter().map(|slot| self.numbers[*slot as usize]).collect();
        flows.sort_unstable();
        flows
    }
}
