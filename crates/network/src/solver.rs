//! Max-min sharing of links among flows, solved again only where something changed.
//!
//! Every flow has a penalty. Its rate is its **level** divided by its penalty, and the levels of all flows rise together
//! until something stops them: a flow stops at its own bound; on a shared link all flows stop when the weighted sum of
//! their rates is the link's capacity, on a fat pipe when the largest weighted rate is. What stops first stops at that
//! level, the rest goes on. This is the sharing of SimGrid's network models, whose fat pipes stop all of their flows too.
//!
//! [`Solver::solve`] looks at the flows that a changed link connects, directly or over other links and flows, and at no
//! others. Invariants: after it, no link carries more than its capacity and no flow more than its bound; every flow is at
//! its bound, or on a full link on which no flow has a higher level; and rates do not depend on the order of changes.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::platform::Sharing;

#[derive(Clone, Debug)]
struct Link {
    capacity: f64,
    sharing: Sharing,
    /// The flows over it with their weights.
    flows: BTreeMap<usize, f64>,
    /// The number of the solution that has last looked at it.
    seen: u64,
}

#[derive(Clone, Debug)]
struct Flow {
    penalty: f64,
    bound: f64,
    links: Vec<(usize, f64)>,
    rate: f64,
    /// The number of the solution that has last looked at it, and of that in which it has stopped.
    seen: u64,
    stopped: u64,
}

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
    links: Vec<Link>,
    flows: BTreeMap<usize, Flow>,
    /// Links with a change since the last solution, and flows that are on no link.
    changed: BTreeSet<usize>,
    alone: BTreeSet<usize>,
    solutions: u64,
}

/// What stops flows next: the level, and which link or flow; levels first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stop {
    level: f64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Flow(usize),
    Link(usize),
}

impl Eq for Stop {}

impl Ord for Stop {
    fn cmp(&self, other: &Self) -> Ordering {
        self.level.total_cmp(&other.level).then(self.what.cmp(&other.what))
    }
}

impl PartialOrd for Stop {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Solver {
    /// Adds a link with a capacity above 0, and says its number: the first is 0.
    pub fn add_link(&mut self, capacity: f64, sharing: Sharing) -> usize {
        assert!(capacity.is_finite() && capacity > 0.0, "a capacity is finite and positive: {capacity}");
        self.links.push(Link { capacity, sharing, flows: BTreeMap::new(), seen: 0 });
        self.links.len() - 1
    }

    /// Changes a link's capacity.
    pub fn set_capacity(&mut self, link: usize, capacity: f64) {
        assert!(capacity.is_finite() && capacity > 0.0, "a capacity is finite and positive: {capacity}");
        self.links[link].capacity = capacity;
        self.changed.insert(link);
    }

    /// Adds a flow under a number that none has, with its penalty and bound (above 0, the bound may be infinite) and the
    /// links it is on, each once, with their weights above 0.
    pub fn insert(&mut self, flow: usize, penalty: f64, bound: f64, links: &[(usize, f64)]) {
        assert!(penalty.is_finite() && penalty > 0.0, "a penalty is finite and positive: {penalty}");
        assert!(bound > 0.0, "a bound is positive: {bound}");
        for (link, weight) in links {
            assert!(*weight > 0.0, "a weight is positive: {weight}");
            let before = self.links[*link].flows.insert(flow, *weight);
            assert!(before.is_none(), "a flow is on a link once");
            self.changed.insert(*link);
        }
        if links.is_empty() {
            self.alone.insert(flow);
        }
        let new = Flow { penalty, bound, links: links.to_vec(), rate: 0.0, seen: 0, stopped: 0 };
        assert!(self.flows.insert(flow, new).is_none(), "a flow's number is its own");
    }

    /// Takes a flow out, if it is there.
    pub fn remove(&mut self, flow: usize) {
        let Some(gone) = self.flows.remove(&flow) else { return };
        self.alone.remove(&flow);
        for (link, _) in gone.links {
            self.links[link].flows.remove(&flow);
            self.changed.insert(link);
        }
    }

    /// Changes a flow's penalty and bound.
    pub fn set_flow(&mut self, flow: usize, penalty: f64, bound: f64) {
        assert!(penalty.is_finite() && penalty > 0.0, "a penalty is finite and positive: {penalty}");
        assert!(bound > 0.0, "a bound is positive: {bound}");
        let Some(known) = self.flows.get_mut(&flow) else { return };
        (known.penalty, known.bound) = (penalty, bound);
        self.changed.extend(known.links.iter().map(|(link, _)| *link));
        if known.links.is_empty() {
            self.alone.insert(flow);
        }
    }

