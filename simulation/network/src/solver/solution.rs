//! The algorithm for rates: handles what stops flows in the order of levels, starting from the first stop
//! that a change may affect.
//!
//! A link finds the level at which it stops its flows in several steps. At first it assumes that none of its
//! flows is stopped elsewhere. When the lowest level of all is that of a link, the link recomputes its level:
//! flows that were stopped below it leave more capacity to the others, so its level may now be higher, and
//! then the link waits for the new level; otherwise it stops its flows there. So the **levels** of a link
//! depend only on where its own flows stop.
//!
//! This is why a solution need not start from scratch: up to the first stop that differs, flows stop where
//! they stopped in the last solution, and links have the same levels. That first stop belongs to a changed
//! flow, or to a link whose flows have changed: it is where the link stopped them in the last solution, or
//! where it would stop them now if its other flows stopped where they did before. Invariant: the rates are
//! bit-identical to those of a solution from scratch.

use std::collections::BinaryHeap;

use super::shares::{Link, Shares, Work};
use super::stop::{Key, NEVER, START, Wide, flow_key, link_key};
use crate::platform::Sharing;

impl Shares {
    /// The slots of the flows that the last solution examined; the rates of all others are unchanged.
    pub(crate) fn solved(&self) -> &[u32] {
        &self.work.flows
    }

    /// Updates the rates after changes since the last solution.
    pub(crate) fn solve(&mut self) {
        self.solutions += 1;
        let mut work = std::mem::take(&mut self.work);
        work.links.clear();
        work.flows.clear();
        let mut changed = std::mem::take(&mut self.changed);
        let mut restart = std::mem::replace(&mut self.restart, NEVER);
        for &link in &changed {
            restart = self.retrace(link, restart);
        }
        std::mem::swap(&mut work.open, &mut changed);
        self.connect(restart, &mut work);
        // The vector is now empty; keep its memory for the next changes.
        self.changed = changed;
        self.changed.clear();
        let mut stops = std::mem::take(&mut work.stops).into_vec();
        stops.clear();
        for &number in &work.links {
            let link = &mut self.links[number as usize];
            let at = link.levels.partition_point(|level| link_key(*level, number) < restart);
            // There is no level left if all of the link's flows stop before `restart`.
            if let Some(level) = link.levels.get(at) {
                stops.push(link_key(*level, number).wide());
                link.levels.truncate(at + 1);
            }
        }
        for &slot in &work.flows {
            let level = self.terms[slot as usize].bound * self.flows[slot as usize].penalty;
            stops.push(flow_key(level, slot).wide());
        }
        work.stops = BinaryHeap::from(stops);
        self.stop_all(&mut work.stops, work.flows.len());
        for slot in self.alone.drain(..) {
            self.flows[slot as usize].rate = self.terms[slot as usize].bound;
            work.flows.push(slot);
        }
        self.work = work;
    }

    /// Recomputes the levels of a changed link from the start, up to `first` or to the level where the link
    /// stops its flows if its other flows stop as before. Returns the first stop that may differ.
    fn retrace(&mut self, number: u32, first: Key) -> Key {
        let link = &mut self.links[number as usize];
        link.changed = false;
        let first = first.min(std::mem::replace(&mut link.stop, NEVER));
        link.levels.clear();
        let (mut reached, mut before) = (f64::NEG_INFINITY, START);
        loop {
            let Some(level) = self.level(number, before) else { return first };
            if level <= reached {
                return first.min(before);
            }
            (reached, before) = (level, link_key(level, number));
            self.links[number as usize].levels.push(level);
            if before >= first {
                return first;
            }
        }
    }

    /// Collects the links and flows connected to the links in `work.open` by flows that did not stop before
    /// `restart`; these flows are no longer stopped.
    fn connect(&mut self, restart: Key, work: &mut Work) {
        while let Some(number) = work.open.pop() {
            let link = &mut self.links[number as usize];
            if std::mem::replace(&mut link.seen, self.solutions) == self.solutions {
                continue;
            }
            link.stop = NEVER;
            work.links.push(number);
            for user in &link.users {
                let flow = &mut self.flows[user.slot as usize];
                let terms = &mut self.terms[user.slot as usize];
                if flow.stop >= restart
                    && std::mem::replace(&mut terms.seen, self.solutions) != self.solutions
                {
                    flow.stop = NEVER;
                    work.flows.push(user.slot);
                    work.open.extend(terms.links.iter().map(|(link, _)| *link));
                }
            }
        }
    }

    /// The level at which a link stops its flows, if the flows that stopped before `before` keep their rates;
    /// `None` if no other flow is left.
    fn level(&self, link: u32, before: Key) -> Option<f64> {
        let Link { capacity, sharing, users, .. } = &self.links[link as usize];
        let flow = |slot: u32| &self.flows[slot as usize];
        match sharing {
            Sharing::Shared => {
                let (mut left, mut usage) = (*capacity, 0.0);
                for user in users {
                    let flow = flow(user.slot);
                    match flow.stop < before {
                        true => left -= user.weight * flow.rate,
                        false => usage += user.share,
                    }
                }
                (usage > 0.0).then(|| left / usage)
            }
            // Not computed from rates: a flow whose bound equals the capacity has exactly this level, and
            // stops first.
            Sharing::FatPipe => {
                let open = users.iter().map(|user| (user.weight, flow(user.slot)));
                let open = open.filter(|(_, flow)| flow.stop >= before);
                open.map(|(weight, flow)| capacity * flow.penalty / weight).min_by(f64::total_cmp)
            }
        }
    }

    /// Stops the `open` flows that are not stopped yet, in the order of `stops`.
    fn stop_all(&mut self, stops: &mut BinaryHeap<Wide>, mut open: usize) {
        while open > 0 {
            let Some(key) = stops.pop().map(Key::narrow) else { break };
            if key.is_of_flow() {
                let slot = key.number() as usize;
                let flow = &mut self.flows[slot];
                if flow.stop == NEVER {
                    (flow.rate, flow.stop) = (self.terms[slot].bound, key);
                    open -= 1;
                }
                continue;
            }
            let (number, mut level) = (key.number(), key.level());
            let Some(now) = self.level(number, NEVER) else { continue };
            let link = &mut self.links[number as usize];
            // Because of rounding the new level may be just below the one already reached.
            if now > level {
                level = now;
                link.levels.push(level);
                let stop = link_key(level, number).wide();
                if stops.peek().is_some_and(|next| *next > stop) {
                    stops.push(stop);
                    continue;
                }
            }
            link.stop = link_key(level, number);
            for user in &link.users {
                let flow = &mut self.flows[user.slot as usize];
                if flow.stop == NEVER {
                    (flow.rate, flow.stop) = (level / flow.penalty, link.stop);
                    open -= 1;
                }
            }
        }
    }
}
