//! Containers: an amount that processes put in and take out.
//!
//! Who cannot be served yet holds up those that come later and need less, on either side (as in SimPy).
//!
//! Invariant: neither the first that puts nor the first that takes could do so.

use paceline_kernel::Time;

use super::super::wants::{Failure, Levels, Outcome, Want};
use super::claims::Line;
use super::scope::Scope;

#[derive(Clone, Debug)]
pub(super) struct Container {
    capacity: f64,
    level: f64,
    pub(super) drawers: Line,
    pub(super) fillers: Line,
}

impl Container {
    pub(super) fn new(capacity: f64, level: f64) -> Self {
        let (drawers, fillers) = (Line::default(), Line::default());
        Self { capacity, level, drawers, fillers }
    }

    pub(super) fn levels(&self) -> Levels {
        let (waiting, waiting_for_room) = (self.drawers.len(), self.fillers.len());
        Levels { waiting, waiting_for_room, level: self.level, capacity: self.capacity }
    }

    fn change(&mut self, scope: &mut Scope<'_>, by: f64) {
        self.level += by;
        let level = self.level;
        scope.sample(|sampled| sampled.holds(by, level));
    }

    /// A process wants to put in or to take out, and waits for that at most so long.
    pub(super) fn ask(&mut self, scope: &mut Scope<'_>, place: u32, limit: Time) {
        let (amount, draws) = match scope.claims.get(place).want {
            Want::Draw(amount) => (amount, true),
            Want::Fill(amount) => (amount, false),
            _ => return scope.fail(place, Failure::Unknown),
        };
        if draws {
            scope.sample(|sampled| sampled.requests());
        }
        if amount > self.capacity {
            return scope.fail(place, Failure::TooMuch);
        }
        let line = if draws { &mut self.drawers } else { &mut self.fillers };
        line.push(scope.claims, place, 0);
        if draws {
            scope.sample(|sampled| sampled.waits(1));
        }
        let claim = scope.claims.get(place);
        let (process, number) = (claim.process, claim.number);
        self.serve(scope);
        if scope.claims.find(process, number).is_none() {
            return;
        }
        if limit > Time::ZERO {
            return scope.limit(place, limit);
        }
        let line = if draws { &mut self.drawers } else { &mut self.fillers };
        line.remove(scope.claims, place);
        if draws {
            scope.sample(|sampled| {
                sampled.waits(-1);
                sampled.balks();
            });
        }
        scope.fail(place, Failure::TimedOut);
    }

    /// Serves both lines as far as possible.
    pub(super) fn serve(&mut self, scope: &mut Scope<'_>) {
        loop {
            if let Some(place) = self.fillers.first()
                && let Want::Fill(amount) = scope.claims.get(place).want
                && self.level + amount <= self.capacity
            {
                self.fillers.remove(scope.claims, place);
                self.change(scope, amount);
                scope.settle(place, Outcome::Done);
            } else if let Some(place) = self.drawers.first()
                && let Want::Draw(amount) = scope.claims.get(place).want
                && amount <= self.level
            {
                self.drawers.remove(scope.claims, place);
                self.change(scope, -amount);
                let waited = scope.waited(place);
                scope.sample(|sampled| {
                    sampled.waits(-1);
                    sampled.grants(waited);
                });
                let container = scope.claims.get(place).resource;
                scope.settle(place, Outcome::Drawn(container, amount));
            } else {
                return;
            }
        }
    }

    /// A claim waits no longer; it is not answered here.
    pub(super) fn renege(&mut self, scope: &mut Scope<'_>, place: u32) {
        if matches!(scope.claims.get(place).want, Want::Fill(_)) {
            return self.fillers.remove(scope.claims, place);
        }
        self.drawers.remove(scope.claims, place);
        scope.sample(|sampled| {
            sampled.waits(-1);
            sampled.reneges();
        });
    }

    /// An amount that was taken out and never seen comes back.
    pub(super) fn put_back(&mut self, scope: &mut Scope<'_>, amount: f64) {
        self.change(scope, amount);
        self.serve(scope);
    }
}
