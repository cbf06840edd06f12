//! Where customers of a class go from a station: probabilities, which leave the rest to those who leave.
//!
//! Invariant: the probabilities from a station sum up to at most 1, and to 1 for a closed class, whose
//! customers never leave.

use paceline_kernel::Rng;

/// A sum of probabilities may be off by this much.
pub(super) const ROUNDING: f64 = 1e-9;

/// A kind of station, and the probability to go there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Route {
    pub to: usize,
    pub probability: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Routes {
    /// By class and kind of station.
    all: Vec<Vec<Vec<Route>>>,
    /// By class: its customers never leave.
    is_closed: Vec<bool>,
}

impl Routes {
    pub fn new(is_closed: Vec<bool>, kinds: usize) -> Self {
        Self { all: vec![vec![Vec::new(); kinds]; is_closed.len()], is_closed }
    }

    /// Adds a route; one between the same two kinds adds up with it.
    pub fn add(&mut self, class: usize, from: usize, route: Route) {
        self.all[class][from].push(route);
    }

    pub fn of(&self, class: usize, from: usize) -> &[Route] {
        &self.all[class][from]
    }

    pub fn sum(&self, class: usize, from: usize) -> f64 {
        self.of(class, from).iter().map(|route| route.probability).sum()
    }

    /// The kind of station that a customer goes to; nothing where it leaves.
    pub fn draw(&self, class: usize, from: usize, rng: &mut Rng) -> Option<usize> {
        let routes = self.of(class, from);
        // Whoever has one way only needs no draw.
        if let [only] = routes
            && only.probability >= 1.0 - ROUNDING
        {
            return Some(only.to);
        }
        let last = routes.last()?;
        let mut left = rng.unit();
        for route in routes {
            if left < route.probability {
                return Some(route.to);
            }
            left -= route.probability;
        }
        // What rounding leaves belongs to the last one.
        let never_leaves = self.is_closed[class] || self.sum(class, from) >= 1.0 - ROUNDING;
        never_leaves.then_some(last.to)
    }

    /// Whether any class goes on from this kind of station.
    pub fn lead_on_from(&self, from: usize) -> bool {
        self.next_of(from).next().is_some()
    }

    /// The kinds that any class goes to from this one, each once.
    pub fn next_of(&self, from: usize) -> impl Iterator<Item = usize> {
        let ways = self.all.iter().flat_map(|class| &class[from]).filter(|route| route.probability > 0.0);
        let mut next: Vec<_> = ways.map(|route| route.to).collect();
        next.sort_unstable();
        next.dedup();
        next.into_iter()
    }

    /// The kinds that customers of a class reach from `start`, which is one of them.
    pub fn reached(&self, class: usize, start: usize) -> Vec<usize> {
        let (mut found, mut place) = (vec![start], 0);
        while let Some(from) = found.get(place).copied() {
            for way in self.of(class, from).iter().filter(|way| way.probability > 0.0) {
                if !found.contains(&way.to) {
                    found.push(way.to);
                }
            }
            place += 1;
        }
        found
    }

    /// For each kind, whether customers of a class come from it to an end, or it is one.
    pub fn lead_to(&self, class: usize, is_end: impl Fn(usize) -> bool) -> Vec<bool> {
        let kinds = self.all[class].len();
        let mut leads: Vec<bool> = (0..kinds).map(is_end).collect();
        // Each pass adds a kind, or is the last.
        for _ in 0..kinds {
            let more =
                |from: usize| self.of(class, from).iter().any(|way| way.probability > 0.0 && leads[way.to]);
            let added: Vec<usize> = (0..kinds).filter(|from| !leads[*from] && more(*from)).collect();
            if added.is_empty() {
                break;
            }
            added.into_iter().for_each(|from| leads[from] = true);
        }
        leads
    }
}