    /// The rate of a flow in the last solution; 0 for a flow that is not there.
    pub fn rate(&self, flow: usize) -> f64 {
        self.flows.get(&flow).map_or(0.0, |flow| flow.rate)
    }

    /// Finds rates where something has changed since the last time, and says which flows it looked at, in order.
    pub fn solve(&mut self) -> Vec<usize> {
        self.solutions += 1;
        let (links, mut flows) = self.connected();
        let mut stops: BinaryHeap<Reverse<Stop>> = BinaryHeap::new();
        for flow in std::mem::take(&mut self.alone) {
            if let Some(known) = self.flows.get_mut(&flow) {
                known.rate = known.bound;
                flows.push(flow);
            }
        }
        for &link in &links {
            stops.extend(self.level(link).map(|level| Reverse(Stop { level, what: What::Link(link) })));
        }
        for &flow in &flows {
            let Flow { penalty, bound, links, .. } = &self.flows[&flow];
            if !links.is_empty() && bound.is_finite() {
                stops.push(Reverse(Stop { level: bound * penalty, what: What::Flow(flow) }));
            }
        }
        self.stop_all(stops);
        flows.sort_unstable();
        flows
    }

    /// The links and flows that the changed links connect.
    fn connected(&mut self) -> (Vec<usize>, Vec<usize>) {
        let mut open: Vec<usize> = std::mem::take(&mut self.changed).into_iter().collect();
        let (mut links, mut flows) = (Vec::new(), Vec::new());
        while let Some(number) = open.pop() {
            let link = &mut self.links[number];
            if link.seen == self.solutions {
                continue;
            }
            link.seen = self.solutions;
            links.push(number);
            for number in self.links[number].flows.keys() {
                let flow = self.flows.get_mut(number).expect("links know flows that are there");
                if flow.seen != self.solutions {
                    flow.seen = self.solutions;
                    flows.push(*number);
                    open.extend(flow.links.iter().map(|(link, _)| *link));
                }
            }
        }
        (links, flows)
    }

    /// The level at which a link stops its flows that still go on, as far as is known now; `None` where none goes on.
    fn level(&self, link: usize) -> Option<f64> {
        let Link { capacity, sharing, flows, .. } = &self.links[link];
        let flows = flows.iter().map(|(number, weight)| (&self.flows[number], weight));
        match sharing {
            Sharing::Shared => {
                let (mut left, mut usage) = (*capacity, 0.0);
                for (flow, weight) in flows {
                    match flow.stopped == self.solutions {
                        true => left -= weight * flow.rate,
                        false => usage += weight / flow.penalty,
                    }
                }
                (usage > 0.0).then(|| left / usage)
            }
            // Not by way of rates: a flow whose bound is the capacity has this very level as its own, and comes first.
            Sharing::FatPipe => {
                let open = flows.filter(|(flow, _)| flow.stopped != self.solutions);
                open.map(|(flow, weight)| capacity * flow.penalty / weight).min_by(f64::total_cmp)
            }
        }
    }

    /// Stops all flows of the links and flows in `stops`, in the order of their levels.
    ///
    /// A stop of a link may be out of date. It is then too low, for flows that stop below a link's level leave more to the
    /// others than they had; so a level is looked at again when it is the lowest.
    fn stop_all(&mut self, mut stops: BinaryHeap<Reverse<Stop>>) {
        let mut reached: f64 = 0.0;
        while let Some(Reverse(Stop { level, what })) = stops.pop() {
            match what {
                What::Flow(number) => {
                    let flow = self.flows.get_mut(&number).expect("flows stay while they are solved");
                    if flow.stopped != self.solutions {
                        (flow.rate, flow.stopped) = (flow.bound, self.solutions);
                        reached = level;
                    }
                }
                What::Link(number) => {
                    let Some(now) = self.level(number) else { continue };
                    let stop = Stop { level: now, what };
                    if now > level && stops.peek().is_some_and(|Reverse(next)| *next < stop) {
                        stops.push(Reverse(stop));
                        continue;
                    }
                    // Rounding may find a level just below the one that was reached.
                    reached = now.max(level).max(reached);
                    for number in self.links[number].flows.keys() {
                        let flow = self.flows.get_mut(number).expect("links know flows that are there");
                        if flow.stopped != self.solutions {
                            (flow.rate, flow.stopped) = (reached / flow.penalty, self.solutions);
                        }
                    }
                }
            }
        }
    }
}
