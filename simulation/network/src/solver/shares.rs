//! The links and flows of a solver, stored in arrays, and the changes made to them between solutions.
//!
//! A flow is in a **slot**, which the caller chooses and may later reuse for another flow. Invariants: a link
//! lists its flows in the order of their numbers, whatever their slots, because sums are rounded in that
//! order; every link that has changed since the last solution is in `changed` once; stops before
//! [`Shares::restart`] remain valid.

use std::collections::BinaryHeap;

use smallvec::SmallVec;

use super::stop::{Key, NEVER, START, Wide, flow_key};
use crate::platform::Sharing;

/// A flow on a link.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub number: u32,
    pub slot: u32,
    pub weight: f64,
    /// How much of the link it uses at level 1: its weight divided by its penalty.
    pub share: f64,
}

/// A link, in two cache lines. Most links have few flows at a time, and then the next link looked at is a
/// random one.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Link {
    pub capacity: f64,
    /// In seconds; not used for sharing, but code that starts a flow needs both.
    pub latency: f64,
    pub sharing: Sharing,
    pub(super) changed: bool,
    /// The number of the last solution that examined it.
    pub(super) seen: u64,
    pub(super) users: SmallVec<[User; 2]>,
    /// The levels, ascending, at which it would have stopped its flows, each as known when it was computed.
    pub(super) levels: SmallVec<[f64; 2]>,
    /// The stop at which it has stopped its flows.
    pub(super) stop: Key,
}

/// The part of a flow that links look up.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// The stop at which it was stopped.
    pub stop: Key,
    pub rate: f64,
    pub penalty: f64,
}

/// The rest of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    pub number: u32,
    pub bound: f64,
    pub links: Vec<(u32, f64)>,
    /// The number of the last solution that examined it.
    pub seen: u64,
}

/// The working memory of solutions, kept for reuse.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// Links to examine, links examined, and flows examined.
    pub(super) open: Vec<u32>,
    pub(super) links: Vec<u32>,
    pub(super) flows: Vec<u32>,
    pub(super) stops: BinaryHeap<Wide>,
}

/// Links with capacities, and flows in slots that share them.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    pub(super) links: Vec<Link>,
    /// The flows, by the slot that the caller gave each.
    pub(super) flows: Vec<Flow>,
    pub(super) terms: Vec<Terms>,
    /// Links that have changed since the last solution, and new flows without links.
    pub(super) changed: Vec<u32>,
    pub(super) alone: Vec<u32>,
    /// No change of a flow since the last solution affects flows that stopped before this.
    pub(super) restart: Key,
    pub(super) solutions: u64,
    pub(super) work: Work,
}

impl Default for Shares {
    fn default() -> Self {
        Self {
            links: Vec::new(),
            flows: Vec::new(),
            terms: Vec::new(),
            changed: Vec::new(),
            alone: Vec::new(),
            restart: NEVER,
            solutions: 0,
            work: Work::default(),
        }
    }
}

impl Shares {
    /// Adds a link with a capacity above 0, and returns its number: the first is 0.
    pub(crate) fn add_link(&mut self, capacity: f64, latency: f64, sharing: Sharing) -> usize {
        assert!(capacity.is_finite() && capacity > 0.0, "a capacity is finite and positive: {capacity}");
        let (users, levels) = (SmallVec::new(), SmallVec::new());
        self.links.push(Link {
            capacity,
            latency,
            sharing,
            changed: false,
            seen: 0,
            users,
            levels,
            stop: NEVER,
        });
        self.links.len() - 1
    }

    pub(crate) fn set_capacity(&mut self, link: usize, capacity: f64) {
        assert!(capacity.is_finite() && capacity > 0.0, "a capacity is finite and positive: {capacity}");
        self.links[link].capacity = capacity;
        self.note(link as u32);
        self.restart = START;
    }

    pub(crate) fn set_latency(&mut self, link: usize, latency: f64) {
        self.links[link].latency = latency;
    }

    pub(crate) fn links(&self) -> &[Link] {
        &self.links
    }

    fn note(&mut self, link: u32) {
        if !std::mem::replace(&mut self.links[link as usize].changed, true) {
            self.changed.push(link);
        }
    }

    /// Adds a flow in a free slot under an unused number, with its penalty and bound (above 0, the bound may
    /// be infinite) and the links it uses, each once, with their weights above 0.
    pub(crate) fn insert(&mut self, slot: u32, number: u32, penalty: f64, bound: f64, links: &[(u32, f64)]) {
        check(penalty, bound);
        let place = slot as usize;
        if self.flows.len() <= place {
            self.flows.resize(place + 1, Flow { stop: NEVER, rate: 0.0, penalty: 1.0 });
            self.terms.resize(place + 1, Terms::default());
        }
        self.flows[place] = Flow { stop: NEVER, rate: 0.0, penalty };
        let terms = &mut self.terms[place];
        (terms.number, terms.bound, terms.seen) = (number, bound, 0);
        terms.links.clear();
        terms.links.extend_from_slice(links);
        for &(link, weight) in links {
            assert!(weight > 0.0, "a weight is positive: {weight}");
            let users = &mut self.links[link as usize].users;
            // Most new flows have the highest number.
            let later = users.iter().rev().take_while(|user| user.number > number).count();
            let at = users.len() - later;
            assert!(at == 0 || users[at - 1].number < number, "a flow is on a link once");
            users.insert(at, User { number, slot, weight, share: weight / penalty });
            self.note(link);
        }
        if links.is_empty() {
            self.alone.push(slot);
        }
        self.restart = self.restart.min(flow_key(bound * penalty, slot));
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        let Terms { number, ref mut links, .. } = self.terms[slot as usize];
        let links = std::mem::take(links);
        for &(link, _) in &links {
            let users = &mut self.links[link as usize].users;
            let at = users.binary_search_by_key(&number, |user| user.number).expect("links know their flows");
            users.remove(at);
            self.note(link);
        }
        if links.is_empty() {
            self.alone.retain(|alone| *alone != slot);
        }
        // The slot keeps the memory for its next flow.
        self.terms[slot as usize].links = links;
    }

    pub(crate) fn set_flow(&mut self, slot: u32, penalty: f64, bound: f64) {
        check(penalty, bound);
        self.flows[slot as usize].penalty = penalty;
        let terms = &mut self.terms[slot as usize];
        terms.bound = bound;
        let (number, links) = (terms.number, std::mem::take(&mut terms.links));
        for &(link, weight) in &links {
            let users = &mut self.links[link as usize].users;
            let at = users.binary_search_by_key(&number, |user| user.number).expect("links know their flows");
            users[at].share = weight / penalty;
            self.note(link);
        }
        if links.is_empty() && !self.alone.contains(&slot) {
            self.alone.push(slot);
        }
        self.terms[slot as usize].links = links;
        self.restart = START;
    }

    /// The rate of the flow in a slot, in the last solution.
    pub(crate) fn rate(&self, slot: u32) -> f64 {
        self.flows[slot as usize].rate
    }
}

fn check(penalty: f64, bound: f64) {
    assert!(penalty.is_finite() && penalty > 0.0, "a penalty is finite and positive: {penalty}");
    assert!(bound > 0.0, "a bound is positive: {bound}");
}
